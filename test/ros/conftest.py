"""Real nodes in processes of their own, over real DDS, and the test's side of their topics."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2's client library is not installed: pip install '.[ros]'")

import rclpy
import yaml
from support.forked import ForkedNode

from rne_dynamics.ros.sessions.processes import NodeProcess

from . import commanded_arm
from .peer import NUMBERS, PATIENCE, Peer, SteppedPeer, end_together


@pytest.fixture(scope="session", autouse=True)
def ros() -> Iterator[None]:
    rclpy.init()
    yield
    rclpy.try_shutdown()


@pytest.fixture(scope="module")
def namespace() -> str:
    """A namespace that no other test uses, in this process or in another one."""
    return f"/test{os.getpid()}_{next(NUMBERS)}"


Start = Callable[..., NodeProcess]


@pytest.fixture(scope="module")
def start(namespace: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Start a node: `start("simulator", robot_description="scara", rate=500.0)`; all are ended after the module.

    A `fresh` one has an interpreter of its own; see `support.forked`.
    """
    processes: list[NodeProcess] = []

    def run(
        module: str, arguments: Sequence[str] = (), script: str = "", fresh: bool = False, **parameters: object
    ) -> NodeProcess:
        file = Path(tmp_path_factory.mktemp("parameters")) / "node.yaml"
        values = {name.replace("__", "."): value for name, value in parameters.items()}
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": values}}))
        ros = ["--ros-args", "--params-file", str(file), "-r", f"__ns:={namespace}"]
        ros += ["-r", f"/clock:={namespace}/clock"]
        program = file.with_name("program.py")
        program.write_text(script)
        kind = NodeProcess if fresh else ForkedNode
        processes.append(kind(module, [*arguments, *ros], script=program if script else None))
        return processes[-1]

    yield run
    end_together(processes)


@pytest.fixture(scope="module")
def make_peer(namespace: str) -> Iterator[Callable[[Sequence[str]], Peer]]:
    with contextlib.ExitStack() as stack:

        def make(joints: Sequence[str], place: str = namespace) -> Peer:
            peer = Peer(place, joints)
            stack.callback(peer.close)
            return peer

        yield make


@pytest.fixture(scope="module")
def in_lockstep(start: Start, namespace: str) -> Iterator[Callable[..., tuple[NodeProcess, SteppedPeer]]]:
    """Start a controller in simulated time: `process, peer = in_lockstep("gravity_compensation", joints, ...)`."""
    with contextlib.ExitStack() as stack:

        def begin(
            module: str, names: Sequence[str], *, connect: bool = True, script: str = "", **parameters: object
        ) -> tuple[NodeProcess, SteppedPeer]:
            process = start(module, script=script, use_sim_time=True, **parameters)
            peer = SteppedPeer(namespace, names, module)
            stack.callback(peer.close)
            stack.callback(peer.hurry)
            if connect:
                peer.connect(process)
            return process, peer

        yield begin


@pytest.fixture(scope="module")
def own_domain() -> Iterator[None]:
    """Commands of this process are in the domain of `commanded_arm`, and wait for reports however long they take."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in commanded_arm.DOMAIN.items():
            patch.setenv(name, value)
        patch.setattr("rne_dynamics.cli.with_ros.state.REPORTS", PATIENCE)
        yield


@pytest.fixture(scope="module")
def left(own_domain: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[NodeProcess]]:
    """An arm in the namespace /left, with its controller."""
    with commanded_arm.arm(tmp_path_factory.mktemp("left"), "/left") as processes:
        yield processes
