"""Limits that every effort on the topic must keep under any fault, and their violations."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.model.inertia import Array

#: Longest time for which the effort rate counts between two efforts, s: a pause allows no larger step.
LONGEST_STEP = 0.01
#: Pause after which the drives may have dropped the last effort, s: the next one starts from it or from zero.
SILENCE = 0.15
#: Relative tolerance for round-off.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class PromisedLimits:
    """Limits that every effort keeps.

    Parameters
    ----------
    joints
        Names.
    effort
        Largest effort, N·m or N; shape (n,).
    rate
        Largest change per second; shape (n,).
    """

    joints: tuple[str, ...]
    effort: Array
    rate: Array


@dataclass
class EffortLog:
    """The efforts that reached the topic.

    Parameters
    ----------
    times
        When each was published, s.
    numbers
        The publisher's sequence numbers; a gap is a lost message.
    efforts
        N·m or N, (n,) each, as they came.
    carried
        Whether the first one has been checked already, and is kept for the step from it to the second.
    """

    times: list[float] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    efforts: list[list[float]] = field(default_factory=list)
    carried: bool = False

    def add(self, time: float, number: int, effort: list[float]) -> None:
        """Append one."""
        self.times.append(time)
        self.numbers.append(number)
        self.efforts.append(effort)

    def __len__(self) -> int:
        return len(self.efforts)

    def last(self) -> EffortLog:
        """A log that begins with the last effort."""
        return EffortLog(self.times[-1:], self.numbers[-1:], self.efforts[-1:], carried=True)

    def table(self, since: int = 0) -> Array:
        """The efforts from index `since` on, (k, n)."""
        return np.array(self.efforts[since:], dtype=np.float64)


def violations(log: EffortLog, limits: PromisedLimits) -> list[str]:
    """Violations of the limits, one line per kind; empty for none.

    Checked are each effort alone; each step, which the rate bounds in `LONGEST_STEP`; and the rate over any longer
    span. The time of computation is known only by the time of publication, which a busy computer delays; so spans count
    `LONGEST_STEP` longer. Early efforts follow a delayed one, and the delay bounds their change, so the check is exact.
    """
    sizes = {len(effort) for effort in log.efforts} - {len(limits.joints)}
    if sizes:
        return [f"efforts for {sorted(sizes)} joints; there are {len(limits.joints)}"]
    if not len(log):
        return []
    efforts = log.table()
    finite = np.isfinite(efforts)
    if not finite.all():
        k, j = np.argwhere(~finite)[0]
        return [f"effort {k} of {len(efforts)}: {efforts[k, j]} for joint {limits.joints[j]!r}"]
    found = []
    over = np.abs(efforts) - limits.effort * (1.0 + ROUNDING)
    if (over > 0.0).any():
        k, j = np.unravel_index(int(np.argmax(over)), over.shape)
        found.append(f"{efforts[k, j]:.6g} for joint {limits.joints[j]!r}, whose limit is {limits.effort[j]:g}")
    times, numbers = np.array(log.times), np.array(log.numbers)
    breaks = np.flatnonzero(np.diff(times) > SILENCE) + 1
    for begin, end in zip((0, *breaks), (*breaks, len(times)), strict=True):
        part = slice(begin, end)
        if begin or not log.carried:
            found += _start(efforts[begin - 1] if begin else np.zeros_like(limits.effort), efforts[begin], limits)
        found += _steps(times[part], numbers[part], efforts[part], limits)
        found += _spans(times[part], efforts[part], limits)
    return found


def _start(last: Array, first: Array, limits: PromisedLimits) -> list[str]:
    """The first effort after a pause, in which the drives may have dropped the last one."""
    step = np.minimum(np.abs(first), np.abs(first - last))
    over = step - (limits.rate * LONGEST_STEP + ROUNDING * limits.effort)
    if not (over > 0.0).any():
        return []
    j = int(np.argmax(over))
    return [f"after a silence {first[j]:.6g} for joint {limits.joints[j]!r}; {last[j]:.6g} came before it"]


def _steps(times: Array, numbers: NDArray[np.int64], efforts: Array, limits: PromisedLimits) -> list[str]:
    """Steps between successive efforts; lost ones allow as many more."""
    apart = np.maximum(np.diff(numbers), 1)[:, None]
    slack = ROUNDING * limits.effort
    over = np.abs(np.diff(efforts, axis=0)) - (limits.rate * LONGEST_STEP * apart + slack)
    if not (over > 0.0).any():
        return []
    k, j = np.unravel_index(int(np.argmax(over)), over.shape)
    return [
        f"a step from {efforts[k, j]:.6g} to {efforts[k + 1, j]:.6g} for joint {limits.joints[j]!r} "
        f"({1e3 * (times[k + 1] - times[k]):.2f} ms apart); {limits.rate[j] * LONGEST_STEP:g} is allowed"
    ]


def _spans(times: Array, efforts: Array, limits: PromisedLimits) -> list[str]:
    """The rate over any span of time, upwards and downwards."""
    passed = (times - times[0])[:, None]
    found = []
    for way in (1.0, -1.0):
        # of u(t2) - u(t1) - rate (t2 - t1) the largest over all t1 < t2: a running minimum finds t1
        ahead = way * efforts - limits.rate * passed
        over = ahead - np.minimum.accumulate(ahead, axis=0) - limits.rate * LONGEST_STEP * (1.0 + ROUNDING)
        over -= ROUNDING * limits.effort
        if (over > 0.0).any():
            k, j = np.unravel_index(int(np.argmax(over)), over.shape)
            first = int(np.argmin(ahead[: k + 1, j]))
            found.append(
                f"joint {limits.joints[j]!r} goes from {efforts[first, j]:.6g} to {efforts[k, j]:.6g} in "
                f"{times[k] - times[first]:.4f} s; its rate is {limits.rate[j]:g} per second"
            )
    return found
