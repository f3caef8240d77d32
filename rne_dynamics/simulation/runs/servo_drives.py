"""Drives with their own servo loop: each joint takes positions, velocities or efforts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

#: Longest interval of a stream of commands, s; a step of commands further apart is not spread over the interval.
LONGEST_INTERVAL = 0.2
#: Share of a new interval in the estimate of the time between two commands.
_NEW = 0.2
#: How far a velocity drive's position reference runs ahead of a joint that does not follow, s at the velocity limit.
_LEAD = 0.05

POSITION, VELOCITY, EFFORT = range(3)


class ServoDrives:
    """Efforts of drives that follow positions and velocities with computed torque, and pass efforts on.

    The interpolated modes of industrial drives (IEC 61800-7-201, CiA 402): a position target is approached in a
    straight line over the estimated time between two targets, so that a stream of 50 to 1000 Hz becomes a continuous
    motion, one interval late. A velocity moves the position reference, and is kept within the joint's limit; the plant
    limits the effort.

    `frequency`: of the critically damped servo with the exact model, rad/s. `command_timeout`: age at which velocities
    and efforts expire, s; None: never, as positions. `hold_on_timeout`: whether a joint whose effort has expired is
    held, as with a velocity; otherwise its effort is zero. `ControlError`.
    """

    def __init__(
        self,
        robot: RigidRobot,
        frequency: float,
        *,
        command_timeout: float | None = None,
        hold_on_timeout: bool = False,
    ) -> None:
        self._robot, n = robot, robot.n
        gains = Gains.critically_damped(n, frequency)
        self._law = ComputedTorque(robot, gains, FrictionCompensation(1.0, 0.001))
        self._position_gain = gains.p / gains.d
        self._speed = np.where(robot.velocity_limit > 0.0, robot.velocity_limit, np.inf)
        self._timeout, self._hold = command_timeout or np.inf, hold_on_timeout
        self._nothing = np.zeros(n)
        self.reset()

    def reset(self) -> None:
        """Forget all commands."""
        n = self._robot.n
        #: Whether a command has been received.
        self.commanded = False
        self._mode: NDArray[np.intp] = np.full(n, POSITION)
        self._from, self._target, self._rate, self._effort = np.zeros((4, n))
        self._begin, self._end, self._taken = np.zeros((3, n))
        self._interval, self._last = 0.0, -np.inf

    def command(self, t: float, q: Array, position: Array, velocity: Array, effort: Array) -> None:
        """Take positions, velocities and efforts, (n,), NaN for none, at `t`, s, and `q`; `SimulationError`: infinite.

        Of several for one joint the position is used, then the velocity. A joint with none keeps its command; before
        the first one it is held.
        """
        for label, values in (("position", position), ("velocity", velocity), ("effort", effort)):
            if np.isinf(values).any():
                j = int(np.argmax(np.isinf(values)))
                name = self._robot.joint_names[j]
                raise SimulationError(f"{label} of joint {name!r} is {values[j]}; it must be finite, or NaN for none")
        given = np.isfinite(position) | np.isfinite(velocity) | np.isfinite(effort)
        if not given.any():
            return
        if not self.commanded:
            self.commanded, self._target, self._from = True, q.copy(), q.copy()
        since = t - self._last
        if since < LONGEST_INTERVAL:
            self._interval += _NEW * (since - self._interval) if self._interval else since
        else:
            self._interval = 0.0
        self._last = t
        aim = np.where(self._mode == EFFORT, q, self._aim(t, q)[0])
        placed, driven = np.isfinite(position), ~np.isfinite(position) & np.isfinite(velocity)
        self._mode = np.where(placed, POSITION, np.where(driven, VELOCITY, np.where(given, EFFORT, self._mode)))
        self._effort = np.where(self._mode == EFFORT, np.where(given, effort, self._effort), 0.0)
        target = np.clip(np.where(placed, position, aim), self._robot.lower, self._robot.upper)
        way = target - aim
        duration = np.maximum(np.abs(way) / self._speed, self._interval)
        moves = placed & (way != 0.0)
        rate = np.divide(way, duration, out=np.zeros_like(way), where=moves & (duration > 0.0))
        rate = np.where(driven, np.clip(np.where(driven, velocity, 0.0), -self._speed, self._speed), rate)
        for held, new in ((self._from, aim), (self._target, target), (self._rate, rate), (self._begin, t)):
            np.copyto(held, new, where=given)
        np.copyto(self._end, np.where(driven, np.inf, t + np.where(moves, duration, 0.0)), where=given)
        np.copyto(self._taken, t, where=given)

    def _aim(self, t: float, q: Array) -> tuple[Array, Array]:
        """Position and velocity reference at time `t`, each (n,); undefined for joints in effort mode."""
        passed = t - self._begin
        on_the_way = t < self._end
        along = self._from + self._rate * passed
        driven = self._mode == VELOCITY
        if driven.any():
            lead = np.where(np.isfinite(self._speed), self._speed, np.abs(self._rate)) * _LEAD
            along = np.where(driven, np.clip(along, q - lead, q + lead), along)
            inside = np.clip(along, self._robot.lower, self._robot.upper)
            on_the_way &= ~driven | (inside == along)
            along = inside
            # a joint that cannot follow must not catch up later
            np.copyto(self._from, along, where=driven)
            np.copyto(self._begin, t, where=driven)
        aim = np.where(on_the_way | driven, along, self._target)
        return aim, np.where(on_the_way, self._rate, 0.0)

    def effort(self, t: float, q: Array, qd: Array, posture: Array | None = None) -> Array:
        """Efforts commanded to the motors at time `t`, s, at q, qd and a mechanism's `posture`; shape (n,)."""
        late = t - self._taken >= self._timeout
        if late.any():
            self._stop(late & (self._mode == VELOCITY), self._aim(t, q)[0])
            self._stop(late & (self._mode == EFFORT) & self._hold, q)
        aim, speed = self._aim(t, q)
        passed_on = self._mode == EFFORT
        # Kd (v - qd) with v = speed + Kp/Kd e is the law's feedback; bounding v makes it a cascade
        wanted = np.clip(speed + self._position_gain * (aim - q), -self._speed, self._speed)
        reference = Reference(q, np.where(passed_on, qd, wanted), self._nothing)
        servo = self._law.law(q, qd, reference, posture=posture).total
        return np.asarray(np.where(passed_on, np.where(late, 0.0, self._effort), servo))

    def _stop(self, which: NDArray[np.bool_], where: Array) -> None:
        """Hold joints at the positions `where`, shape (n,)."""
        self._mode = np.where(which, POSITION, self._mode)
        np.copyto(self._target, where, where=which)
        np.copyto(self._end, -np.inf, where=which)
