"""The measured motion of the base: messages of an inertial sensor checked and turned into a `BaseMotion`.

An accelerometer measures v̇ − g, which is what the dynamics of the arm take: gravity's direction and the acceleration of
the base at once. The angular acceleration is not measured; it is the low-passed difference of the angular velocity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from rne_dynamics.control.parameters import check_parameters, frozen_vector, parameter
from rne_dynamics.control.thresholds import ABSURD
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.dynamics.kinematics.kinematics import quaternion_matrices, rotation_quaternions
from rne_dynamics.errors import StateError, StateProblem
from rne_dynamics.model.inertia import Array, Rebuilt
from rne_dynamics.spatial.vector import cross

#: How much a quaternion's length may differ from 1.
UNIT = 0.01
#: Turn from one orientation to the next that is never taken for a jump, rad.
SMALL_TURN = 0.05
#: Time constant of the mean of the specific force that stands for gravity where no orientation is known, s.
MEAN = 2.0
#: Largest angular acceleration that is believed, rad/s².
LARGEST_ANGULAR_ACCELERATION = 200.0
#: How fast the sensor's clock may lose against this computer's, s/s.
DRIFT = 1e-3
#: Readings in a row, as far apart as they arrive, that show that the sensor's clock was set; see `state_time`.
CLOCK_SET = 3
_NANO = 1e-9


class BaseReading(NamedTuple):
    """One message of the sensor, in its own axes; None for what it does not give."""

    #: ns.
    stamp: int
    #: Its axes in the world, as a quaternion x y z w.
    orientation: Array | None
    #: rad/s, m/s².
    angular_velocity: Array | None
    acceleration: Array | None


@dataclass(frozen=True, eq=False)
class BaseSensor(Rebuilt):
    """How the motion of the base is measured, and what is believed of it. Raises ControlError: values out of range."""

    #: v̇ − g, as REP 145 has it; v̇; or the base counts as not accelerated.
    acceleration: Literal["specific_force", "without_gravity", "ignored"] = parameter(
        "specific_force", "Meaning of the messages' linear acceleration: with gravity, as accelerometers measure it, "
        "without it, or not to be used. The last two need orientations.",
        choices=("specific_force", "without_gravity", "ignored"),
    )
    timeout: float = parameter(
        0.1, "Age at which the last usable message is stale and the arm is stopped.", "s", lower=0.001, upper=10.0
    )
    filter: float = parameter(
        10.0, "Corner frequency of the angular acceleration that is estimated from the angular velocity; 0 for none.",
        "Hz", lower=0.0, upper=1000.0,
    )
    position: Array = parameter(
        (0.0, 0.0, 0.0), "The sensor's origin in the root link's frame.", "m", lower=-1000.0, upper=1000.0
    )
    #: ``R_BS``, the sensor's axes in the root link's; shape (3, 3).
    rotation: Array = field(default_factory=lambda: np.eye(3))
    largest_acceleration: float = parameter(
        20.0, "Acceleration of the base, without gravity, above which a message is refused.", "m/s^2", lower=0.0,
        upper=1000.0,
    )
    largest_angular_velocity: float = parameter(
        5.0, "Angular velocity above which a message is refused.", "rad/s", lower=0.0, upper=100.0
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", frozen_vector(self.position, 3, "base_motion.position"))
        check_parameters(self, "base_motion.")
        BaseMotion(rotation=self.rotation).packed(np.zeros(3))  # refuses what is no rotation

    def at_rest(self, stamp: int, gravity: Array) -> BaseReading:
        """Message of the sensor at `stamp`, ns, on an upright base at rest."""
        S = np.asarray(self.rotation, dtype=np.float64)
        felt = -gravity @ S if self.acceleration == "specific_force" else np.zeros(3)
        return BaseReading(stamp, rotation_quaternions(S[None])[0], np.zeros(3), felt)


class BaseFilter:
    """Takes readings and knows how the base moves, as long as they are usable and new."""

    def __init__(self, sensor: BaseSensor, gravity: Array) -> None:
        self.sensor, self._gravity = sensor, np.array(gravity)
        #: Of the last usable reading; arrival in monotonic s.
        self.motion: BaseMotion | None = None
        self.arrival = -math.inf
        self._stamp = 0
        self._offset = math.inf
        self._set = 0, 0, 0.0  # readings since a stamp that does not follow; that stamp, its arrival
        self._R: Array | None = None
        self._w = self._dw = np.zeros(3)
        self._mean = np.zeros(3)

    def stale(self, now: float) -> bool:
        """Whether no usable reading has come for the time-out."""
        return now - self.arrival >= self.sensor.timeout

    def accept(self, reading: BaseReading, now: float) -> BaseMotion:
        """The motion of the root link that a reading shows; nothing changes where `StateError` refuses it."""
        begun = not self.stale(now)
        anew = begun and self._clock_was_set(reading.stamp, now)
        dt = now - self.arrival if anew else (reading.stamp - self._stamp) * _NANO
        offset = self._checked_time(reading.stamp, now, begun and not anew)
        w, felt, R = self._checked(reading)
        if begun and R is not None and self._R is not None:
            turn = math.acos(min(max(0.5 * (float(np.trace(self._R.T @ R)) - 1.0), -1.0), 1.0))
            if turn > SMALL_TURN + self.sensor.largest_angular_velocity * dt:
                raise StateError(f"base motion: the orientation turned by {turn:.3g} rad within {dt:.4f} s",
                                 StateProblem.POSITION_JUMP)  # fmt: skip
        dw = np.zeros(3)
        if begun and self.sensor.filter > 0.0:
            faded = -math.expm1(-2.0 * math.pi * self.sensor.filter * dt)  # as in `state_motion`, of vectors
            dw = self._dw + faded * ((w - self._w) / dt - self._dw)
            size = float(np.linalg.norm(dw))
            if not size <= LARGEST_ANGULAR_ACCELERATION:
                raise StateError(
                    f"base motion: its angular velocity changes by {size:.4g} rad/s^2; at most "
                    f"{LARGEST_ANGULAR_ACCELERATION:g} is believed", StateProblem.POSITION_JUMP,
                )  # fmt: skip
        p = self.sensor.position
        felt = felt - _cross(dw, p) - _cross(w, _cross(w, p))
        self._mean = self._mean + (min(dt / MEAN, 1.0) if begun else 1.0) * (felt - self._mean)
        self._offset, self._stamp, self.arrival = offset, reading.stamp, now
        self._R, self._w, self._dw, self._set = R, w, dw, (0, 0, 0.0) if anew else self._set
        turned = np.eye(3) if R is None else R
        self.motion = BaseMotion(felt + self._gravity @ turned, w, dw, rotation=turned)
        return self.motion

    def still(self) -> BaseMotion:
        """At rest, tilted as the last readings showed it, by orientation or the mean of the specific force."""
        if self._R is not None:
            return BaseMotion(rotation=self._R)
        g = float(np.linalg.norm(self._gravity))
        size = float(np.linalg.norm(self._mean))
        if size <= 0.5 * g:
            return BaseMotion()
        return BaseMotion(g / size * self._mean + self._gravity)

    def _clock_was_set(self, stamp: int, now: float) -> bool:
        count, first, came = self._set
        span, step = (stamp - first) * _NANO, (stamp - self._stamp) * _NANO
        follows = count > 0 and 0.0 < 0.5 * span <= now - came <= 2.0 * span
        off = step < 0.0 or step - (now - self.arrival) >= self.sensor.timeout
        self._set = (count + 1, first, came) if follows else (int(off), stamp, now)
        return self._set[0] >= CLOCK_SET

    def _checked_time(self, stamp: int, now: float, begun: bool) -> float:
        if stamp <= 0:
            raise StateError("base motion: the message has no stamp", StateProblem.NO_STAMP)
        offset = now - stamp * _NANO  # least for the messages that came fastest
        if not begun and stamp != self._stamp:  # a sender that starts anew may have another clock
            return offset
        if stamp <= self._stamp:
            raise StateError(f"base motion: its stamp is {(self._stamp - stamp) * _NANO:.4f} s before the last one's",
                             StateProblem.OUT_OF_ORDER)  # fmt: skip
        ahead = (stamp - self._stamp) * _NANO - (now - self.arrival)
        if ahead >= self.sensor.timeout:
            raise StateError(
                f"base motion: its stamp is {ahead:.3f} s further from the last one's than it came later",
                StateProblem.CLOCK_TOO_FAST,
            )
        fastest = min(self._offset + DRIFT * (now - self.arrival), offset)
        if offset - fastest >= self.sensor.timeout:
            raise StateError(
                f"base motion: the message comes {offset - fastest:.3f} s later than others; base_motion.timeout is "
                f"{self.sensor.timeout:g} s", StateProblem.DELAYED,
            )  # fmt: skip
        return fastest

    def _checked(self, reading: BaseReading) -> tuple[Array, Array, Array | None]:
        """ω and v̇ − g of the sensor in the root link's axes, and R_WB where there is one."""
        sensor, S = self.sensor, np.asarray(self.sensor.rotation, dtype=np.float64)
        for name, value in zip(reading._fields[1:], reading[1:], strict=True):
            if value is not None and not (np.abs(value) <= ABSURD).all():
                finite = bool(np.isfinite(value).all())
                raise StateError(
                    f"base motion: its {name.replace('_', ' ')} is {value.tolist()}; every number must be finite and "
                    f"at most {ABSURD:g}", StateProblem.OUT_OF_RANGE if finite else StateProblem.NOT_FINITE,
                )  # fmt: skip
        w, q = reading.angular_velocity, reading.orientation
        if w is None:
            raise _missing("angular velocity")
        speed, most = float(np.linalg.norm(w)), sensor.largest_angular_velocity
        if not speed <= most:
            raise _beyond("angular velocity", speed, "rad/s", "largest_angular_velocity", most)
        R = None if q is None else _rotation(q) @ S.T
        with_gravity, ignored = sensor.acceleration == "specific_force", sensor.acceleration == "ignored"
        if R is None and not with_gravity:
            raise _missing("orientation")
        if reading.acceleration is None and not ignored:
            raise _missing("linear acceleration")
        given = np.zeros(3) if reading.acceleration is None or ignored else S @ reading.acceleration
        if R is None:  # the base is taken for the least accelerated one that feels this
            gravity = -np.linalg.norm(self._gravity) / max(float(np.linalg.norm(given)), 1e-300) * given
        else:
            gravity = self._gravity @ R
        own, up = (given + gravity, given) if with_gravity else (given, given - gravity)
        size = float(np.linalg.norm(own))
        if not size <= sensor.largest_acceleration:
            raise _beyond("acceleration without gravity", size, "m/s^2", "largest_acceleration",
                          sensor.largest_acceleration)  # fmt: skip
        return S @ w, up, R


def _cross(a: Array, b: Array) -> Array:
    # 10 % of the time of np.cross, in a loop that has a millisecond
    return np.array(cross(tuple(a.tolist()), tuple(b.tolist())))


def _rotation(q: Array) -> Array:
    length = float(np.linalg.norm(q))
    if not abs(length - 1.0) <= UNIT:
        raise StateError(
            f"base motion: the quaternion {q.tolist()} has the length {length:.4g}; it must be 1",
            StateProblem.OUT_OF_RANGE,
        )
    return np.asarray(quaternion_matrices(q[None])[0])


def _missing(what: str) -> StateError:
    return StateError(
        f"base motion: the message has no {what} (its covariance begins with -1), which base_motion.acceleration needs",
        StateProblem.OUT_OF_RANGE,
    )


def _beyond(what: str, value: float, unit: str, name: str, limit: float) -> StateError:
    return StateError(
        f"base motion: its {what} is {value:.4g} {unit}; base_motion.{name} is {limit:g}", StateProblem.OUT_OF_RANGE
    )
