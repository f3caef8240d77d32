"""`rne inertia`: mass, mass centre and inertia of solids, meshes, composites and links, to paste into a URDF."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Callable

import numpy as np
from rich.table import Table

from rne_dynamics.cli.inertia_report import describe, print_report
from rne_dynamics.cli.numbers import positive, real, whole
from rne_dynamics.cli.robot_argument import add_robot, positions, robot_source
from rne_dynamics.cli.table_layout import print_table
from rne_dynamics.cli.terminal import console
from rne_dynamics.description.inertial import inertial_xml
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.parts import read_parts
from rne_dynamics.description.urdf_tree import rotation_rpy
from rne_dynamics.dynamics.composite.composite_inertia import composite_inertia
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model import layout
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.materials import MATERIALS, density_of
from rne_dynamics.model.mesh import load_mesh, mesh_inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.solids import SOLIDS

EXAMPLES = """\
examples:
  rne inertia box 0.1 0.2 0.3 --mass 2
  rne inertia tube 0.04 0.035 0.4 --material aluminium --xyz 0 0 0.2
  rne inertia plate 0.2 0.3 --thickness 0.002 --density 7850
  rne inertia mesh part.stl --material pla --scale 0.001
  rne inertia composite parts.yaml --urdf
  rne inertia robot puma560 --link link2 --about 0 0 0.2275
  rne inertia robot puma560 --link link2 --subtree --at joint3=1.57
  rne inertia materials

Solids are centred, or have their flat base at z = 0; see `rne inertia SOLID --help`. --xyz and --rpy place the body in
the link's frame, and the printed numbers are in that frame. --urdf prints the <inertial> element only.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    kinds = parser.add_subparsers(dest="body", metavar="BODY", required=True)
    for name, make in SOLIDS.items():
        text = (make.__doc__ or "").strip()
        solid = kinds.add_parser(name, help=text.partition(";")[0], description=text)
        for p in inspect.signature(make).parameters.values():
            if p.kind is p.POSITIONAL_OR_KEYWORD:
                solid.add_argument(p.name, type=real(), help="m")
            elif p.name in ("thickness", "area"):
                unit = "m" if p.name == "thickness" else "m^2"
                solid.add_argument(f"--{p.name}", type=real(), help=f"{unit}; with a density only")
        _add_mass(solid)
        _add_common(solid, placed=True)
    mesh = kinds.add_parser("mesh", help="the volume of a closed triangle mesh (STL, OBJ, PLY, ...)")
    mesh.add_argument("file", help="path of the mesh")
    mesh.add_argument("--scale", type=positive(), default=1.0,
                      help="metres per unit of the file, 0.001 for millimetres")
    repair = mesh.add_mutually_exclusive_group()
    repair.add_argument("--repair", action="store_true", help="fill small holes and correct triangles with trimesh")
    repair.add_argument("--hull", action="store_true", help="use the convex hull: approximate, works for every mesh")
    _add_mass(mesh)
    _add_common(mesh, placed=True)
    parts = kinds.add_parser("composite", help="solids, meshes and holes listed in a YAML file")
    parts.add_argument("file", help="path of the part file; docs/textbook.md describes its format")
    _add_common(parts, placed=True)
    robot = kinds.add_parser("robot", help="a link of a robot, or its subtree as one rigid body")
    add_robot(robot)
    robot.add_argument("--link", help="the link, and the frame of the result (default: the root link with its subtree)")
    robot.add_argument("--subtree", action="store_true", help="include all descendants of the link")
    robot.add_argument(
        "--at", action="append", default=[], metavar="JOINT=VALUE",
        help="joint position: rad or m, or with a unit (90deg, 20mm); others at zero"
    )
    _add_common(robot, placed=False)
    table = kinds.add_parser("materials", help="materials of --material: densities, their sources, Young's moduli")
    table.add_argument("--json", action="store_true", help="print them as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the body and return the exit code."""
    if args.body == "materials":
        return _materials(args.json)
    body, name = _body(args)
    if args.urdf:
        print(inertial_xml(body, digits=args.digits))
        return 0
    given = args.about is not None or args.axes is not None
    about = (args.about or (0.0,) * 3, args.axes or (0.0,) * 3) if given else None
    report = describe(name, body, about, args.digits)
    if args.json:
        print(json.dumps(report, indent=2))
    else:
        print_report(console(), report)
    return 0


def _body(args: argparse.Namespace) -> tuple[Inertia, str]:
    """The body in the frame of the report, and its name."""
    if args.body == "robot":
        return _of_robot(args)
    if args.body == "composite":
        parts = read_parts(args.file)
        _warn(parts.doubts)
        body, name = parts.inertia, f"{args.file}: {parts.count} parts"
    elif args.body == "mesh":
        mesh = load_mesh(args.file, scale=args.scale, repair=args.repair, hull=args.hull)
        _warn(mesh.doubts())
        body = mesh_inertia(mesh, mass=args.mass, density=_density(args))
        name = f"{args.file}: {len(mesh.triangles)} triangles, {' x '.join(f'{x:.4g}' for x in mesh.extent)} m"
    else:
        make: Callable[..., Inertia] = SOLIDS[args.body]
        wanted = inspect.signature(make).parameters
        given = {key: getattr(args, key) for key in wanted if key not in ("mass", "density")}
        body = make(**given, mass=args.mass, density=_density(args))
        name = args.body
    return body.moved(rotation_rpy(*args.rpy), np.array(args.xyz)), name


def _of_robot(args: argparse.Namespace) -> tuple[Inertia, str]:
    robot = load_model(robot_source(args))
    if robot.kind != "arm":
        raise ArgumentError(f"{robot.name!r} has closed loops or flexible links; name the URDF of its tree")
    link = robot.tree.root if args.link is None else args.link
    whole = args.subtree or args.link is None
    body = composite_inertia(robot, _configuration(robot, args.at), link, None if whole else (link,))
    if body.mass == 0.0:
        fix = "name another with --link" if whole else "add --subtree for its descendants, or name another"
        raise ArgumentError(f"link {link!r} of robot {robot.name!r} has no mass; {fix}")
    return body, f"{robot.name}: {link}{' and its descendants' if whole else ''}"


def _configuration(robot: RobotModel, texts: list[str]) -> Array:
    q: Array = robot.neutral.copy()
    for name, value in positions("--at", texts, robot).items():
        moved = robot.topology[robot.topology[:, layout.VELOCITY_INDEX] == robot.joint_index(name)]
        if not len(moved):
            raise ArgumentError(f"--at: {name!r} belongs to a floating joint, which stays at zero; leave it out")
        q[moved[0, layout.POSITION_INDEX]] = value
    return q


def _density(args: argparse.Namespace) -> float | None:
    if args.material is None:
        density: float | None = args.density
        return density
    if args.density is not None:
        raise ArgumentError(f"both --density {args.density:g} and --material {args.material} are given; give one")
    return density_of(args.material)


def _add_mass(parser: argparse.ArgumentParser) -> None:
    weight = parser.add_argument_group("mass, exactly one")
    weight.add_argument("--mass", type=positive(unit="kg"), help="kg")
    weight.add_argument("--density", type=positive(unit="kg/m^3"), help="kg/m^3")
    weight.add_argument("--material", help="material that gives the density; `rne inertia materials` lists them")


def _add_common(parser: argparse.ArgumentParser, *, placed: bool) -> None:
    if placed:
        place = parser.add_argument_group("placement of the body in the link's frame")
        place.add_argument("--xyz", type=real(), nargs=3, default=(0.0,) * 3, metavar=("X", "Y", "Z"), help="m")
        place.add_argument("--rpy", type=real(), nargs=3, default=(0.0,) * 3, metavar=("R", "P", "Y"), help="rad")
    other = parser.add_argument_group("additional inertia about another point and axes")
    other.add_argument("--about", type=real(), nargs=3, metavar=("X", "Y", "Z"), help="point in the frame, m")
    other.add_argument("--axes", type=real(), nargs=3, metavar=("R", "P", "Y"),
                       help="rpy of the axes in the frame, rad")
    output = parser.add_argument_group("output")
    output.add_argument("--urdf", action="store_true", help="print the <inertial> element only")
    output.add_argument("--json", action="store_true", help="print everything as JSON")
    output.add_argument(
        "--digits", type=whole(3, 17), default=17, metavar="N",
        help="significant digits of the <inertial> element, 3 to 17 (default 17: read back exactly)",
    )  # fmt: skip


def _warn(doubts: tuple[str, ...]) -> None:
    for doubt in doubts:
        print(f"rne inertia: warning: {doubt}", file=sys.stderr)


def _materials(as_json: bool) -> int:
    if as_json:
        print(json.dumps({name: material._asdict() for name, material in MATERIALS.items()}, indent=2))
        return 0
    table = Table("material", header_style="bold")
    for heading in ("density (kg/m^3)", "Young's modulus (GPa)"):
        table.add_column(heading, justify="right")
    table.add_column("source")
    for name, material in MATERIALS.items():
        E = "-" if material.young is None else f"{material.young / 1e9:g}"
        table.add_row(name, f"{material.density:g}", E, material.source)
    print_table(console(), table)
    return 0
