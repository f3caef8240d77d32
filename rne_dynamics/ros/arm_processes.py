"""A simulator and its controller as two processes, for commands that start an arm of their own."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import rclpy
import yaml
from rclpy.node import Node

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.own_context import own_context
from rne_dynamics.ros.processes import NodeProcess, wait_until

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
    """The processes of an arm; leaving the context ends them.

    Parameters
    ----------
    namespace
        Of the nodes and their clock.
    parameters
        Of each node, by the name of its module. The simulator comes first: it is ended last, so that it still answers
        when the controller releases the arm.
    """

    def __init__(self, namespace: str, parameters: Mapping[str, Mapping[str, Any]]) -> None:
        self._namespace, self._parameters = namespace, parameters
        self._stack = contextlib.ExitStack()
        self.processes: list[NodeProcess] = []
        #: Time until each process was ready, s.
        self.ready: dict[str, float] = {}

    def __enter__(self) -> ArmProcesses:
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self._began = time.monotonic()
            for name, values in self._parameters.items():
                file = write_parameters(folder / f"{name}.yaml", values)
                arguments = ["--ros-args", "--params-file", str(file), "-r", f"__ns:={self._namespace}"]
                process = NodeProcess(name, [*arguments, "-r", f"/clock:={self._namespace}/clock"])
                self.processes.append(stack.enter_context(process))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

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


def write_parameters(file: Path, parameters: Mapping[str, Any]) -> Path:
    """Write a parameter file for any node; returns its path."""
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": dict(parameters)}}), encoding="utf-8")
    return file


def names_and_values(joints: Sequence[str], values: Array) -> dict[str, float]:
    """Values by joint, as parameter files have them."""
    return dict(zip(joints, values.tolist(), strict=True))
