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
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import yaml

from rne_dynamics.description.urdf_tree import rotation_rpy
from rne_dynamics.description.yaml_nodes import MOST_BYTES, plain
from rne_dynamics.errors import ArgumentError, DescriptionError, ModelError, RneDynamicsError, unknown_name
from rne_dynamics.input_file import read_limited
from rne_dynamics.model.composite import composite
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.materials import density_of
from rne_dynamics.model.mesh import load_mesh, mesh_inertia
from rne_dynamics.model.solids import SOLIDS

_WEIGHT = ("mass", "density", "material")
_KEYS = ("xyz", "rpy", "hole", "thickness", "area", *_WEIGHT)
_MESH_KEYS = ("scale", "repair", "hull")


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
    """Read a part file and assemble its body.

    `DescriptionError` for what is not readable, not YAML, not of the form above, or has invalid numbers; its message
    names file, part and fix. `MissingDependencyError` for a mesh without trimesh.
    """
    path = Path(file)
    data = _load(path)
    common: dict[str, object] = {}
    if isinstance(data, Mapping):
        common = {str(key): value for key, value in data.items() if key != "parts"}
        _known(f"{path}", common, ("material", "density"))
        data = data.get("parts")
    if not isinstance(data, list) or not data:
        raise DescriptionError(f"{path}: has no list of parts; write '- box: [0.1, 0.2, 0.3]' and so on under parts:")
    solid: list[Inertia] = []
    holes: list[Inertia] = []
    doubts: list[str] = []
    for number, entry in enumerate(data, 1):
        where = f"{path}: part {number}"
        if not isinstance(entry, Mapping):
            raise DescriptionError(f"{where} is {entry!r}; it must be a mapping such as 'box: [0.1, 0.2, 0.3]'")
        part = {str(key): value for key, value in entry.items()}
        hole = _truth(where, "hole", part.get("hole", False))
        try:
            body, said = _part(where, part, common, path.parent)
        except (ArgumentError, ModelError) as error:
            raise DescriptionError(f"{where}: {error}") from None
        (holes if hole else solid).append(body)
        doubts.extend(said)
    try:
        whole = composite(solid, holes)
    except RneDynamicsError as error:
        raise DescriptionError(f"{path}: {error}") from None
    return Parts(whole, len(data), tuple(doubts))


def _load(path: Path) -> object:
    try:
        data = plain(read_limited(path, MOST_BYTES))
    except OSError as error:
        raise DescriptionError(f"{path}: {error.strerror or error}; give the path of a part file") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DescriptionError(f"{path}: is not YAML: {' '.join(str(error).split())}") from None
    return data


def _part(
    where: str, part: Mapping[str, object], common: Mapping[str, object], folder: Path
) -> tuple[Inertia, tuple[str, ...]]:
    shapes = [key for key in part if key in SOLIDS or key == "mesh"]
    if len(shapes) != 1:
        _known(where, part, (*SOLIDS, "mesh", *_KEYS, *_MESH_KEYS))
        found = f"has {' and '.join(shapes)}" if shapes else "has no shape"
        raise DescriptionError(f"{where} {found}; it must have exactly one of mesh, {', '.join(SOLIDS)}")
    shape = shapes[0]
    _known(where, part, (shape, *_KEYS, *(_MESH_KEYS if shape == "mesh" else ())))
    weight = _weight(where, part, common)
    doubts: tuple[str, ...] = ()
    if shape == "mesh":
        options = {key: _truth(where, key, part.get(key, False)) for key in ("repair", "hull")}
        scale = _number(where, "scale", part.get("scale", 1.0))
        mesh = load_mesh(folder / str(part["mesh"]), scale=scale, **options)
        doubts = mesh.doubts()
        body = mesh_inertia(mesh, **weight)
    else:
        body = _solid(where, shape, part, weight)
    R = rotation_rpy(*_three(where, "rpy", part.get("rpy", (0.0, 0.0, 0.0))))
    return body.moved(R, _three(where, "xyz", part.get("xyz", (0.0, 0.0, 0.0)))), doubts


def _solid(where: str, shape: str, part: Mapping[str, object], weight: Mapping[str, float]) -> Inertia:
    make: Callable[..., Inertia] = SOLIDS[shape]
    names = [p.name for p in inspect.signature(make).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    options = {key: _number(where, key, part[key]) for key in ("thickness", "area") if key in part}
    extra = set(options) - set(inspect.signature(make).parameters)
    if extra:
        raise DescriptionError(f"{where}: {shape} takes no {' and no '.join(sorted(extra))}; leave it out")
    given = part[shape]
    if isinstance(given, Mapping):
        _known(f"{where}: {shape}", {str(k): v for k, v in given.items()}, names)
        lengths = {str(key): _number(where, f"{shape} {key}", value) for key, value in given.items()}
    else:
        values = given if isinstance(given, list) else [given]
        lengths = {n: _number(where, f"{shape} {n}", v) for n, v in zip(names, values, strict=False)}
        if len(values) > len(names):
            lengths = {}
    if set(lengths) != set(names):
        raise DescriptionError(f"{where}: {shape} is {given!r}; it must give {', '.join(names)}, in m")
    return make(**lengths, **options, **weight)


def _weight(where: str, part: Mapping[str, object], common: Mapping[str, object]) -> dict[str, float]:
    """Exactly one of mass and density: the part's own, or the file's default."""
    own = {key: part[key] for key in _WEIGHT if key in part} or dict(common)
    if len(own) != 1:
        found = " and ".join(own) or "neither"
        raise DescriptionError(f"{where} has {found}; it must have exactly one of mass, density and material")
    ((key, value),) = own.items()
    if key == "material":
        return {"density": density_of(str(value))}
    return {key: _number(where, key, value)}


def _number(where: str, name: str, value: object) -> float:
    # YAML reads 1e-3 as text; float reads both
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
    raise DescriptionError(f"{where}: {name} is {value!r}; it must be a finite number")


def _truth(where: str, name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise DescriptionError(f"{where}: {name} is {value!r}; it must be true or false")


def _three(where: str, name: str, value: object) -> tuple[float, float, float]:
    if isinstance(value, (list, tuple)) and len(value) == 3:
        x, y, z = (_number(where, name, v) for v in value)
        return x, y, z
    raise DescriptionError(f"{where}: {name} is {value!r}; it must be three numbers")


def _known(where: str, given: Mapping[str, object], known: tuple[str, ...] | list[str]) -> None:
    for key in given:
        if key not in known:
            raise DescriptionError(str(unknown_name("key", key, known, where)).replace("named ", "", 1))
