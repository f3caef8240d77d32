"""The session of `rne guide`: simulator and gravity compensation as two processes; pushes are applied and recorded."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.messages.publishers import FLOATS, force_message, write_stamp
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.sessions.demonstration import ArmConfig, Progress
from rne_dynamics.ros.sessions.processes import (
    LOCKSTEP_TIMEOUT,
    ArmProcesses,
    arm_processes,
    names_and_values,
    session_node,
    wait_until,
)
from rne_dynamics.ros.sessions.recorder import PATIENCE, STREAMS, Recording, SessionRecorder
from rne_dynamics.ros.simulator_topics import WRENCHES
from rne_dynamics.simulation.runs.push import Push

#: Namespace of the session, apart from any real arm, and from another session that runs at the same time.
NAMESPACE = f"/rne_guide_{os.getpid()}"
SIMULATOR, CONTROLLER = "simulator", "gravity_compensation"
#: Time between sending the pushes and the beginning of their times, simulated s.
PUSH_NOTICE = 1.0
#: States in which a start has failed.
FAILED = (Mode.STOPPING.value, Mode.RELEASED.value, Mode.FAULT.value)


@dataclass(frozen=True, eq=False)
class Guidance:
    """Robot, pushes and settings of a session."""

    #: Parameters of both nodes; what the session itself needs is added.
    config: ArmConfig
    #: What the controller makes of them.
    settings: Settings
    #: Whether the arm has its joint friction.
    friction: bool
    #: Start position, (n,).
    start: Array
    #: What is applied.
    pushes: tuple[Push, ...]
    #: Time that is recorded, simulated s.
    seconds: float
    #: Joint states per second.
    rate: float

    @property
    def robot(self) -> RigidRobot:
        """The controller's model, with the effort limits that the controller has."""
        return self.settings.robot.with_effort_limit(self.settings.limits.effort)


@dataclass(frozen=True, eq=False)
class GuidedRun:
    """Events and measurements of a session."""

    #: The topics, its only begin the beginning of the pushes' times; None if the arm was not guided.
    recording: Recording | None
    #: States of the controller, in their order.
    states: tuple[str, ...]
    #: The controller's last report: why it stopped the arm, or why it refuses motion.
    message: str
    #: Number of efforts that it limited while it was pushed, and its words on the last one.
    limited: int = 0
    limit: str = ""
    #: Number of joint states that it refused meanwhile, and its words on the last one.
    refused: int = 0
    refusal: str = ""


def run(guidance: Guidance, progress: Progress) -> GuidedRun:
    """Run a session; `progress` gets activity and fraction done. Raises RneDynamicsError with the end of the log."""
    joints = guidance.robot.joint_names
    with session_node("guide", NAMESPACE) as node:
        recorder = SessionRecorder(node, NAMESPACE, SIMULATOR, CONTROLLER, joints, flexible=False)
        modes = TopicRecorder(node, String, f"{CONTROLLER}/state", 50, latched=True)
        wrenches = node.create_publisher(WrenchStamped, f"{SIMULATOR}/wrench", QoSProfile(depth=WRENCHES))
        progress("starting simulator and gravity compensation", 0.0)
        with arm_processes(NAMESPACE, parameters(guidance)) as arm:
            arm.await_ready()
            wait_until(lambda: wrenches.get_subscription_count() > 0, PATIENCE, "the simulator's topic", arm.processes)
            wait_until(recorder.receives_everything, PATIENCE, STREAMS, arm.processes)

            def decided() -> bool:
                report, states = recorder.controller_report(), seen(modes)
                return bool(states) and (states[-1] in (Mode.FLOATING.value, *FAILED) or (
                    report.state == Mode.HOLDING.value and report.locked != ""
                    and report.message.startswith("no motion")
                ))

            wait_until(decided, PATIENCE, "the controller's start-up check", arm.processes)
            wait_until(lambda: recorder.controller_report().state, PATIENCE, "the controller's report", arm.processes)
            before, begin, taken = recorder.controller_report(), None, None
            if seen(modes)[-1] == Mode.FLOATING.value:
                begin = _guide(guidance, recorder, wrenches, modes, arm, progress)
            states, (last, clamp) = seen(modes), recorder.next_report(arm.processes)
            if begin is not None:
                taken = recorder.take((begin,), recorder.simulator_report(arm.processes))
            progress("releasing the arm", 1.0)
            arm.end()
        return GuidedRun(
            None if taken is None else taken(arm.ready), states,
            last.message if last.state in FAILED else last.locked or last.message,
            last.more(before, "clamped efforts"), clamp,
            last.more(before, "refused joint states"), last.values["last refusal"],
        )


def _guide(
    guidance: Guidance, recorder: SessionRecorder, wrenches: Any, modes: TopicRecorder, arm: ArmProcesses,
    progress: Progress,
) -> int:
    """Apply the pushes; returns when their times begin, ns. Ends early if the controller stops the arm."""
    begin = recorder.newest_stamp() + int(PUSH_NOTICE * NANOSECONDS)
    end = begin + int(guidance.seconds * NANOSECONDS)
    for push in guidance.pushes:
        for at, force in ((push.begin, push.force), (push.end, np.zeros(3))):
            message = force_message(push.link, force)
            write_stamp(message.header, begin + int(at * NANOSECONDS))
            wrenches.publish(message)
    for now in recorder.stamps_until(end, arm.processes):
        progress("guiding the arm", max(now - begin, 0) / max(end - begin, 1))
        if seen(modes)[-1] != Mode.FLOATING.value:
            break
    for process in arm.processes:
        for line in process.output().splitlines():
            if "wrench refused" in line:
                raise RneDynamicsError(f"the simulator did not apply a push: {line}")
    return begin


def seen(modes: TopicRecorder) -> tuple[str, ...]:
    """The states so far."""
    modes.drain()
    return tuple(str(modes.decode(sample).data) for sample in modes.samples)


def parameters(guidance: Guidance) -> dict[str, dict[str, Any]]:
    """Parameters of the nodes with those that the session needs."""
    config, joints = guidance.config, guidance.robot.joint_names
    common = {"joints": list(joints), "diagnostics_period": 0.5, "autostart": True, "command_message": FLOATS}
    return {
        SIMULATOR: {
            **config.simulator, **common,
            "publish_clock": True, "lockstep": True, "lockstep_timeout": LOCKSTEP_TIMEOUT,
            "rate": float(guidance.rate),
            **{f"initial_position.{j}": x for j, x in names_and_values(joints, guidance.start).items()},
        },
        CONTROLLER: {
            **config.controller, **common,
            "use_sim_time": True, "torque_divisor": max(1, round(guidance.rate / 100.0)),
        },
    }
