"""Nodes as child processes: started, watched, ended gently first."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import rclpy
import yaml
from rclpy.node import Node

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.node.command_line import own_context
from rne_dynamics.ros.node.process import VARIABLE

#: Seconds granted after SIGINT, and after SIGTERM, before the next stronger signal.
SIGNAL_GRACE = 10.0


class NodeProcess(contextlib.AbstractContextManager["NodeProcess"]):
    """One of our nodes in a process of its own, which ends with the context or the thread that started it."""
    # Output goes to a file, since a full pipe would block it; `environment` is added to this process's, which rclpy's
    # wheels need whole. SIGINT, then SIGTERM, then SIGKILL, to its own process group only.

    def __init__(
        self, module: str, arguments: Sequence[str] = (), environment: Mapping[str, str] | None = None,
        script: Path | None = None,
    ) -> None:
        self.module = module
        self._output = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 closed by stop
        self._process = self._begin(
            [sys.executable, *([str(script)] if script else ["-m", f"rne_dynamics.ros.{module}"]), *arguments],
            {**os.environ, VARIABLE: "1", **(environment or {})},
        )
        #: Process id.
        self.pid = self._process.pid

    def _begin(self, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT, start_new_session=True,
            env=environment,
        )

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._output.close()


def wait_until(
    condition: Callable[[], object], seconds: float, what: str, processes: Sequence[NodeProcess] = (),
    period: float = 0.005,
) -> None:
    """Wait until `condition()` is true; `RneDynamicsError` for `what` after `seconds`, or where a process ended."""
    deadline = time.monotonic() + seconds
    while not condition():
        for process in processes:
            process.check()
        if time.monotonic() > deadline:
            raise RneDynamicsError(f"waited {seconds:g} s for {what}")
        time.sleep(period)


# -- A simulator and its controller as two processes, for commands that start an arm of their own ----------------------


#: Longest wait for both processes to be ready, s.
START_PATIENCE = 180.0
#: Longest wait of the simulation for the controller, s: the computer may be busy.
LOCKSTEP_TIMEOUT = 60.0


@contextlib.contextmanager
def session_node(name: str, namespace: str) -> Iterator[Node]:
    """A node in a context of its own; discovery stays on this computer unless the environment says otherwise."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = own_context()
    node = rclpy.create_node(name, namespace=namespace, context=context)
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown(context=context)


class ArmProcesses:
    """The processes of an arm, the simulator first."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.processes: list[NodeProcess] = []
        #: Time until each process was ready, by name of module, s.
        self.ready: dict[str, float] = {}

    def await_ready(self) -> None:
        """Wait until all are configured; raises `RneDynamicsError` if one ends."""
        def ready() -> bool:
            for process in self.processes:
                if process.module not in self.ready and "ready: " in process.output():
                    self.ready[process.module] = time.monotonic() - self._began
            return len(self.ready) == len(self.processes)

        wait_until(ready, START_PATIENCE, "both processes to be ready", self.processes)

    def end(self) -> None:
        """Stop the nodes as a user would; raises `RneDynamicsError` if one does not end cleanly."""
        for process in reversed(self.processes):
            if process.stop() != 0:
                raise RneDynamicsError(f"the {process.module} process has not ended cleanly:\n{process.output()}")


@contextlib.contextmanager
def arm_processes(namespace: str, parameters: Mapping[str, Mapping[str, Any]]) -> Iterator[ArmProcesses]:
    """Start processes by name of module, with their parameters; leaving the context ends them, the first one last."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        arm = ArmProcesses()
        for name, values in parameters.items():
            file = write_parameters(folder / f"{name}.yaml", values)
            arguments = ["--ros-args", "--params-file", str(file), "-r", f"__ns:={namespace}"]
            process = NodeProcess(name, [*arguments, "-r", f"/clock:={namespace}/clock"])
            arm.processes.append(stack.enter_context(process))
        yield arm


def write_parameters(file: Path, parameters: Mapping[str, Any]) -> Path:
    """Write a parameter file for any node; returns its path."""
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": dict(parameters)}}), encoding="utf-8")
    return file


def names_and_values(joints: Sequence[str], values: Array) -> dict[str, float]:
    """Values by joint, as parameter files have them."""
    return dict(zip(joints, values.tolist(), strict=True))
