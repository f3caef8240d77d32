"""The session of `rne guide`: simulator and gravity compensation as two processes; pushes are applied and recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.arm_processes import LOCKSTEP_TIMEOUT, ArmProcesses, names_and_values, session_node
from rne_dynamics.ros.cdr import NANOSECONDS
from rne_dynamics.ros.effort_message import FLOATS
from rne_dynamics.ros.messages import write_stamp
from rne_dynamics.ros.processes import wait_until
from rne_dynamics.ros.session_recorder import PATIENCE, STREAMS, RawRecording, Recording, SessionRecorder
from rne_dynamics.ros.topic_recorder import TopicRecorder
from rne_dynamics.simulation.runs.push import Push

#: Namespace of the session, apart from any real arm.
NAMESPACE = "/rne_guide"
SIMULATOR, CONTROLLER = "simulator", "gravity_compensation"
#: Time between sending the pushes and the beginning of their times, simulated s.
NOTICE = 1.0
#: Wrenches that may wait for the simulator.
DEPTH = 100
#: States in which a start has failed.
FAILED = (Mode.STOPPING.value, Mode.RELEASED.value, Mode.FAULT.value)

Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class Guidance:
    """Robot, pushes and settings of a session.

    Parameters
    ----------
    parameters
        Of `SIMULATOR` and `CONTROLLER`, by name, with dots; what the session itself needs is added.
    joints
        Names, in the order of the vectors.
    start
        Start position, (n,).
    pushes
        What is applied.
    seconds
        Time that is recorded, simulated s.
    rate
        Joint states per second.
    """

    parameters: Mapping[str, Mapping[str, Any]]
    joints: tuple[str, ...]
    start: Array
    pushes: tuple[Push, ...]
    seconds: float
    rate: float


@dataclass(frozen=True, eq=False)
class GuidedRun:
    """What happened in a session.

    Parameters
    ----------
    recording
        The topics, its only begin the beginning of the pushes' times; None if the arm was not guided.
    states
        States of the controller, in their order.
    message
        The controller's last report.
    clamp
        Its last limited effort, empty for none.
    """

    recording: Recording | None
    states: tuple[str, ...]
    message: str
    clamp: str


def run(guidance: Guidance, progress: Progress) -> GuidedRun:
    """Run a session; `progress` is called with the present activity and the fraction done.

    Raises
    ------
    RneDynamicsError
        A process has ended, or a wait timed out; the message has the reason and the end of the log.
    """
    with session_node("guide", NAMESPACE) as node:
        return _run(guidance, node, progress)


def _run(guidance: Guidance, node: Node, progress: Progress) -> GuidedRun:
    recorder = SessionRecorder(node, NAMESPACE, SIMULATOR, CONTROLLER, guidance.joints, flexible=False)
    modes = TopicRecorder(node, String, f"{CONTROLLER}/state", 50, latched=True)
    wrenches = node.create_publisher(WrenchStamped, f"{SIMULATOR}/wrench", QoSProfile(depth=DEPTH))
    taken: RawRecording | None = None
    progress("starting simulator and gravity compensation", 0.0)
    with ArmProcesses(NAMESPACE, parameters(guidance)) as arm:
        arm.await_ready()
        wait_until(lambda: wrenches.get_subscription_count() > 0, PATIENCE, "the simulator's topic", arm.processes)
        wait_until(recorder.receives_everything, PATIENCE, STREAMS, arm.processes)

        def decided() -> bool:
            state = seen(modes)[-1:]
            return state == (Mode.FLOATING.value,) or not state or state[0] in FAILED or _refused(recorder)

        wait_until(lambda: seen(modes) and decided(), PATIENCE, "the controller's start-up check", arm.processes)
        if seen(modes)[-1] == Mode.FLOATING.value:
            taken = _guide(guidance, recorder, wrenches, modes, arm, progress)
        recorder.forget()
        wait_until(lambda: recorder.controller_report().state, PATIENCE, "the controller's report", arm.processes)
        states, report = seen(modes), recorder.controller_report()
        progress("releasing the arm", 1.0)
        arm.end()
    recording = None if taken is None else recorder.recording(taken, arm.ready)
    return GuidedRun(recording, states, report.locked or report.message, report.clamp)


def _guide(
    guidance: Guidance, recorder: SessionRecorder, wrenches: Any, modes: TopicRecorder, arm: ArmProcesses,
    progress: Progress,
) -> RawRecording:
    """Apply the pushes; ends early if the controller stops the arm."""
    begin = recorder.newest_stamp() + int(NOTICE * NANOSECONDS)
    end = begin + int(guidance.seconds * NANOSECONDS)
    for push in guidance.pushes:
        for at, force in ((push.begin, push.force), (push.end, np.zeros(3))):
            message = WrenchStamped()
            message.header.frame_id = push.link
            write_stamp(message.header, begin + int(at * NANOSECONDS))
            message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force.tolist()
            wrenches.publish(message)
    for now in recorder.stamps_until(end, arm.processes):
        progress("guiding the arm", max(now - begin, 0) / max(end - begin, 1))
        if seen(modes)[-1] != Mode.FLOATING.value:
            break
    for process in arm.processes:
        for line in process.output().splitlines():
            if "wrench refused" in line:
                raise RneDynamicsError(f"the simulator did not apply a push: {line}")
    return recorder.take((begin,), recorder.simulator_report(arm.processes))


def seen(modes: TopicRecorder) -> tuple[str, ...]:
    """The states so far."""
    modes.drain()
    return tuple(str(modes.decode(sample).data) for sample in modes.samples)


def _refused(recorder: SessionRecorder) -> bool:
    """Whether the controller has found a reason not to let the arm move."""
    report = recorder.controller_report()
    return report.state == Mode.HOLDING.value and bool(report.locked) and report.message.startswith("no motion")


def parameters(guidance: Guidance) -> dict[str, dict[str, Any]]:
    """Parameters of the nodes with those that the session needs."""
    required: dict[str, dict[str, Any]] = {
        SIMULATOR: {
            "publish_clock": True, "lockstep": True, "lockstep_timeout": LOCKSTEP_TIMEOUT,
            "rate": float(guidance.rate), "command_message": FLOATS,
            **{f"initial_position.{j}": x for j, x in names_and_values(guidance.joints, guidance.start).items()},
        },
        CONTROLLER: {
            "use_sim_time": True, "torque_divisor": max(1, round(guidance.rate / 100.0)),
            "command_message": FLOATS,
        },
    }
    common = {"joints": list(guidance.joints), "diagnostics_period": 0.5, "autostart": True}
    return {name: {**guidance.parameters.get(name, {}), **common, **own} for name, own in required.items()}

