"""Errors for the status codes of the closed-loop kernels, and for what is no mechanism."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from rne_dynamics.closed_chain.closing import MISFIT, OVER_ACTUATED, SINGULAR
from rne_dynamics.closed_chain.generic_rank import generic_rank
from rne_dynamics.closed_chain.independence import evaluated, nearest_posture, scaled_jacobian
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.errors import AssemblyError, ModelError, SingularPostureError, not_a_robot
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import BLOCKED, Mechanism
from rne_dynamics.model.on_tree import OnTree


def loop_gaps(mechanism: Mechanism, residual: Array) -> list[tuple[str, float, float]]:
    """Name, gap (m) and turn (rad) of every loop from the constraints' residuals."""
    gaps, k = [], 0
    for loop, row in zip(mechanism.loops, mechanism.loop_frames[:, BLOCKED:], strict=True):
        ways, turns = int(row[:3].sum()), int(row[3:].sum())
        gaps.append((loop.name, float(np.linalg.norm(residual[k : k + ways])),
                     float(np.linalg.norm(residual[k + ways : k + ways + turns]))))  # fmt: skip
        k += ways + turns
    return gaps


#: What to do about a loop whose frames are half a turn apart, and how near to that they are then, rad.
HALF_TURN, _HALF = "turn one of the loop's frames by half a turn (rpy, rad): it points the other way", 0.01
#: Smallest singular value of the passive joints' constraints below which a way that ends there ends for that reason.
NEAR_SINGULAR = 0.03


def loosest(mechanism: Mechanism, q_tree: Array) -> tuple[float, list[str]]:
    """Smallest singular value of the passive joints' constraints, and the names of the joints that move with it.

    Idle freedoms are left out: they are not what a motor is missing for.
    """
    packed = pack(mechanism)
    K = scaled_jacobian(packed, evaluated(packed, workspace(packed), q_tree))[:, mechanism.passive]
    if not K.size:
        return math.inf, []
    _, sizes, V = np.linalg.svd(K)
    last = max(K.shape[1] - generic_rank(mechanism).idle - 1, 0)
    smallest = float(sizes[last]) if last < len(sizes) else 0.0
    part = np.abs(V[last])
    names = mechanism.passive_names
    return smallest, [names[k] for k in np.flatnonzero(part > 0.05 * part.max())]


def refusal(mechanism: Mechanism, status: int, q: Array, q_tree: Array) -> ModelError:
    """The error for a status of the kernels at actuated positions q, the tree's last posture being q_tree."""
    place = ", ".join(f"{name} {value:.6g}" for name, value in zip(mechanism.joint_names, q, strict=True))
    if status == SINGULAR:
        _, loose = loosest(mechanism, q_tree)
        free = generic_rank(mechanism).loose - generic_rank(mechanism).idle
        if free > 0:
            return SingularPostureError(
                f"the actuated joints of mechanism {mechanism.name!r} do not hold the passive ones "
                f"({', '.join(loose)}) at any posture: it has {free} freedom{'s' * (free > 1)} more "
                "than they drive. Drive one of these joints, or lock it if it is not meant to move. Simulation and "
                "forward dynamics take it as it is"
            )
        return SingularPostureError(
            f"mechanism {mechanism.name!r} is in a singular posture at {place}: the actuated joints do not hold the "
            f"passive ones ({', '.join(loose)}) there; keep away from it, or drive another joint. Simulation passes "
            "it, and forward dynamics by method 'tree_coordinates' has an answer"
        )
    if status == OVER_ACTUATED:
        return ModelError(
            f"mechanism {mechanism.name!r} has more actuated joints ({', '.join(mechanism.joint_names)}) than "
            "freedoms, so they are not independent coordinates; name as many as it has freedoms (`mobility` counts "
            "them)"
        )
    packed = pack(mechanism)
    nearest = q_tree.copy()
    nearest[mechanism.actuated] = q
    _, residual = nearest_posture(mechanism, nearest)
    name, gap, turn = max(loop_gaps(mechanism, residual), key=lambda x: math.hypot(x[1] / packed.length, x[2]))
    held = ", ".join(f"{joint} {q_tree[k]:.6g}" for joint, k in zip(mechanism.joint_names, mechanism.actuated,
                                                                 strict=True))  # fmt: skip
    reached = "its own posture" if np.array_equal(q_tree, mechanism.posture) else held
    where = f"on the way from the start it was followed to {reached}"
    if gap <= MISFIT * packed.length and turn <= MISFIT:
        return AssemblyError(
            f"loop {name!r} of mechanism {mechanism.name!r} can close at {place}, but on another branch than "
            f"the start; {where}. Start from a posture on that branch, or take a way that leads to it"
        )
    fix = "Choose positions within reach, or start from a posture on another branch"
    distance, loose = loosest(mechanism, q_tree)
    if abs(turn - math.pi) < _HALF and gap <= _HALF * packed.length:
        fix = f"If the loop is meant to close there, {HALF_TURN}"
    elif distance < NEAR_SINGULAR and reached == held:
        where += f", a singular posture: the actuated joints do not hold the passive ones ({', '.join(loose)}) there"
        fix = "Choose positions on this side of it, or start from a posture on another branch"
    return AssemblyError(
        f"loop {name!r} of mechanism {mechanism.name!r} cannot close at {place}: {1e3 * gap:.4g} mm and "
        f"{math.degrees(turn):.4g} deg remain; {where}. {fix}"
    )


def as_mechanism(robot: object) -> Mechanism:
    """`robot` as a mechanism; `ModelError` for an arm with flexible links, `ArgumentError` for what is no robot."""
    if getattr(robot, "kind", "") == Mechanism.kind:
        return cast("Mechanism", robot)
    raise robot.refusal() if isinstance(robot, OnTree) else not_a_robot(robot)
