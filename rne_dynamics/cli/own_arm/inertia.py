"""`rne inertia`: mass, mass centre and inertia of solids, meshes, composites and links, to paste into a URDF."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.cli.answer import Answer, Line, Rows, shown
from rne_dynamics.cli.arguments import (
    ROBOT,
    Argument,
    argument,
    configuration,
    flag,
    group,
    kinds,
    positive,
    real,
    robot_source,
    several,
    whole,
    xacro_arguments,
)
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.parts import read_parts
from rne_dynamics.description.sources import is_model_file
from rne_dynamics.description.urdf_tree import rotation_rpy
from rne_dynamics.description.urdf_writer import inertial_xml
from rne_dynamics.dynamics.composite.momentum import composite_inertia
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.materials import MATERIALS, density_of
from rne_dynamics.model.mesh import load_mesh, mesh_inertia
from rne_dynamics.model.principal import equivalent_box, principal_axes, symmetry_planes, triangle_margin
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

#: URDFs have about six digits; moments and products closer than this are equal, or zero.
_DIGITS = 1e-5


def _of_three(word: str, metavar: str, text: str, default: tuple[float, ...] | None = None) -> Argument:
    """An option with three numbers."""
    return argument(word, type=real(), nargs=3, default=default, metavar=tuple(metavar), help=text)


_MASS = group("mass, exactly one", (
    argument("--mass", type=positive(unit="kg"), help="kg"),
    argument("--density", type=positive(unit="kg/m^3"), help="kg/m^3"),
    argument("--material", help="material that gives the density; `rne inertia materials` lists them"),
))  # fmt: skip
_PLACE = group("placement of the body in the link's frame", (
    _of_three("--xyz", "XYZ", "m", (0.0,) * 3), _of_three("--rpy", "RPY", "rad", (0.0,) * 3),
))  # fmt: skip
_COMMON = (
    group("additional inertia about another point and axes", (
        _of_three("--about", "XYZ", "point in the frame, m"),
        _of_three("--axes", "RPY", "rpy of the axes in the frame, rad"),
    )),
    group("output", (
        flag("--urdf", "print the <inertial> element only"), flag("--json", "print everything as JSON"),
        argument("--digits", type=whole(3, 17), default=17, metavar="N",
                 help="significant digits of the <inertial> element, 3 to 17 (default 17: read back exactly)"),
    )),
)  # fmt: skip


def _solid(make: Callable[..., Inertia]) -> tuple[str, str, list[Argument]]:
    """Help and arguments of a solid, from its function."""
    text, own = (make.__doc__ or "").strip(), list[Argument]()
    for p in inspect.signature(make).parameters.values():
        if p.kind is p.POSITIONAL_OR_KEYWORD:
            own.append(argument(p.name, type=real(), help="m"))
        elif p.name in ("thickness", "area"):
            unit = "m" if p.name == "thickness" else "m^2"
            own.append(argument(f"--{p.name}", type=real(), help=f"{unit}; with a density only"))
    return text.partition(";")[0], text, [*own, _MASS, _PLACE, *_COMMON]


ARGUMENTS = (kinds("body", "BODY", {
    **{name: _solid(make) for name, make in SOLIDS.items()},
    "mesh": ("the volume of a closed triangle mesh (STL, OBJ, PLY, ...)", None, (
        argument("file", help="path of the mesh"),
        argument("--scale", type=positive(), default=1.0, help="metres per unit of the file, 0.001 for millimetres"),
        group("", (
            flag("--repair", "fill small holes and correct triangles with trimesh"),
            flag("--hull", "use the convex hull: approximate, works for every mesh"),
        )), _MASS, _PLACE, *_COMMON,
    )),
    "composite": ("solids, meshes and holes listed in a YAML file", None, (
        argument("file", help="path of the part file; docs/descriptions.md describes its format"), _PLACE, *_COMMON,
    )),
    "robot": ("a link of a robot, or its subtree as one rigid body", None, (
        *ROBOT,
        argument("--link", help="the link, and the frame of the result (default: the root link with its subtree)"),
        flag("--subtree", "include all descendants of the link"),
        several("--at", "JOINT=VALUE", "joint position: rad or m, or with a unit (90deg, 20mm); others at zero"),
        *_COMMON,
    )),
    "materials": ("materials of --material: densities, their sources, Young's moduli", None, (
        flag("--json", "print them as JSON"),
    )),
}),)  # fmt: skip


def run(args: argparse.Namespace) -> int | Answer:
    """The body."""
    if args.body == "materials":
        rows = [[k, f"{m.density:g}", shown(m.young and m.young / 1e9, "g"), m.source] for k, m in MATERIALS.items()]
        table = Rows(("material", "density (kg/m^3)", "Young's modulus (GPa)", "source"), rows, words=(0, 3))
        return Answer({name: material._asdict() for name, material in MATERIALS.items()}, [table])
    body, name = _body(args)
    if args.urdf:
        print(inertial_xml(body, digits=args.digits))
        return 0
    given = args.about is not None or args.axes is not None
    about = (args.about or (0.0,) * 3, args.axes or (0.0,) * 3) if given else None
    report = describe(name, body, about, args.digits)
    return Answer(report, list(_parts(report)))


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
    source = robot_source(args)
    robot = load_model(source, mappings=xacro_arguments(args) if is_model_file(source) else None)
    if robot.kind != "arm":
        raise ArgumentError(f"{robot.name!r} has closed loops or flexible links; name the URDF of its tree")
    link = robot.tree.root if args.link is None else args.link
    subtree = args.subtree or args.link is None
    body = composite_inertia(robot, configuration("--at", args.at, robot), link, None if subtree else (link,))
    if body.mass == 0.0:
        fix = "name another with --link" if subtree else "add --subtree for its descendants, or name another"
        raise ArgumentError(f"link {link!r} of robot {robot.name!r} has no mass; {fix}")
    return body, f"{robot.name}: {link}{' and its descendants' if subtree else ''}"


def _density(args: argparse.Namespace) -> float | None:
    density: float | None = args.density
    if args.material is None:
        return density
    if density is not None:
        raise ArgumentError(f"both --density {density:g} and --material {args.material} are given; give one")
    return density_of(args.material)


def _warn(doubts: tuple[str, ...]) -> None:
    for doubt in doubts:
        print(f"rne inertia: warning: {doubt}", file=sys.stderr)


def describe(
    name: str, body: Inertia, about: tuple[Sequence[float], Sequence[float]] | None = None, digits: int = 17
) -> dict[str, Any]:
    """Report on a body with mass as plain values, SI units; `about`: also about a point, m, in axes of an rpy, rad."""
    principal = principal_axes(body.inertia, tolerance=_DIGITS)
    margin = triangle_margin(principal.moments)
    size = float(np.abs(principal.moments).max())
    box = equivalent_box(body.mass, principal.moments)
    centred = body.moved(np.eye(3), -body.com)
    elsewhere = None if about is None else {
        "point": list(about[0]), "rpy": list(about[1]),
        "inertia": body.about(about[0], rotation_rpy(*about[1])).tolist(),
    }  # fmt: skip
    k = principal.symmetry_axis
    return {
        "name": name, "mass": body.mass, "com": body.com.tolist(), "inertia": body.inertia.tolist(),
        "about_origin": body.about_origin.tolist(), "about": elsewhere,
        "principal": {"moments": principal.moments.tolist(), "axes": principal.axes.T.tolist()},
        "symmetry": principal.symmetry.value, "symmetry_axis": None if k is None else principal.axes[:, k].tolist(),
        "symmetry_planes_of_inertia": list(symmetry_planes(centred, tolerance=_DIGITS)), "triangle_margin": margin,
        "physical": bool(margin >= -1e-6 * size and principal.moments[0] >= -1e-6 * size),
        "equivalent_box": None if box is None else box.tolist(), "urdf": inertial_xml(body, digits=digits),
    }


def _parts(report: dict[str, Any]) -> Iterator[str | Rows]:
    """The tables, then the <inertial> element."""
    yield f"{report['name']}: {report['mass']:.6g} kg, mass centre {_vector(report['com'])} m"
    matrices = {"about the mass centre": report["inertia"], "about the frame's origin": report["about_origin"]}
    if (elsewhere := report["about"]) is not None:
        label = f"about ({_vector(elsewhere['point'])}), axes rpy ({_vector(elsewhere['rpy'])})"
        matrices[label] = elsewhere["inertia"]
    headings = ["inertia, kg m^2", "xx", "yy", "zz", "xy", "xz", "yz"]
    yield Rows(headings, [[name, *_moments(matrix)] for name, matrix in matrices.items()])
    principal = report["principal"]
    sides = [f"{x:.5g}" for x in report["equivalent_box"] or ()] or ["-"] * 3
    rows = [
        [f"{moment:.6g}", _vector(axis), side]
        for moment, axis, side in zip(principal["moments"], principal["axes"], sides, strict=True)
    ]
    headings = ["principal moment", "axis in the frame", "side of the equivalent box, m"]
    yield Rows(headings, rows, words=range(3))
    symmetry = report["symmetry"]
    if report["symmetry_axis"] is not None:
        symmetry += f" about ({_vector(report['symmetry_axis'])})"
    planes = ", ".join(report["symmetry_planes_of_inertia"]) or "none"
    yield f"symmetry of the inertia: {symmetry}; planes through the mass centre without products: {planes}"
    verdict = "physically possible" if report["physical"] else f"physically impossible: see `{rne('check')}`"
    yield f"triangle inequality: margin {report['triangle_margin']:.4g} kg m^2; {verdict}"
    yield Line(report["urdf"])


def _vector(values: Sequence[float]) -> str:
    return "  ".join(_shown(x, max(abs(v) for v in values)) for x in values)


def _moments(matrix: list[list[float]]) -> list[str]:
    tensor: Array = np.array(matrix)
    size = float(np.abs(tensor).max())
    return [_shown(float(tensor[i, j]), size) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]


def _shown(value: float, size: float) -> str:
    return f"{0.0 if abs(value) < 1e-12 * size else value:.6g}"
