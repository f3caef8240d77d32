"""Scene of the simulator, its status for /diagnostics, and its lag behind the wall clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.errors import ArgumentError, ParameterError
from rne_dynamics.recording.yaml_files import read_mismatch, read_scene
from rne_dynamics.ros.loop.statistics import percentile
from rne_dynamics.ros.messages.answers import Answers
from rne_dynamics.ros.node.diagnostics import ERROR, OK, WARN, Diagnostics, first_finding
from rne_dynamics.ros.node.lifecycle import ArmNode
from rne_dynamics.ros.parameters.files import Parameter
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.plant.surroundings import Scene

PARAMETERS = (
    Parameter("scene", "", "File (.yaml) with what the arm touches, and a script, which begins with the first command. "
              "Empty for none.", read_only=True),
    Parameter("mismatch", "", "File (.yaml) with differences between arm and description. Empty for none.",
              read_only=True),
)  # fmt: skip


def scene_of(values: Mapping[str, Any]) -> tuple[Scene, Mismatch | None]:
    """Of the files of the parameters: the scene, and the mismatch with its script; raises ParameterError."""
    name = "scene"
    try:
        scene = read_scene(values[name]) if values[name] else Scene()
        name = "mismatch"
        return scene, scene.mismatch(read_mismatch(values[name]) if values[name] else None)
    except ArgumentError as error:
        raise ParameterError(f"parameter {name}: {error}") from None


#: Additional speed of a simulation that lags behind the wall clock: controllers in real time refuse stamps that gain
#: more than 5 %, see `control.guards.state_time`.
GAIN = 0.04
#: Smallest lag that is reported, s.
NOTABLE = 0.1


class SimulatorReport:
    """Status messages of one run of the simulation, from its start or reset on."""

    def __init__(
        self, node: ArmNode, diagnostics: Diagnostics, answers: Answers, wall: WallTime, clock_topic: str, *,
        lockstep: bool,
    ) -> None:
        self._node, self._diagnostics, self._answers, self._wall = node, diagnostics, answers, wall
        self._clock_topic, self._lockstep, self._lag = clock_topic, lockstep, 0.0
        #: Periods begun late, and commands refused.
        self.overruns = self.refused = 0

    def publish(self, periods: int, *, running: bool, paused: bool, commanded: bool) -> None:
        """Publish the next status, after so many `periods`."""
        publishers = self._node.count_publishers(self._clock_topic) if self._clock_topic else 0
        clocks = (
            f"{publishers} nodes publish {self._clock_topic}, so that whoever follows it gets the times of both in "
            "turn: give each simulated arm a clock of its own (for all its nodes -r /clock:=clock, in its "
            "namespace), or set publish_clock to false in all but one"
        )
        lag, before = self._wall.lag, self._lag
        self._lag = lag
        way = "and catching up" if lag < before else (
            "and not catching up: the computer is too slow or too busy; lower rate, or set lockstep and publish_clock"
        )
        behind = f"{lag:.2f} s behind the wall clock {way}"
        level, message = first_finding(
            (not running, WARN, "stopped"),
            (publishers > 1, ERROR, clocks),
            (not (self._lockstep or paused) and lag >= NOTABLE, WARN, behind),
            (not commanded, OK, "holding the arm until the first command"),
            (True, OK, "paused" if paused else "running"),
        )
        if message in (clocks, behind):
            self._diagnostics.warn(message)
        answers = self._answers
        recent, total = answers.latency.recent(), answers.latency.counts()
        self._diagnostics.publish(level, message, {
            "periods": periods, "behind the wall clock (s)": lag,
            "overruns": self.overruns, "answered states": answers.latency.count,
            "missed replies": answers.missed, "periods waited": answers.waits, "refused commands": self.refused,
            "reply latency p50 (ms)": 1e3 * percentile(total, 50.0),
            "reply latency p99 (ms)": 1e3 * percentile(total, 99.0),
            "recent reply latency p50 (ms)": 1e3 * percentile(recent, 50.0),
            "recent reply latency p99 (ms)": 1e3 * percentile(recent, 99.0),
        })


class WallTime:
    """The lag of a simulation behind the wall clock. `period`: time between two joint states, s."""

    def __init__(self, period: float) -> None:
        self._period = period
        self._lag = self._paused = 0.0

    def note(self, stamp: int, now: int) -> float:
        """Note the stamp of a joint state published `now`, both ns; time by which the next one is due earlier, s."""
        self._lag = (now - stamp) / NANOSECONDS - self._paused
        return min(self._lag, GAIN * self._period) if self._lag > 0.0 else 0.0

    def resume(self, stamp: int, now: int) -> None:
        """Note that a pause ends `now`, after the last `stamp`, both ns: its time is not caught up."""
        self._paused += max((now - stamp) / NANOSECONDS - self._paused - self._lag, 0.0)

    @property
    def lag(self) -> float:
        """Lag of the stamps, without pauses, s."""
        return max(self._lag, 0.0)
