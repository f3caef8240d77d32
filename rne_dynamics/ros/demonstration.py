"""The session behind `rne demo`: simulator and controller as two processes, moves sent, everything recorded."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from numpy.typing import NDArray
from rclpy.context import Context
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.lifecycle import OFFERED
from rne_dynamics.ros.messages import NANOSECONDS, stamp_of
from rne_dynamics.ros.processes import NodeProcess, wait_until
from rne_dynamics.ros.recorder import TopicRecorder
from rne_dynamics.ros.trajectory_message import duration_message

#: Apart from any real arm: what the demo publishes stays in this namespace.
NAMESPACE = "/rne_demo"
#: A cold numba cache compiles for half a minute in each process.
START_PATIENCE = 180.0
DISCOVERY = 30.0
SIMULATOR, CONTROLLER = "simulator", "computed_torque_controller"
#: Notice given to the controller before a move starts, s, and stillness after its end.
NOTICE = 0.2
SETTLE = 0.2
TERMS = ("inertia", "coriolis", "gravity", "friction", "feedback")


@dataclass(frozen=True, eq=False)
class Session:
    """What to run.

    Parameters
    ----------
    robot
        The parameters that tell the nodes what the robot is.
    joints
        Names, in the order of the vectors.
    start
        Where the arm starts, (n,).
    moves
        The motions, each starting where the one before ends.
    effort_limit
        For the controller, (n,).
    rate
        Joint states per second.
    bandwidth
        Of the error's decay, rad/s: p = ω², d = 2ω on every joint.
    """

    robot: dict[str, str]
    joints: tuple[str, ...]
    start: Array
    moves: tuple[Quintic, ...]
    effort_limit: Array
    rate: float
    bandwidth: float


@dataclass(frozen=True, eq=False)
class Recording:
    """What a third process has seen on the topics.

    Parameters
    ----------
    stamps, sent
        Each joint state's own time and when it was published, ns; (samples,).
    q, efforts
        Measured positions and the efforts that drove the arm; (samples, n).
    begins
        When each move was to start, ns of the stamps.
    terms
        Torque terms by name: stamps, ns, and values, (terms, n).
    simulator
        The simulator's own account from the first command to the end of the moves: `answered` and `missed` replies,
        `overruns`, `p50` and `p99` of the reply latency (s; from publishing a state until the command is in its hands).
    ready
        Seconds each process took to be ready.
    """

    stamps: NDArray[np.int64]
    sent: NDArray[np.int64]
    q: Array
    efforts: Array
    begins: tuple[int, ...]
    terms: dict[str, tuple[NDArray[np.int64], Array]]
    simulator: dict[str, float]
    ready: dict[str, float]


Progress = Callable[[str, float], None]


def run(session: Session, progress: Progress) -> Recording:
    """Run a session; `progress` is told what happens and which fraction of the motion is done.

    Raises
    ------
    RneDynamicsError
        A process has ended, or something did not happen in time; the message tells what and shows the log's end.
    """
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node("demo", namespace=NAMESPACE, context=context)
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _run(session, node, Path(folder), progress)
    finally:
        node.destroy_node()
        rclpy.try_shutdown(context=context)


def _run(session: Session, node: Node, folder: Path, progress: Progress) -> Recording:
    ear = _Ear(node, session.joints)
    trajectories = node.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", OFFERED)
    progress("starting simulator and controller", 0.0)
    with contextlib.ExitStack() as stack:
        files = _parameter_files(session, folder)
        began = time.monotonic()
        # entered last, ended first: the controller sets the arm down while the simulator still answers
        processes = [
            stack.enter_context(
                NodeProcess(name, ["--ros-args", "--params-file", str(files[name]), "-r", f"__ns:={NAMESPACE}"])
            )
            for name in (SIMULATOR, CONTROLLER)
        ]
        ready: dict[str, float] = {}

        def all_ready() -> bool:
            for process in processes:
                if process.module not in ready and "ready: " in process.output():
                    ready[process.module] = time.monotonic() - began
            return len(ready) == len(processes)

        wait_until(all_ready, START_PATIENCE, "both processes to be ready", processes)
        wait_until(lambda: trajectories.get_subscription_count() > 0, DISCOVERY, "the controller's topic", processes)
        wait_until(ear.hears_everything, DISCOVERY, "joint states, torque terms and the simulator's report", processes)
        begins = tuple(_move(session, ear, trajectories, processes, progress))
        account = ear.account_after(ear.newest_stamp(), processes)
        progress("setting the arm down", 1.0)
        for process in reversed(processes):
            if process.stop() != 0:
                raise RneDynamicsError(f"the {process.module} process has not ended cleanly:\n{process.output()}")
        ear.drain()
    return ear.recording(begins, account, ready)


def _move(
    session: Session, ear: _Ear, trajectories: Any, processes: Sequence[NodeProcess], progress: Progress
) -> Iterator[int]:
    """Send one move after the other; yields when each begins, ns."""
    total = sum(m.duration for m in session.moves)
    done = 0.0
    for number, move in enumerate(session.moves, 1):
        begin = ear.newest_stamp() + int(NOTICE * NANOSECONDS)
        message = JointTrajectory(joint_names=list(session.joints))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(begin, NANOSECONDS)
        rest = [0.0] * len(session.joints)
        message.points = [
            JointTrajectoryPoint(
                positions=q.tolist(), velocities=rest, accelerations=rest, time_from_start=duration_message(t)
            )
            for q, t in ((move.start, 0.0), (move.end, move.duration))
        ]
        trajectories.publish(message)
        end = begin + int((move.duration + SETTLE) * NANOSECONDS)

        def over(number: int = number, begin: int = begin, end: int = end, done: float = done) -> bool:
            now = ear.newest_stamp()
            progress(f"move {number} of {len(session.moves)}", (done + max(now - begin, 0) / NANOSECONDS) / total)
            return now >= end

        wait_until(over, 3.0 * move.duration + DISCOVERY, f"the end of move {number}", processes, period=0.02)
        done += move.duration
        yield begin


class _Ear:
    """What the figures are made of, recorded: as little as will do, since every listener slows the senders down."""

    def __init__(self, node: Node, joints: tuple[str, ...]) -> None:
        self.joints = joints
        self.states = TopicRecorder(node, JointState, "joint_states")
        self.terms = {t: TopicRecorder(node, JointState, f"{CONTROLLER}/torque/{t}", 200) for t in TERMS}
        self.reports = TopicRecorder(node, DiagnosticArray, "/diagnostics", 20)

    def drain(self) -> None:
        """Take what has come."""
        for recorder in (self.states, *self.terms.values(), self.reports):
            recorder.drain()

    def hears_everything(self) -> bool:
        """Whether states, torque terms and the simulator's reports arrive."""
        self.drain()
        recorders = (self.states, *self.terms.values())
        return all(r.samples for r in recorders) and bool(self._account(0))

    def newest_stamp(self) -> int:
        """Time of the newest joint state, ns."""
        self.drain()
        return stamp_of(self.states.decode(self.states.samples[-1]))

    def account_after(self, stamp: int, processes: Sequence[NodeProcess]) -> dict[str, float]:
        """The simulator's first report from after `stamp` (ns)."""
        wait_until(lambda: bool(self._account(stamp)), DISCOVERY, "the simulator's report", processes)
        return self._account(stamp)

    def _account(self, stamp: int) -> dict[str, float]:
        self.drain()
        for sample in self.reports.samples:
            message = self.reports.decode(sample)
            values = {v.key: v.value for v in message.status[0].values}
            if message.status[0].name != f"{NAMESPACE}/{SIMULATOR}" or stamp_of(message) < stamp:
                continue
            return {
                "answered": float(values["answered states"]), "missed": float(values["missed replies"]),
                "overruns": float(values["overruns"]),
                "p50": 1e-3 * float(values["reply latency p50 (ms)"]),
                "p99": 1e-3 * float(values["reply latency p99 (ms)"]),
            }
        return {}

    def recording(self, begins: tuple[int, ...], account: dict[str, float], ready: dict[str, float]) -> Recording:
        """Decode everything."""
        states = [self.states.decode(s) for s in self.states.samples]
        places = [states[0].name.index(joint) for joint in self.joints]  # a mechanism's passive joints are there too
        terms = {name: [r.decode(s) for s in r.samples] for name, r in self.terms.items()}
        return Recording(
            stamps=np.array([stamp_of(m) for m in states]),
            sent=np.array([s.sent for s in self.states.samples]),
            q=np.array([m.position for m in states])[:, places],
            efforts=np.array([m.effort for m in states])[:, places],
            begins=begins,
            terms={
                name: (np.array([stamp_of(m) for m in messages]), np.array([m.effort for m in messages]))
                for name, messages in terms.items()
            },
            simulator=account,
            ready=ready,
        )


def _parameter_files(session: Session, folder: Path) -> dict[str, Path]:
    """One parameter file a process."""
    common = {**session.robot, "joints": list(session.joints), "diagnostics_period": 0.5}
    limits = {j: {"effort": float(e)} for j, e in zip(session.joints, session.effort_limit, strict=True)}
    parameters: dict[str, dict[str, Any]] = {
        SIMULATOR: {
            **common, "rate": float(session.rate), "limits": limits,
            "initial_position": {j: float(x) for j, x in zip(session.joints, session.start, strict=True)},
        },
        CONTROLLER: {
            **common, "limits": limits, "torque_divisor": max(1, round(session.rate / 50.0)),
            "gains": {j: {"p": session.bandwidth**2, "d": 2.0 * session.bandwidth} for j in session.joints},
            # the simulated friction is known exactly, so its compensation may be sharp around standstill
            "friction_velocity_threshold": 0.001,
        },
    }
    files = {name: folder / f"{name}.yaml" for name in parameters}
    for name, file in files.items():
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters[name]}}), encoding="utf-8")
    return files
