"""The ROBOT argument that commands share, and printing that suits terminals and pipes."""

from __future__ import annotations

import argparse
import math
import sys

from rich.console import Console

from rne_dynamics.description.sources import Source, names_model_file, read_source, read_stdin
from rne_dynamics.errors import ArgumentError

#: Width where the output is no terminal, so that tables in files and pipes are not squeezed into 80 columns.
_PIPE_WIDTH = 200


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Declare ROBOT and the arguments for xacro."""
    parser.add_argument(
        "robot",
        metavar="ROBOT",
        help="name of a robot or mechanism that ships (puma560, pantograph), path of a .urdf, .xacro or model file "
        "(.yaml), file:// or package:// URI, - for stdin",
    )
    parser.add_argument(
        "--arg",
        metavar="NAME:=VALUE",
        action="append",
        default=[],
        dest="mappings",
        help="argument for a .xacro file; may be given several times",
    )


def add_no_rotors(parser: argparse.ArgumentParser) -> None:
    """Declare --no-rotors, for `rotors` of `load_urdf` and `load_model`."""
    parser.add_argument(
        "--no-rotors",
        action="store_true",
        help="leave out the rotor inertias of the description: efforts are those behind the gears, what torque sensors "
        "in the joints measure",
    )


def robot_source(args: argparse.Namespace) -> Source:
    """Read what ROBOT names; raises `DescriptionError` or, for a faulty --arg, `ArgumentError`.

    Arguments for xacro are used up here, except those of a model file, which are for the URDF it names.
    """
    if args.robot == "-":
        return read_stdin()
    return read_source(args.robot, {} if names_model_file(args.robot) else xacro_arguments(args))


def xacro_arguments(args: argparse.Namespace) -> dict[str, str]:
    """What --arg says, by name; `ArgumentError` if it is faulty."""
    mappings = {}
    for text in args.mappings:
        name, given, value = text.partition(":=")
        if not given or not name:
            raise ArgumentError(f"--arg is {text!r}; write NAME:=VALUE")
        mappings[name] = value
    return mappings


def assignments(option: str, texts: list[str]) -> dict[str, float]:
    """Values of an option that is written NAME=NUMBER and may be given several times; `ArgumentError` otherwise."""
    values = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            values[name] = float(number)
        except ValueError:
            values[name] = math.nan
        if not name or not math.isfinite(values[name]):
            raise ArgumentError(f"{option} is {text!r}; write NAME=NUMBER")
    return values


def console() -> Console:
    """A console that prints text as it is."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(width=width, markup=False, emoji=False, highlight=False)
