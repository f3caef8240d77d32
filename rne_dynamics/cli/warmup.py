"""`rne warmup`: compile in advance what nodes, commands and library functions need."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rne_dynamics.cli.numbers import whole
from rne_dynamics.cli.warmup_task import TASKS
from rne_dynamics.compiling.jit import COMPILED, UNCOMPILED
from rne_dynamics.errors import ArgumentError, MissingDependencyError
from rne_dynamics.figures.output_file import output_folder

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


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("parts", nargs="*", choices=[*TASKS, []], metavar="PART",
                        help=f"parts to compile: {', '.join(TASKS)} (default: all)")
    parser.add_argument("--dir", type=Path, default=None, metavar="DIR",
                        help="folder of the machine code (default: the user's)")
    parser.add_argument("--jobs", type=whole(1, 64), default=2, metavar="N",
                        help="number of processes in parallel (default: 2)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    """Compile everything; 0 if every part has run."""
    if not COMPILED:
        raise MissingDependencyError(f"there is nothing to compile. {UNCOMPILED}")
    from rne_dynamics.compiling import store
    from rne_dynamics.compiling.private_files import distrusted_folder

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
    if args.json:
        print(json.dumps(figures, indent=2))
    else:
        print(f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB in {folder}, after {time.monotonic() - began:.0f} s")
        for name, error in failures.items():
            print(f"{name} failed: {error}")
    return 1 if failures else 0


def _warm(parts: Sequence[str], jobs: int, environment: dict[str, str]) -> dict[str, str]:
    """Run each part in a process; the last line of the error of each part that failed."""
    environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "OFF"

    def failure(name: str) -> str:
        command = [sys.executable, "-m", "rne_dynamics.cli.warmup_task", name]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""

    with ThreadPoolExecutor(jobs) as pool:
        return {name: error for name, error in zip(parts, pool.map(failure, parts), strict=True) if error}
