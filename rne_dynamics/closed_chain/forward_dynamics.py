"""Forward dynamics of a mechanism, over its actuated coordinates or with the forces at the cuts."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.arguments import Start
from rne_dynamics.closed_chain.constraint_forces import constraint_forces_forward
from rne_dynamics.closed_chain.rows import ASSEMBLE, TERMS, run
from rne_dynamics.dynamics.arguments import Wrenches, bodies_wrenches, state_arrays
from rne_dynamics.dynamics.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.inertia_scale import inertia_scale
from rne_dynamics.errors import ArgumentError, no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.spatial.cholesky import scaled_cholesky_solve

ClosedMethod = Literal["walker_orin", "constraint_forces"]


def closed_forward_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
    method: ClosedMethod = "walker_orin",
    start: Start = None,
) -> Array:
    """Accelerations of the actuated joints that their efforts give; passive joints turn freely.

    Parameters
    ----------
    mechanism
        The mechanism.
    q, qd, tau
        Positions, velocities and efforts of the actuated joints, shape (…, n). Leading dimensions broadcast.
    wrenches, base_motion
        As for `rne_dynamics.inverse_dynamics`.
    method
        ``"walker_orin"``: mass matrix of the actuated coordinates, then Cholesky, as document 002 does.
        ``"constraint_forces"``: document 000's O(n) recursion on the open tree, once for the efforts and once for each
        independent constraint, then the forces that keep the loops closed. It needs inertia at every joint of the
        open tree, and also serves mechanisms with more actuated joints than freedoms.
    start
        As for `assemble`.

    Returns
    -------
    ndarray
        Accelerations, rad/s² or m/s², shape (…, n).

    Raises
    ------
    AssemblyError
        A loop does not close there.
    SingularPostureError
        The actuated joints do not hold the others there, or are too few.
    ModelError
        More actuated joints than freedoms (method ``"walker_orin"``), or an unknown link in `wrenches`.
    SingularInertiaError
        A joint that moves no inertia.
    ArgumentError
        Wrong shapes, NaN or infinity, an unknown method.
    """
    if method not in get_args(ClosedMethod):
        raise ArgumentError(f"method is {method!r}; it must be one of {', '.join(map(repr, get_args(ClosedMethod)))}")
    lead, (positions, velocities, efforts) = state_arrays(mechanism, q=q, qd=qd, tau=tau)
    base = packed_base(mechanism.robot, base_motion, lead)
    loads = bodies_wrenches(mechanism.robot, wrenches, lead)
    if method == "constraint_forces":
        postures = run(mechanism, ASSEMBLE, positions, start=start, lead=lead).postures
        qdd = constraint_forces_forward(mechanism, base, postures, velocities, efforts, loads)
        return qdd.reshape((*lead, mechanism.n))
    terms = run(mechanism, TERMS, positions, velocities, base=base, wrenches=loads, start=start, lead=lead)
    qdd = np.empty_like(positions)
    scale = (inertia_scale(mechanism.robot, terms.postures)[:, None] @ terms.T**2)[:, 0]
    for M, left, size, answer in zip(terms.M, efforts - terms.bias, scale, qdd, strict=True):
        coordinate = scaled_cholesky_solve(M, left, size, answer)
        if coordinate >= 0:
            raise no_inertia(mechanism.joint_names[coordinate], mechanism.name)
    return qdd.reshape((*lead, mechanism.n))
