"""A flexible arm as plain arrays for the kernels, and checks of arguments before them.

What is a pair in `motion` is a row of twelve numbers.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.dynamics.declared.arguments import as_rows, vectors
from rne_dynamics.errors import ModelError
from rne_dynamics.model import layout
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.inertia import Array

# columns of `Packed.topology`
(
    PARENT,  # −1 for the base
    KIND,  # of layout, or FIXED
    COORDINATE,  # the joint's place in z; −1 where there is none
    FIRST_MODE,  # the first of the body's modes among all modes
    MODES,  # how many it has
) = range(5)

#: C_ikl of orthogonal shapes by quadrature, as a part of √(C_ikk C_ill).
_ROUND_OFF = 1e-13

FIXED = 3  # a body without a joint of its own


class Packed(NamedTuple):
    """A flexible arm as the kernels take it; made by `pack`, never changed. All in the axes of the bodies' frames."""

    #: One row a body, the columns above; shape (bodies, 5).
    topology: NDArray[np.int64]
    #: Placement of a body's joint in its parent, undeformed; shapes (bodies, 9), (bodies, 3).
    rotation: Array
    position: Array
    #: C_i (30) without ½, of the undeformed body: ∫ dm, ∫ r dm and the upper half of ∫ r rᵀ dm; shape (bodies, 10).
    moments: Array
    #: Reflected rotor inertia; shape (bodies,).
    rotor: Array
    #: `Attachment` of a body on its parent: shapes (bodies, width, 3), the same, and (bodies, width, width, 3).
    translation: Array
    turn: Array
    bend: Array
    #: C_ik (28), C_ikl (25) and the shortening's integrals, by mode: (modes, 12), (modes, width, 9) and (modes, width,
    #: 12), where the second index counts the modes of the same link.
    first: Array
    second: Array
    shortening: Array
    #: 1 where C_ikl is not zero, likewise; shape (modes, width). Where shape functions are orthogonal only C_ikk is
    #: left, and the kernels leave the others out (document 003, section 6).
    coupled: NDArray[np.int64]
    #: K_ikl (42) and the damping likewise; shape (modes, width).
    stiffness: Array
    damping: Array
    #: Elastic forces of second and third order: for each mode the coefficients of δ_j δ_k with j ≤ k, each followed by
    #: those of δ_j δ_k δ_l with k ≤ l, modes of the same link; shape (modes, products), (modes, 0) if there are none.
    nonlinear: Array
    #: 1 where the turn of a body on its parent counts in the second order too, with the shortening; shape (bodies,).
    turned: NDArray[np.int64]
    #: Whether there is any shortening.
    stiffened: bool
    #: Number of joint coordinates, which come first in z.
    joints: int


@lru_cache(maxsize=16)
def pack(arm: FlexibleArm) -> Packed:
    """The arrays of an arm; kept for the last few arms."""
    robot, flexible = arm.body_model, {link.link: link for link in arm.flexible_links}
    joints = {joint.name: joint for joint in robot.tree.joints}
    parameters = robot.parameters
    width, modes = max(link.modes for link in arm.flexible_links), arm.modes
    topology = np.zeros((robot.bodies, 5), dtype=np.int64)
    first, second, shortening = np.zeros((modes, 12)), np.zeros((modes, width, 9)), np.zeros((modes, width, 12))
    coupled = np.zeros((modes, width), dtype=np.int64)
    stiffness, damping = np.zeros((modes, width)), np.zeros((modes, width))
    translation, turn = np.zeros((robot.bodies, width, 3)), np.zeros((robot.bodies, width, 3))
    bend = np.zeros((robot.bodies, width, width, 3))
    moments = parameters[:, layout.MASS : layout.INERTIA + 6].copy()
    for link in arm.flexible_links:
        frame, m = robot.links[link.link], arm.mode_slice(link.link)
        topology[frame.body, FIRST_MODE], topology[frame.body, MODES] = m.start, link.modes
        R = frame.rotation
        first[m] = _forms(link.first, R)
        second[m, : link.modes] = (R @ link.second @ R.T).reshape(link.modes, link.modes, 9)
        shortening[m, : link.modes] = _forms(link.shortening, R)
        coupled[m, : link.modes] = _coupled(link)
        stiffness[m, : link.modes], damping[m, : link.modes] = link.stiffness, link.damping
    for i, name in enumerate(robot.body_names):
        joint = joints[name.partition("/")[0] if name not in joints else name]
        topology[i, PARENT] = robot.topology[i, layout.PARENT]
        fixed = name in arm.fixed_bodies
        topology[i, KIND] = FIXED if fixed else robot.topology[i, layout.KIND]
        topology[i, COORDINATE] = -1 if fixed else arm.robot.joint_index(name)
        if joint.parent in flexible and robot.links[joint.parent].body == topology[i, PARENT]:
            link, R = flexible[joint.parent], robot.links[joint.parent].rotation
            there = link.at(joint.position)
            translation[i, : link.modes] = there.translation @ R.T
            turn[i, : link.modes] = there.rotation @ R.T
            bend[i, : link.modes, : link.modes] = there.shortening @ R.T
    inertia = moments[:, 4:]
    # ∫ r rᵀ dm = ½ tr(J) 1 − J
    inertia[:] = 0.5 * inertia[:, [0, 3, 5]].sum(axis=1)[:, None] * [1.0, 0.0, 0.0, 1.0, 0.0, 1.0] - inertia
    return Packed(
        topology=topology,
        rotation=parameters[:, layout.ROTATION : layout.ROTATION + 9].copy(),
        position=parameters[:, layout.PLACEMENT : layout.PLACEMENT + 3].copy(),
        moments=moments,
        rotor=parameters[:, layout.ROTOR].copy(),
        translation=translation,
        turn=turn,
        bend=bend,
        first=first,
        second=second,
        shortening=shortening,
        coupled=coupled,
        stiffness=stiffness,
        damping=damping,
        nonlinear=_nonlinear(arm, width),
        turned=np.array([rows.any() for rows in bend], dtype=np.int64),
        stiffened=bool(bend.any() or shortening.any()),
        joints=arm.n,
    )


def _nonlinear(arm: FlexibleArm, width: int) -> Array:
    """`Packed.nonlinear`: equal products of amplitudes are counted once, with the sum of their coefficients."""
    if not any(link.coupling.any() or link.hardening.any() for link in arm.flexible_links):
        return np.zeros((arm.modes, 0))
    out = np.zeros((arm.modes, math.comb(width + 1, 2) + math.comb(width + 2, 3)))
    for link in arm.flexible_links:
        rows, m, column = out[arm.mode_slice(link.link)], link.modes, 0
        for j in range(m):
            for k in range(j, m):
                rows[:, column] = _orders(j, k) * link.coupling[:, j, k]
                for n in range(k, m):
                    column += 1
                    rows[:, column] = _orders(j, k, n) * link.hardening[:, j, k, n]
                column += 1
    return out


def _orders(*indices: int) -> int:
    return len(set(permutations(indices)))


def _coupled(link: ModalLink) -> NDArray[np.int64]:
    """Which pairs of modes have an integral C_ikl (25) that is more than round-off; shape (m, m)."""
    size = np.sqrt(np.einsum("kkii->k", link.second))
    return np.asarray(np.abs(link.second).max(axis=(2, 3)) > _ROUND_OFF * np.outer(size, size), dtype=np.int64)


def _forms(integrals: Array, R: Array) -> Array:
    """Integrals (…, 4, 3) of a link as rows of twelve numbers in the axes of its body, for R = ``R_BL``."""
    turned, top = R @ np.swapaxes(integrals[..., 1:, :], -1, -2) @ R.T, integrals[..., 0, :] @ R.T
    return np.concatenate([turned.reshape(*top.shape[:-1], 9), top], axis=-1)


#: Arguments that hold one number a mode; all others hold one a joint.
_MODAL = ("delta", "deltad", "deltadd")


def check_flexible(arm: FlexibleArm) -> None:
    """`ModelError` for a rigid robot or a mechanism, which callers without type checkers may hand over."""
    if not getattr(arm, "flexible_links", ()):
        name = getattr(arm, "name", type(arm).__name__)
        raise ModelError(
            f"robot {name!r} has no flexible links, and this function is for arms that have some; take the "
            "functions of rne_dynamics itself, or describe how its links bend in a model file (flexible: ...)"
        )


def coordinates(arm: FlexibleArm, **arguments: ArrayLike) -> tuple[tuple[int, ...], list[Array]]:
    """Vectors broadcast to one leading shape: that, and new arrays (batch, modes) or (batch, n).

    ``delta``, ``deltad``, ``deltadd`` hold one number a mode, everything else one a joint. `ModelError` for a robot
    without flexible links, `ArgumentError` for what are no finite numbers of such shapes.
    """
    check_flexible(arm)
    arrays = {}
    for name, value in arguments.items():
        kind, names = ("mode", arm.mode_names) if name in _MODAL else ("joint", arm.joint_names)
        wanted = f"arm {arm.name!r} wants (..., {len(names)}), in the order of arm.{kind}_names"
        arrays[name] = vectors(name, value, len(names), wanted, partial(_at_name, names))
    lead, rows = as_rows(arrays)
    return lead, [np.array(row) for row in rows]


def _at_name(names: tuple[str, ...], place: str, number: float, k: int) -> str:
    return f"{place} ({names[k]}) is {number}"
