"""What holds for every effort that reaches the topic, whatever is done to the controller."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.model.inertia import Array

#: Longest time for which the effort rate counts between two efforts, s: a pause is no licence for a step.
LONGEST_STEP = 0.01
#: After so long a silence the drives may have let the last effort go: what comes then starts from it or from zero, s.
SILENCE = 0.15
#: Relative size of what is only round-off.
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
        The publisher's own count; a gap is a message that was lost on the way.
    efforts
        N·m or N, (n,) each, as they came.
    carried
        Whether the first one has been judged already, and is there for the step from it to the second.
    """

    times: list[float] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    efforts: list[list[float]] = field(default_factory=list)
    carried: bool = False

    def add(self, time: float, number: int, effort: list[float]) -> None:
        """Note one."""
        self.times.append(time)
        self.numbers.append(number)
        self.efforts.append(effort)

    def __len__(self) -> int:
        return len(self.efforts)

    def last(self) -> EffortLog:
        """The last one only, to begin with."""
        return EffortLog(self.times[-1:], self.numbers[-1:], self.efforts[-1:], carried=True)

    def table(self, since: int = 0) -> Array:
        """The efforts from the one of that number on, (k, n)."""
        return np.array(self.efforts[since:], dtype=np.float64)


def violations(heard: EffortLog, promise: PromisedLimits) -> list[str]:
    """What in the efforts breaks the promise, one line a kind; empty where all is well.

    Besides each effort alone two things are looked at: no step is larger than the rate allows in `LONGEST_STEP`, and
    over any longer span the rate itself is kept. When an effort was computed is known only by when it was published,
    which a busy machine delays; the span is therefore taken `LONGEST_STEP` longer. A delayed effort is followed by
    early ones, and what they may change is bounded by the delay, so that this is exact and not a matter of luck.
    """
    sizes = {len(effort) for effort in heard.efforts} - {len(promise.joints)}
    if sizes:
        return [f"efforts for {sorted(sizes)} joints; there are {len(promise.joints)}"]
    if not len(heard):
        return []
    efforts = heard.table()
    finite = np.isfinite(efforts)
    if not finite.all():
        k, j = np.argwhere(~finite)[0]
        return [f"effort {k} of {len(efforts)}: {efforts[k, j]} for joint {promise.joints[j]!r}"]
    found = []
    over = np.abs(efforts) - promise.effort * (1.0 + ROUNDING)
    if (over > 0.0).any():
        k, j = np.unravel_index(int(np.argmax(over)), over.shape)
        found.append(f"{efforts[k, j]:.6g} for joint {promise.joints[j]!r}, whose limit is {promise.effort[j]:g}")
    times, numbers = np.array(heard.times), np.array(heard.numbers)
    breaks = np.flatnonzero(np.diff(times) > SILENCE) + 1
    for begin, end in zip((0, *breaks), (*breaks, len(times)), strict=True):
        part = slice(begin, end)
        if begin or not heard.carried:
            found += _start(efforts[begin - 1] if begin else np.zeros_like(promise.effort), efforts[begin], promise)
        found += _steps(times[part], numbers[part], efforts[part], promise)
        found += _spans(times[part], efforts[part], promise)
    return found


def _start(last: Array, first: Array, promise: PromisedLimits) -> list[str]:
    """The first effort after a silence, in which the drives may have let the last one go."""
    step = np.minimum(np.abs(first), np.abs(first - last))
    over = step - (promise.rate * LONGEST_STEP + ROUNDING * promise.effort)
    if not (over > 0.0).any():
        return []
    j = int(np.argmax(over))
    return [f"after a silence {first[j]:.6g} for joint {promise.joints[j]!r}; {last[j]:.6g} came before it"]


def _steps(times: Array, numbers: NDArray[np.int64], efforts: Array, promise: PromisedLimits) -> list[str]:
    """Steps between successive efforts; where some were lost on the way, as many more are allowed."""
    apart = np.maximum(np.diff(numbers), 1)[:, None]
    slack = ROUNDING * promise.effort
    over = np.abs(np.diff(efforts, axis=0)) - (promise.rate * LONGEST_STEP * apart + slack)
    if not (over > 0.0).any():
        return []
    k, j = np.unravel_index(int(np.argmax(over)), over.shape)
    return [
        f"a step from {efforts[k, j]:.6g} to {efforts[k + 1, j]:.6g} for joint {promise.joints[j]!r} "
        f"({1e3 * (times[k + 1] - times[k]):.2f} ms apart); {promise.rate[j] * LONGEST_STEP:g} is allowed"
    ]


def _spans(times: Array, efforts: Array, promise: PromisedLimits) -> list[str]:
    """The rate over any span of time, upwards and downwards."""
    passed = (times - times[0])[:, None]
    found = []
    for way in (1.0, -1.0):
        # of u(t2) - u(t1) - rate (t2 - t1) the largest over all t1 < t2: a running minimum finds t1
        ahead = way * efforts - promise.rate * passed
        over = ahead - np.minimum.accumulate(ahead, axis=0) - promise.rate * LONGEST_STEP * (1.0 + ROUNDING)
        over -= ROUNDING * promise.effort
        if (over > 0.0).any():
            k, j = np.unravel_index(int(np.argmax(over)), over.shape)
            first = int(np.argmin(ahead[: k + 1, j]))
            found.append(
                f"joint {promise.joints[j]!r} goes from {efforts[first, j]:.6g} to {efforts[k, j]:.6g} in "
                f"{times[k] - times[first]:.4f} s; its rate is {promise.rate[j]:g} per second"
            )
    return found
