"""How many kernels each program compiles at its first start, and how long: the table of `compiling/first_start.py`.

    python benchmarks/first_start.py                      # all programs, one after the other
    python benchmarks/first_start.py effort_gate simulate # some of them

Each program begins with an empty folder. Times are CPU time of the process that compiles.
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

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "OFF"

from rne_dynamics.compiling.meanwhile import compile_here
from rne_dynamics.compiling.progress import Compiling, watch_compiling

MACHINES = {"arm": "puma560", "mechanism": "pantograph", "flexible": "flexible_arm"}
NODES = ("computed_torque_controller", "gravity_compensation", "effort_gate", "simulator")
#: The package's own folder is looked into as well: no kernel there is for a processor of this name.
COLD = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
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
    """Run one program; print how much it has compiled, as JSON."""
    compile_here()  # as nodes and commands do
    begun: set[str] = set()
    began = ended = 0.0

    def report(now: Compiling) -> None:
        nonlocal began, ended
        began, ended = began or time.process_time(), time.process_time()
        begun.add(now.kernel)

    with watch_compiling(report), contextlib.redirect_stdout(io.StringIO()):
        (run_node if name in NODES else run_command)(name, kind)
    print(json.dumps({"kernels": len(begun - {""}), "seconds": ended - began}))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", choices=[*NODES, *COMMANDS, []],
                        help="nodes and commands (default: all)")
    parser.add_argument("--kinds", nargs="+", choices=list(MACHINES), default=list(MACHINES), help="of robots")
    parser.add_argument("--program", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.program:
        child(*args.program)
        return 0
    for kind in args.kinds:
        for name in args.programs or (*NODES, *COMMANDS):
            if (name, kind) == ("verify", "mechanism"):
                continue
            with tempfile.TemporaryDirectory() as folder:
                out = subprocess.run(
                    [sys.executable, __file__, "--program", name, kind], stdout=subprocess.PIPE, text=True, check=True,
                    env={**os.environ, "NUMBA_CACHE_DIR": folder, **COLD},
                ).stdout
            cost = json.loads(out.splitlines()[-1])
            print(f'    ("{name}", "{kind}"): Expected({cost["kernels"]}, {cost["seconds"]:.0f}.0),', flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
