"""`rne new`: a parameter file for one's own arm, from its URDF."""

from __future__ import annotations

import argparse
import shlex
import shutil
from functools import partial
from pathlib import Path

from rich.console import Console

from rne_dynamics.advice import rne
from rne_dynamics.cli.new_file import ArmSettings, file_text, settings_of
from rne_dynamics.cli.numbers import real
from rne_dynamics.cli.robot_argument import MOST_SAMPLED, add_robot, load_robot
from rne_dynamics.cli.terminal import Answer
from rne_dynamics.control.thresholds import ASSUMED_RATE
from rne_dynamics.description.sources import find, names_model_file
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.output_file import output_file

EXAMPLES = """\
examples:
  rne new my_arm.urdf                         writes my_arm.yaml
  rne new my_arm.urdf --out config/my_arm.yaml --rate 500
  rne new ur10                                an arm of the example-robot-data wheel
  rne new my_arm.urdf.xacro --arg tool:=gripper
  rne new my_arm.urdf --force                 replaces my_arm.yaml

The file is for all nodes of this package: config:=my_arm.yaml of the launch files, --config of rne commands. Limits are
those of the URDF. An effort limit that it does not give is a line to fill in, without which controllers do not start.

exit code: 0 if the file is written, 1 if not
"""

#: Bounds of --rate, Hz.
_SLOWEST, _FASTEST = 10.0, 10000.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("--out", metavar="FILE", help="the parameter file, .yaml (default: the robot's name, in this "
                        "folder)")  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
    parser.add_argument(
        "--rate", type=real(_SLOWEST, _FASTEST, "Hz"), default=ASSUMED_RATE, metavar="HZ",
        help="joint states per second that always come, "
        f"from which gains and damping follow (default: {ASSUMED_RATE:g})",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def run(args: argparse.Namespace) -> Answer:
    """Write the file; the answer is what is missing and what comes next."""
    if args.robot == "-":
        raise ArgumentError("ROBOT is -; the nodes need a file too, so give its path")
    path = _path(args)
    args.base = "fixed"
    settings = settings_of(load_robot(args, MOST_SAMPLED), args.rate)
    path.write_text(file_text(settings, args.robot), encoding="utf-8")
    steps = next_commands(args, path, settings)
    report = {"file": str(path), "joints": list(settings.joints), "fill_in": list(settings.without_effort),
              "notes": settings.notes, "next": steps}  # fmt: skip
    return Answer(report, partial(_print, path=path, settings=settings, steps=steps))


def _print(out: Console, path: Path, settings: ArmSettings, steps: list[str]) -> None:
    """Print what is missing, and what comes next."""
    out.print(f"wrote {path}: {len(settings.joints)} joints of {settings.name}", soft_wrap=True)
    for note in settings.notes:
        out.print(f"  {note}")
    out.print("next:")
    for step in steps:
        out.print(f"  {step}", soft_wrap=True)  # one line each, to copy


def _path(args: argparse.Namespace) -> Path:
    """The file to write; `ArgumentError` if it exists, without --force, or is the robot's own."""
    source = find(args.robot)
    stem = source.name.split(".")[0] if "/" in args.robot or "." in args.robot else args.robot
    default = f"{stem}_params.yaml" if names_model_file(args.robot) else f"{stem}.yaml"
    path = output_file(args.out or default, (".yaml", ".yml"), "--out")
    if path.exists() and source.exists() and path.samefile(source):
        raise ArgumentError(f"--out is {str(path)!r}, the robot's own file; name another")
    if path.exists() and not args.force:
        raise ArgumentError(f"{path} exists; name another file with --out, or replace it with --force")
    return path


def next_commands(args: argparse.Namespace, path: Path, settings: ArmSettings) -> list[str]:
    """The commands to go on with, as they can be typed here."""
    file = shlex.quote(str(path))
    given = [shlex.quote(args.robot)]
    for mapping in args.mappings:
        given += ["--arg", shlex.quote(mapping)]
    if args.lenient:
        given.append("--lenient")
    robot = " ".join(given)
    steps = [rne(f"check {robot}"), rne(f"guide {robot} --config {file}")]
    if shutil.which("ros2") and not args.lenient:
        source = shlex.quote(f"{'model' if names_model_file(args.robot) else 'urdf'}:={args.robot}")
        more = " " + shlex.quote(f"xacro_args:={' '.join(args.mappings)}") if args.mappings else ""
        started = f"ros2 launch rne_dynamics simulated_arm.launch.py {source}{more} config:={file}"
    else:
        started = rne(f"demo --robot {robot} --config {file}")
    return [*steps, started]
