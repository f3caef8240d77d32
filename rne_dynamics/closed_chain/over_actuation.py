"""More actuated joints than freedoms: which motions they may have, and the least efforts that give one."""

from __future__ import annotations

import numpy as np

from rne_dynamics.closed_chain.independence import combinations, evaluated
from rne_dynamics.closed_chain.packed import Work, pack
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism

#: Part of a velocity or acceleration by which it may miss what the loops allow.
_MISSED = 1e-6


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
