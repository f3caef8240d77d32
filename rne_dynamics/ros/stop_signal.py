"""SIGINT and SIGTERM of a node's process: noted, so that the arm is stopped first; and sent when its parent ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from types import FrameType, TracebackType

from rne_dynamics.interrupted import EXIT_INTERRUPTED, report_interrupted

#: 1 in the environment of a node that ends with its parent; set by the launch files.
VARIABLE = "RNE_DYNAMICS_ENDS_WITH_PARENT"
#: From linux/prctl.h.
PR_SET_PDEATHSIG = 1


class StopSignal:
    """SIGINT and SIGTERM as a flag.

    rclpy's own handlers shut the context down at once, after which nothing can be published: the last effort would stay
    applied. So these handlers only note the signal, and the node stops the arm first. Before `defer` is called, while
    nothing moves yet, the first signal raises KeyboardInterrupt as usual. A second signal cuts the stop of the arm
    short: efforts go to zero at once.

    Parameters
    ----------
    restored
        Whether the handlers before are in force again after the context. Otherwise signals are ignored then, since
        the process only has to be cleaned up.
    """

    def __init__(self, *, restored: bool = False) -> None:
        self.count = 0
        #: The signal that came before `defer` was called; None for none.
        self.early: int | None = None
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
        """From now on only note signals; KeyboardInterrupt if one came before, and that exception was dropped."""
        self._deferred = True
        if self.early is not None:
            raise KeyboardInterrupt

    def code_if_early(self) -> int:
        """Exit code where a signal came before `defer`; prints the line of a process that ends with its node."""
        if self.early != signal.SIGINT:
            return 0
        return EXIT_INTERRUPTED if self._restored else report_interrupted()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if not self._deferred and self.early is None:
            self.early = number
            raise KeyboardInterrupt


def end_with_parent() -> None:
    """If `VARIABLE` is 1, have the kernel send SIGINT to this process when its parent ends.

    `ros2 launch` passes SIGINT on, but SIGTERM (from systemd and docker) and SIGKILL end it silently, without its
    nodes: https://github.com/ros2/launch/issues/666. A controller would go on driving the arm unattended.

    Linux only; elsewhere, and without the variable, nothing happens.
    """
    if os.environ.get(VARIABLE) != "1" or not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before prctl
        os.kill(os.getpid(), signal.SIGINT)
