"""More actuated joints than freedoms: which motions they may have, and the least efforts that give one."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rne_dynamics.closed_chain.independence import combinations, evaluated
from rne_dynamics.closed_chain.packed import Work, pack, workspace
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism

#: Part of a velocity or acceleration by which it may miss what the loops allow.
_MISSED = 1e-6


#: How far given positions, in rad or lengths of the mechanism, may miss what the loops make of the independent ones.
INCONSISTENT = 1e-6


@lru_cache(maxsize=16)
def independent_joints(mechanism: Mechanism) -> tuple[int, ...] | None:
    """Places of actuated joints that determine the others, as well as they can at the posture; `None` where all do."""
    packed = pack(mechanism)
    work = evaluated(packed, workspace(packed), mechanism.posture)
    relations = combinations(packed, work).actuated @ work.K[:, mechanism.actuated]
    if not len(relations):
        return None
    # the joints that the relations determine best are left to them: Gaussian elimination with full pivoting
    rest, left = relations.copy(), list(range(mechanism.n))
    for _ in range(len(relations)):
        row, column = np.unravel_index(np.abs(rest).argmax(), rest.shape)
        left.remove(int(column))
        pivot = rest[row] / rest[row, column]
        rest = np.delete(rest, row, axis=0)
        rest = rest - np.outer(rest[:, column], pivot)
    return tuple(left)


def least_efforts(
    mechanism: Mechanism,
    work: Work,
    q: Array,
    velocity: Array,
    acceleration: Array,
    tau: Array,
    force: Array,
) -> None:
    """Change the constraints' forces, in place, so that the actuators' efforts become the least in norm.

    All arguments over rows, tau with the loops cut: q, velocity, acceleration, tau (B, tree n), force
    (B, constraints).

    Raises
    ------
    ArgumentError
        Velocities or accelerations of the actuated joints that the loops do not allow.
    """
    packed = pack(mechanism)
    for b in range(len(q)):
        evaluated(packed, work, q[b], velocity[b])
        relations = combinations(packed, work).actuated
        if not len(relations):
            continue
        K_a = work.K[:, mechanism.actuated]
        drift = relations @ work.drift
        for name, missed, size in (
            ("qd", relations @ work.K @ velocity[b], np.abs(velocity[b]).max()),
            ("qdd", relations @ work.K @ acceleration[b] + drift, np.abs(acceleration[b]).max() + np.abs(drift).max()),
        ):
            if np.abs(missed).max() > _MISSED * size:
                raise ArgumentError(
                    f"{name} is no motion of mechanism {mechanism.name!r}: its {mechanism.n} actuated joints "
                    f"({', '.join(mechanism.joint_names)}) have {mechanism.n - len(relations)} freedoms, and the loops "
                    f"miss by {np.abs(missed).max():.3g}; take {name} of the joints that drive and compute the rest"
                )
        efforts = tau[b, mechanism.actuated] - K_a.T @ force[b]
        share, *_ = np.linalg.lstsq((relations @ K_a).T, efforts, rcond=None)
        force[b] += share @ relations
