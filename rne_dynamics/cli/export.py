"""`rne export`: write the model as a URDF for other tools."""

from __future__ import annotations

import argparse
from pathlib import Path

from rne_dynamics.cli.robot_argument import add_robot, robot_source, xacro_arguments
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.sources import is_model_file
from rne_dynamics.description.urdf_writer import to_urdf
from rne_dynamics.errors import ArgumentError

EXAMPLES = """\
examples:
  rne export my_arm.yaml                              the URDF of a Denavit-Hartenberg table
  rne export my_arm.yaml --out my_arm.urdf
  rne export my_arm.urdf.xacro --out my_arm.urdf      expanded, with all that dynamics need, without shapes
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("--language", choices=("urdf",), default="urdf", help="format (default: urdf)")
    parser.add_argument("--out", metavar="FILE", help="write to FILE instead of standard output")


def run(args: argparse.Namespace) -> int:
    """Write the model and return the exit code."""
    source = robot_source(args)
    robot = load_model(source, mappings=xacro_arguments(args) if is_model_file(source) else None)
    if robot.kind != "arm":
        raise ArgumentError(
            f"{source.name} describes closed loops or flexible links, which URDF cannot express; name the URDF of its "
            "tree"
        )
    text = to_urdf(robot)
    if args.out is None:
        print(text, end="")
        return 0
    try:
        Path(args.out).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"--out {args.out} cannot be written: {error.strerror}; name a file in a folder") from None
    print(f"wrote {args.out}")
    return 0
