"""Time from a joint state to its effort: the controller alone, with the viewer, and with the recorder, in one run.

    python benchmarks/listener_cost.py            # 4 rounds of 5 s each at 1 kHz
    python benchmarks/listener_cost.py --json

Each round starts `computed_torque_controller` anew, as benchmarks/reply_latency.py does, with every check on. The
viewer draws 60 times a second for a client that takes everything as a browser does, without drawing it. The recorder
takes joint states, efforts, torque terms, the reference and diagnostics. The order changes from round to round. The
ratios are medians over the rounds.
"""

from __future__ import annotations

import json
import multiprocessing
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
from script import options, print_rows
from usage import cpu_seconds

import rne_dynamics as rne

sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))
from support.viser_client import ViserClient

NAMES = ("alone", "viewer", "recorder")
#: Longest wait for a node to be ready, s.
START = 30.0
LINE = re.compile(r"(\S+): (\d+) received, (\d+) lost")


class Listener:
    """A node of this package in a process of its own."""

    def __init__(self, node: str, log: Path, *settings: str) -> None:
        self._log = log
        with log.open("w") as file:
            parameters = [word for setting in settings for word in ("-p", setting)]
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"rne_dynamics.ros.{node}", "--ros-args", *parameters], stdout=file, stderr=file
            )
        deadline = time.monotonic() + START
        while "ready: " not in self.output():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{node} does not start: {self.output()}")
            time.sleep(0.05)
        self._began, self._busy = time.monotonic(), cpu_seconds(self._process.pid)

    def output(self) -> str:
        """What it has logged."""
        return self._log.read_text()

    def finish(self) -> dict[str, float]:
        """End it; its share of a core, %."""
        cpu = (cpu_seconds(self._process.pid) - self._busy) / (time.monotonic() - self._began)
        end(self._process)
        return {"cpu_percent": 100.0 * cpu}


_pages: list[ViserClient] = []


def _connect(url: str) -> None:
    """In the client's process: take everything from now on."""
    _pages.append(ViserClient(url))


def _received() -> int:
    """In the client's process: how many messages came."""
    return len(_pages[0].messages)


def measure(harness: Harness, name: str, robot: str, controller: list[str]) -> tuple[Round, dict[str, float]]:
    """One round with the listener of that name, and what that one cost and counted."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        if name == "viewer":
            node = Listener(name, log, f"robot_description:={robot}", "port:=18400")
            url = re.search(r"http://\S+", node.output())
            assert url
            # in a process of its own: its work would delay the messages that this one times
            with multiprocessing.get_context("spawn").Pool(1) as browser:
                browser.apply(_connect, (url[0],))
                taken = harness.measure(controller)
                messages = browser.apply(_received)
            return taken, {**node.finish(), "messages": float(messages)}
        if name == "recorder":
            file = Path(folder, "run.mcap")
            node = Listener(name, log, f"output:={file}")
            taken, cost = harness.measure(controller), node.finish()
            counts = [(int(a), int(b)) for _, a, b in LINE.findall(node.output())]
            return taken, cost | {
                "received": float(sum(a for a, _ in counts)), "lost": float(sum(b for _, b in counts)),
                "megabytes": 1e-6 * file.stat().st_size,
            }
        return harness.measure(controller), {}


def run(
    harness: Harness, robot: str, controller: list[str], rounds: int
) -> tuple[dict[str, list[Round]], dict[str, list[dict[str, float]]]]:
    """All rounds by name, and the listeners' figures."""
    found: dict[str, list[Round]] = {name: [] for name in NAMES}
    costs: dict[str, list[dict[str, float]]] = {name: [] for name in NAMES}
    for k in range(rounds):
        for name in NAMES[k % len(NAMES):] + NAMES[: k % len(NAMES)]:
            taken, cost = measure(harness, name, robot, controller)
            found[name].append(taken)
            costs[name].append(cost)
    return found, costs


def ratios(rounds: dict[str, list[Round]], name: str) -> dict[str, float]:
    """Latency with a listener over that of the controller alone: the median over the rounds."""
    pairs = list(zip(rounds[name], rounds["alone"], strict=True))
    return {
        f"p{percent}": float(np.median([
            np.percentile(a.latencies, percent) / np.percentile(b.latencies, percent) for a, b in pairs
        ])) for percent in (50, 99)
    }  # fmt: skip


def show(result: dict[str, dict[str, float]], listeners: dict[str, dict[str, float]], title: str) -> None:
    """Print the figures."""
    keys = ("p50_ms", "p99_ms", "late_percent", "cpu_percent", "missing")
    rows = {name: {key: row[key] for key in keys} for name, row in result.items()}
    print_rows(title, ("with", "p50 (ms)", "p99 (ms)", "late (%)", "CPU (%)", "missing"), rows)
    for name, row in listeners.items():
        print(f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in row.items()))


def main() -> int:
    """Run the rounds and print the figures."""
    args = options(__doc__, robot="panda", rate=1000.0, seconds=5.0, rounds=4).parse_args()
    controller = [
        sys.executable, "-m", "rne_dynamics.ros.computed_torque_controller", "--ros-args",
        "-p", f"robot_description:={args.robot}", "-p", f"state_timeout:={STATE_TIMEOUT}",
    ]  # fmt: skip
    rclpy.init()
    robot = rne.load_urdf(args.robot)
    harness = Harness(rclpy.create_node("listener_cost"), robot, args.rate, args.seconds)
    rounds, costs = run(harness, args.robot, controller, args.rounds)
    rclpy.shutdown()
    result = {name: figures(parts, args.rate) for name, parts in rounds.items()}
    listeners: dict[str, dict[str, Any]] = {}
    for name in NAMES[1:]:
        over = {f"{key} over alone": value for key, value in ratios(rounds, name).items()}
        listeners[name] = over | {key: float(np.median([c[key] for c in costs[name]])) for key in costs[name][0]}
    if args.json:
        print(json.dumps({**result, "listeners": listeners}, indent=2))
    else:
        show(result, listeners, f"{args.robot}, {args.rate:g} Hz")
    return 0


if __name__ == "__main__":
    sys.exit(main())
