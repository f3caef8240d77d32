"""Conditions for using a lost stream of joint states again."""

from __future__ import annotations

from rne_dynamics.errors import StateProblem

#: Usable joint states in a row after which a lost stream counts as back: a broken one has a good state now and then.
BACK = 5
#: A stream that was lost for these is used again on request only: after a jump the position may be wrong, and the age
#: of late states shows only against earlier ones. An arm held by such states moves off or swings.
DOUBTED = frozenset({
    StateProblem.POSITION_JUMP, StateProblem.DELAYED, StateProblem.CLOCK_TOO_FAST,
})
