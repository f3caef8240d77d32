"""Nodes as child processes, each in a process group of its own, ended gently first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.ros.stop_signal import VARIABLE

#: Seconds granted after SIGINT, and after SIGTERM, before the next stronger signal.
SIGNAL_GRACE = 10.0


class NodeProcess:
    """One of our nodes in a process of its own.

    Its output goes to a file, since a full pipe would block it. Leaving the context ends it: SIGINT, then SIGTERM, then
    SIGKILL, to its own process group only. It also ends when the thread that started it does, so that a killed test or
    demo leaves nothing running.

    Parameters
    ----------
    module
        The node's module in `rne_dynamics.ros`.
    arguments
        Its command line.
    environment
        Added to this process's environment, which is passed on whole: rclpy's wheels need their variables together.
    script
        A Python file that is run in place of the module.
    """

    def __init__(
        self, module: str, arguments: Sequence[str] = (), environment: Mapping[str, str] | None = None,
        script: Path | None = None,
    ) -> None:
        self.module = module
        self._output = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 closed by stop
        self._process = subprocess.Popen(
            [sys.executable, *([str(script)] if script else ["-m", f"rne_dynamics.ros.{module}"]), *arguments],
            stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, VARIABLE: "1", **(environment or {})},
        )

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Exit code; None while it runs."""
        return self._process.poll()

    def output(self) -> str:
        """Its output so far."""
        self._output.flush()
        return Path(f"/proc/self/fd/{self._output.fileno()}").read_text(encoding="utf-8", errors="replace")

    def check(self) -> None:
        """Raise `RneDynamicsError` with its last lines of output if it has ended."""
        if self.exit_code is not None:
            last = "\n".join(self.output().strip().splitlines()[-5:])
            raise RneDynamicsError(f"the {self.module} process has ended with code {self.exit_code}:\n{last}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its process group."""
        if self.exit_code is None:
            os.killpg(self._process.pid, number)

    def wait(self, seconds: float) -> int | None:
        """Wait for its end; its exit code, None if it still runs after that time."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> int | None:
        """End it; its exit code, negative if a signal ended it."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            self.signal(number)
            if self.wait(SIGNAL_GRACE) is not None:
                break
        return self.exit_code

    def __enter__(self) -> NodeProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._output.close()


def wait_until(
    condition: Callable[[], object], seconds: float, what: str, processes: Sequence[NodeProcess] = (),
    period: float = 0.005,
) -> None:
    """Wait until `condition()` is true, checked every `period` seconds, as are the processes.

    Raises
    ------
    RneDynamicsError
        It is not true in time (`what` describes it), or one of the processes has ended.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        for process in processes:
            process.check()
        if time.monotonic() > deadline:
            raise RneDynamicsError(f"waited {seconds:g} s for {what}")
        time.sleep(period)
