"""Part files: a body as a list of solids and meshes, for `rne inertia composite`.

A YAML file with a list, or a mapping with ``parts`` (the list) and a default ``material`` or ``density``. Every part
has one shape, a placement and a mass, density or material::

    material: aluminium
    parts:
      - box: {x: 0.10, y: 0.06, z: 0.02}
      - cylinder: [0.02, 0.08]            # radius, length: the function's arguments
        xyz: [0, 0, 0.05]
        rpy: [1.5707963, 0, 0]
        mass: 0.3
      - mesh: bracket.stl                 # in this file's folder
        scale: 0.001
        density: 1240
      - cylinder: {radius: 0.004, length: 0.02}
        hole: true
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rne_dynamics.description.lint.findings import FaultyDescriptionError, Finding, Reading, collect
from rne_dynamics.description.schema import (
    WHOLE,
    Key,
    Marked,
    Reader,
    choice,
    list_of,
    number,
    numbers,
    record,
    text,
)
from rne_dynamics.description.urdf_tree import rotation_rpy
from rne_dynamics.description.yaml_nodes import MOST_BYTES, read_yaml
from rne_dynamics.errors import ArgumentError, DescriptionError, ModelError
from rne_dynamics.input_file import read_limited
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.materials import density_of
from rne_dynamics.model.mesh import load_mesh, mesh_inertia
from rne_dynamics.model.principal import composite
from rne_dynamics.model.solids import SOLIDS


def _lengths(names: tuple[str, ...]) -> Reader:
    """Lengths of a solid by their names, read as a dict of numbers: a mapping, or numbers in this order."""
    form = f"{', '.join(names)}, in m"
    named = record({name: Key(number("m"), "m", required=True) for name in names})
    listed = list_of(number("m"), "number", len(names))

    def read(node: Node, where: str) -> Reading[Marked | None]:
        if isinstance(node, MappingNode):
            found = yield from named.read(node, where)
            return None if found is None else Marked({k: v.value for k, v in found.value.items()}, found.line)
        if isinstance(node, ScalarNode) and len(names) == 1:
            node = SequenceNode("tag:yaml.org,2002:seq", [node], node.start_mark, node.end_mark)
        found = yield from listed.read(node, f"{where} ({form})")
        return None if found is None else Marked(
            dict(zip(names, (x.value for x in found.value), strict=True)), found.line
        )  # fmt: skip

    return Reader(form, read)


_TRUTH = choice(("true", "false"))
_WEIGHT = {
    "mass": Key(number("kg"), "kg"), "density": Key(number("kg/m^3"), "kg/m^3"), "material": Key(text(), "a material"),
}  # fmt: skip
_OPTIONS = {
    "scale": Key(number(""), "metres per unit of the mesh"), "repair": Key(_TRUTH, "fill holes of the mesh"),
    "hull": Key(_TRUTH, "the convex hull of the mesh"), "thickness": Key(number("m"), "of a shell or plate, m"),
    "area": Key(number("m^2"), "of a rod's section, m^2"),
}  # fmt: skip
_SHAPES = {
    "mesh": Key(text("a file name"), "a mesh in the folder of the file"),
    **{
        solid: Key(_lengths(tuple(
            p.name for p in inspect.signature(make).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD
        )), "a solid")
        for solid, make in SOLIDS.items()
    },
}
_PART = record({
    **_SHAPES, **_WEIGHT, **_OPTIONS, "hole": Key(_TRUTH, "whether it is taken out"),
    "xyz": Key(numbers("m"), "its place, m"), "rpy": Key(numbers("rad"), "its turn, rad"),
})  # fmt: skip
_PARTS = list_of(_PART, "part", key="name")
_FILE = record({
    "parts": Key(_PARTS, "the list of parts", required=True), "material": _WEIGHT["material"],
    "density": _WEIGHT["density"],
})  # fmt: skip


@dataclass(frozen=True)
class Parts:
    """A composite body, with doubts about its parts."""

    #: In the frame of the file.
    inertia: Inertia
    #: Number of parts, holes included.
    count: int
    #: Sentences about meshes of implausible size.
    doubts: tuple[str, ...]


def read_parts(file: str | PathLike[str]) -> Parts:
    """Assemble the body of a part file; `DescriptionError`, for a mesh without trimesh `MissingDependencyError`."""
    path, found = Path(file), list[Finding]()
    try:
        root = read_yaml(read_limited(path, MOST_BYTES), str(path))
    except OSError as error:
        raise DescriptionError(f"{path}: {error.strerror or error}; give the path of a part file") from None
    listed = isinstance(root, SequenceNode)
    read = collect((_PARTS if listed else _FILE).read(root, WHOLE), found)
    if found or read is None:
        raise FaultyDescriptionError(str(path), found[0])
    common: dict[str, Any] = {} if listed else {key: value.value for key, value in read.value.items()}
    entries = read.value if listed else common.pop("parts")
    bodies: dict[bool, list[Inertia]] = {True: [], False: []}
    doubts: list[str] = []
    try:
        for k, entry in enumerate(entries, 1):
            where, part = f"part {k}", {key: value.value for key, value in entry.value.items()}
            body, said = _part(part, common, path.parent)
            bodies[part.get("hole") == "true"].append(body)
            doubts.extend(said)
        where = ""
        return Parts(composite(bodies[False], bodies[True]), len(entries), tuple(doubts))
    except (ArgumentError, ModelError) as error:
        raise DescriptionError(f"{path}: {where}{': ' * bool(where)}{error}") from None


def _part(part: Mapping[str, Any], common: Mapping[str, Any], folder: Path) -> tuple[Inertia, tuple[str, ...]]:
    """A body in the frame of the file, and doubts about its mesh; `ArgumentError`."""
    shapes = [key for key in part if key in _SHAPES]
    if len(shapes) != 1:
        found = f"has {' and '.join(shapes)}" if shapes else "has no shape"
        raise ArgumentError(f"{found}; it must have exactly one of {', '.join(_SHAPES)}")
    own = {key: part[key] for key in _WEIGHT if key in part} or dict(common)
    if len(own) != 1:
        found = " and ".join(own) or "neither"
        raise ArgumentError(f"has {found}; it must have exactly one of mass, density and material")
    (shape,), ((kind, amount),) = shapes, own.items()
    weight = {"density": density_of(amount)} if kind == "material" else {kind: amount}
    options = {key: part[key] == "true" if key in ("repair", "hull") else part[key] for key in _OPTIONS if key in part}
    taken = inspect.signature(load_mesh if shape == "mesh" else SOLIDS[shape]).parameters
    if extra := [key for key in options if key not in taken]:
        raise ArgumentError(f"{shape} takes no {' and no '.join(extra)}; leave it out")
    doubts: tuple[str, ...] = ()
    if shape == "mesh":
        mesh = load_mesh(folder / part["mesh"], **options)
        body, doubts = mesh_inertia(mesh, **weight), mesh.doubts()
    else:
        body = SOLIDS[shape](**part[shape], **options, **weight)
    zero = (0.0, 0.0, 0.0)
    return body.moved(rotation_rpy(*part.get("rpy", zero)), part.get("xyz", zero)), doubts
