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

import rclpy
import yaml
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.trajectory import Quintic, SampledTrajectory
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.cdr import NANOSECONDS
from rne_dynamics.ros.lifecycle import OFFERED
from rne_dynamics.ros.processes import NodeProcess, wait_until
from rne_dynamics.ros.session_recorder import PATIENCE, RawRecording, Recording, SessionRecorder
from rne_dynamics.ros.trajectory_message import duration_message

#: Apart from any real arm: what the demo publishes stays in this namespace.
NAMESPACE = "/rne_demo"
#: A cold numba cache compiles for half a minute in each process.
START_PATIENCE = 180.0
SIMULATOR, CONTROLLER = "simulator", "computed_torque_controller"
#: Notice given to the controller before a move starts, simulated s, and stillness after its end.
NOTICE = 0.5
SETTLE = 0.2
#: Longest wait of the simulation for the controller, s: a computer may be busy, but not for ever.
LOCKSTEP_TIMEOUT = 60.0
#: Tip deflections per second.
DEFLECTIONS_RATE = 250.0
#: A service may see a request before it sees who asks, and its answer is lost then: times to ask, and s for each.
ATTEMPTS, ANSWER = 5, 3.0


@dataclass(frozen=True, eq=False)
class Run:
    """Moves one after the other, each starting where the one before ends; the last ends where the first starts.

    Parameters
    ----------
    moves
        The motions.
    settle
        Stillness asked for after the end of each, s.
    """

    moves: tuple[Quintic | SampledTrajectory, ...]
    settle: float = SETTLE

    @property
    def duration(self) -> float:
        """Of the moves and of what follows each, s."""
        return sum(move.duration + self.settle for move in self.moves)


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
    runs
        The motions. Before each but the first the simulator is reset, so that all begin alike, at rest.
    effort_limit
        For the controller, (n,).
    rate
        Joint states per second.
    bandwidth
        Of the error's decay, rad/s: p = ω², d = 2ω on every joint.
    flexible
        Whether to listen to deflections.
    lockstep
        Whether simulated time waits for the controller; otherwise both run in real time.
    """

    robot: dict[str, str]
    joints: tuple[str, ...]
    start: Array
    runs: tuple[Run, ...]
    effort_limit: Array
    rate: float
    bandwidth: float
    flexible: bool = False
    lockstep: bool = True


Progress = Callable[[str, float], None]


def run(session: Session, progress: Progress) -> tuple[Recording, ...]:
    """Run a session, one recording a run; `progress` is told what happens and which fraction of the motion is done.

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


def _run(session: Session, node: Node, folder: Path, progress: Progress) -> tuple[Recording, ...]:
    recorder = SessionRecorder(node, NAMESPACE, SIMULATOR, CONTROLLER, session.joints, flexible=session.flexible)
    trajectories = node.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", OFFERED)
    progress("starting simulator and controller", 0.0)
    with contextlib.ExitStack() as stack:
        files = parameter_files(session, folder)
        began = time.monotonic()
        # entered last, ended first: the controller sets the arm down while the simulator still answers
        processes = [
            stack.enter_context(
                NodeProcess(
                    name, ["--ros-args", "--params-file", str(files[name]), "-r", f"__ns:={NAMESPACE}",
                           "-r", f"/clock:={NAMESPACE}/clock"],
                )
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
        wait_until(lambda: trajectories.get_subscription_count() > 0, PATIENCE, "the controller's topic", processes)
        streams = "joint states, torque terms and the simulator's report"
        wait_until(recorder.receives_everything, PATIENCE, streams, processes)
        wait_until(recorder.may_move, PATIENCE, "the controller's start-up check", processes)
        taken: list[RawRecording] = []
        total, done = sum(r.duration for r in session.runs), 0.0
        for r in session.runs:
            if taken:
                _reset(node, processes)
                recorder.forget()
                wait_until(recorder.receives_everything, PATIENCE, "the arm at its start", processes)
                wait_until(recorder.may_move, PATIENCE, "the controller to hold the arm at its start", processes)
            told = _part(progress, done / total, r.duration / total)
            begins = tuple(_move(session.joints, r, recorder, trajectories, processes, told))
            taken.append(recorder.take(begins, recorder.account(processes)))
            done += r.duration
        progress("setting the arm down", 1.0)
        for process in reversed(processes):
            if process.stop() != 0:
                raise RneDynamicsError(f"the {process.module} process has not ended cleanly:\n{process.output()}")
    return tuple(recorder.recording(t, ready) for t in taken)


def _part(progress: Progress, before: float, share: float) -> Progress:
    """Progress within a part of the whole."""
    return lambda what, fraction: progress(what, before + share * fraction)


def _reset(node: Node, processes: Sequence[NodeProcess]) -> None:
    """Put the simulated arm back to its start, at rest."""
    caller = rclpy.create_node("demo_reset", namespace=NAMESPACE, context=node.context)  # `node` is never spun
    executor = SingleThreadedExecutor(context=node.context)
    try:
        executor.add_node(caller)
        client = caller.create_client(Trigger, f"{SIMULATOR}/reset")
        wait_until(client.service_is_ready, PATIENCE, "the simulator's reset", processes)
        for _ in range(ATTEMPTS):
            future = client.call_async(Trigger.Request())
            executor.spin_until_future_complete(future, ANSWER)
            if future.done():
                return
        raise RneDynamicsError("the simulator does not answer a call of its reset")
    finally:
        executor.shutdown()
        caller.destroy_node()


def _move(
    joints: Sequence[str], run: Run, recorder: SessionRecorder, trajectories: Any, processes: Sequence[NodeProcess],
    progress: Progress,
) -> Iterator[int]:
    """Send one move after the other; yields when each begins, ns."""
    done = 0.0
    for number, move in enumerate(run.moves, 1):
        begin = recorder.newest_stamp() + int(NOTICE * NANOSECONDS)
        trajectories.publish(move_message(joints, move, begin))
        end = begin + int((move.duration + run.settle) * NANOSECONDS)

        while (now := recorder.newest_stamp()) < end:  # however slowly simulated time passes, as long as it does
            passed = done + max(now - begin, 0) / NANOSECONDS
            progress(f"move {number} of {len(run.moves)}", passed / run.duration)

            def later(now: int = now) -> bool:
                return recorder.newest_stamp() > now

            wait_until(later, LOCKSTEP_TIMEOUT + PATIENCE, "the next joint state", processes, period=0.02)
        done += move.duration + run.settle
        yield begin


def move_message(joints: Sequence[str], move: Quintic | SampledTrajectory, begin: int) -> JointTrajectory:
    """A move that begins at `begin`, ns, as points between which the controller interpolates it exactly."""
    message = JointTrajectory(joint_names=list(joints))
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(begin, NANOSECONDS)
    times = (0.0, move.duration) if isinstance(move, Quintic) else move.times.tolist()
    message.points = [
        JointTrajectoryPoint(
            positions=there.q.tolist(), velocities=there.qd.tolist(), accelerations=there.qdd.tolist(),
            time_from_start=duration_message(t),
        )
        for t, there in ((t, move.sample(t)) for t in times)
    ]
    return message


def parameter_files(session: Session, folder: Path) -> dict[str, Path]:
    """One parameter file a process, `SIMULATOR` and `CONTROLLER`, in `folder`."""
    common = {**session.robot, "joints": list(session.joints), "diagnostics_period": 0.5}
    limits = {j: {"effort": float(e)} for j, e in zip(session.joints, session.effort_limit, strict=True)}
    parameters: dict[str, dict[str, Any]] = {
        SIMULATOR: {
            **common, "rate": float(session.rate), "limits": limits,
            "publish_clock": session.lockstep, "lockstep": session.lockstep, "lockstep_timeout": LOCKSTEP_TIMEOUT,
            "initial_position": {j: float(x) for j, x in zip(session.joints, session.start, strict=True)},
            "deflections_divisor": max(1, round(session.rate / DEFLECTIONS_RATE)),
        },
        CONTROLLER: {
            **common, "limits": limits, "torque_divisor": max(1, round(session.rate / 50.0)),
            "gains": {j: {"p": session.bandwidth**2, "d": 2.0 * session.bandwidth} for j in session.joints},
            "use_sim_time": session.lockstep,
            # the simulated friction is known exactly, so its compensation may be sharp around standstill
            "friction_velocity_threshold": 0.001,
        },
    }
    files = {name: folder / f"{name}.yaml" for name in parameters}
    for name, file in files.items():
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters[name]}}), encoding="utf-8")
    return files
