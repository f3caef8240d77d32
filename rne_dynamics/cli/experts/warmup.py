"""`rne warmup`: compile in advance what nodes, commands and library functions need."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import numpy as np

from rne_dynamics.cli.answer import Answer, Line
from rne_dynamics.cli.arguments import argument, flag, whole
from rne_dynamics.cli.main import main as rne_command
from rne_dynamics.compiling.jit import COMPILED, UNCOMPILED
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.dispatch import forward_dynamics
from rne_dynamics.dynamics.forward_dynamics import Method
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import ArgumentError, MissingDependencyError, RneDynamicsError
from rne_dynamics.figures.style import output_folder
from rne_dynamics.model.dice import random_configuration

EXAMPLES = """\
examples:
  rne warmup                          into this user's folder of machine code
  rne warmup --dir kernels            into a folder; processes use it with RNE_DYNAMICS_CACHE_DIR=kernels
  rne warmup arm-nodes                only for nodes of arms without loops and flexible links
  rne warmup --jobs 4 --json

It is needed where processes cannot keep machine code, as in a read-only container image: RUN rne warmup in the
Dockerfile, after the installation. An update of this package or llvmlite, or another processor, needs another one.

exit code: 0 if everything is compiled, 1 if not
"""


#: A shipped machine of every kind that has kernels of its own.
ARM, MECHANISM, FLEXIBLE = "puma560", "pantograph", "flexible_arm"


def library() -> None:
    """General kernels of all quantities, for models without machine code of their own."""
    robot = load_urdf(ARM).with_own_code(False)
    rng = np.random.default_rng(0)
    many = random_configuration(robot, rng, 2)
    for q in (many[0], many):
        v, a = rng.normal(size=q.shape), rng.normal(size=q.shape)
        for quantity in QUANTITIES.values():
            link = (robot.link_names[-1],) if "link" in quantity.options else ()
            quantity.plain(robot, *(q, v, a)[: len(quantity.inputs)], *link)
        for method in get_args(Method):
            forward_dynamics(robot, q, v, a, method=method)


def commands(machine: str, *more: tuple[str, ...]) -> None:
    """Compile the quantities that commands compute of one robot."""
    simulations = ("simulate", "--seconds", "1"), ("simulate", "--free", "--seconds", "0.02")
    for command, *words in (("info",), *simulations, *more):
        code = rne_command([command, machine, *words])
        if code:
            raise RneDynamicsError(f"rne {command} {machine} {' '.join(words)} has ended with exit code {code}")


def nodes(machine: str, parameter: str) -> None:
    """Compile the quantities that controllers, gate and simulator compute of one robot, where there is ROS."""
    if find_spec("rclpy") is not None:
        from rne_dynamics.ros.sessions.in_process import configure_nodes

        configure_nodes(machine, parameter)
        if machine == ARM:  # with all its joints it has machine code of its own, else general kernels
            configure_nodes(machine, parameter, load_urdf(machine).joint_names[:-1])


_VERIFY = ("verify", "--states", "2")
#: Parts and what each does; the longest first, so that two processes end about together.
TASKS: dict[str, Callable[[], None]] = {
    "flexible": lambda: commands(FLEXIBLE, _VERIFY), "library": library, "mechanisms": lambda: commands(MECHANISM),
    "arm-nodes": lambda: nodes(ARM, "robot_description"), "mechanism-nodes": lambda: nodes(MECHANISM, "model"),
    "arms": lambda: commands(ARM, _VERIFY), "flexible-nodes": lambda: nodes(FLEXIBLE, "model"),
}


ARGUMENTS = (
    argument("parts", nargs="*", choices=[*TASKS, []], metavar="PART",
             help=f"parts to compile: {', '.join(TASKS)} (default: all)"),
    argument("--dir", type=Path, metavar="DIR", help="folder of the machine code (default: the user's)"),
    argument("--jobs", type=whole(1, 64), default=2, metavar="N", help="number of processes in parallel (default: 2)"),
    flag("--json", "print the figures as JSON"),
)  # fmt: skip


def run(args: argparse.Namespace) -> Answer:
    """Compile everything."""
    if not COMPILED:
        raise MissingDependencyError(f"there is nothing to compile. {UNCOMPILED}")
    from rne_dynamics.compiling import store
    from rne_dynamics.compiling.store import distrusted_folder

    if args.dir is not None:
        output_folder(args.dir, "--dir")
    folder = store.target() if args.dir is None else args.dir.resolve()
    if folder is None:
        raise ArgumentError("no folder for machine code can be written; give one as --dir, or correct the permissions")
    if why := distrusted_folder(folder.resolve()):
        raise ArgumentError(f"--dir is {args.dir}: {why}, so nothing there would be loaded; give another one")
    began = time.monotonic()
    failures = _warm(args.parts or list(TASKS), args.jobs, {**os.environ, store.FOLDER: str(folder)})
    sizes = [path.stat().st_size for path in folder.glob("*.code")]
    figures = {"files": len(sizes), "bytes": sum(sizes), "folder": str(folder), "failures": failures}
    text = f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB in {folder}, after {time.monotonic() - began:.0f} s"
    return Answer(figures, [Line(text), *(f"{name} failed: {why}" for name, why in failures.items())],
                  code=int(bool(failures)))  # fmt: skip


def _warm(parts: Sequence[str], jobs: int, environment: dict[str, str]) -> dict[str, str]:
    """Run each part in a process; the last line of the error of each part that failed."""
    environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "OFF"

    def failure(name: str) -> str:
        command = [sys.executable, "-m", "rne_dynamics.cli.experts.warmup", name]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""

    with ThreadPoolExecutor(jobs) as pool:
        return {name: error for name, error in zip(parts, pool.map(failure, parts), strict=True) if error}


if __name__ == "__main__":
    TASKS[sys.argv[1]]()
