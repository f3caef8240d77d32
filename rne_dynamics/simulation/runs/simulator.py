"""A simulated robot for loops that run in steps, with its drives, brakes and sensors; drives that follow positions.

`Simulator` holds the state, the last command, and whether the brakes are on; `ServoDrives` what they follow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.apart import load_all
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches
from rne_dynamics.errors import SimulationError, refuse
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.simulation.mismatch.different_arm import DifferentArm, phases_of
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.plant.arrays import LOWER, NO_WRENCH, UPPER
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.stepping.stepping import (
    StepMethod,
    checked_effort,
    chosen_method,
    methods_within,
    step,
    unchecked_step,
)

TimeoutReaction = Literal["zero_effort", "brake"]


class Simulator:
    """A simulated arm with drives and brakes.

    Parameters
    ----------
    plant
        The arm.
    q, qd
        Start; shapes (nq,) and (n,), at rest unless `qd` is given.
    delta, deltad
        Deflections of flexible links at the start, as for `checked_state`; those under gravity at rest by default.
    dt
        Step, s.
    method
        See `step`.
    hold_until_command
        Whether the brakes hold the joints until the first command arrives. Otherwise the arm falls from the start, at
        zero effort.
    command_timeout
        Simulated time after which a command expires, s; with `None` it never does.
    on_timeout
        Reaction to that, until the next command: ``"zero_effort"``, as of most drives (the arm falls, slowed by its
        friction), or ``"brake"``: brakes hold at once. Flexible links vibrate on with braked joints.
    mismatch
        What else differs between the arm and its model; its script begins with the first command.

    Raises
    ------
    SimulationError
        A start that is not finite, of a wrong shape or outside the stops; times that are not above 0; a delay of the
        mismatch that is no whole number of steps.
    ArgumentError, ModelError
        A mismatch that this arm cannot have.
    """

    _state: State

    def __init__(
        self,
        plant: ArmPlant,
        q: ArrayLike,
        qd: ArrayLike | None = None,
        *,
        dt: float = 1e-3,
        delta: ArrayLike | None = None,
        deltad: ArrayLike | None = None,
        method: StepMethod | None = None,
        hold_until_command: bool = True,
        command_timeout: float | None = None,
        on_timeout: TimeoutReaction = "zero_effort",
        mismatch: Mismatch | None = None,
    ) -> None:
        refuse(
            SimulationError,
            *((value is not None and not 0.0 < value < np.inf, f"{name} is {value} s; it must be finite and above 0")
              for name, value in (("dt", dt), ("command_timeout", command_timeout))),
            (on_timeout not in get_args(TimeoutReaction),
             f"on_timeout is {on_timeout!r}; it must be one of {', '.join(map(repr, get_args(TimeoutReaction)))}"),
        )  # fmt: skip
        self.method = chosen_method(plant, method)
        self._start = plant.start(q, qd, delta=delta, deltad=deltad)
        self.plant = plant
        self.dt = float(dt)
        self.hold_until_command = hold_until_command
        self.command_timeout = command_timeout
        self.on_timeout: TimeoutReaction = on_timeout
        self._mismatch = mismatch
        self._phases = () if mismatch is None else phases_of(plant, mismatch)
        self._begin(self._start)
        self._zero: Array = np.zeros(plant.robot.n)
        self._effort: Array = self._zero
        self._commanded_at: float | None = None

    @property
    def state(self) -> State:
        """The present state."""
        return self._state

    @property
    def braked(self) -> bool:
        """Whether the brakes hold the arm: before the first command, or after a timeout, as set."""
        if self._commanded_at is None:
            return self.hold_until_command
        return self.timed_out and self.on_timeout == "brake"

    @property
    def timed_out(self) -> bool:
        """Whether the last command is older than `command_timeout`."""
        if self.command_timeout is None or self._commanded_at is None:
            return False
        # slightly less than a step, so that round-off in the time cannot add a step
        return self._state.t - self._commanded_at >= self.command_timeout - 1e-6 * self.dt

    @property
    def applied_effort(self) -> Array:
        """The motors' present effort, limited, N·m or N; zero where brakes hold; shape (n,), a copy."""
        if self._commanded_at is None or self.timed_out:
            return np.zeros_like(self._effort)
        return np.array(self._effort)

    def command(self, effort: ArrayLike) -> None:
        """Take a new effort, N·m or N, shape (n,); it is held until the next one and releases the brakes.

        Raises
        ------
        SimulationError
            A wrong shape or a number that is not finite; the former command stays valid.
        """
        given = self.plant.limited(checked_effort(self.plant, effort))
        self._commanded_at = self._state.t
        if self._arm is None:
            self._effort = given
        else:
            self._arm.send(self._steps, given)
            self._effort = self._arm.drive(self._steps)

    def measured(self) -> tuple[Array, Array]:
        """Positions and velocities as encoders measure them, (n,) each; with a mismatch each time with new noise."""
        return (self._state.q, self._state.qd) if self._arm is None else self._arm.measured()

    def advance(self, steps: int = 1, wrenches: Wrenches | None = None) -> State:
        """Let `steps` steps of simulated time pass, with wrenches held as for `step`; returns the new state.

        Raises
        ------
        SimulationError, SingularInertiaError, ModelError
            As for `step`. The state stays that of the last good step.
        """
        loads = NO_WRENCH if not wrenches else bodies_wrenches(self.plant.tree, wrenches, ())[0]
        for _ in range(steps):
            now, idle = self._state, self._commanded_at is None or self.timed_out
            effort = self._zero if idle else self._effort
            self._state = self._held(now, loads) if self.braked else self._stepped(now, effort, loads)
        return self._state

    def _stepped(self, now: State, effort: Array, loads: Array) -> State:
        """One step under `effort`, (n,), with the brakes off."""
        if self._arm is not None:
            if self._commanded_at is not None:
                self._arm.pass_to(self._steps * self.dt)
                if not self.timed_out:
                    effort = self._effort = self._arm.drive(self._steps)
                self._steps += 1
            self._arm.advance(effort, loads)
            return self._arm.body.state
        return unchecked_step(self.plant, now, effort, self.dt, self.method, loads)

    def _held(self, now: State, loads: Array) -> State:
        """One step with the brakes on."""
        if self.plant.coordinates.moves_when_braked:
            # a brake is a stop on both sides of the joint: it takes the joint's momentum; links and loose passive
            # joints move on
            n, held = self.plant.robot.n, self.plant.joints.copy()
            held[:n, LOWER] = held[:n, UPPER] = now.q
            state = unchecked_step(self.plant, now, self._zero, self.dt, self.method, loads, held)
        else:
            rates = None if now.tree_qd is None else np.zeros_like(now.tree_qd)
            state = replace(now, t=now.t + self.dt, qd=self._zero, tree_qd=rates)
        if self._arm is not None:
            self._arm.body.put(state)
            self._steps += self._commanded_at is not None
        return state

    def reset(self) -> State:
        """Return to the start, with its brakes. Time continues: clocks must not run backwards."""
        self._begin(replace(self._start, t=self._state.t))
        self._effort = self._zero
        self._commanded_at = None
        return self._state

    def place(self, q: ArrayLike) -> State:
        """Put the arm at rest at other joint positions, (nq,); a mechanism on its present branch. Time continues.

        Raises
        ------
        SimulationError, AssemblyError, ModelError
            As for the start; the state stays.
        """
        state = self.plant.start(q, t=self._state.t, posture=self._state.posture)
        self._begin(state)
        return state

    def _begin(self, state: State) -> None:
        """Go on from a state at rest, with the script at its begin."""
        self._state = state
        self._steps = 0
        self._arm = None if self._mismatch is None else DifferentArm(
            self._phases, self._mismatch, state, self.dt, self.method
        )  # fmt: skip

    def warm_up(self) -> None:
        """Compile everything a step may need, so that no later step stalls. Changes nothing."""
        loops = self.plant.coordinates.mechanism is not None
        for method in methods_within(self.method, self.plant.coordinates):
            for state in (self._start, replace(self._start, in_tree=loops)):
                step(self.plant, state, self._zero, self.dt, method=method)
        if self._mismatch is not None:
            for phase in self._phases:
                DifferentArm((phase,), self._mismatch, self._start, self.dt, self.method).advance(self._zero)
        load_all()


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
        for held, new in (
            (self._from, aim), (self._target, target), (self._rate, rate), (self._begin, t), (self._taken, t),
            (self._end, np.where(driven, np.inf, t + np.where(moves, duration, 0.0))),
        ):  # fmt: skip
            np.copyto(held, new, where=given)

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
        return np.where(on_the_way | driven, along, self._target), np.where(on_the_way, self._rate, 0.0)

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
