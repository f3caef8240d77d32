"""Time from a joint state to its effort with the node `recorder` running, and without it: in turn, in one run.

    python benchmarks/recorder_cost.py            # 4 rounds of 5 s each at 1 kHz
    python benchmarks/recorder_cost.py --json

Each round starts `computed_torque_controller` anew, as benchmarks/reply_latency.py does, with every check on. The
recorder takes joint states, efforts, torque terms, the reference and diagnostics. Rounds with and without it alternate,
and which of the two comes first. The ratios are medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from reply_latency import STATE_TIMEOUT, Harness, Round, end, figures
from rich.console import Console
from rich.table import Table
from usage import cpu_seconds

import rne_dynamics as rne

NAMES = ("without", "with")
#: Longest wait for the recorder to be ready, s.
START = 30.0
LINE = re.compile(r"(\S+): (\d+) received, (\d+) lost")


class Recorder:
    """The node `recorder` in a process of its own, writing to a file in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.file, self._log = folder / "run.mcap", folder / "log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rne_dynamics.ros.recorder", "--ros-args", "-p", f"output:={self.file}"],
                stdout=log, stderr=log,
            )
        deadline = time.monotonic() + START
        while "ready: " not in self._log.read_text():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the recorder does not start: {self._log.read_text()}")
            time.sleep(0.05)
        self._began, self._busy = time.monotonic(), cpu_seconds(self._process.pid)

    def finish(self) -> dict[str, float]:
        """End it; what it has cost and counted."""
        cpu = (cpu_seconds(self._process.pid) - self._busy) / (time.monotonic() - self._began)
        end(self._process)
        counts = [(int(a), int(b)) for _, a, b in LINE.findall(self._log.read_text())]
        return {
            "cpu_percent": 100.0 * cpu, "received": sum(a for a, _ in counts), "lost": sum(b for _, b in counts),
            "megabytes": 1e-6 * self.file.stat().st_size,
        }


def run(harness: Harness, controller: list[str], rounds: int) -> tuple[dict[str, list[Round]], list[dict[str, float]]]:
    """All rounds by name, and the recorders' figures."""
    found: dict[str, list[Round]] = {name: [] for name in NAMES}
    costs = []
    for k in range(rounds):
        for name in NAMES if k % 2 == 0 else NAMES[::-1]:
            with tempfile.TemporaryDirectory() as folder:
                recorder = Recorder(Path(folder)) if name == "with" else None
                found[name].append(harness.measure(controller))
                if recorder is not None:
                    costs.append(recorder.finish())
    return found, costs


def ratios(rounds: dict[str, list[Round]]) -> dict[str, float]:
    """Latency with the recorder over that without it: the median over the rounds."""
    pairs = list(zip(rounds["with"], rounds["without"], strict=True))
    return {
        f"p{percent}": float(np.median([
            np.percentile(a.latencies, percent) / np.percentile(b.latencies, percent) for a, b in pairs
        ])) for percent in (50, 99)
    }  # fmt: skip


def show(result: dict[str, dict[str, float]], recorder: dict[str, float], over: dict[str, float], title: str) -> None:
    """Print the figures."""
    table = Table("recorder", "p50 (ms)", "p99 (ms)", "late (%)", "controller's CPU (%)", "missing", title=title)
    for name, row in result.items():
        keys = ("p50_ms", "p99_ms", "late_percent", "cpu_percent", "missing")
        table.add_row(name, *(f"{row[key]:.3g}" for key in keys))
    console = Console()
    console.print(table)
    console.print("with over without: " + ", ".join(f"{name} {value:.2f}" for name, value in over.items()))
    console.print("recorder: " + ", ".join(f"{name} {value:.4g}" for name, value in recorder.items()))


def main() -> int:
    """Run the rounds and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", default="panda", help="shipped robot (default: panda, seven joints)")
    parser.add_argument("--rate", type=float, default=1000.0, help="joint states per second (default: 1000)")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each round (default: 5)")
    parser.add_argument("--rounds", type=int, default=4, help="with and without each (default: 4)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    controller = [
        sys.executable, "-m", "rne_dynamics.ros.computed_torque_controller", "--ros-args",
        "-p", f"robot_description:={args.robot}", "-p", f"state_timeout:={STATE_TIMEOUT}",
    ]  # fmt: skip
    rclpy.init()
    robot = rne.load_urdf(args.robot)
    harness = Harness(rclpy.create_node("recorder_cost"), robot, args.rate, args.seconds)
    rounds, costs = run(harness, controller, args.rounds)
    rclpy.shutdown()
    result = {name: figures(parts, args.rate) for name, parts in rounds.items()}
    recorder: dict[str, Any] = {name: float(np.median([cost[name] for cost in costs])) for name in costs[0]}
    over = ratios(rounds)
    if args.json:
        print(json.dumps({**result, "recorder": recorder, "with over without": over}, indent=2))
    else:
        show(result, recorder, over, f"{args.robot}, {args.rate:g} Hz")
    return 0


if __name__ == "__main__":
    sys.exit(main())
