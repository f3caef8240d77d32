"""Fraction of the feedback that the loop tolerates: its delay is measured after a start, oscillations are detected.

**Delay.** The efforts sent are found again in those that the arm reports: the effort that answers the state of stamp s
is reported with the stamp s + delay. While the arm is taken over, and its feedback grows, efforts change; the shift at
which the commands explain the reports best is the delay.

**Oscillation.** Position errors swing to and fro fast, or velocity errors do so far, and do not decay. After
`LEAST_SWINGS` such swings in a row the loop itself feeds them: delay, elastic gears or wrong inertia are more than its
gains tolerate. Swings that elastic gears make by themselves decay. So it is with the damping of hand guiding.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass

import numpy as np

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.gains import Gains, tolerated_delay
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.thresholds import GAP, NANOSECONDS, ROUNDING
from rne_dynamics.model.inertia import Array

#: Part of a compensated delay that still counts, since the model's inertia is not exact.
COMPENSATED = 0.5
#: Fraction of the feedback until the delay is measured, where none is declared.
UNKNOWN = 0.5
#: Delay that springs are softened for until it is measured, s.
UNKNOWN_DELAY = 0.01
#: Factor of the feedback after each oscillation; an arm that oscillates with less than the least fraction is stopped.
LOWERED, LEAST_PART = 0.25, 0.05
#: Time in which the damping of hand guiding grows e-fold again, s: a push may look like an oscillation.
REGAINED = 1.0
#: Difference of declared and measured delay that is reported, s.
DIFFERENCE = 0.002
#: Longest swing, in 1/ω with ω = √p or d / 2: a late loop swings no slower. Shortest one, s: noise is faster.
SLOWEST, SHORTEST_SWING = 3.0, 0.0025
#: Longest swing of a velocity, and of a guided arm, s: gears and late loops swing faster, hands and motions slower.
QUICK = 0.05
#: Smallest swing, in the way at the velocity limit in this time, s, in steps of the encoder, and in the way at the
#: velocity limit in the time that it takes: neither encoders nor friction and play of gears make larger ones.
LEAST_TIME, ENCODER_STEPS, LEAST_SPEED = 1.5e-4, 3.0, 0.02
#: Smallest swing of a velocity error that counts too, in velocity limits, and in steps of the encoder in a period: it
#: shows before the positions do where the arm drifts meanwhile, or has a coarse encoder.
LEAST_SWAY, SWAY_STEPS = 0.3, 1.5
#: Part of the last swing the same way that is left of one that does not decay; growth that counts twice; the part that
#: counts while gears come to rest after the feedback was lowered, and for how long, s.
KEPT, GROWN, GROWING, CALMING = 0.8, 1.8, 1.0, 0.12
#: Swings in a row that show an oscillation, and that must pass after the feedback was lowered.
LEAST_SWINGS, SWING_PAUSE = 4.0, 2.0

# rows of the memory: direction, where it turned last and when, the extreme since and when, the last swing and the one
# before, how many in a row; longest swing, s, and velocity limit
_WAY, _FROM, _FROM_AT, _EXTREME, _EXTREME_AT, _LAST, _BEFORE, COUNT, LONGEST, LIMIT, SWING_ROWS = range(11)
#: Time over which efforts are compared, s, states at most, and longest delay that is looked for, s.
SPAN, MOST_STATES, LONGEST_SHIFT = 0.12, 200, 0.06
#: Part of the reports' variance that may stay unexplained; and the factor by which it
#: must be larger at other shifts.
UNEXPLAINED, WORSE = 0.3, 1.5
#: Shifts, and part of a shift, over which those may be spread that explain the reports alike: slow efforts show less.
SPREAD, SPREAD_PART = 2.0, 0.4
#: Smallest standard deviation of the reports that says something, in effort limits.
LEAST_SCATTER = 1e-4


class LoopDelay:
    """From a state's stamp until the effort that answers it acts."""
    # changing: efforts changed before the first one noted; only the second half of the reports is compared then

    def __init__(self, limit: Array, changing: bool = False) -> None:
        self._limit, self._changing = limit, changing
        self._stamps = np.zeros(MOST_STATES)
        self._sent, self._reported = np.zeros((2, MOST_STATES, len(limit)))
        self._rows = 0
        self._scores: list[float] = []  # unexplained variance: without commands, and for each shift from 1 on
        #: Result, s; NaN until it is found, and where it is not. Time between two states, s.
        self.delay, self.period = math.nan, 0.0

    def note(self, stamp: int, sent: Array, reported: Array) -> bool:
        """Take the effort that answers the state of `stamp`, ns, and those reported then; whether it was the last."""
        # after the last state one shift is compared in each call, in less than 20 us
        k, t = self._rows, stamp / NANOSECONDS
        if not self._scores and k < MOST_STATES and (k == 0 or t < self._stamps[0] + SPAN):
            if k == 0 or t > self._stamps[k - 1]:
                self._stamps[k], self._sent[k], self._reported[k] = t, sent / self._limit, reported / self._limit
                self._rows += 1
            return False
        shift, seen = len(self._scores), self._reported[:k]
        commands = np.concatenate([np.tile(seen[0], (shift, 1)), self._sent])[:k] if shift else np.zeros_like(seen)
        first = k // 2 if self._changing else 0
        self._scores.append(float(np.nansum(np.var(seen[first:] - commands[first:], axis=0))))
        self.period = period = float(self._stamps[k - 1] - self._stamps[0]) / max(k - 1, 1)
        if shift < min(LONGEST_SHIFT / max(period, 1e-4), k // 2):
            return False
        all_, scores = self._scores[0], np.array(self._scores[1:])
        if scores.size and all_ > LEAST_SCATTER**2 and scores.min() < UNEXPLAINED * all_:
            alike = np.flatnonzero(scores <= WORSE * scores.min() + (0.1 * LEAST_SCATTER) ** 2)
            if alike[-1] - alike[0] <= max(SPREAD, SPREAD_PART * alike.mean()):
                # one sent `shift` states before acts within the period before the report
                self.delay = float(alike.mean() + 0.5) * period
        return True


@kernel
def swing_kernel(memory: Array, aim: Array, q: Array, finest: Array, kept: float, t: float) -> int:
    """Take the state of the time `t`, s; the joint that oscillates, or −1. Swings count from `kept` of the last on."""
    found = -1
    for j in range(q.shape[0]):
        e, way, limit = aim[j] - q[j], memory[_WAY, j], memory[LIMIT, j]
        if way == 0.0:
            memory[_WAY, j], memory[_FROM, j], memory[_EXTREME, j] = 1.0, e, e
            memory[_FROM_AT, j] = memory[_EXTREME_AT, j] = t
        elif way * (e - memory[_EXTREME, j]) >= 0.0:
            memory[_EXTREME, j], memory[_EXTREME_AT, j] = e, t
        elif abs(e - memory[_EXTREME, j]) > max(LEAST_TIME * limit, ENCODER_STEPS * finest[j]):
            swing, lasted = abs(memory[_EXTREME, j] - memory[_FROM, j]), memory[_EXTREME_AT, j] - memory[_FROM_AT, j]
            before = memory[_BEFORE, j]
            least = max(LEAST_SPEED * limit * lasted, kept * before)
            fed = SHORTEST_SWING <= lasted <= memory[LONGEST, j] and swing >= least
            more = 2.0 if memory[COUNT, j] >= 1.0 and swing > GROWN * before > 0.0 else 1.0  # not what sets it off
            memory[COUNT, j] = memory[COUNT, j] + more if fed else min(memory[COUNT, j], 0.0)
            memory[_BEFORE, j], memory[_LAST, j], memory[_WAY, j] = memory[_LAST, j], swing, -way
            memory[_FROM, j], memory[_FROM_AT, j] = memory[_EXTREME, j], memory[_EXTREME_AT, j]
            memory[_EXTREME, j], memory[_EXTREME_AT, j] = e, t
            if memory[COUNT, j] >= LEAST_SWINGS:
                found = j
    return found


@kernel
def _swings_kernel(
    places: Array, speeds: Array, aim: Reference, q: Array, qd: Array, finest: Array, passed: float, kept: float,
    t: float,
) -> int:
    """`swing_kernel` of positions and of velocities, `passed` s after the state before."""
    coarse = np.empty(q.shape[0])
    for j in range(q.shape[0]):
        coarse[j] = max(LEAST_SWAY * places[LIMIT, j], SWAY_STEPS * finest[j] / passed) / ENCODER_STEPS
    found = swing_kernel(places, aim.q, q, finest, kept, t)
    return max(found, swing_kernel(speeds, aim.qd, qd, coarse, kept, t))


def same_values(one: object, other: object) -> bool:
    """Whether two laws, or parts of laws, were given the same values, whatever their model."""
    if not is_dataclass(one) or type(one) is not type(other):
        return one is other or bool(np.array_equal(one, other))  # type: ignore[arg-type]  # of anything
    names = [part.name for part in fields(one) if part.init and part.name != "robot"]
    return all(same_values(getattr(one, name), getattr(other, name)) for name in names)


class LoopWatch:
    """Watches the loop of laws whose gains make accelerations, and of those that receive its delay."""

    def __init__(self, settings: Settings, before: float = 0.0) -> None:
        """`before`: what was known of the delay before this start, s."""
        self._before = before
        self._places, self._speeds = self._memory = np.zeros((2, SWING_ROWS, settings.robot.n))
        self._gains: Gains | None = None
        self._feedback: object = None  # the part of the law whose values count
        self._settings, self._delay = settings, LoopDelay(settings.limits.effort)
        self._measured, self._once, self._at, self._lowered_at = False, True, -math.inf, -math.inf
        #: Whether `measure` wants more efforts.
        self.measuring = True
        #: From a state's stamp until the effort that answers it acts, as measured, s; NaN where it is not known.
        self.delay = math.nan
        self._lowered, self.text, self.spent, self._period = 1.0, "", False, 0.0
        #: Fraction of the damping of hand guiding.
        self.damping = 1.0
        self.adopt(settings)

    def adopt(self, settings: Settings) -> None:
        """Other settings; with other gains an oscillation is forgotten."""
        gains: Gains | None = getattr(settings.tracking, "acceleration_gains", None)
        feedback = settings.tracking if gains is None else gains
        if not same_values(feedback, self._feedback):  # which is made anew with every change of parameters
            self._lowered, self.text = 1.0, ""
        self._feedback = feedback
        self._settings, self._gains, self._tolerated = settings, gains, math.inf
        quick = QUICK if hasattr(settings.tracking, "act_after") else 0.0
        self._places[LIMIT], self._longest = settings.limits.velocity, np.full((2, settings.robot.n), quick)
        if gains is not None:
            self._tolerated = tolerated_delay(gains.p, gains.i, gains.d)
            longest = SLOWEST / np.maximum(np.maximum(np.sqrt(gains.p), 0.5 * gains.d), SLOWEST)
            self._longest = np.stack([longest, np.minimum(longest, QUICK)])  # of positions, of velocities
        self._judge()

    def shift(self, before: Reference, after: Reference) -> None:
        """The reference has jumped: the arm swings on about another one."""
        for memory, way in ((self._places, after.q - before.q), (self._speeds, after.qd - before.qd)):
            memory[[_FROM, _EXTREME]] += way

    def begin_guiding(self) -> None:
        """A hand moves the arm from now on, with all of the damping."""
        self.damping = 1.0
        self._memory[:, :LONGEST] = 0.0

    def part(self, late: float) -> float:
        """Fraction of the feedback for a state that came `late`, s, compared with others."""
        if self._gains is None:
            tolerated = getattr(self._settings.tracking, "tolerated_delay", math.inf)
            return self._lowered * min(tolerated / max(self._known + late, 1e-9), 1.0)
        total, part = self._known + late, self._lowered
        if total > self._tolerated:
            part *= self._tolerated / total
        return part if self._measured or self._settings.command_delay > 0.0 else min(part, UNKNOWN)

    def kept(self, age: float) -> float:
        """Fraction of the last feedback that goes on while no newer state comes: what one `age` s late would get."""
        return min(self.part(age) / max(self.part(0.0), ROUNDING), GAP / max(age, GAP))

    @property
    def acts_after(self) -> float:
        """Delay until an effort acts, s: as measured; where that is not known as declared, or as before this start."""
        return max(self.known_delay, self._before) if math.isnan(self.delay) else self.delay

    @property
    def known_delay(self) -> float:
        """As measured since this start, else as declared, s: states that came late before it may come in time now."""
        return self._settings.command_delay if math.isnan(self.delay) else self.delay

    @property
    def assumed_delay(self) -> float:
        """As `known_delay`, and `UNKNOWN_DELAY` until it is measured where none is declared, s."""
        known = self.known_delay
        return known if self._measured or known > 0.0 else UNKNOWN_DELAY

    def measure(self, stamp: int, sent: Array, reported: Array) -> str:
        """Take an effort sent and those reported with the state of `stamp`, ns; why motion is locked from now on."""
        # a delay that the gains do not tolerate is measured once more: a computer that was busy for a moment locks no
        # motion
        if not self.measuring or not self._delay.note(stamp, sent, reported):
            return ""
        found, self._period = self._delay.delay, self._delay.period
        self._delay = LoopDelay(self._settings.limits.effort, changing=True)
        if not self._measured:
            self._measured, self.delay = True, found
        elif not math.isnan(found):
            self._once, self.delay = False, min(found, self.delay)
        self._judge()
        return self.locked

    def oscillates(
        self, aim: Reference, stamp: int, q: Array, qd: Array, finest: Array, *, guided: bool = False
    ) -> str:
        """The text where feedback or damping are lowered for a reference and a state; if `spent`, stop the arm.

        `stamp`: of the state, ns; `q`, `qd`, `finest`: its positions, velocities and steps of the encoders, (n,).
        """
        self._memory[:, LONGEST] = QUICK if guided else self._longest
        t = stamp / NANOSECONDS
        passed, self._at = t - self._at, t
        if not 0.0 < passed < math.inf:
            return ""
        self.damping = min(self.damping * math.exp(min(passed / REGAINED, 1.0)), 1.0)
        kept = GROWING if guided or t < self._lowered_at + CALMING else KEPT  # pushes make gears swing too
        j = _swings_kernel(self._places, self._speeds, aim, q, qd, finest, passed, kept, t)
        if j < 0:
            return ""
        self._memory[:, COUNT], self._lowered_at = -SWING_PAUSE, t
        name = self._settings.robot.joint_names[j]
        if guided:
            self.damping *= LOWERED
            return (
                f"joint {name!r} oscillates: the damping of hand guiding is lowered to {self.damping:.0%} for a while. "
                "Set less damping, or look for a delay, a wrong inertia or elastic gears"
            )
        self._lowered *= LOWERED
        self._places[LIMIT] *= 2.0  # what lasts must be larger to count again
        self.spent = self._lowered < LEAST_PART
        self.text = (
            f"joint {name!r} oscillates: the feedback is lowered to {self._lowered:.0%} until ~/recover or other "
            f"gains. Lower the gains of the law, or look for a delay, a wrong inertia or elastic gears"
        )
        return self.text

    def _judge(self) -> None:
        """Effect of the measured delay on the gains."""
        declared, delay = self._settings.command_delay, self.delay
        known = not math.isnan(delay)
        off = abs(delay - declared) if known else 0.0
        self._known, self.locked, self.doubt, self.measuring = off + COMPENSATED * declared, "", "", not self._measured
        self.delay_text = f"{1e3 * delay:.1f} ms" if known else "not seen in the reported efforts"
        if declared > 0.0 and off > DIFFERENCE:
            self.delay_text += f"; command_delay is {1e3 * declared:.1f} ms: set it to what is measured"
        most = self._tolerated
        if self._gains is None:
            most = getattr(self._settings.tracking, "longest_delay", math.inf) + self._period
        if self._known <= most:
            return
        if self._once:
            self.delay_text += "; measured once, and once more when efforts change"
            self.doubt = f"the feedback is lowered for the delay of the loop: {self.delay_text}"
            self.measuring = True
        else:
            if self._gains is None:
                advice = "the law tolerates {:.1f} ms. Shorten it, or use law computed_torque with command_delay set"
            else:
                w = 0.5 * float(self._gains.d.max()) * most / self._known
                advice = "the gains tolerate {:.1f} ms. Shorten it, set command_delay to it, or lower the gains to "
                advice += f"p = {w * w:.3g}, d = {2.0 * w:.3g}"
            self.locked = (
                f"the delay from a joint state until its effort acts is {self.delay_text} (command_delay: "
                f"{1e3 * declared:.1f} ms), and {advice.format(1e3 * most)}"
            )
