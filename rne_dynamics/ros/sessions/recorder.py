"""Recorder of a session of simulator and controller, in a third process; decodes afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState

from rne_dynamics.control.control_law import TorqueTerms
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.tracking_verdict import Reports
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.messages.publishers import stamp_of
from rne_dynamics.ros.messages.topic_recording import Sample, TopicRecorder
from rne_dynamics.ros.sessions.processes import LOCKSTEP_TIMEOUT, NodeProcess, wait_until
from rne_dynamics.ros.simulator_topics import COMPONENTS

#: Longest wait for messages that should come at once, s.
PATIENCE = 30.0
#: What `SessionRecorder.receives_everything` awaits.
STREAMS = "joint states, torque terms and the simulator's report"
NO_REPORTS = Reports()
#: What is recorded of the simulator's report, and the factor that makes it SI.
SIMULATOR_FIGURES = {
    "answered": ("answered states", 1.0), "missed": ("missed replies", 1.0), "overruns": ("overruns", 1.0),
    "p50": ("reply latency p50 (ms)", 1e-3), "p99": ("reply latency p99 (ms)", 1e-3),
}


class ControllerStatus(NamedTuple):
    """Reports of a controller."""

    #: Whether it reports an error.
    failed: bool
    #: Its state with the cause.
    message: str
    #: The values of its diagnostics, by name.
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
    def speed(self) -> float:
        """Its speed scaling, 0 to 1."""
        return float(self.values.get("speed scaling", 1.0))

    def more(self, before: ControllerStatus, *counters: str) -> int:
        """By how much counters have grown since the status `before`."""
        return sum(int(self.values.get(c, 0)) - int(before.values.get(c, 0)) for c in counters)

    def reports(self, before: ControllerStatus, clamp: str) -> Reports:
        """Its reports about motions since the status `before`; `clamp` is its text on a limited effort."""
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
    """The topics during one run, as a third process has received them."""

    #: Each joint state's own time and when it was published, ns; (samples,).
    stamps: NDArray[np.int64]
    sent: NDArray[np.int64]
    #: Measured positions and velocities, and the efforts that drove the arm; (samples, n).
    q: Array
    qd: Array
    efforts: Array
    #: When each move was to start, ns of the stamps.
    begins: tuple[int, ...]
    #: Torque terms by name: stamps, ns, and values, (terms, n); none if the controller stopped the arm before them.
    terms: dict[str, tuple[NDArray[np.int64], Array]]
    #: The simulator's report from the first command to the end of the moves: `answered` and `missed` replies,
    #: `overruns`, `p50` and `p99` of the reply latency (s; from publishing a state until its command is received).
    simulator: dict[str, float]
    #: Time until each process was ready, s.
    ready: dict[str, float]
    #: Of the ends of flexible links: stamps, ns, and values, (messages, links, 6), m and rad, each in its link's frame;
    #: empty where there are none.
    deflections: tuple[NDArray[np.int64], Array]
    #: What the controller reported about the moves.
    reports: Reports


class SessionRecorder:
    """Records the topics for the figures, and no others, since every subscriber slows the senders down."""

    def __init__(
        self, node: Node, namespace: str, simulator: str, controller: str, joints: tuple[str, ...], *, flexible: bool
    ) -> None:
        self.joints, self._simulator, self._controller = joints, f"{namespace}/{simulator}", f"{namespace}/{controller}"
        self.states = TopicRecorder(node, JointState, "joint_states")
        self.terms = {t: TopicRecorder(node, JointState, f"{controller}/torque/{t}", 200) for t in TorqueTerms._fields}
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
        """Whether states, torque terms (not of a stopped arm), deflections and the simulator's reports arrive."""
        self.drain()
        terms = () if self.controller_report().failed else self.terms.values()
        streams = (self.states, *terms, *self.deflections)
        return all(r.samples for r in streams) and bool(self._simulator_report())

    def controller_report(self) -> ControllerStatus:
        """The controller's latest report."""
        none = ControllerStatus(False, "", {"motion locked": "it has not reported yet"})
        return next(self._reports(self._controller), none)

    def _reports(self, name: str) -> Iterator[ControllerStatus]:
        """The reports of the node of that full name, newest first."""
        self.drain()
        for sample in reversed(self.reports.samples):
            status = self.reports.decode(sample).status[0]
            if status.name == name:
                values = {v.key: v.value for v in status.values}
                yield ControllerStatus(status.level == DiagnosticStatus.ERROR, status.message, values)

    def next_report(self, processes: Sequence[NodeProcess]) -> tuple[ControllerStatus, str]:
        """The controller's next report, and its last words on an effort that it has limited."""
        known = sum(1 for _ in self._reports(self._controller))
        wait_until(
            lambda: sum(1 for _ in self._reports(self._controller)) > known, PATIENCE, "the controller's report",
            processes,
        )
        reports = tuple(self._reports(self._controller))
        return reports[0], next((clamp for report in reports if (clamp := report.values.get("last clamp"))), "")

    def decided(self) -> bool:
        """Whether the controller allows motion, or reports an error."""
        status = self.controller_report()
        return status.failed or (status.state == Mode.HOLDING.value and not status.locked)

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
        wait_until(self._simulator_report, PATIENCE, "the simulator's report", processes)
        return self._simulator_report()

    def _simulator_report(self) -> dict[str, float]:
        """Of the simulator's latest report; empty before the first one."""
        report = next(self._reports(self._simulator), None)
        return {} if report is None else {
            name: scale * float(report.values[key]) for name, (key, scale) in SIMULATOR_FIGURES.items()
        }

    def take(
        self, begins: tuple[int, ...], simulator_report: dict[str, float], reports: Reports = NO_REPORTS
    ) -> Callable[[dict[str, float]], Recording]:
        """The messages of a run: a function that decodes them, given the time until each process was ready, s."""
        self.drain()
        return partial(self._recording, [r.samples for r in self._streams], begins, simulator_report, reports)

    def _recording(
        self, samples: Sequence[Sequence[Sample]], begins: tuple[int, ...], simulator: dict[str, float],
        reports: Reports, ready: dict[str, float],
    ) -> Recording:
        states, *others = ([r.decode(s) for s in taken] for r, taken in zip(self._streams, samples, strict=True))
        places = [states[0].name.index(joint) for joint in self.joints]  # of a mechanism, without passive joints
        tips = others[len(self.terms)] if self.deflections else []
        ends = len(tips[0].name) // len(COMPONENTS) if tips else 0
        return Recording(
            stamps=np.array([stamp_of(m) for m in states]),
            sent=np.array([s.sent for s in samples[0]]),
            q=np.array([m.position for m in states])[:, places],
            qd=np.array([m.velocity for m in states])[:, places],
            efforts=np.array([m.effort for m in states])[:, places],
            begins=begins,
            terms={
                name: (np.array([stamp_of(m) for m in messages]), np.array([m.effort for m in messages]))
                for name, messages in zip(self.terms, others, strict=False) if messages
            },
            simulator=simulator,
            ready=ready,
            deflections=(
                np.array([stamp_of(m) for m in tips], dtype=np.int64),
                np.array([m.position for m in tips]).reshape(len(tips), ends, len(COMPONENTS)),
            ),
            reports=reports,
        )
