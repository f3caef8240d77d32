"""When a lost stream of joint states is used again."""

from __future__ import annotations

from rne_dynamics.errors import StateProblem

#: Usable joint states in a row after which a stream that was lost counts as back: a broken one has a good state too.
BACK = 5
#: A stream that was lost for these is not taken for good again unasked: after a jump the place may be wrong, and how
#: old late states are shows against earlier ones only. An arm held by such moves off or swings; somebody has to look.
DOUBTED = frozenset({
    StateProblem.POSITION_JUMP, StateProblem.DELAYED, StateProblem.CLOCK_TOO_FAST,
})
