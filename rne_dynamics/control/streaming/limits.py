"""Limits and times of a stream of setpoints, and how a joint moves within them.

Each joint moves on its own, in one of two ways:

- Where the quintic from its state to the aim one horizon ahead keeps all limits, the joint follows that quintic. The
  quintic is computed anew in every step, so a deviation e from the aim follows the linear equation
  h³ e⃛ + 9 h² ë + 36 h ė + 60 e = 0 with the horizon h. It is smooth, and it has no steady error for an aim that moves
  at constant acceleration.
- Otherwise the jerk is the largest with which the joint can still come to rest relative to the aim at the aim. That is
  the time-optimal motion but for `RESERVE`.

In both cases every state is one from which the joint can stop before its position limits and stay within its velocity
limit. The stop is the time-optimal one, of three phases (e.g. Berscheid and Kröger 2021, "Jerk-limited real-time
trajectory generation with arbitrary target states", section III).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.control.motion.limits import JointRanges
from rne_dynamics.control.parameters import check_number, check_parameters, frozen_vector, of_node, parameter
from rne_dynamics.control.thresholds import HALVINGS, ROUNDING
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.errors import CountedError
from rne_dynamics.model.dice import Dice
from rne_dynamics.model.inertia import Array, set_fields
from rne_dynamics.model.robot import RobotModel

#: Rows of the limits: lower and upper position, velocity, acceleration, jerk.
LOWER, UPPER, VELOCITY, ACCELERATION, JERK = range(5)
#: Fraction of acceleration and jerk with which stops are planned. The rest covers that the jerk is constant in a step.
RESERVE = 0.95
#: Longest step, s. Longer ones are divided.
SUBSTEP = 0.002
#: Fraction of the acceleration limit that is left for meeting an aim, however much of it the aim takes itself.
LEAST_LEFT = 0.1
#: Points at which a quintic is checked, besides the ends.
CHECKS = 8

_PEAK, _STOP, _MEET = range(3)


class State(NamedTuple):
    """Position, velocity and acceleration of a joint or of its aim, rad or m and their rates."""

    q: float
    v: float
    a: float


class Bounds(NamedTuple):
    """Position limits of a joint, and the largest velocity, acceleration and jerk."""

    lower: float
    upper: float
    V: float
    A: float
    J: float


@kernel
def follow_kernel(
    state: Array, aim: Array, since: float, bend: float, limits: Array, speed: float, horizon: float, dt: float
) -> None:
    """Advance `state`, (3, n), by `dt`, s, towards an `aim`, (3, n), that was due `since` s ago."""
    # the aim has its acceleration within `bend`, s, of that time; `limits` rows as named above; `speed`: part of
    # velocity
    steps = max(math.ceil(dt / SUBSTEP - 1e-6), 1)
    step = dt / steps
    if step <= 0.0:
        return
    for k in range(steps):
        now = since + k * step
        for j in range(state.shape[1]):
            bounds = Bounds(
                limits[LOWER, j], limits[UPPER, j], speed * limits[VELOCITY, j], limits[ACCELERATION, j],
                limits[JERK, j],
            )  # fmt: skip
            x, target = State(state[0, j], state[1, j], state[2, j]), State(aim[0, j], aim[1, j], aim[2, j])
            smooth, after = _smooth(x, _aim_at(target, now + horizon, bend, bounds), horizon, step, bounds)
            if not smooth:
                after = _moved(x, _fastest(x, _aim_at(target, now, bend, bounds), step, bounds), step)
            state[0, j], state[1, j], state[2, j] = after.q, after.v, after.a


@helper
def _aim_at(aim: State, t: float, bend: float, bounds: Bounds) -> State:
    """The aim at a time t after it was due, within the limits."""
    p, w, c = aim.q, aim.v, aim.a
    bent = min(max(t, -bend), bend)
    p += t * (w + bent * c) - 0.5 * bent * bent * c
    w = min(max(w + bent * c, -bounds.V), bounds.V)
    c = min(max(c, -bounds.A), bounds.A) if bent == t else 0.0
    if p >= bounds.upper:
        return State(bounds.upper, min(w, 0.0), min(c, 0.0))
    if p <= bounds.lower:
        return State(bounds.lower, max(w, 0.0), max(c, 0.0))
    return State(p, w, c)


@helper
def _smooth(x: State, aim: State, h: float, step: float, bounds: Bounds) -> tuple[bool, State]:
    """Whether the quintic from a state to the aim in the time h keeps the limits, and its state after a step."""
    q, v, a = x.q, x.v, x.a
    d, dv, da = aim.q - q - h * (v + 0.5 * h * a), h * (aim.v - v - h * a), h * h * (aim.a - a)
    c3 = (10.0 * d - 4.0 * dv + 0.5 * da) / h**3
    c4 = (-15.0 * d + 7.0 * dv - da) / h**4
    c5 = (6.0 * d - 3.0 * dv + 0.5 * da) / h**5
    V, A, J = bounds.V * (1.0 + ROUNDING), bounds.A * (1.0 + ROUNDING), bounds.J * (1.0 + ROUNDING)
    if abs(6.0 * c3) > J or abs(6.0 * c3 + h * (24.0 * c4 + h * 60.0 * c5)) > J:
        return False, x
    if c5 != 0.0:
        t = -0.2 * c4 / c5
        if 0.0 < t < h and abs(6.0 * c3 + t * (24.0 * c4 + t * 60.0 * c5)) > J:
            return False, x
    for k in range(1, CHECKS + 1):
        t = h * k / (CHECKS + 1)
        fast = abs(v + t * (a + t * (3.0 * c3 + t * (4.0 * c4 + t * 5.0 * c5)))) > V
        if fast or abs(a + t * (6.0 * c3 + t * (12.0 * c4 + t * 20.0 * c5))) > A:
            return False, x
    t = step
    after = State(
        q + t * (v + t * (0.5 * a + t * (c3 + t * (c4 + t * c5)))),
        v + t * (a + t * (3.0 * c3 + t * (4.0 * c4 + t * 5.0 * c5))),
        a + t * (6.0 * c3 + t * (12.0 * c4 + t * 20.0 * c5)),
    )
    lower, upper, back = bounds.lower, bounds.upper, _mirrored(after)
    slack = ROUNDING * (1.0 + abs(upper - lower) if upper - lower < 1e6 else 1.0)
    kept = (
        abs(after.a) <= A
        and _outcome(_PEAK, after, A, J) <= V
        and _outcome(_PEAK, back, A, J) <= V
        and _outcome(_STOP, after, A, J) <= upper + slack
        and _outcome(_STOP, back, A, J) <= -lower + slack
    )
    return kept, after


@helper
def _fastest(x: State, aim: State, step: float, bounds: Bounds) -> float:
    """The jerk, constant in the step, that leads to the aim soonest; see the module."""
    A, J = bounds.A, bounds.J
    low, high = max(-J, (-A - x.a) / step), min(J, (A - x.a) / step)
    if low > high:  # faster than limits that have changed
        return -J if x.a > 0.0 else J
    back = _mirrored(x)
    most = _largest(_PEAK, x, bounds.V, step, low, high, A, J)
    least = -_largest(_PEAK, back, bounds.V, step, -high, -low, A, J)
    most = min(most, _largest(_STOP, x, bounds.upper, step, low, high, A, J))
    least = max(least, -_largest(_STOP, back, -bounds.lower, step, -high, -low, A, J))
    if least > most:
        return 0.5 * (least + most)
    left = max(A - abs(aim.a), LEAST_LEFT * A)  # what a stop relative to the aim may use
    return _largest(_MEET, State(x.q - aim.q, x.v - aim.v, x.a - aim.a), 0.0, step, least, most, left, J)


@helper
def _mirrored(x: State) -> State:
    """The state with the axis reversed: lower limits become upper ones."""
    return State(-x.q, -x.v, -x.a)


@helper
def _largest(kind: int, x: State, bound: float, step: float, low: float, high: float, A: float, J: float) -> float:
    """The largest jerk from `low` to `high` whose outcome, which grows with it, is within `bound`; `low` for none."""
    if _outcome(kind, _moved(x, high, step), A, J) <= bound:
        return high
    if _outcome(kind, _moved(x, low, step), A, J) > bound:
        return low
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if _outcome(kind, _moved(x, middle, step), A, J) <= bound:
            low = middle
        else:
            high = middle
    return low


@helper
def _moved(x: State, jerk: float, step: float) -> State:
    """The state after a step with a constant jerk."""
    return State(
        x.q + step * (x.v + step * (0.5 * x.a + step * jerk / 6.0)), x.v + step * (x.a + 0.5 * step * jerk),
        x.a + step * jerk,
    )  # fmt: skip


@helper
def _outcome(kind: int, x: State, A: float, J: float) -> float:
    """Velocity when acceleration has ended, highest position until rest, or position at rest, by `RESERVE`."""
    q, v, a = x.q, x.v, x.a
    A, J = RESERVE * A, RESERVE * J
    if kind == _PEAK:
        return v + 0.5 * a * abs(a) / J
    ended = v + 0.5 * a * abs(a) / J
    sign = 1.0 if ended >= 0.0 else -1.0
    v, a = sign * v, sign * a
    # to the deceleration d with jerk -J, at it for a time, and from it to 0 with jerk J
    d, hold = math.sqrt(max(J * v + 0.5 * a * a, 0.0)), 0.0
    if d > A:
        d = max(A, -a)
        hold = (v + (0.5 * a * a - d * d) / J) / d
    t = (a + d) / J
    before = v + 0.5 * (a * a - d * d) / J
    way = t * (v + t * (0.5 * a - t * J / 6.0)) + hold * (before - 0.5 * d * hold) + d**3 / (6.0 * J * J)
    if kind == _STOP:
        if sign > 0.0:
            return q + max(way, 0.0)
        if v < 0.0:  # it turns on the way: first up, then down
            t = (a - math.sqrt(max(a * a + 2.0 * J * v, 0.0))) / J
            return q - t * (v + t * (0.5 * a - t * J / 6.0))
        return q
    return q + sign * way


# -- limits and times of a stream of setpoints, and reasons to refuse one ----------------------------------------------


#: Where no acceleration or jerk limit is given: times from rest to the velocity limit at the acceleration limit, and
#: from no acceleration to the acceleration limit, s.
ACCELERATION_TIME, JERK_TIME = 0.2, 0.05


#: Part of an effort limit that default accelerations may take, all joints accelerating at once: the rest is for gravity
#: and feedback. Postures in which that is computed.
EFFORT_SHARE, POSTURES = 0.5, 200


def default_acceleration(robot: RobotModel, velocity: Array, effort: Array) -> Array:
    """`velocity / ACCELERATION_TIME`, (n,), or less where that takes more than `EFFORT_SHARE` of the efforts."""
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    postures = Dice(0).uniform(lower, np.maximum(lower, upper), (POSTURES, robot.n))
    wanted = velocity / ACCELERATION_TIME
    taken = np.abs(mass_matrix(robot, postures)) @ wanted
    share: Array = np.minimum(EFFORT_SHARE * effort / taken.max(axis=0), 1.0)
    return share * wanted


@dataclass(frozen=True, eq=False)
class StreamLimits(JointRanges):
    """Limits and times of a stream of setpoints; velocities above 0 and finite. Raises ControlError."""

    #: One number or shape (n,); 0 takes `velocity / ACCELERATION_TIME` here.
    acceleration: ArrayLike = field(default=0.0, metadata=of_node(
        "limits.{joint}.acceleration", 0.0, "Largest acceleration while setpoints are followed; 0 takes what reaches "
        f"the velocity limit in {ACCELERATION_TIME:g} s, less where that takes more than {EFFORT_SHARE:.0%} of the "
        "effort limit.", "rad/s^2 or m/s^2", 0.0, 1e5,
    ))
    jerk: ArrayLike = field(default=0.0, metadata=of_node(
        "limits.{joint}.jerk", 0.0, "Largest jerk while setpoints are followed; 0 takes what reaches the acceleration "
        f"limit in {JERK_TIME:g} s.", "rad/s^3 or m/s^3", 0.0, 1e7,
    ))
    #: Distance between the arm's reference and a setpoint from which on a stream is not begun, rad or m.
    start: float = 0.05
    timeout: float = parameter(
        0.1, "Time without a setpoint after which a stream has ended and the arm comes to rest on its path. A "
        "trajectory of one point that is due within this time is a setpoint.", "s", lower=0.005, upper=1.0,
    )
    smoothing: float = parameter(
        0.02, "Shortest time in which a deviation from the setpoints decays; two of their periods if that is longer.",
        "s", lower=0.004, upper=0.1,
    )
    #: Rows `LOWER` to `JERK`; (5, n).
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
        check_number(self.start, "start of setpoints")
        check_parameters(self, "setpoints.")
        table = np.array(np.broadcast_arrays(self.lower, self.upper, velocity, acceleration, jerk))
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


class SetpointError(CountedError[SetpointProblem]):
    """A setpoint that is not followed."""
