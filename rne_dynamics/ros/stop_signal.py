"""SIGINT and SIGTERM of a node's process: noted, so that the arm is stopped first."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType


class StopSignal:
    """SIGINT and SIGTERM as a flag.

    rclpy's own handlers shut the context down at once, after which nothing can be published: the last effort would stay
    applied. So these handlers only note the signal, and the node stops the arm first. Before `defer` is called, while
    nothing moves yet, a signal raises KeyboardInterrupt as usual. A second signal cuts the stop of the arm short:
    efforts go to zero at once.

    Parameters
    ----------
    restored
        Whether the handlers before are in force again after the context. Otherwise signals are ignored then, since
        the process only has to be cleaned up.
    """

    def __init__(self, *, restored: bool = False) -> None:
        self.count = 0
        self._restored = restored
        self._deferred = False
        self._previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def __enter__(self) -> StopSignal:
        for number in self._previous:
            signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._previous.items():
            signal.signal(number, before if self._restored else signal.SIG_IGN)

    @property
    def requested(self) -> bool:
        """Whether the process is to end."""
        return self.count > 0

    @property
    def repeated(self) -> bool:
        """Whether more than one signal has come."""
        return self.count > 1

    def defer(self) -> None:
        """From now on only note signals."""
        self._deferred = True

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if not self._deferred:
            raise KeyboardInterrupt


@contextmanager
def on_stop_signal(what: Callable[[], None]) -> Iterator[None]:
    """Call `what` at each SIGINT and SIGTERM, after the present handlers."""
    before = {which: signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM)}

    def handle(which: int, frame: FrameType | None) -> None:
        first = before[signal.Signals(which)]
        if callable(first):
            first(which, frame)
        what()

    for which in before:
        signal.signal(which, handle)
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
