"""Options --report and --movie of commands, and the parts that their reports share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from rne_dynamics.cli.terminal import console, progress
from rne_dynamics.errors import MissingDependencyError
from rne_dynamics.figures import movie, report
from rne_dynamics.figures.movie import Motion, write_movie
from rne_dynamics.figures.output_file import figure_file, output_file, require_matplotlib
from rne_dynamics.figures.report import Report, circumstances
from rne_dynamics.model.protocol import Robot


def add_report(parser: argparse._ActionsContainer) -> None:
    """Declare --report."""
    parser.add_argument("--report", type=Path, default=None, metavar="HTML",
                        help="write one HTML page with numbers, pictures and verdict, to send to others")  # fmt: skip


def add_movie(parser: argparse._ActionsContainer) -> None:
    """Declare --movie."""
    parser.add_argument("--movie", type=Path, default=None, metavar="GIF",
                        help="write a moving picture of the robot and its curves; needs matplotlib")  # fmt: skip


def check_files(args: argparse.Namespace, plot: str = "plot") -> None:
    """Refuse files of --report, --movie and the option `plot` that cannot be written, before a long run."""
    if getattr(args, plot, None):
        figure_file(Path(getattr(args, plot)), f"--{plot}")
    if getattr(args, "movie", None):
        figure_file(args.movie, "--movie", movie.FORMATS)
    if args.report:
        output_file(args.report, report.FORMATS, "--report")
        require_matplotlib()


def finish(page: Report, path: Path, command: str) -> None:
    """Add the command and its circumstances, and write the page."""
    page.heading("Command")
    page.command(command)
    page.facts(circumstances())
    page.save(path)


def draw_movie(path: Path, robot: Robot, motion: Motion, *, quiet: bool = False) -> None:
    """Write a moving picture with a progress bar."""
    with progress(quiet=quiet) as update:
        write_movie(path, robot, motion, lambda done: update("moving picture", done))


def plot_if_possible(path: Path, write: Callable[[Path], None], *, wanted: bool) -> str | None:
    """The path of a plot that was written, or None without matplotlib, which is an error only for a `wanted` plot."""
    try:
        write(path)
    except MissingDependencyError as error:
        if wanted:
            raise
        console().print(str(error))
        return None
    return str(path)
