"""The answer to a state along a reference in one compiled call: law, ramps, limits.

A control loop sleeps between two states, and what it touches after that is cold. Twenty small numpy calls on seven
numbers, each quick in a tight loop, then take four times the time of this one; see docs/control_loop.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.computed_torque import ComputedTorque, computed_torque_kernel
from rne_dynamics.control.guards import effort_limiter, effort_limits
from rne_dynamics.control.guards.effort_limiter import EffortLimiter, Limited, limit_kernel
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.supervision.runaway import OVERSPEED
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.terms import TorqueTerms
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism

#: Bit of what `answer_kernel` gives back: a joint is as fast as that. Above all bits of the limiter.
RUNAWAY = 256

_TERMS = TorqueTerms._fields
_INERTIA, _CORIOLIS, _GRAVITY, _FRICTION, _FEEDBACK = range(5)
_COMMAND, _ROWS = 5, 6


@kernel
def answer_kernel(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    table: Array,
    scale: float,
    steepness: float,
    q: Array,
    qd: Array,
    place: Array,
    speed: Array,
    aim: Array,
    integral: Array,
    weights: Array,
    limits: Array,
    work: Array,
    frequency: float,
    options: int,
    dt: float,
    answer: Array,
    flags: NDArray[np.uint8],
) -> int:
    """Into the rows of `answer`, (6, n): the terms, each times its weight, and the command; all flags together.

    The law answers for `q` and `qd`; `place` and `speed` are measured, and limits hold for them.
    `aim`, (3, n), is the reference, `weights` (5,); the others as for `computed_torque_kernel` and `limit_kernel`.
    """
    computed_torque_kernel(
        topology, parameters, base, table, scale, steepness, q, qd, aim[0], aim[1], aim[2], integral, answer
    )
    n = qd.shape[0]
    fast = False
    for j in range(n):
        for row in range(_COMMAND):
            weight = weights[row]
            if weight != 1.0:
                answer[row, j] = weight * answer[row, j] if weight != 0.0 else 0.0
        work[effort_limiter.SUPPORT, j] = answer[_GRAVITY, j]
        work[effort_limiter.MOTION, j] = (
            answer[_INERTIA, j] + answer[_CORIOLIS, j] + answer[_FRICTION, j] + answer[_FEEDBACK, j]
        )
        work[effort_limiter.POSITION, j], work[effort_limiter.SPEED, j] = place[j], speed[j]
        fast |= abs(speed[j]) > OVERSPEED * limits[effort_limits.VELOCITY, j]
    together = limit_kernel(limits, work, frequency, dt, options, 1.0, answer[_COMMAND], flags)
    return together | RUNAWAY if fast and together >= 0 else together


class Answer(NamedTuple):
    """What is to be sent, and why.

    Parameters
    ----------
    terms, limited
        What was asked for, and what the limits leave of it.
    runaway
        Whether a joint is faster than `OVERSPEED` times its limit.
    """

    terms: TorqueTerms
    limited: Limited
    runaway: bool


class QuickAnswer:
    """`Torques.tracking` and `EffortLimiter.limit` of an open arm in one call.

    Parameters
    ----------
    law
        Of an open arm.
    compensated
        Terms that the hardware adds itself.
    """

    def __init__(self, law: ComputedTorque, compensated: frozenset[str]) -> None:
        n = law.robot.n
        topology, parameters, base, table, scale, steepness = law.packed
        self._base = base.copy()  # which `move_base` writes to
        self._packed = topology, parameters, self._base, table, scale, steepness
        self._weights = np.array([0.0 if name in compensated else 1.0 for name in _TERMS])
        self._reference: Reference | None = None
        self._aim, self._flags = np.zeros((3, n)), np.zeros(n, np.uint8)

    def move_base(self, base: Array) -> None:
        """How the base moves from now on, as `BaseMotion.packed` gives it; shape (12,)."""
        self._base[:] = base

    def answer(
        self, q: Array, qd: Array, reference: Reference, feedback: float, integral: Array, limiter: EffortLimiter,
        dt: float, measured: tuple[Array, Array] | None = None,
    ) -> Answer:
        """The answer at a state.

        Parameters
        ----------
        q, qd, integral
            Contiguous float64 arrays (n,) that can be written to, though they are not: nothing else is compiled.
        reference
            Desired motion.
        feedback
            Fraction of the feedback, 0 to 1.
        limiter
            Which limits the effort and remembers it.
        dt
            Time since the last effort, s.
        measured
            Measured position and velocity, for which the limits hold, where `q` and `qd` are predicted ones.

        Raises
        ------
        ControlError
            As `EffortLimiter.limit`.
        """
        if reference is not self._reference:  # an arm that is held has the same one every cycle
            self._aim[0], self._aim[1], self._aim[2] = reference
            self._reference = reference
        self._weights[_FEEDBACK] = feedback
        place, speed = measured or (q, qd)
        answer, flags = np.empty((_ROWS, len(q))), self._flags
        together = answer_kernel(
            *self._packed, q, qd, place, speed, self._aim, integral, self._weights, *limiter.packed, dt, answer, flags
        )
        inertia, coriolis, gravity, friction, correction, command = answer
        terms = TorqueTerms(inertia, coriolis, gravity, friction, correction)
        changed = together if together < 0 else together & ~RUNAWAY
        limited = limiter.judge(changed, dt, command, flags.copy() if changed > 0 else flags)
        return Answer(terms, limited, together >= RUNAWAY)


def quick_answer(settings: Settings) -> QuickAnswer | None:
    """Where there is one: not of a mechanism, and not without a tracking law."""
    if settings.tracking is None or isinstance(settings.robot, Mechanism):
        return None
    return QuickAnswer(settings.tracking, settings.compensated)
