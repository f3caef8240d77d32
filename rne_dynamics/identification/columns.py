"""The linear model of measured efforts: a column for each parameter of links, rotors and friction.

Effort of joint j = regressor of the links · their parameters + rotor · q̈_j + offset + viscous q̇_j
+ Coulomb s(q̇_j / threshold) + Stribeck s(q̇_j / threshold) exp(−(q̇_j / (`STRIBECK` threshold))²), with the smooth
sign s of `rne_dynamics.model.friction`.

Thresholds enter nonlinearly: all of a grid have their columns, of which a fit takes one for each joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.dynamics import friction
from rne_dynamics.dynamics.derivatives.regressor import regressor
from rne_dynamics.errors import ArgumentError
from rne_dynamics.identification.motion import Motion
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: Parameters of a link: mass, first moments, inertia about the origin of the body's frame.
LINK = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
#: Speeds below which Coulomb friction grows, rad/s or m/s: what a fit chooses from.
THRESHOLDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
#: Speed at which the excess of friction at low speed has faded, over the threshold.
STRIBECK = 3.0


class Friction(NamedTuple):
    """The form of one joint's friction in a fit."""

    #: One of `THRESHOLDS`.
    threshold: float
    #: Whether friction is larger at low speed.
    stribeck: bool = False


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns of a robot's joints.

    Columns of one joint's triangle are the links', then the `own` ones: rotor, offset, viscous, and for each threshold
    Coulomb and Stribeck. Parameters of a fit are the links', then of each joint those of its own that it has.
    """

    robot: RobotModel
    #: Whether efforts are measured on the motor's side of the gears, where rotors are felt.
    rotors: bool
    #: The link of a payload, which is one body more, in motions that are loaded.
    payload: str | None = None

    def __post_init__(self) -> None:
        if self.payload is not None and self.robot.link(self.payload).body < 0:
            raise ArgumentError(f"link {self.payload!r} does not move, so its load cannot be found; name another link")

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies: the robot's and the payload."""
        return (*self.robot.body_names, *(["payload"] if self.payload else []))

    @property
    def links(self) -> int:
        """Number of parameters of the bodies."""
        return len(LINK) * len(self.bodies)

    def link_columns(self, motion: Motion) -> Array:
        """The regressor of the bodies along a motion, shape (rows, n, links)."""
        own = link_columns(self.robot, motion)
        if self.payload is None:
            return own
        place = len(LINK) * self.robot.links[self.payload].body
        return np.concatenate((own, float(motion.loaded) * own[:, :, place : place + len(LINK)]), axis=2)

    @property
    def own(self) -> int:
        """Number of a joint's own columns."""
        return 3 + 2 * len(THRESHOLDS)

    def own_columns(self, friction: Friction) -> NDArray[np.int64]:
        """Those of a joint's own columns that a fit with this friction has: viscous, Coulomb, offset first."""
        place = 3 + 2 * THRESHOLDS.index(friction.threshold)
        chosen = [2, place, 1, *([place + 1] if friction.stribeck else []), *([0] if self.rotors else [])]
        return np.array(chosen)

    def names(self, forms: tuple[Friction, ...]) -> tuple[str, ...]:
        """Names of all parameters of a fit."""
        found = [f"{body}.{name}" for body in self.bodies for name in LINK]
        for joint, form in zip(self.robot.joint_names, forms, strict=True):
            own = ["viscous", "coulomb", "offset"] + ["stribeck"] * form.stribeck + ["rotor"] * self.rotors
            found += [f"{joint}.{name}" for name in own]
        return tuple(found)

    def places(self, forms: tuple[Friction, ...]) -> list[NDArray[np.int64]]:
        """Of each joint, where its own parameters are among those of a fit."""
        counts = [len(self.own_columns(form)) for form in forms]
        ends = self.links + np.cumsum(counts)
        return [np.arange(end - count, end) for end, count in zip(ends, counts, strict=True)]


def link_columns(robot: RobotModel, motion: Motion) -> Array:
    """The regressor of the links along a motion, shape (rows, n, 10·bodies)."""
    return regressor(robot, motion.q, motion.qd, motion.qdd)


def own_columns(motion: Motion, j: int) -> Array:
    """The own columns of joint j along a motion, see `Layout`; shape (rows, own)."""
    found = [friction.own_columns(motion.qd[:, j], motion.qdd[:, j], v, STRIBECK * v) for v in THRESHOLDS]
    return np.concatenate([found[0][:, :3], *(columns[:, 3:] for columns in found)], axis=1)
