"""`rne export`: write the model as a URDF for other tools, or its dynamics as C for other programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rne_dynamics.c_export.export import to_c
from rne_dynamics.c_export.files import MARK
from rne_dynamics.c_export.function import EXPORTED
from rne_dynamics.cli.answer import Answer, Line, progress
from rne_dynamics.cli.arguments import (
    NO_ROTORS,
    ROBOT,
    argument,
    base,
    flag,
    group,
    load_robot,
    robot_source,
    xacro_arguments,
)
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.sources import EXPANDED, is_model_file
from rne_dynamics.description.urdf_writer import to_urdf
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.style import output_file, output_folder

EXAMPLES = f"""\
examples:
  rne export my_arm.yaml                              the URDF of a Denavit-Hartenberg table
  rne export my_arm.yaml --out my_arm.urdf
  rne export my_arm.urdf.xacro --out my_arm.urdf      expanded, with all that dynamics need, without shapes
  rne export panda --language c                       header, source, self-test and CMake file in panda_c/
  rne export my_arm.urdf --language c --out src/my_arm_dynamics --link tool0 --link camera
  rne export my_arm.urdf --language c --precision float --quantities gravity_torque inverse_dynamics
  cmake -S panda_c -B build && cmake --build build && ctest --test-dir build

quantities of C: {", ".join(EXPORTED)}; docs/export_c.md. Mechanisms and arms with flexible links
have no C.

exit code: 0 if everything is written, 1 if not
"""


ARGUMENTS = (
    *ROBOT,
    argument("--language", choices=("urdf", "c"), default="urdf", help="format (default: urdf)"),
    argument("--out", metavar="PATH", help="urdf: write to this file instead of standard output; c: write to this "
             "folder (default: NAME_c)"),
    group("C", (
        argument("--precision", choices=("double", "float"), help="type of all numbers (default: double)"),
        argument("--link", action="append", metavar="NAME", help="write the Jacobian of this link; may be given "
                 "several times (default: the last link of each branch)"),
        argument("--quantities", nargs="+", metavar="NAME", help="what to write (default: all)"),
        argument("--prefix", metavar="NAME", help="what all identifiers begin with (default: the robot's name)"),
        base(default=None), NO_ROTORS, flag("--json", "print what was written as JSON"),
    )),
)  # fmt: skip


def run(args: argparse.Namespace) -> int | Answer:
    """Write the model and return the exit code."""
    if args.language == "c":
        return _write_c(args)
    names = ("precision", "link", "quantities", "prefix", "base", "no_rotors", "json")
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(args, name)]
    if given:
        raise ArgumentError(f"{given[0]} is for C; add --language c")
    if args.out is not None:
        output_file(args.out, (), "--out")
    source = robot_source(args)
    robot = load_model(source, mappings=xacro_arguments(args) if is_model_file(source) else None)
    if robot.kind != "arm":
        raise ArgumentError(
            f"{source.name} describes closed loops or flexible links, which URDF cannot express; name the URDF of its "
            "tree"
        )
    text = to_urdf(robot)
    if robot.gravity.tolist() != [0.0, 0.0, -9.81]:
        gravity = ", ".join(f"{x:g}" for x in robot.gravity)
        print(f"rne export: gravity [{gravity}] m/s^2 is left out: URDF has none; give it where the file is loaded",
              file=sys.stderr)
    if args.out is None:
        print(text, end="")
        return 0
    try:
        Path(args.out).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"--out {args.out} cannot be written: {error.strerror}; name a file in a folder") from None
    print(f"wrote {args.out}")
    return 0


def _write_c(args: argparse.Namespace) -> Answer:
    """Write the files of `to_c` to a folder."""
    if args.out is not None:
        output_folder(args.out, "--out")
    source, robot = robot_source(args), load_robot(args)
    if robot.kind != "arm":
        raise ArgumentError(
            f"{source.name} describes closed loops or flexible links; C is written for open rigid arms, so name the "
            "URDF of one"
        )
    with progress() as update:
        export = to_c(
            robot, precision=args.precision or "double", links=args.link, quantities=args.quantities,
            prefix=args.prefix, source=Path(source.name.removesuffix(EXPANDED)).name, progress=update,
        )  # fmt: skip
    folder = Path(args.out or f"{export.prefix}_c")
    _write(folder, export.files)
    build, names = folder / "build", ", ".join(export.files)
    text = (
        f"wrote {names} to {folder}\n"
        f"{len(export.functions)} functions of {robot.name}, {robot.n} coordinates, {export.precision}; test:\n"
        f"  cmake -S {folder} -B {build} && cmake --build {build} && ctest --test-dir {build}"
    )
    figures = {
        "robot": robot.name, "folder": str(folder), "files": list(export.files), "prefix": export.prefix,
        "precision": export.precision,
        "functions": [
            {"name": f.name, "quantity": f.quantity, "link": f.link or None, "inputs": list(f.inputs),
             "output": f.output, "operations": f.operations}
            for f in export.functions
        ],
    }  # fmt: skip
    return Answer(figures, [Line(text)])


def _write(folder: Path, files: dict[str, str]) -> None:
    """Write the files; `ArgumentError` if that would replace a file that is no export, or fails."""
    try:
        for path in [folder / name for name in files]:
            if path.exists() and MARK not in path.read_text(encoding="utf-8", errors="replace"):
                raise ArgumentError(f"{path} exists and is no export; name another folder with --out")
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"{folder} cannot be written: {error.strerror}; name a folder with --out") from None
