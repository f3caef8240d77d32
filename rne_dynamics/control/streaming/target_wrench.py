"""Target wrenches: what a law applies at its link besides its springs, faded in and out at limited rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rne_dynamics.control.parameters import check_parameters, parameter
from rne_dynamics.model.inertia import Array

#: Rows of a wrench, by the axes that it is given in.
BASE_AXES, LINK_AXES = range(2)
_ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class WrenchRates:
    """How target wrenches come into force. Raises ControlError: a number that is not above 0."""

    timeout: float = parameter(
        0.1, "Time without a message on ~/target_wrench after which the wrench fades to zero.", "s", lower=0.005,
        upper=10.0,
    )
    force_rate: float = parameter(200.0, "Fastest change of its force.", "N/s", lower=1e-2, upper=1e5)
    moment_rate: float = parameter(20.0, "Fastest change of its moment.", "N m/s", lower=1e-3, upper=1e5)

    def __post_init__(self) -> None:
        check_parameters(self, "target_wrench.")


class WrenchFade:
    """The wrench in force, which moves towards its target."""

    def __init__(self) -> None:
        #: In axes of the base and of the link, N and N·m, (2, 6).
        self.rows = np.zeros((2, 6))
        #: Whether anything is in force, or on the way.
        self.active = False
        self._parts: list[Sequence[float]] = [_ZERO] * 4
        self._targets: list[Sequence[float]] = [_ZERO] * 4

    def aim(self, wrench: Sequence[float], axes: int) -> None:
        """Move towards a wrench, (6,); what is in force in other axes fades."""
        self._targets = [_ZERO] * 4
        self._targets[2 * axes : 2 * axes + 2] = wrench[:3], wrench[3:]
        self.active = True

    def end(self, *, at_once: bool = False) -> None:
        """Let it fade to zero, or be zero."""
        self._targets = [_ZERO] * 4
        if at_once:
            self._parts, self.active = [_ZERO] * 4, False
            self.rows[:] = 0.0

    def advance(self, dt: float, rates: WrenchRates) -> None:
        """Move on by `dt`, s."""
        both = zip(self._parts, self._targets, strict=True)
        steps = dt * rates.force_rate, dt * rates.moment_rate
        self._parts = [towards(now, aim, steps[k % 2]) for k, (now, aim) in enumerate(both)]
        self.rows[:] = np.reshape(self._parts, (2, 6))
        self.active = any(map(any, self._parts)) or any(map(any, self._targets))


def towards(now: Sequence[float], aim: Sequence[float], step: float) -> Sequence[float]:
    """A vector, moved towards another by at most `step`."""
    way = [y - x for x, y in zip(now, aim, strict=True)]
    size = math.hypot(*way)
    return aim if size <= step else [x + step / size * d for x, d in zip(now, way, strict=True)]


def limited(wrench: Array, force: float, moment: float) -> tuple[Array, str]:
    """A wrench, (6,), within limits of force and moment, 0 for none, and what was limited, for messages."""
    found, said = wrench.copy(), []
    for at, limit, what, unit in ((0, force, "force", "N"), (3, moment, "moment", "N m")):
        size = math.hypot(*found[at : at + 3])
        if size > limit > 0.0:
            found[at : at + 3] *= limit / size
            said.append(f"its {what} of {size:.3g} {unit} is limited to {limit:g} {unit} ({what}_limit of the law)")
    return found, ", ".join(said)
