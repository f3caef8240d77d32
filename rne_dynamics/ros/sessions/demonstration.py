"""The session of `rne demo`: simulator and controller as two processes; moves are sent, topics recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.control.gains import Gains
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.control.tracking_verdict import Reports
from rne_dynamics.control.trajectory import Quintic, SampledTrajectory
from rne_dynamics.errors import ArgumentError, ParameterError, RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.protocol import Robot
from rne_dynamics.ros.messages.publishers import write_stamp
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.messages.trajectory_message import sampled_message
from rne_dynamics.ros.parameters.controller import velocity_limits
from rne_dynamics.ros.parameters.files import Parameter, Values, flat, per_joint, settings_for, simulated
from rne_dynamics.ros.parameters.table import COMMON, effort_limits, payload
from rne_dynamics.ros.parameters.tracking import SCHEMA
from rne_dynamics.ros.sessions.processes import (
    LOCKSTEP_TIMEOUT,
    NodeProcess,
    arm_processes,
    names_and_values,
    session_node,
    wait_until,
)
from rne_dynamics.ros.sessions.recorder import PATIENCE, STREAMS, Recording, SessionRecorder


@dataclass(frozen=True, eq=False)
class ArmConfig:
    """Parameters of one file by their dotted names, for the controller and for the simulator, see `simulated`."""

    #: For messages.
    file: str
    #: As the file has them, unchecked: the nodes check them.
    controller: Mapping[str, Any]
    simulator: Mapping[str, Any]
    #: Parameters of hardware that were left out.
    left_out: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: str | Path, controller: str, simulator: str) -> ArmConfig:
        """Read a file for nodes by full names; `ArgumentError` where it has nothing for that controller."""
        try:
            given, own = settings_for(str(path), controller), settings_for(str(path), simulator)
        except ParameterError as error:
            raise ArgumentError(f"--config {error}") from None
        if not given:
            name = controller.rpartition("/")[2]
            raise ArgumentError(f"--config {path} has no parameters of /**/{name}; see config/puma560.yaml for one")
        kept, arm, left_out = simulated(given)
        return cls(str(path), kept, arm | own, left_out)

    def with_parameters(self, given: Mapping[str, Any]) -> ArmConfig:
        """The same with these parameters of both nodes."""
        return replace(self, controller={**self.controller, **given}, simulator={**self.simulator, **given})

    def values(self, robot: RigidRobot, schema: Sequence[Parameter] = SCHEMA) -> Values:
        """The controller's parameters that `schema` declares, with defaults; `ParameterError` where not allowed."""
        joints = self.controller.get("joints")
        if joints and sorted(map(str, joints)) != sorted(robot.joint_names):
            raise ParameterError(
                f"{self.file}: joints are {', '.join(map(str, joints))}; the command drives all joints of robot "
                f"{robot.name!r}: {', '.join(robot.joint_names)}"
            )
        names = {p.name.replace("{joint}", j): p for p in (*COMMON, *schema) for j in robot.joint_names}
        try:
            given = self.controller
            values = {n: p.parse(n, given[n]) if n in given else p.default for n, p in names.items()}
            effort_limits(robot, values)
        except ParameterError as error:
            raise ParameterError(f"{self.file}: {error}" if self.file else str(error)) from None
        return values


@dataclass(frozen=True, eq=False)
class ConfiguredArm:
    """Settings of a demo from a configuration; limits (n,), `friction` compensated, whether the arm `rubs`."""

    robot: Robot
    velocity: Array
    margin: Array
    gains: Gains
    friction: float
    rubs: bool

    @classmethod
    def of(cls, config: ArmConfig, machine: Robot) -> ConfiguredArm:
        """Of a configuration for a robot; raises as `ArmConfig.values`."""
        values = config.values(machine.rigid)
        gravity = config.simulator.get("gravity", ())
        machine = (machine.with_gravity(gravity) if len(gravity) else machine).with_payload(payload(values))
        robot = machine.rigid
        joints = robot.joint_names
        p, i, d = (per_joint(values, f"gains.{{joint}}.{k}", joints) for k in ("p", "i", "d"))
        return cls(
            machine.with_effort_limit(effort_limits(robot, values)), velocity_limits(robot, values),
            per_joint(values, "limits.{joint}.position_margin", joints),
            Gains(p, i, d), values["friction_compensation"], bool(config.simulator.get("friction", True)),
        )


# -- the session of `rne demo`: simulator and controller as two processes; moves are sent, topics recorded -------------


#: Namespace of the demo, apart from any real arm, and from another demo that runs at the same time.
NAMESPACE = f"/rne_demo_{os.getpid()}"
SIMULATOR, CONTROLLER, RECORDER = "simulator", "computed_torque_controller", "recorder"
#: Time between sending a move and its start, and at rest after its end, simulated s.
NOTICE = 0.5
SETTLE = 0.2
#: Tip deflections per second.
DEFLECTIONS_RATE = 250.0
#: A service may receive a request before it discovers the client; its answer is lost then. Attempts, and s for each.
RESET_ATTEMPTS, RESET_ANSWER = 5, 3.0


@dataclass(frozen=True, eq=False)
class Run:
    """A sequence of moves, each from the end of the one before; the last ends where the first starts."""

    #: The motions.
    moves: tuple[Quintic | SampledTrajectory, ...]
    #: Time at rest after each, s.
    settle: float = SETTLE

    @property
    def duration(self) -> float:
        """Duration of the moves with the rest after each, s."""
        return sum(move.duration + self.settle for move in self.moves)


@dataclass(frozen=True, eq=False)
class Session:
    """Robot, motions and settings of a session."""

    #: The parameters of the nodes that describe the robot.
    robot: dict[str, str]
    #: Names, in the order of the vectors.
    joints: tuple[str, ...]
    #: Start position, (n,).
    start: Array
    #: The motions. The simulator is reset before each but the first, so that all begin alike, at rest.
    runs: tuple[Run, ...]
    #: For the controller, (n,).
    effort_limit: Array
    #: Joint states per second.
    rate: float
    #: Of the error's decay, rad/s: p = ω², d = 2ω on every joint.
    bandwidth: float
    #: Whether to listen to deflections.
    flexible: bool = False
    #: Whether simulated time waits for the controller; otherwise both run in real time.
    lockstep: bool = True
    #: File to record the topics in, .mcap; none if empty.
    record: str = ""
    #: Parameters for both nodes, among them the controller's gains and limits, instead of the demo's own.
    config: ArmConfig | None = None


Progress = Callable[[str, float], None]


def run(session: Session, progress: Progress) -> tuple[Recording, ...]:
    """Run a session; one recording per run. `progress` gets activity and fraction done. RneDynamicsError."""
    with session_node("demo", NAMESPACE) as node:
        recorder = SessionRecorder(node, NAMESPACE, SIMULATOR, CONTROLLER, session.joints, flexible=session.flexible)
        trajectories = node.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", OFFERED)
        progress("starting simulator and controller", 0.0)
        with arm_processes(NAMESPACE, parameters(session)) as arm:
            processes = arm.processes
            arm.await_ready()
            wait_until(lambda: trajectories.get_subscription_count() > 0, PATIENCE, "the controller's topic", processes)
            wait_until(recorder.receives_everything, PATIENCE, STREAMS, processes)
            _await_decision(recorder, "the controller's start-up check", processes)
            taken: list[Callable[[dict[str, float]], Recording]] = []
            total, done = sum(r.duration for r in session.runs), 0.0
            for r in session.runs:
                if taken:
                    _reset(node, processes)
                    recorder.forget()
                    wait_until(recorder.receives_everything, PATIENCE, "the arm at its start", processes)
                    _await_decision(recorder, "the controller to hold the arm at its start", processes)

                def part(what: str, fraction: float, before: float = done, share: float = r.duration) -> None:
                    progress(what, (before + share * fraction) / total)

                begins, reports = _move(session, r, recorder, trajectories, processes, part)
                taken.append(recorder.take(begins, recorder.simulator_report(processes), reports))
                done += r.duration
            progress("releasing the arm", 1.0)
            arm.end()
        return tuple(decode(arm.ready) for decode in taken)


def _await_decision(recorder: SessionRecorder, what: str, processes: Sequence[NodeProcess]) -> None:
    """Wait until the controller allows motion or reports an error; a time-out has the words of its last report."""
    try:
        wait_until(recorder.decided, PATIENCE, what, processes)
    except RneDynamicsError as error:
        report = recorder.controller_report()
        raise RneDynamicsError(f"{error}; the controller reports {report.locked or report.message}") from None


def _reset(node: Node, processes: Sequence[NodeProcess]) -> None:
    """Reset the simulated arm to its start, at rest."""
    caller = rclpy.create_node("demo_reset", namespace=NAMESPACE, context=node.context)  # `node` is never spun
    executor = SingleThreadedExecutor(context=node.context)
    try:
        executor.add_node(caller)
        client = caller.create_client(Trigger, f"{SIMULATOR}/reset")
        wait_until(client.service_is_ready, PATIENCE, "the simulator's reset", processes)
        for _ in range(RESET_ATTEMPTS):
            future = client.call_async(Trigger.Request())
            executor.spin_until_future_complete(future, RESET_ANSWER)
            if future.done():
                return
        raise RneDynamicsError("the simulator does not answer a call of its reset")
    finally:
        executor.shutdown()
        caller.destroy_node()


def _move(
    session: Session, run: Run, recorder: SessionRecorder, trajectories: Any, processes: Sequence[NodeProcess],
    progress: Progress,
) -> tuple[tuple[int, ...], Reports]:
    """Send one move after the other; when each begins, ns, and what the controller reported."""
    # One that is not followed to its end is the last: the next would not start where the arm is. Flexible links vibrate
    # after a move, which misses goals, and the moves go on.
    begins, done, before = [], 0.0, recorder.controller_report()
    reports, speed = Reports(), before.speed or 1.0
    for turn, move in enumerate(run.moves, 1):
        begin = recorder.newest_stamp() + int(NOTICE * NANOSECONDS)
        trajectories.publish(move_message(session.joints, move, begin))
        begins.append(begin)
        end = begin + int((move.duration / speed + run.settle) * NANOSECONDS)

        for now in recorder.stamps_until(end, processes):  # at any speed of simulated time
            passed = done + speed * max(now - begin, 0) / NANOSECONDS
            progress(f"move {turn} of {len(run.moves)}", min(passed / run.duration, 1.0))
        done += move.duration + run.settle
        last, clamp = recorder.next_report(processes)
        reports = last.reports(before, clamp)
        if reports.failure is not None or (reports.missed and not session.flexible):
            break
    return tuple(begins), reports


def move_message(joints: Sequence[str], move: Quintic | SampledTrajectory, begin: int) -> JointTrajectory:
    """A move that begins at `begin`, ns, as points between which the controller interpolates it exactly."""
    times = (0.0, move.duration) if isinstance(move, Quintic) else move.times.tolist()
    message = sampled_message(joints, move, times)
    write_stamp(message.header, begin)
    return message


def parameters(session: Session) -> dict[str, dict[str, Any]]:
    """Parameters of the nodes: `RECORDER` if it is wanted, `SIMULATOR` and `CONTROLLER`."""
    common = {**session.robot, "joints": list(session.joints), "diagnostics_period": 0.5}
    limits = {j: {"effort": e} for j, e in names_and_values(session.joints, session.effort_limit).items()}
    nodes: dict[str, dict[str, Any]] = {
        SIMULATOR: {
            **common, "rate": float(session.rate), "limits": limits,
            "publish_clock": session.lockstep, "lockstep": session.lockstep, "lockstep_timeout": LOCKSTEP_TIMEOUT,
            "initial_position": names_and_values(session.joints, session.start),
            "deflections_divisor": max(1, round(session.rate / DEFLECTIONS_RATE)),
        },
        CONTROLLER: {
            **common, "torque_divisor": max(1, round(session.rate / 50.0)), "use_sim_time": session.lockstep,
        },
    }
    if session.config is None:
        nodes[CONTROLLER] |= {
            "limits": limits,
            "gains": {j: {"p": session.bandwidth**2, "d": 2.0 * session.bandwidth} for j in session.joints},
        }
    else:
        given = {SIMULATOR: session.config.simulator, CONTROLLER: session.config.controller}
        nodes = {name: {**given[name], **dict(flat(own))} for name, own in nodes.items()}
    return {RECORDER: {"output": session.record}, **nodes} if session.record else nodes
