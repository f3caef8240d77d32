"""How long the first call of a function of the library takes where nothing has been compiled before.

    python benchmarks/first_answer.py                     # UR5, Baxter, Talos and a mechanism
    python benchmarks/first_answer.py --robot panda --payload 1.0 --function inverse_dynamics
    python benchmarks/first_answer.py --robot pantograph --loaded   # a force on the last link
    python benchmarks/first_answer.py --general                     # as where there is no machine code

Each call is made in a process of its own, by a copy of the package with an empty folder of kernels; the time of import
and URDF is not counted. Large robots are answered by plain Python while another process compiles: "compiled" is when,
after the first call, that process is done.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

import rne_dynamics
from rne_dynamics.compiling.meanwhile import HERE
from rne_dynamics.description.share import share_file

#: Functions of states, and how many vectors each takes.
FUNCTIONS = {
    "inverse_dynamics": 3, "forward_dynamics": 3, "mass_matrix": 1, "bias_torque": 2, "gravity_torque": 1,
    "coriolis_matrix": 2, "regressor": 3, "inverse_dynamics_derivatives": 3, "forward_dynamics_derivatives": 3,
    "forward_kinematics": 1, "kinetic_energy": 2, "potential_energy": 1, "momentum": 2, "joint_reactions": 3,
    "lagrange_terms": 2,
}  # fmt: skip
#: Those of them that take loads on links.
LOADED = ("inverse_dynamics", "forward_dynamics", "joint_reactions")
ROBOTS = ("ur5", "baxter", "talos_reduced", "pantograph")
PROGRAM = """
import json, sys, time
import numpy as np
import rne_dynamics as rne
from rne_dynamics.compiling.meanwhile import Meanwhile

name, function, count, payload = sys.argv[1], getattr(rne, sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
try:
    robot = rne.load_model(name)
    if payload:
        robot = rne.with_payload(robot, rne.Payload(robot.link_names[-1], payload))
    vectors = [0.1 * np.arange(1.0, robot.n + 1.0) / robot.n for _ in range(count)]
    vectors[0] = np.array(robot.neutral, dtype=np.float64)
    options = {"wrenches": {robot.link_names[-1]: np.ones(6)}} if int(sys.argv[5]) else {}
    began = time.perf_counter()
    function(robot, *vectors, **options)
except rne.RneDynamicsError as error:
    print(json.dumps({"refused": str(error)}))
    raise SystemExit
first = time.perf_counter() - began
other = Meanwhile.running
if other is not None:
    other.wait()
print(json.dumps({"first": first, "compiled": time.perf_counter() - began if other is not None else None}))
"""


def measure(
    robot: str, functions: Sequence[str], payload: float, *, loaded: bool = False, general: bool = False
) -> dict[str, dict[str, float | None]]:
    """Seconds of the first call of each function, and until another process has compiled it.

    Where `general`, the copy of the package takes LLVM for too old for machine code of a robot.
    """
    found = {}
    package = Path(rne_dynamics.__file__).parent
    for function in functions:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(package, f"{folder}/rne_dynamics", ignore=shutil.ignore_patterns("__pycache__"))
            if general:
                source = Path(folder, "rne_dynamics", "straight_line", "machine_code.py")
                source.write_text(source.read_text().replace("\n_OLDEST_LLVM = ", "\n_OLDEST_LLVM = 1000 + "))
            changed = {"PYTHONPATH": folder, "NUMBA_CACHE_DIR": ""}
            environment = {k: v for k, v in {**os.environ, **changed}.items() if k != HERE}
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM, _place(robot), function, str(FUNCTIONS[function]), str(payload),
                 str(int(loaded))],
                env=environment, cwd=folder, capture_output=True, text=True, check=True,
            )  # fmt: skip
            found[function] = json.loads(done.stdout.splitlines()[-1])
    return found


def _place(robot: str) -> str:
    """The file of a robot that ships, which the copy has not; any other as it is named."""
    try:
        return str(share_file(f"urdf/{robot}.yaml"))
    except rne_dynamics.RneDynamicsError:
        return robot


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", action="append", help=f"may be repeated (default: {', '.join(ROBOTS)})")
    parser.add_argument("--function", action="append", choices=FUNCTIONS, help="may be repeated (default: all)")
    parser.add_argument("--payload", type=float, default=0.0, help="kg at the last link: a model without own code")
    parser.add_argument("--loaded", action="store_true", help=f"a load on the last link; only {', '.join(LOADED)}")
    parser.add_argument("--general", action="store_true", help="without machine code, as on macOS or with an old LLVM")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    functions = args.function or (list(LOADED) if args.loaded else list(FUNCTIONS))
    found = {
        robot: measure(robot, functions, args.payload, loaded=args.loaded, general=args.general)
        for robot in args.robot or ROBOTS
    }
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    table = Table("function", *found, title="first call, s (compiled, s)")
    for function in functions:
        table.add_row(function, *(_cell(rows[function]) for rows in found.values()))
    Console().print(table)
    return 0


def _cell(row: dict[str, float | None]) -> str:
    if "refused" in row:
        return "-"
    compiled = row["compiled"]
    return f"{row['first']:.2f}" + ("" if compiled is None else f" ({compiled:.1f})")


if __name__ == "__main__":
    sys.exit(main())
