"""Simulator and controller for half an hour at 1 kHz: memory, missed replies, overruns and latency over time.

    python benchmarks/soak.py --out soak.png       # 30 minutes
    python benchmarks/soak.py --seconds 120 --json

Two processes over real DDS, as `rne demo` runs them; moves go out one after the other. This process does not take
part in the exchange: it reads what both report on /diagnostics, and /proc. Exit code 1 where memory
grew by more than 5 MB after the first minute, where overruns or missed replies became more, or where a motion failed.
A run of less than three minutes shows all this and judges nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("ROS_DOMAIN_ID", "97")
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rich.console import Console
from rich.progress import Progress
from script import options, print_table
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rne_dynamics as rne
from rne_dynamics.cli.with_ros.moves import plan_moves
from rne_dynamics.control.trajectory import Trajectory
from rne_dynamics.figures.style import canvas, figure_file, legend_right
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.messages.trajectory_message import duration_message
from rne_dynamics.ros.sessions.demonstration import CONTROLLER, SIMULATOR, Run, Session, parameters
from rne_dynamics.ros.sessions.processes import START_PATIENCE, NodeProcess, wait_until, write_parameters
from rne_dynamics.ros.sessions.recorder import PATIENCE

NAMESPACE = "/rne_soak"
#: Time of three moves together, s, and how often it is looked whether one has ended.
MOVES, LOOK = 9.0, 0.1
#: Time between two samples of the processes, and of a row of the table, s; 10 % and 1/6 of a short run.
SAMPLE, ROW = 10.0, 60.0
#: Runs shorter than this are not judged, s.
JUDGED = 180.0
#: Memory may grow by so much after the first minute, bytes.
FLAT = 5e6
#: Counts may become so much more from the first third to the last: this factor, and so many a minute.
FACTOR, SLACK = 1.5, 10.0
#: Ends of motions, as the controller counts them.
ENDED = ("goals reached", "goals missed", "aborted trajectories", "cancelled trajectories", "replaced trajectories",
         "refused trajectories")
#: What is counted, and by whom.
COUNTS = {"missed replies": SIMULATOR, "simulator overruns": SIMULATOR, "controller overruns": CONTROLLER}
PAGE, TICK = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")


@dataclass
class Series:
    """What one process is seen to use: times, s, resident memory, bytes, processor time, s, and open files."""

    process: NodeProcess
    times: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)

    def look(self, now: float) -> None:
        """Note what it uses now."""
        folder = Path(f"/proc/{self.process.pid}")
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        self.times.append(now)
        self.cpu.append((int(fields[11]) + int(fields[12])) / TICK)
        self.memory.append(int((folder / "statm").read_text().split()[1]) * PAGE)
        self.files.append(sum(1 for _ in (folder / "fd").iterdir()))


class Reports:
    """What the two nodes say of themselves: by node a list of (time, s; numbers by key)."""

    def __init__(self, node: Node) -> None:
        self._recorder = TopicRecorder(node, DiagnosticArray, "/diagnostics", 50)
        self.by_node: dict[str, list[tuple[float, dict[str, float]]]] = {SIMULATOR: [], CONTROLLER: []}
        self.state = self.message = ""
        self.locked = "no message received"

    def read(self, now: float) -> None:
        """Take what has come."""
        self._recorder.drain()
        samples, self._recorder.samples = self._recorder.samples, []
        for sample in samples:
            status = self._recorder.decode(sample).status[0]
            namespace, _, name = status.name.rpartition("/")
            if namespace != NAMESPACE or name not in self.by_node:
                continue
            texts = {item.key: item.value for item in status.values}
            if name == CONTROLLER:
                self.state, self.locked, self.message = texts["state"], texts["motion locked"], status.message
            self.by_node[name].append((now, {key: x for key, text in texts.items() if (x := number(text)) is not None}))

    def latest(self, name: str, key: str) -> float:
        """The newest value; NaN where there is none yet."""
        return self.by_node[name][-1][1].get(key, np.nan) if self.by_node[name] else np.nan

    def column(self, name: str, key: str) -> tuple[np.ndarray, np.ndarray]:
        """Times, s, and values of one key."""
        rows = [(t, values[key]) for t, values in self.by_node[name] if key in values]
        return np.array([t for t, _ in rows]), np.array([value for _, value in rows])


def number(text: str) -> float | None:
    """A value of a diagnostic status as a number; None where it is none."""
    try:
        return float(text)
    except ValueError:
        return None


@dataclass
class Soak:
    """A run: samples of the processes and messages of the nodes, by times since its start, s."""

    asked: float
    series: dict[str, Series]
    reports: Reports
    sent: int = 0
    failure: str = ""

    def __post_init__(self) -> None:
        self.seconds = self.asked  # less where a motion fails, which ends the run

    @property
    def row(self) -> float:
        """Time of a row, s."""
        return min(ROW, self.seconds / 6.0)

    def settled(self, series: Series) -> np.ndarray:
        """Which samples of a process are from after the first minute."""
        return np.array(series.times) >= min(ROW, self.seconds / 3.0)

    def rows(self) -> list[dict[str, float]]:
        """Figures row by row."""
        edges = np.arange(0.0, self.seconds - 0.5 * self.row, self.row)
        return [self._figures(start, start + self.row) for start in edges]

    def _figures(self, start: float, end: float) -> dict[str, float]:
        figures = {"minute": end / 60.0}
        for name, series in self.series.items():
            times = np.array(series.times)
            figures[f"{name} memory (MB)"] = float(np.interp(end, times, series.memory)) / 1e6
            used = np.interp([start, end], times, series.cpu)
            figures[f"{name} CPU (%)"] = 100.0 * float(np.diff(used)[0]) / (end - start)
        states = self._count("periods", SIMULATOR, start, end)
        figures["states"] = states
        for key, name in COUNTS.items():
            figures[key] = self._count(key.split(" ", 1)[1] if key.endswith("overruns") else key, name, start, end)
        for name, key, shown, over in (
            (SIMULATOR, "recent reply latency p50 (ms)", "reply p50 (ms)", np.nanmedian),
            (SIMULATOR, "recent reply latency p99 (ms)", "reply p99 (ms)", np.nanmedian),
            (CONTROLLER, "reply latency p50 (ms)", "compute p50 (ms)", np.nanmedian),
            (CONTROLLER, "reply latency p99 (ms)", "compute p99 (ms)", np.nanmedian),
            (CONTROLLER, "longest reply (ms)", "longest (ms)", np.max),
        ):
            times, values = self.reports.column(name, key)
            inside = values[(times >= start) & (times < end)]
            figures[shown] = float(over(inside)) if np.isfinite(inside).any() else np.nan
        return figures

    def _count(self, key: str, name: str, start: float, end: float) -> float:
        """How much a counter has grown."""
        times, values = self.reports.column(name, key)
        return float(np.diff(np.interp([start, end], times, values))[0]) if times.size else np.nan


def session(robot: str, rate: float) -> tuple[Session, Run]:
    """The robot's nodes, and moves that end where they begin."""
    model = rne.load_urdf(robot)
    plan = plan_moves(model, MOVES)
    run = Run(plan.moves)
    return Session({"robot_description": robot}, model.joint_names, plan.moves[0].start, (run,), plan.effort_limit,
                   rate, bandwidth=60.0), run


def soak(robot: str, rate: float, seconds: float, progress: Progress) -> Soak:
    """Run simulator and controller and look on."""
    planned, run = session(robot, rate)
    node = rclpy.create_node("soak", namespace=NAMESPACE)
    reports = Reports(node)
    trajectories = node.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", OFFERED)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        files = {
            name: write_parameters(Path(folder, f"{name}.yaml"), values) for name, values in parameters(planned).items()
        }
        processes = [
            stack.enter_context(
                NodeProcess(name, ["--ros-args", "--params-file", str(files[name]), "-r", f"__ns:={NAMESPACE}"])
            )
            for name in (SIMULATOR, CONTROLLER)
        ]

        def ready() -> bool:
            reports.read(0.0)
            return bool(reports.by_node[SIMULATOR]) and reports.state == "holding" and not reports.locked

        wait_until(trajectories.get_subscription_count, START_PATIENCE, "the controller", processes)
        wait_until(ready, START_PATIENCE, "the arm to be held and checked", processes, period=LOOK)
        result = Soak(seconds, {p.module: Series(p) for p in processes}, reports)
        _run(result, run, planned.joints, trajectories, processes, progress)
        for process in reversed(processes):
            if process.stop() != 0:
                raise SystemExit(f"the {process.module} process has not ended cleanly:\n{process.output()}")
    node.destroy_node()
    return result


def _run(
    result: Soak, run: Run, joints: Sequence[str], trajectories: Any, processes: Sequence[NodeProcess],
    progress: Progress,
) -> None:
    """Send moves and take samples until the time is over."""
    task = progress.add_task("soaking", total=result.seconds)
    began = time.monotonic()
    sample_at, late_at = 0.0, np.inf
    reports = result.reports
    reports.by_node = {name: [] for name in reports.by_node}
    while (now := time.monotonic() - began) < result.seconds:
        for process in processes:
            process.check()
        reports.read(now)
        if now >= sample_at:
            sample_at += min(SAMPLE, result.seconds / 10.0)
            for series in result.series.values():
                series.look(now)
            progress.update(task, completed=now)
        if sum(reports.latest(CONTROLLER, key) for key in ENDED) >= result.sent and reports.state == "holding":
            move = run.moves[result.sent % len(run.moves)]
            trajectories.publish(towards(joints, move))
            result.sent += 1
            late_at = now + 3.0 * move.duration + PATIENCE
        elif now > late_at or reports.state in ("fault", "released"):
            result.failure = f"move {result.sent} does not end: {reports.message}"
            result.seconds = now
        time.sleep(LOOK)
    for series in result.series.values():
        series.look(result.seconds)


def towards(joints: Sequence[str], move: Trajectory) -> JointTrajectory:
    """The message that leads to the end of a move from wherever the arm is held."""
    end = move.sample(move.duration)
    point = JointTrajectoryPoint(
        positions=end.q.tolist(), velocities=end.qd.tolist(), accelerations=end.qdd.tolist(),
        time_from_start=duration_message(move.duration),
    )
    return JointTrajectory(joint_names=list(joints), points=[point])


def verdicts(result: Soak) -> dict[str, Any]:
    """What the run was for, in words and numbers; `passed` is None of what is not judged."""
    judged = result.asked >= JUDGED
    found: dict[str, Any] = {}
    for name, series in result.series.items():
        times, memory = np.array(series.times), np.array(series.memory)
        settled = result.settled(series)
        growth = float(memory[settled].max() - memory[settled][0])  # less is the system's doing: it takes pages away
        slope = float(np.polyfit(times[settled], memory[settled], 1)[0])
        found[f"{name} memory"] = {
            "passed": growth <= FLAT if judged else None, "growth_mb": growth / 1e6,
            "range_mb": float(np.ptp(memory[settled])) / 1e6, "mb_per_hour": 3600 * slope / 1e6,
            "files": [series.files[0], series.files[-1]],
        }
    rows = result.rows()
    third = len(rows) // 3
    for key in COUNTS:
        first, last = (
            float(np.median([r[key] for r in part]) * 60.0 / result.row) for part in (rows[:third], rows[-third:])
        )
        states = sum(r["states"] for r in rows)
        found[key] = {
            "passed": last <= FACTOR * first + SLACK if judged else None,
            "first_per_minute": first, "last_per_minute": last,
            "percent": 100.0 * sum(r[key] for r in rows) / states,
        }
    ends = {key: result.reports.latest(CONTROLLER, key) for key in (*ENDED, "stops", "lost streams")}
    found["motions"] = {
        "passed": not result.failure and ends["goals reached"] >= result.sent - 1 if judged else None,  # one under way
        "sent": result.sent, **{key.replace(" ", "_"): int(value) for key, value in ends.items()},
        **({"failure": result.failure} if result.failure else {}),
    }
    return found


def print_tables(result: Soak, found: dict[str, Any], title: str) -> None:
    """The figures for reading."""
    rows = result.rows()
    columns = [key.replace("computed_torque_controller", "controller") for key in rows[0]]
    cells = ((f"{value:.3g}" if value < 1000.0 else f"{value:.0f}" for value in row.values()) for row in rows)
    print_table(title, columns, map(tuple, cells), left=0)
    words = {True: "ok", False: "FAILED", None: "not judged: a short run"}
    for what, figures in found.items():
        numbers = ", ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in figures.items() if key != "passed"
        )
        print(f"{what}: {words[figures['passed']]} ({numbers})")


def plot(path: Path, result: Soak, title: str) -> None:
    """Memory, latency and counts over time."""
    with canvas(path, 9.0, 8.0) as figure:
        memory, latency, counts = figure.subplots(3, 1, sharex=True)
        for name, series in result.series.items():
            settled = series.memory[result.settled(series).argmax()]
            label = f"{name}, {settled / 1e6:.0f} MB"
            memory.plot(np.array(series.times) / 60.0, (np.array(series.memory) - settled) / 1e6, label=label)
        memory.set_ylim(-1.1e-6 * FLAT, 1.1e-6 * FLAT)
        memory.set_ylabel("resident memory: change (MB)")
        for percent in (50, 99):
            times, values = result.reports.column(SIMULATOR, f"recent reply latency p{percent} (ms)")
            latency.plot(times / 60.0, values, ".", markersize=2, label=f"{percent}th percentile of each report")
        latency.set_ylabel("reply latency (ms)")
        latency.set_yscale("log")
        rows = result.rows()
        for key in COUNTS:
            a_minute = [r[key] * 60.0 / result.row for r in rows]
            counts.plot([r["minute"] for r in rows], a_minute, "o-", label=f"{key} a minute")
        counts.set_yscale("symlog")
        counts.set_xlabel("minutes")
        for axes in (memory, latency, counts):
            legend_right(axes)
        figure.suptitle(title, x=0.01, ha="left")


def main() -> int:
    """Run, print, judge."""
    parser = options(__doc__, robot="panda", rate=1000.0, seconds=1800.0)
    parser.add_argument("--out", type=Path, default=None, metavar="FILE", help="write a plot")
    args = parser.parse_args()
    if args.out is not None:
        figure_file(args.out, "--out")
    rclpy.init()
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        result = soak(args.robot, args.rate, args.seconds, progress)
    rclpy.try_shutdown()
    found = verdicts(result)
    title = f"{args.robot}, {args.rate:g} Hz, {args.seconds:g} s"
    if args.out is not None:
        plot(args.out, result, title)
    if args.json:
        print(json.dumps({"verdicts": found, "rows": result.rows()}, indent=2))
    else:
        print_tables(result, found, title)
    return 1 if any(figures["passed"] is False for figures in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
