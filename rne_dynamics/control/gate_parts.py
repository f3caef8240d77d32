"""Parts of the effort gate: modes, settings, counters, joint states, efforts, and what holds the arm without these."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np

from rne_dynamics.control.felt_inertia import joint_inertia, stable_damping
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.guards.state_filter import DOUBTED, StateFilter
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.model_terms import holding_terms
from rne_dynamics.control.parameters import check_parameters, every_joint_driven, parameter
from rne_dynamics.control.supervision.settings import check_compensated
from rne_dynamics.control.supervision.states import StopPlan
from rne_dynamics.control.thresholds import INERTIA_PERIOD, LARGEST, LONGEST_GAP
from rne_dynamics.dispatch import follower
from rne_dynamics.errors import StateError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot


class GateMode(Enum):
    """States of a gate; the values are those of ``~/state``."""

    UNCONFIGURED = "unconfigured"
    INACTIVE = "inactive"
    WAITING = "waiting"
    PASSING = "passing"
    STOPPING = "stopping"
    RELEASED = "released"
    FAULT = "fault"


UNCONFIGURED, INACTIVE, WAITING, PASSING, STOPPING, RELEASED, FAULT = GateMode


class CommandProblem(Enum):
    """Why an effort command is refused; the values are for people and for the keys of diagnostics."""

    UNREADABLE = "unreadable"
    WRONG_LENGTH = "wrong length"
    NOT_FINITE = "not finite"
    TOO_OLD = "too old"


@dataclass(frozen=True, eq=False)
class GateSettings:
    """Settings of the gate. Raises ControlError: a time or number out of range, an unknown name among `compensated`."""

    #: The model, payload included.
    robot: RigidRobot
    #: Of efforts that go out and of joint states that come in.
    limits: EffortLimits
    states: StateLimits
    #: How the arm is held and released after a take-over; its `brake_time` has no meaning here.
    stop: StopPlan = field(default_factory=StopPlan)
    command_timeout: float = parameter(
        0.02, "Age of the last good effort at which the gate takes over: a few periods of the controller.", "s",
        lower=0.001, upper=10.0,
    )
    #: Terms that the arm's own electronics adds.
    compensated: frozenset[str] = frozenset()
    hand_back_time: float = parameter(
        0.5, "Time over which the gate's own effort fades into the controller's when a held arm is handed back.", "s",
        lower=0.0, upper=60.0,
    )

    def __post_init__(self) -> None:
        check_parameters(self, "")
        check_compensated(self.compensated)


@dataclass
class GateCounters:
    """Totals since activation."""

    #: Effort commands received, and those that were passed on.
    commands: int = 0
    passed: int = 0
    #: Commands that were not used, by what was wrong with them, and the text of the last refusal.
    refused: Counter[CommandProblem] = field(default_factory=Counter)
    refusal: str = ""
    #: Commands passed on that were beyond an effort limit, and those that changed faster than the rate allows.
    limited: int = 0
    stepped: int = 0
    #: Efforts of the gate itself; of these those without a usable joint state.
    own: int = 0
    dead_reckoned: int = 0
    #: Times that the gate has taken over.
    takeovers: int = 0
    #: Text of the last posture for which the model has no torque; empty for none.
    failure: str = ""


class GateEffort(NamedTuple):
    """An effort to be sent."""

    #: N·m or N; shape (n,).
    command: Array
    #: Whether the arm is released with it: zeros, which must arrive.
    last: bool = False


#: Age at which a joint state is stale, s, at any `state_timeout`.
SILENCE = 1.0
#: Period of the joint states before it is measured, s.
UNKNOWN_PERIOD = 0.02
#: Fraction by which the assumed period falls towards a shorter one with each state; a longer one counts at once.
FORGETTING = 0.02


class GateStates:
    """The last usable joint state and what is known of its stream. `limits`: what joint states can be."""

    def __init__(self, limits: StateLimits) -> None:
        self._filter = StateFilter(limits)
        #: Position and velocity of the last usable state; shape (n,), the filter's own memory.
        self.q, self.qd = self._filter.place, self._filter.speed
        self.count_anew()
        self.restart()

    def count_anew(self) -> None:
        """Count from zero."""
        self.received = self.refused = 0
        self.refusal = ""

    def restart(self) -> None:
        """Forget the stream."""
        self._filter.restart()
        self.arrival = -math.inf
        self.good = 0
        #: Whether the last refusal was one of `DOUBTED`.
        self.doubted = False
        self._period, self._lag = UNKNOWN_PERIOD, 0.0

    def change(self, limits: StateLimits) -> None:
        """Other limits from the next state on; `ControlError` where they are for other joints."""
        self._filter.change(limits)

    def accept(
        self, stamp: int, now: float, q: Array, qd: Array, *, velocity_missing: bool = False,
        sequence: int | None = None,
    ) -> bool:
        """Whether a joint state is usable; arguments as for `StateFilter.accept`."""
        try:
            self._filter.accept(stamp, now, q, qd, velocity_missing=velocity_missing, sequence=sequence)
        except StateError as error:
            self.refuse(error)
            return False
        self.received += 1
        if self.good:
            step = min(now - self.arrival, LONGEST_GAP)
            self._period = max(step, self._period + FORGETTING * (step - self._period))
        estimated = velocity_missing or bool(self._filter.estimated)
        self._lag = 1.0 / (2.0 * math.pi * self._filter.limits.filter_frequency) if estimated else 0.0
        self.good, self.doubted, self.arrival = self.good + 1, False, now
        return True

    def refuse(self, error: StateError) -> None:
        """Count a joint state that cannot be used."""
        self.received += 1
        self.refused += 1
        self.refusal = str(error)
        self.good, self.doubted = 0, error.problem in DOUBTED

    @property
    def delay(self) -> float:
        """Period of the stream plus lag of the velocity, s."""
        return self._period + self._lag

    def stale(self, now: float) -> bool:
        """Whether the last usable state is too old at `now`, monotonic s."""
        return now - self.arrival >= min(self._filter.limits.timeout or math.inf, SILENCE)

    def forget(self) -> None:
        """The stream is lost: its next state may be anywhere."""
        self.good = 0
        self._filter.reset()


# -- efforts that the controller commands: checked, counted, and whether they still come -------------------------------


class CommandStream:
    """The commands for these joints since an activation or recovery; `counters` counts them."""

    def __init__(self, joints: Sequence[str], counters: GateCounters) -> None:
        self._joints, self._counters = joints, counters
        #: Good ones in a row, and when the last one came, monotonic s.
        self.good, self.arrival = 0, -math.inf

    def take(self, now: float, effort: Array, timeout: float) -> bool:
        """Whether an effort that came `now`, s, is as many finite numbers as there are joints; refused otherwise."""
        if effort.shape != (len(self._joints),):
            self.refuse(CommandProblem.WRONG_LENGTH, f"{effort.size} efforts; the gate has {len(self._joints)} joints")
            return False
        if not np.abs(effort).max(initial=0.0) <= LARGEST:  # also where one is NaN
            j = int(np.argmin(np.abs(effort) <= LARGEST))
            text = f"effort of joint {self._joints[j]!r} is {effort[j]}; it must be finite"
            self.refuse(CommandProblem.NOT_FINITE, text)
            return False
        self._counters.commands += 1
        self.good, self.arrival = self.good + 1 if self.alive(now, timeout) else 1, now
        return True

    def refuse(self, problem: CommandProblem, text: str) -> None:
        """Count a message that is no effort command, or one that must not be passed; `text` says why."""
        self._counters.commands += 1
        self._counters.refused[problem] += 1
        self._counters.refusal = text
        self.good = 0

    def alive(self, now: float, timeout: float) -> bool:
        """Whether the last good one is younger than `timeout`, s."""
        return now - self.arrival < timeout


# -- gravity torque and stable damping: how the effort gate holds an arm when its controller is gone -------------------


class GateHold:
    """Gravity torque, 0 if `weightless`, and stable damping, `rate` 1/s over felt inertia, of an arm or mechanism."""

    def __init__(self, robot: RigidRobot, rate: float, *, weightless: bool) -> None:
        every_joint_driven(robot, "gravity compensation")
        self.robot, self.rate, self.weightless = robot, rate, weightless
        #: Damping in use, N·m·s/rad or N·s/m; shape (n,).
        self.damping = np.zeros(robot.n)
        #: Gravity torque at the last `effort`, N·m or N; shape (n,).
        self.gravity = np.zeros(robot.n)
        self.restart()

    def renew(self) -> None:
        """Let the damping follow the posture at the next `effort`."""
        self._update_at = -math.inf

    @property
    def _posture(self) -> Array | None:
        return None if self._loops is None else self._loops.posture

    def follow(self, q: Array, qd: Array) -> None:
        """Keep the loops of a mechanism on their branch; `AssemblyError`, `SingularPostureError` where they break."""
        if self._loops is not None:
            self._loops.follow(q, qd)

    def restart(self) -> None:
        """Loops in the posture of the model, and new damping at the next `effort`."""
        self._loops = follower(self.robot)
        self.renew()


    def effort(self, now: float, q: Array, qd: Array, delay: float) -> Array:
        """Gravity torque and damping at a state, (n,); errors as for `holding_terms` and `joint_inertia`."""
        if now >= self._update_at:
            self.damping = stable_damping(joint_inertia(self.robot, q, self._posture), self.rate, delay)
            self._update_at = now + INERTIA_PERIOD
        self.gravity, damping = self.torque(q, qd)
        return self.gravity + damping

    def torque(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Gravity torque and damping torque at a state, N·m or N; shape (n,) each; errors as for `holding_terms`."""
        gravity, _ = holding_terms(self.robot, q, qd, self._posture)
        return (np.zeros(self.robot.n) if self.weightless else gravity), -self.damping * qd
