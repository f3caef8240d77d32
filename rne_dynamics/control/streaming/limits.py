"""Limits and times of a stream of setpoints, and reasons to refuse one."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.control.checks import check_number, frozen_vector, set_fields
from rne_dynamics.control.motion.limits import JointRanges
from rne_dynamics.control.streaming.jerk_limited import ACCELERATION, JERK, LOWER, UPPER, VELOCITY
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: Where no acceleration or jerk limit is given: times from rest to the velocity limit at the acceleration limit, and
#: from no acceleration to the acceleration limit, s.
ACCELERATION_TIME, JERK_TIME = 0.2, 0.05


#: Part of an effort limit that default accelerations may take, all joints accelerating at once: the rest is for gravity
#: and feedback. Postures in which that is computed.
EFFORT_SHARE, POSTURES = 0.5, 200


def default_acceleration(robot: RobotModel, velocity: Array, effort: Array) -> Array:
    """Acceleration limits that the motors can follow, rad/s² or m/s²; shape (n,).

    `velocity / ACCELERATION_TIME`, or less where that would take more than `EFFORT_SHARE` of the effort limit in the
    worst of random postures.

    `robot`: an open arm. `velocity`, `effort`: limits, finite and above 0; shape (n,).
    """
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    postures = np.random.default_rng(0).uniform(lower, np.maximum(lower, upper), (POSTURES, robot.n))
    wanted = velocity / ACCELERATION_TIME
    taken = np.abs(mass_matrix(robot, postures)) @ wanted
    share: Array = np.minimum(EFFORT_SHARE * effort / taken.max(axis=0), 1.0)
    return share * wanted


@dataclass(frozen=True, eq=False)
class StreamLimits(JointRanges):
    """Limits and times of a stream of setpoints.

    `joints`, `lower`, `upper`, `velocity`, `continuous`: as for `JointRanges`; velocities above 0 and finite. Raises
    ControlError: a number that is not allowed.
    """

    #: rad/s² and rad/s³ or m/s² and m/s³, one number or shape (n,); 0 takes `velocity / ACCELERATION_TIME` and
    #: `acceleration / JERK_TIME`.
    acceleration: ArrayLike = 0.0
    jerk: ArrayLike = 0.0
    #: Distance between the arm's reference and a setpoint from which on a stream is not begun, rad or m.
    start: float = 0.05
    #: Time without a setpoint after which the arm is stopped, s.
    timeout: float = 0.1
    #: Shortest time in which a deviation from the setpoints dies out, s.
    smoothing: float = 0.02
    #: Rows as `jerk_limited` names them; (5, n).
    table: Array = field(init=False, repr=False)
    #: Distance between the reference and a setpoint from which on setpoints of a stream are refused, rad or m; (n,).
    reach: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n, names = len(self.joints), self.joints
        smallest = float(np.nextafter(0.0, 1.0))
        velocity = frozen_vector(self.velocity, n, "the velocity limit of setpoints", lowest=smallest, names=names)
        acceleration = frozen_vector(self.acceleration, n, "the acceleration limit", lowest=0.0, names=names)
        acceleration = np.where(acceleration > 0.0, acceleration, velocity / ACCELERATION_TIME)
        jerk = frozen_vector(self.jerk, n, "the jerk limit", lowest=0.0, names=names)
        jerk = np.where(jerk > 0.0, jerk, acceleration / JERK_TIME)
        for name in ("start", "timeout", "smoothing"):
            check_number(getattr(self, name), f"{name} of setpoints")
        table = np.empty((5, n))
        table[LOWER], table[UPPER], table[VELOCITY] = self.lower, self.upper, velocity
        table[ACCELERATION], table[JERK] = acceleration, jerk
        set_fields(self, table=table, reach=self.start + self.timeout * velocity)


class SetpointProblem(Enum):
    """Why a setpoint is refused; the values are keys of diagnostics."""

    UNREADABLE = "unreadable"
    WRONG_JOINTS = "wrong joints"
    NOT_FINITE = "not finite"
    TOO_OLD = "too old"
    TOO_EARLY = "too far in the future"
    OUT_OF_ORDER = "out of order"
    TOO_FAR = "too far away"
    TWO_SENDERS = "two senders"
    NOT_READY = "not ready"
    CALLED_OFF = "called off"


class SetpointError(ControlError):
    """A setpoint that is not followed. Attributes: `problem`: what is wrong with it, for counting."""

    def __init__(self, message: str, problem: SetpointProblem) -> None:
        super().__init__(message, problem)  # both, so that it can be pickled
        self.problem = problem

    def __str__(self) -> str:
        return str(self.args[0])
