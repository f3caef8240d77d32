"""How many kernels each program compiles at its first start, and how long: the figures of `spatial/first_start.py`.

    python benchmarks/first_start.py            # takes as long as `rne warmup` on an empty folder

All programs share one empty folder, so that each kernel is compiled and timed once, in CPU time. The time of a
program is the sum over the kernels that it compiles or finds there.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "OFF"

from rne_dynamics.spatial.compiling import Compiling, watch_compiling, watch_files

MACHINES = {"arm": "puma560", "mechanism": "pantograph", "flexible": "flexible_arm"}
NODES = ("computed_torque_controller", "gravity_compensation", "effort_gate", "simulator")
COMMANDS = {"info": (), "simulate": ("--seconds", "0.1"), "verify": ("--states", "2")}


def run_node(name: str, kind: str) -> None:
    """Configure one node, as `rne warmup` does."""
    import rclpy

    from rne_dynamics.ros import warm_up

    parameter = "robot_description" if kind == "arm" else "model"
    rclpy.init(args=["--ros-args", "--log-level", "error", "-r", "__ns:=/first_start",
                     "-p", f"{parameter}:={MACHINES[kind]}"])  # fmt: skip
    warm_up.configure(warm_up.NODES[name], MACHINES[kind])
    rclpy.shutdown()


def run_command(name: str, kind: str) -> None:
    """Run one command."""
    from rne_dynamics.cli.main import main as rne_command

    if rne_command([name, MACHINES[kind], *COMMANDS[name]]):
        raise SystemExit(f"rne {name} {MACHINES[kind]} has failed")


def child(name: str, kind: str) -> None:
    """Run one program; print what it has compiled and found, as JSON."""
    seconds: dict[str, float] = {}
    used: set[str] = set()
    open_kernel, since = "", 0.0

    def told(now: Compiling) -> None:
        nonlocal open_kernel, since
        if open_kernel:
            seconds[open_kernel] = seconds.get(open_kernel, 0.0) + time.process_time() - since
        open_kernel, since = now.kernel, time.process_time()

    def file(path: Path, new: bool) -> None:
        used.add(path.name.rpartition("-")[0].rpartition("-")[0])

    with watch_compiling(told), watch_files(file), contextlib.redirect_stdout(io.StringIO()):
        (run_node if name in NODES else run_command)(name, kind)
    print(json.dumps({"seconds": seconds, "used": sorted(used)}))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.program:
        child(*args.program)
        return 0
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in MACHINES:
            for name in (*NODES, *COMMANDS):
                if name == "verify" and kind == "mechanism":
                    continue
                out = subprocess.run(
                    [sys.executable, __file__, "--program", name, kind], stdout=subprocess.PIPE, text=True, check=True,
                    env={**os.environ, "NUMBA_CACHE_DIR": folder},
                ).stdout
                told = json.loads(out.splitlines()[-1])
                seconds |= told["seconds"]
                total = sum(seconds.get(kernel, 0.0) for kernel in told["used"])
                print(f'    ("{name}", "{kind}"): Expected({len(told["used"])}, {total:.0f}.0),', flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
