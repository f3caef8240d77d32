"""The state of a simulated arm."""

from __future__ import annotations

from dataclasses import dataclass

from rne_dynamics.model.inertia import Array


@dataclass(frozen=True, eq=False)
class State:
    """Time, positions and velocities.

    Parameters
    ----------
    t
        Simulated time, s.
    q
        Positions, rad or m; shape (nq,).
    qd
        Velocities; shape (n,).
    posture
        Of a mechanism, positions of all joints of its tree at `q`, shape (nq of the tree,), from which assembly
        starts, so that the loops stay on their branch. None for an open arm; where a mechanism's is None, assembly
        starts from the mechanism's own posture.
    tree_qd
        Of a mechanism, velocities of all joints of its tree, shape (n of the tree,); None for an open arm.
    in_tree
        Whether a mechanism's next step is taken in the coordinates of its tree: near singular postures, and always
        where its actuated joints are no coordinates; see `stepping.step`.
    delta, deltad
        Of an arm with flexible links the amplitudes of its modes and their rates, in the order of its `mode_names`;
        shape (modes,). None for a rigid one.
    """

    t: float
    q: Array
    qd: Array
    posture: Array | None = None
    delta: Array | None = None
    deltad: Array | None = None
    tree_qd: Array | None = None
    in_tree: bool = False
