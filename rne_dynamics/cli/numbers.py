"""Numbers of the command line: argparse types that refuse NaN, infinity, and what an option does not allow."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable


def real(
    lowest: float = -math.inf, highest: float = math.inf, unit: str = "", *, whole: bool = False, name: str = ""
) -> Callable[[str], float]:
    """A finite number from `lowest` to `highest`; `name` replaces the range in messages."""
    kind = "a whole number" if whole else "finite"
    if name:
        allowed = name
    elif math.isfinite(lowest) and math.isfinite(highest):
        allowed = f"between {lowest:g} and {highest:.10g}"
    else:
        allowed = f"at least {lowest:g}" if math.isfinite(lowest) else kind
    if math.isfinite(highest):
        allowed = f"{allowed} {unit}".rstrip()

    def read(text: str) -> float:
        try:
            value = int(text) if whole else float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"is {text!r}; it must be {kind if whole else 'a number'}") from None
        if not (math.isfinite(value) and lowest <= value <= highest):
            raise argparse.ArgumentTypeError(f"is {value:g}; it must be {allowed}")
        return value

    return read


def positive(highest: float = math.inf, unit: str = "") -> Callable[[str], float]:
    """A finite number above 0 and up to `highest`."""
    most = f" and at most {highest:g}" if math.isfinite(highest) else ""
    return real(math.ulp(0.0), highest, unit, name=f"positive{most}")


def whole(lowest: int, highest: int) -> Callable[[str], float]:
    """A whole number from `lowest` to `highest`."""
    return real(lowest, highest, whole=True)
