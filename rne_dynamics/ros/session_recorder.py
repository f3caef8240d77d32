"""Recorder of a session of simulator and controller, in a third process; decodes afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState

from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.tracked_run import Reports
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.arm_processes import LOCKSTEP_TIMEOUT
from rne_dynamics.ros.deflections import COMPONENTS
from rne_dynamics.ros.messages import stamp_of
from rne_dynamics.ros.processes import NodeProcess, wait_until
from rne_dynamics.ros.topic_recorder import Sample, TopicRecorder

#: Longest wait for messages that should come at once, s.
PATIENCE = 30.0
#: What `SessionRecorder.receives_everything` awaits.
STREAMS = "joint states, torque terms and the simulator's report"
NO_REPORTS = Reports()
TERMS = ("inertia", "coriolis", "gravity", "friction", "feedback")


class ControllerStatus(NamedTuple):
    """What a controller reports.

    Parameters
    ----------
    failed
        Whether it reports an error.
    message
        Its state with the cause.
    values
        The values of its diagnostics, by name.
    """

    failed: bool
    message: str
    values: Mapping[str, str]

    @property
    def state(self) -> str:
        """Its state."""
        return self.values.get("state", "")

    @property
    def locked(self) -> str:
        """Why it refuses motions; empty if it does not."""
        return self.values.get("motion locked", "")

    @property
    def clamp(self) -> str:
        """What it says of the last limited effort."""
        return self.values.get("last clamp", "")

    @property
    def speed(self) -> float:
        """Its speed scaling, 0 to 1."""
        return float(self.values.get("speed scaling", 1.0))

    def more(self, before: ControllerStatus, *counters: str) -> int:
        """By how much counters have grown since the status `before`."""
        return sum(int(self.values.get(c, 0)) - int(before.values.get(c, 0)) for c in counters)

    def reports(self, before: ControllerStatus, clamp: str) -> Reports:
        """What it reported about motions since the status `before`; `clamp` is its words on an effort it limited."""
        stopped = ""
        if self.state not in (Mode.HOLDING.value, Mode.TRACKING.value):
            stopped = self.message
        elif self.more(before, "stops", "faults"):
            stopped = self.values["last fault"] or "that it stopped the arm"

        def words(key: str, counter: str) -> str:
            return self.values[key] if self.more(before, counter) else ""

        return Reports(
            stopped, words("last failed trajectory", "aborted trajectories"),
            words("last refused trajectory", "refused trajectories"), words("last failed trajectory", "goals missed"),
            self.more(before, "clamped efforts"), clamp, self.speed,
        )


@dataclass(frozen=True, eq=False)
class Recording:
    """The topics during one run, as a third process has received them.

    Parameters
    ----------
    stamps, sent
        Each joint state's own time and when it was published, ns; (samples,).
    q, qd, efforts
        Measured positions and velocities, and the efforts that drove the arm; (samples, n).
    begins
        When each move was to start, ns of the stamps.
    terms
        Torque terms by name: stamps, ns, and values, (terms, n); none if the controller stopped the arm before them.
    simulator
        The simulator's report from the first command to the end of the moves: `answered` and `missed` replies,
        `overruns`, `p50` and `p99` of the reply latency (s; from publishing a state until its command is received).
    ready
        Time until each process was ready, s.
    deflections
        Of the ends of flexible links: stamps, ns, and values, (messages, links, 6), m and rad, each in its link's
        frame; empty where there are none.
    reports
        What the controller reported about the moves.
    """

    stamps: NDArray[np.int64]
    sent: NDArray[np.int64]
    q: Array
    qd: Array
    efforts: Array
    begins: tuple[int, ...]
    terms: dict[str, tuple[NDArray[np.int64], Array]]
    simulator: dict[str, float]
    ready: dict[str, float]
    deflections: tuple[NDArray[np.int64], Array]
    reports: Reports


@dataclass(frozen=True, eq=False)
class RawRecording:
    """The messages of one run, not yet decoded; see `Recording`."""

    states: list[Sample]
    terms: dict[str, list[Sample]]
    deflections: list[Sample]
    begins: tuple[int, ...]
    simulator_report: dict[str, float]
    reports: Reports


class SessionRecorder:
    """Records the topics for the figures, and no others, since every subscriber slows the senders down.

    Parameters
    ----------
    node
        A node that no executor spins.
    namespace, simulator, controller
        Of the recorded nodes, and their names.
    joints
        Names, in the order of the vectors.
    flexible
        Whether to record deflections.
    """

    def __init__(
        self, node: Node, namespace: str, simulator: str, controller: str, joints: tuple[str, ...], *, flexible: bool
    ) -> None:
        self.joints, self._simulator, self._controller = joints, f"{namespace}/{simulator}", f"{namespace}/{controller}"
        self.states = TopicRecorder(node, JointState, "joint_states")
        self.terms = {t: TopicRecorder(node, JointState, f"{controller}/torque/{t}", 200) for t in TERMS}
        self.deflections = [TopicRecorder(node, JointState, f"{simulator}/deflections")] if flexible else []
        self.reports = TopicRecorder(node, DiagnosticArray, "/diagnostics", 20)
        self._streams = (self.states, *self.terms.values(), *self.deflections)

    def drain(self) -> None:
        """Take the waiting messages."""
        for recorder in (*self._streams, self.reports):
            recorder.drain()

    def forget(self) -> None:
        """Drop all messages so far."""
        self.drain()
        for recorder in (*self._streams, self.reports):
            recorder.samples = []

    def receives_everything(self) -> bool:
        """Whether states, torque terms, deflections and the simulator's reports arrive.

        A controller that has stopped the arm sends no more terms, so none are awaited then.
        """
        self.drain()
        terms = () if self.controller_report().failed else self.terms.values()
        streams = (self.states, *terms, *self.deflections)
        return all(r.samples for r in streams) and bool(self._simulator_report())

    def controller_report(self) -> ControllerStatus:
        """The controller's latest report."""
        none = ControllerStatus(False, "", {"motion locked": "it has not reported yet"})
        return next(self._controller_reports(), none)

    def _controller_reports(self) -> Iterator[ControllerStatus]:
        """The controller's reports, newest first."""
        self.drain()
        for sample in reversed(self.reports.samples):
            status = self.reports.decode(sample).status[0]
            if status.name == self._controller:
                values = {v.key: v.value for v in status.values}
                yield ControllerStatus(status.level == DiagnosticStatus.ERROR, status.message, values)

    def reports_after(self, processes: Sequence[NodeProcess]) -> tuple[ControllerStatus, ...]:
        """The controller's reports, the next one the last of them."""
        known = sum(1 for _ in self._controller_reports())
        wait_until(
            lambda: sum(1 for _ in self._controller_reports()) > known, PATIENCE, "the controller's report", processes
        )
        return tuple(self._controller_reports())[::-1]

    def reports_since(self, before: ControllerStatus, processes: Sequence[NodeProcess]) -> Reports:
        """What the controller reported about motions since the status `before`; waits for its next status."""
        reports = self.reports_after(processes)
        return reports[-1].reports(before, next((status.clamp for status in reversed(reports) if status.clamp), ""))

    def may_move(self) -> bool:
        """Whether the controller holds the arm and has passed its start-up check, by its latest report."""
        status = self.controller_report()
        return status.state == Mode.HOLDING.value and not status.locked

    def decided(self) -> bool:
        """Whether the controller allows motion, or reports an error."""
        return self.may_move() or self.controller_report().failed

    def stamps_until(self, end: int, processes: Sequence[NodeProcess]) -> Iterator[int]:
        """Yield the times of joint states as they come, ns, until `end`; raises `RneDynamicsError` if none comes."""
        while (now := self.newest_stamp()) < end:
            yield now

            def later(now: int = now) -> bool:
                return self.newest_stamp() > now

            wait_until(later, LOCKSTEP_TIMEOUT + PATIENCE, "the next joint state", processes, period=0.02)

    def newest_stamp(self) -> int:
        """Time of the newest joint state, ns."""
        self.drain()
        return stamp_of(self.states.decode(self.states.samples[-1]))

    def simulator_report(self, processes: Sequence[NodeProcess]) -> dict[str, float]:
        """The simulator's next report."""
        self.reports.drain()
        self.reports.samples = []
        wait_until(lambda: bool(self._simulator_report()), PATIENCE, "the simulator's report", processes)
        return self._simulator_report()

    def _simulator_report(self) -> dict[str, float]:
        self.drain()
        for sample in self.reports.samples:
            message = self.reports.decode(sample)
            values = {v.key: v.value for v in message.status[0].values}
            if message.status[0].name != self._simulator:
                continue
            return {
                "answered": float(values["answered states"]), "missed": float(values["missed replies"]),
                "overruns": float(values["overruns"]),
                "p50": 1e-3 * float(values["reply latency p50 (ms)"]),
                "p99": 1e-3 * float(values["reply latency p99 (ms)"]),
            }
        return {}

    def take(
        self, begins: tuple[int, ...], simulator_report: dict[str, float], reports: Reports = NO_REPORTS
    ) -> RawRecording:
        """The messages of a run."""
        self.drain()
        return RawRecording(
            self.states.samples, {name: r.samples for name, r in self.terms.items()},
            [s for r in self.deflections for s in r.samples], begins, simulator_report, reports,
        )

    def recording(self, taken: RawRecording, ready: dict[str, float]) -> Recording:
        """Decode everything."""
        states = [self.states.decode(s) for s in taken.states]
        places = [states[0].name.index(joint) for joint in self.joints]  # of a mechanism, without passive joints
        terms = {name: [r.decode(s) for s in taken.terms[name]] for name, r in self.terms.items()}
        tips = [r.decode(s) for r in self.deflections for s in taken.deflections]
        ends = len(tips[0].name) // len(COMPONENTS) if tips else 0
        return Recording(
            stamps=np.array([stamp_of(m) for m in states]),
            sent=np.array([s.sent for s in taken.states]),
            q=np.array([m.position for m in states])[:, places],
            qd=np.array([m.velocity for m in states])[:, places],
            efforts=np.array([m.effort for m in states])[:, places],
            begins=taken.begins,
            terms={
                name: (np.array([stamp_of(m) for m in messages]), np.array([m.effort for m in messages]))
                for name, messages in terms.items() if messages
            },
            simulator=taken.simulator_report,
            ready=ready,
            deflections=(
                np.array([stamp_of(m) for m in tips], dtype=np.int64),
                np.array([m.position for m in tips]).reshape(len(tips), ends, len(COMPONENTS)),
            ),
            reports=taken.reports,
        )
