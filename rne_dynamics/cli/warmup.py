"""`rne warmup`: compile all kernels in advance."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.text import Text

from rne_dynamics.cli.numbers import whole
from rne_dynamics.cli.terminal import console, progress_bar
from rne_dynamics.cli.warmup_task import TASKS
from rne_dynamics.compiling.jit import COMPILED, UNCOMPILED
from rne_dynamics.errors import ArgumentError, MissingDependencyError
from rne_dynamics.figures.output_file import output_folder

EXAMPLES = """\
examples:
  rne warmup                          into this user's kernel folder
  rne warmup --dir kernels            into a folder; processes use it with NUMBA_CACHE_DIR=kernels
  rne warmup arm-nodes                only the kernels of nodes for arms without loops and flexible links
  rne warmup --jobs 4 --json

Kernels serve all robots, so one warm-up is enough. An update of this package or numba, or another processor, needs
another one, for the kernels that changed. In a Dockerfile, after the installation: RUN rne warmup

exit code: 0 if everything is compiled, 1 if not
"""


@dataclass
class Kernels:
    """Files of machine code that the processes reported."""

    compiled: set[str] = field(default_factory=set)
    found: set[str] = field(default_factory=set)

    @property
    def all(self) -> set[str]:
        """All files."""
        return self.compiled | self.found


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("parts", nargs="*", choices=[*TASKS, []], metavar="PART",
                        help=f"parts to compile: {', '.join(TASKS)} (default: all)")
    parser.add_argument("--dir", type=Path, default=None, metavar="DIR",
                        help="folder of the kernels (default: the user's kernel folder)")
    parser.add_argument("--jobs", type=whole(1, 64), default=2, metavar="N",
                        help="number of processes in parallel (default: 2)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    """Compile everything; 0 if every part has run."""
    if not COMPILED:
        raise MissingDependencyError(f"there is nothing to compile. {UNCOMPILED}")
    if args.dir is not None:
        output_folder(args.dir, "--dir")
    from rne_dynamics.compiling import kernel_cache
    from rne_dynamics.compiling.private_files import distrusted_folder

    # the folder in `kernel_cache.folders` of processes with this NUMBA_CACHE_DIR
    folder = kernel_cache.target() if args.dir is None else args.dir.resolve() / "rne_dynamics"
    if folder is not None and (why := distrusted_folder(folder.resolve())):
        raise ArgumentError(f"--dir is {args.dir}: {why}, so kernels there would not be loaded; give another one")
    if folder is None or not kernel_cache.can_be_written(folder):
        where = "none of the folders for kernels can" if folder is None else f"{folder} cannot"
        raise ArgumentError(f"{where} be written; give another one as --dir, or correct the permissions")
    environment = {**os.environ, "ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"}
    if args.dir is not None:
        environment["NUMBA_CACHE_DIR"] = str(args.dir.resolve())
    began = time.monotonic()
    kernels, failures = _warm(args.parts or list(TASKS), args.jobs, environment)
    figures = {
        "compiled": len(kernels.compiled),
        "found": len(kernels.all) - len(kernels.compiled),
        "seconds": round(time.monotonic() - began, 1),
        "bytes": sum(Path(name).stat().st_size for name in kernels.all),
        "folder": str(folder),
        "failures": failures,
    }
    if args.json:
        print(json.dumps(figures, indent=2))
    else:
        _print(figures)
    return 1 if failures else 0


def _warm(parts: Sequence[str], jobs: int, environment: dict[str, str]) -> tuple[Kernels, dict[str, str]]:
    """Compile the parts; return the reported files, and the last error line of each part that failed."""
    kernels, failures, lock = Kernels(), dict[str, str](), threading.Lock()
    bar = progress_bar(counted=True)

    def task(name: str) -> None:
        command = [sys.executable, "-m", "rne_dynamics.cli.warmup_task", name]
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            assert child.stderr is not None
            for line in child.stdout:
                with lock:
                    bar.update(row, description=_note(kernels, json.loads(line)))
            error = child.stderr.read()
        with lock:
            bar.advance(row)
            if child.returncode:
                failures[name] = error.strip().rpartition("\n")[2]

    with bar, ThreadPoolExecutor(jobs) as pool:
        row = bar.add_task("starting", total=len(parts))
        list(pool.map(task, parts))
    return kernels, failures


def _note(kernels: Kernels, line: dict[str, str]) -> str:
    """Process one line of a task; return the text to show."""
    kernels.compiled |= {line["kept"]} if "kept" in line else set()
    kernels.found |= {line["found"]} if "found" in line else set()
    return f"{len(kernels.compiled)} kernels compiled, {len(kernels.all - kernels.compiled)} were compiled before"


def _print(figures: dict[str, Any]) -> None:
    out = console()
    size = f"{figures['bytes'] / 1e6:.1f} MB in {figures['folder']}"
    if figures["compiled"] or figures["failures"]:
        seconds, found = f"{figures['seconds']:.0f} s", figures["found"]
        out.print(f"{figures['compiled']} kernels compiled in {seconds}, {found} were compiled before")
    else:
        out.print(f"all {figures['found']} kernels were compiled already")
    out.print(size, soft_wrap=True)
    for name, error in figures["failures"].items():
        out.print(Text(name, "red").append(f" failed: {error}", "default"), soft_wrap=True)
