"""Status that machine code for one state returns."""

from __future__ import annotations

#: As a sum: all inputs finite and every decision as in the sample; a number that is not finite; a comparison with
#: another outcome, or an angle too large for the sines. Then its outputs are not valid.
VALID, NOT_FINITE, REFUSED = 0, 1, 2
