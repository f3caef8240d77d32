"""Fraction of the feedback that the loop tolerates: its delay is measured after a start, oscillations are detected."""

from __future__ import annotations

import math

import numpy as np

from rne_dynamics.control.computed_torque import ComputedTorque
from rne_dynamics.control.gain_check import tolerated_delay
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.guards.oscillation import (
    COUNT,
    LIMIT,
    LONGEST,
    SLOWEST,
    SWING_PAUSE,
    SWING_ROWS,
    swing_kernel,
)
from rne_dynamics.control.startup.loop_delay import LoopDelay
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.model.inertia import Array

#: Part of a compensated delay that still counts, since the model's inertia is not exact.
COMPENSATED = 0.5
#: Fraction of the feedback until the delay is known.
UNKNOWN = 0.5
#: Factor of the feedback after each oscillation; an arm that oscillates with less than the least fraction is stopped.
LOWERED, LEAST_PART = 0.25, 0.05
#: Difference of declared and measured delay that is reported, s.
DIFFERENCE = 0.002


class LoopWatch:
    """Watches the loop of computed torque; other laws, whose gains have other units, get all of their feedback."""

    def __init__(self, settings: Settings) -> None:
        self._memory = np.zeros((SWING_ROWS, settings.robot.n))
        self._gains: Gains | None = None
        self._settings, self._delay = settings, LoopDelay(settings.limits.effort)
        self._measured, self._once = False, True
        #: From a state's stamp until the effort that answers it acts, as measured, s; NaN where it is not known.
        self.delay = math.nan
        self._lowered, self.text, self.spent = 1.0, "", False
        self.adopt(settings)

    def adopt(self, settings: Settings) -> None:
        """Other settings; with other gains an oscillation is forgotten."""
        law = settings.tracking
        gains = law.gains if isinstance(law, ComputedTorque) else None
        if gains is not self._gains:
            self._lowered, self.text = 1.0, ""
        self._settings, self._gains, self._tolerated = settings, gains, math.inf
        self._memory[LIMIT], self._memory[LONGEST] = settings.limits.velocity, 0.0
        if gains is not None:
            self._tolerated = tolerated_delay(gains.p, gains.i, gains.d)
            self._memory[LONGEST] = SLOWEST / np.maximum(np.maximum(np.sqrt(gains.p), 0.5 * gains.d), SLOWEST)
        self._judge()

    def forget(self) -> None:
        """The reference has jumped."""
        self._memory[:LONGEST] = 0.0

    def part(self, late: float) -> float:
        """Fraction of the feedback for a state that came `late`, s, compared with others."""
        if self._tolerated == math.inf:
            return 1.0
        total = self._known + late
        part = self._lowered * min(self._tolerated / max(total, 1e-9), 1.0)
        return part if self._measured else min(part, UNKNOWN)

    def measure(self, stamp: int, sent: Array, reported: Array) -> str:
        """Take an effort sent and those reported with the state of `stamp`, ns; why motion is locked from now on.

        A delay that the gains do not tolerate is measured once more, as soon as efforts show it: a computer that was
        busy for a moment locks no motion.
        """
        if (self._measured and not self.doubt) or not self._delay.note(stamp, sent, reported):
            return ""
        found, self._delay = self._delay.delay, LoopDelay(self._settings.limits.effort)
        if not self._measured:
            self._measured, self.delay = True, found
        elif not math.isnan(found):
            self._once, self.delay = False, min(found, self.delay)
        self._judge()
        return self.locked

    def oscillates(self, stamp: int, aim: Array, q: Array, finest: Array) -> str:
        """Take a reference and a state, (n,); what is said where the feedback is lowered for an oscillation.

        The arm is to be stopped then if `spent`: it oscillates with as little feedback as is useful.
        """
        j = swing_kernel(self._memory, np.array(aim), q, finest, 1e-9 * stamp)  # `aim` may be read-only
        if j < 0:
            return ""
        self._lowered *= LOWERED
        self._memory[COUNT] = -SWING_PAUSE
        self._memory[LIMIT] *= 2.0  # what lasts must be larger to count again
        self.spent = self._lowered < LEAST_PART
        name = self._settings.robot.joint_names[j]
        self.text = (
            f"joint {name!r} oscillates: the feedback is lowered to {self._lowered:.0%} until ~/recover or other "
            f"gains. Lower gains.{name}.p and d, or look for a delay, a wrong inertia or elastic gears"
        )
        return self.text

    def _judge(self) -> None:
        """What the delay means for the gains."""
        declared, delay = self._settings.command_delay, self.delay
        known = not math.isnan(delay)
        off = abs(delay - declared) if known else 0.0
        self._known, self.locked, self.doubt = off + COMPENSATED * declared, "", ""
        self.delay_text = f"{1e3 * delay:.1f} ms" if known else "not seen in the reported efforts"
        if declared > 0.0 and off > DIFFERENCE:
            self.delay_text += f"; command_delay is {1e3 * declared:.1f} ms: set it to what is measured"
        if self._gains is None or self._known <= self._tolerated:
            return
        if self._once:
            self.delay_text += "; measured once, and once more when efforts change"
            self.doubt = f"the feedback is lowered for the delay of the loop: {self.delay_text}"
        else:
            w = 0.5 * float(self._gains.d.max()) * self._tolerated / self._known
            self.locked = (
                f"the delay from a joint state until its effort acts is {self.delay_text} (command_delay: "
                f"{1e3 * declared:.1f} ms), and the gains tolerate {1e3 * self._tolerated:.1f} ms. Shorten it, set "
                f"command_delay to it, or lower the gains to p = {w * w:.3g}, d = {2.0 * w:.3g}"
            )
