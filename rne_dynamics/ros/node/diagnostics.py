"""Reports of a node: its status on /diagnostics, its mode on ``~/state``, other publishers of its efforts."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from enum import Enum

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectoryPoint

from rne_dynamics.closed_chain.coordinates import NEAR_SINGULAR
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.effort_gate import EffortGate
from rne_dynamics.control.gate_parts import FAULT, PASSING, RELEASED, STOPPING, WAITING, CommandProblem
from rne_dynamics.control.streaming.limits import SetpointProblem
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.supervision.supervisor import Supervisor
from rne_dynamics.errors import StateProblem
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.messages.cdr import installed_type
from rne_dynamics.ros.messages.publishers import EveryNth
from rne_dynamics.ros.messages.topic_wait import LATCHED
from rne_dynamics.ros.node.lifecycle import ArmNode

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

#: Shortest time between two lines of log with the same warning, whatever its numbers, s.
LOG_PERIOD = 10.0
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?")
#: Counts in a row after which a finding is reported: discovery takes time, also for a publisher that has ended.
BELIEVED = 2


def first_finding(*findings: tuple[object, bytes, str]) -> tuple[bytes, str]:
    """Level and message of the first finding that is there, the most important ones first; the last always is."""
    return next((level, message) for found, level, message in findings if found)


class News:
    """New counts since the last report, since the activation where `counters` are other ones."""

    def __init__(self) -> None:
        self._counters: object = None
        self._said: dict[str, int] = {}

    def take(self, counters: object, **totals: int) -> list[int]:
        """By how much each total has grown."""
        said = self._said if counters is self._counters else {}
        self._counters, self._said = counters, totals
        return [total - said.get(what, 0) for what, total in totals.items()]


class Diagnostics:
    """Publishes one status of one node, whose full name is the status's name and hardware id."""

    def __init__(self, node: ArmNode) -> None:
        self._node = node
        self._name = node.get_fully_qualified_name()
        self._publisher = node.keep(node.create_publisher(DiagnosticArray, "/diagnostics", 1))
        self._warned: dict[str, float] = {}

    def publish(self, level: bytes, message: str, values: Mapping[str, object]) -> None:
        """Send one status; numbers are written with six digits."""
        array = DiagnosticArray()
        array.header.stamp = self._node.get_clock().now().to_msg()
        array.status = [
            DiagnosticStatus(
                level=level, name=self._name, message=message, hardware_id=self._name,
                values=[KeyValue(key=k, value=f"{v:.6g}" if isinstance(v, float) else str(v))
                        for k, v in values.items()],
            )
        ]
        self._publisher.publish(array)

    def warn(self, message: str) -> None:
        """Log a warning: a new one at once, the same one at most every `LOG_PERIOD`."""
        kind, now = _NUMBER.sub("#", message), time.monotonic()
        if now - self._warned.get(kind, -LOG_PERIOD) >= LOG_PERIOD:
            self._warned[kind] = now
            self._node.get_logger().warning(message)


class TopicPeers:
    """Counts the publishers and subscribers of the topic of efforts in a node's graph."""

    def __init__(self, node: ArmNode, topic: str) -> None:
        self._node, self._topic = node, node.resolve_topic_name(topic)
        self._others = self._nobody = 0
        self.publishers = self.subscribers = 0

    def count(self) -> None:
        """Count, by the discovery of this process."""
        self.publishers = self._node.count_publishers(self._topic)
        self.subscribers = self._node.count_subscribers(self._topic)
        self._others = self._others + 1 if self.publishers > 1 else 0
        self._nobody = self._nobody + 1 if not self.subscribers else 0

    def finding(self) -> tuple[bytes, str]:
        """Level and text of a warning; empty for none."""
        return first_finding(
            (self._others >= BELIEVED, ERROR,
             f"{self.publishers} nodes publish efforts on {self._topic}: the arm follows the last message. Stop all "
             "but one of them"),
            (self._nobody >= BELIEVED, WARN,
             f"no node subscribes to the efforts on {self._topic}: start the arm's driver, or remap the topic"),
            (True, OK, ""),
        )


class ModeTopic:
    """Publishes and logs modes; before `open` and after `close` it only logs."""

    def __init__(self, node: ArmNode) -> None:
        self._node = node
        self._publisher: Publisher | None = None

    def open(self) -> None:
        """Make the topic."""
        self._publisher = self._node.keep(self._node.create_publisher(String, "~/state", LATCHED))

    def close(self, mode: Enum) -> None:
        """Publish the last mode; the node then destroys the topic."""
        self.publish(mode)
        self._publisher = None

    def publish(self, mode: Enum) -> None:
        """Publish a mode."""
        if self._publisher is not None:
            self._publisher.publish(String(data=mode.value))

    def enter(self, mode: Enum, cause: str, *, error: bool, warning: bool) -> None:
        """Log and publish a mode that was entered, or a cause to stay in it, as an error or a warning if it is one."""
        level = "error" if error else "warning" if warning else "info"
        self._node.log(level, f"{mode.value}: {cause}" if cause else mode.value)
        self.publish(mode)


def controller_status(s: Supervisor, news: News) -> tuple[bytes, str, dict[str, object]]:
    """Level, message and values of a controller's next status."""
    m, c = s.machine, s.counters
    estimated, loops = ", ".join(m.stream.filter.estimated), m.torques.loops
    refused, clamped = c.refused.total(), c.clamped
    new_refused, new_clamped = news.take(c, refused=refused, clamped=clamped)
    clamp, said = m.output.clamp_text(), f"{s.mode.value}: {s.cause}" if s.cause else s.mode.value
    level, message = first_finding(
        (s.mode is Mode.FAULT or (s.mode is Mode.STOPPING and m.dead_reckoning) or s.gate.failed, ERROR, said),
        (m.obstacle, ERROR, f"no motion is allowed: {m.obstacle}"),
        (s.loop.locked, ERROR, f"no motion is allowed: {s.loop.locked}"),
        (s.mode in (Mode.STOPPING, Mode.RELEASED), WARN, said),
        (s.loop.text or s.loop.doubt, WARN, s.loop.text or s.loop.doubt),
        (new_refused, WARN, f"{new_refused} joint states refused: {c.refusal}"),
        (new_clamped, WARN, f"{new_clamped} efforts limited: {clamp}"),
        (estimated, WARN, f"velocities contradict positions and are estimated: {estimated}"),
        (loops is not None and loops.smallest < NEAR_SINGULAR, WARN,
         "near a singular posture, in which the motors cannot hold the mechanism"),
        (True, OK, said),
    )
    values: dict[str, object] = {
        "state": s.mode.value, "cause": s.cause,
        "motion locked": m.obstacle or s.loop.locked or (s.gate.text if not s.gate.open else ""),
        "measured delay": s.loop.delay_text,
        "refused joint states": refused,
        **{f"refused: {problem.value}": c.refused[problem] for problem in StateProblem},
        "last refusal": c.refusal, "estimated velocities": estimated,
        "foreign joint states": c.foreign, "time jumps": c.time_jumps, "held anew": c.held_anew,
        "clamped efforts": clamped, "last clamp": clamp, "blind efforts": c.dead_reckoned,
        "refused base motions": c.base_refused, "last base refusal": c.base_refusal,
        "lost streams": c.lost, "stops": c.stops, "faults": c.faults, "last fault": c.fault,
    }
    if loops is not None:
        values["distance to a singular posture"] = loops.smallest
    if s.settings.tracking is not None:
        error = np.abs(s.queue.reference.q - s.q)
        values |= {
            "tracking": s.queue.moving, "speed scaling": m.speed, "target wrench": s.wrenches.text(),
            "largest present error": float(np.max(error, initial=0.0)),
        }
    if (setpoints := s.input.setpoints) is not None:
        values |= {
            "streaming": setpoints.following, "setpoints": setpoints.taken,
            "limited setpoints": setpoints.stream.limited,
            "refused setpoints": setpoints.refused.total(),
            **{f"refused setpoints: {problem.value}": setpoints.refused[problem] for problem in SetpointProblem},
            "last setpoint refusal": setpoints.refusal,
        }
    return level, message, values


# -- reference on ``~/reference`` --------------------------------------------------------------------------------------


JointTrajectoryControllerState = installed_type("control_msgs/msg/JointTrajectoryControllerState")


class ControllerState:
    """Publishes what a controller follows, every `divisor`-th cycle, 0 never, if there are subscribers."""

    def __init__(self, node: ArmNode, joints: Sequence[str], divisor: int) -> None:
        names, zeros = list(joints), [0.0] * len(joints)
        message = JointState(name=names, position=zeros, velocity=zeros)
        self._reference = EveryNth(node, "~/reference", message, divisor, "position", "velocity")
        self._state: EveryNth | None = None
        if JointTrajectoryControllerState is not None and divisor:
            motion = {"positions": zeros, "velocities": zeros}
            self._state = EveryNth(
                node, "~/controller_state", JointTrajectoryControllerState(
                    joint_names=names, reference=JointTrajectoryPoint(**motion, accelerations=zeros),
                    feedback=JointTrajectoryPoint(**motion), error=JointTrajectoryPoint(**motion),
                    output=JointTrajectoryPoint(effort=zeros),
                ), divisor, "reference.positions", "reference.velocities", "reference.accelerations",
                "feedback.positions", "feedback.velocities", "error.positions", "error.velocities", "output.effort",
            )

    def publish(
        self, stamp: int, reference: Reference, q: Array, qd: Array, command: Array, speed: float, unwrapped: Array, *,
        following: bool,
    ) -> None:
        """Send what is due at `stamp`, ns; (n,) each. `unwrapped`: turns to take off all positions, rad."""
        if following and self._reference.due():
            self._reference.publish(stamp, reference.q - unwrapped, reference.qd)
        if self._state is not None and self._state.due():
            self._state.message.speed_scaling_factor = speed
            self._state.publish(
                stamp, reference.q - unwrapped, reference.qd, reference.qdd, q - unwrapped, qd, reference.q - q,
                reference.qd - qd, command,
            )


# -- the effort gate ---------------------------------------------------------------------------------------------------


def gate_status(
    gate: EffortGate, news: News, now: float, *, commanders: int, bypasses: int, listeners: int
) -> tuple[bytes, str, dict[str, object]]:
    """Level, message and values at `now`, s, with counts of publishers and subscribers of its two topics."""
    c = gate.counters
    refused, limited, states = news.take(
        c, refused=c.refused.total(), limited=c.limited + c.stepped, states=gate.states.refused
    )
    clamp, said = gate.limited_text(), f"{gate.mode.value}: {gate.cause}" if gate.cause else gate.mode.value
    last = f" (the last one was refused: {gate.states.refusal})" if states else ""
    level, message = first_finding(
        (gate.mode is FAULT or (gate.mode is STOPPING and not gate.requested), ERROR, said),
        (gate.mode in (STOPPING, RELEASED), WARN, said),
        (bypasses, WARN,
         f"{bypasses} other publishers send efforts past the gate; remap them to its commands topic"),
        (commanders > 1, WARN, f"{commanders} publishers send efforts to the gate; stop all but one"),
        (gate.mode in (WAITING, PASSING) and gate.states.stale(now), WARN,
         f"no usable joint states: a take-over could not measure the arm{last}"),
        (gate.mode is PASSING and not listeners, WARN, "no node subscribes to the efforts of the gate"),
        (refused, WARN, f"{refused} efforts refused: {c.refusal}"),
        (limited and clamp, WARN, f"{limited} efforts limited: {clamp}"),
        (True, OK, said),
    )
    values: dict[str, object] = {
        "state": gate.mode.value, "cause": gate.cause, "commands": c.commands, "passed efforts": c.passed,
        **{f"refused: {problem.value}": c.refused[problem] for problem in CommandProblem},
        "last refusal": c.refusal, "efforts beyond limits": c.limited, "efforts beyond rate limits": c.stepped,
        "last limit": clamp, "own efforts": c.own, "blind efforts": c.dead_reckoned, "take-overs": c.takeovers,
        "joint states": gate.states.received, "refused joint states": gate.states.refused,
        "last refused joint state": gate.states.refusal, "last failure": c.failure,
        "publishers of commands": commanders, "other publishers of efforts": bypasses,
        "subscribers of efforts": listeners,
    }
    return level, message, values
