"""Triangle meshes of a robot's links: its visuals, or shapes made from the model where there are none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.advice import extra
from rne_dynamics.description.markup import read_markup
from rne_dynamics.description.share import resolve_uri
from rne_dynamics.description.sources import Source
from rne_dynamics.description.urdf_tree import rotation_rpy
from rne_dynamics.errors import DescriptionError, MissingDependencyError
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mesh import read_mesh
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.tree import ONE_FREEDOM, JointKind

#: Colour of parts without a material, RGBA.
GREY = (0.66, 0.69, 0.73, 1.0)
#: Attributes of the primitives, and how many numbers these have.
_SHAPES = {"box": ("size", 3), "cylinder": ("radius length", 2), "sphere": ("radius", 1)}

Colour = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Visual:
    """One visual element."""

    #: Pose of the geometry in the link's frame, (4, 4), m.
    placement: Array
    #: ``"box"`` (x, y, z), ``"cylinder"`` (radius, length along z), ``"sphere"`` (radius), m; or ``"mesh"``
    #: with the three factors by which the mesh is scaled.
    shape: str
    size: tuple[float, ...]
    #: File name of a mesh as it is written.
    file: str = ""
    #: RGBA from 0 to 1; `None` where the description gives none.
    colour: Colour | None = None


def visuals(source: Source, tags: tuple[str, ...] = ("visual",)) -> dict[str, list[Visual]]:
    """By link, the elements of a URDF with these tags that can be read; raises as `read_markup`."""
    read_markup(source.data, source.name, source.encoding, repairs=[])  # refuses entities, which ElementTree expands
    text = source.data.lstrip(b"\xef\xbb\xbf \t\r\n")
    try:
        root = ElementTree.fromstring(text, ElementTree.XMLParser(encoding=source.encoding))
    except ElementTree.ParseError:  # a prefix that is not declared, as left by xacro, which `read_markup` accepts
        return {}
    known = {m.get("name", ""): colour for m in root.iter("material") if (colour := _colour(m, {})) is not None}
    found: dict[str, list[Visual]] = {}
    for link in root.iter("link"):
        for element in (element for tag in tags for element in link.iter(tag)):
            if (visual := _visual(element, known)) is not None:
                found.setdefault(link.get("name", ""), []).append(visual)
    return found


def _visual(element: Any, known: Mapping[str, Colour]) -> Visual | None:
    geometry = element.find("geometry")
    origin, material = element.find("origin"), element.find("material")
    placement = np.eye(4)
    if origin is not None:
        xyz, rpy = _numbers(origin.get("xyz", "0 0 0"), 3), _numbers(origin.get("rpy", "0 0 0"), 3)
        if xyz is None or rpy is None:
            return None
        placement[:3, :3], placement[:3, 3] = rotation_rpy(*rpy), xyz
    colour = None if material is None else _colour(material, known)
    for shape in () if geometry is None else geometry:
        if shape.tag == "mesh" and shape.get("filename"):
            scale = _numbers(shape.get("scale", "1 1 1"), 3)
            return None if scale is None else Visual(placement, "mesh", scale, shape.get("filename"), colour)
        if shape.tag in _SHAPES:
            names, count = _SHAPES[shape.tag]
            size = _numbers(" ".join(shape.get(name, "") for name in names.split()), count)
            return None if size is None else Visual(placement, shape.tag, size, "", colour)
    return None


def _colour(material: Any, known: Mapping[str, Colour]) -> Colour | None:
    """The material's own colour, or that of another material of the same name."""
    colour = material.find("color")
    rgba = None if colour is None else _numbers(colour.get("rgba", ""), 4)
    if rgba is None:
        return known.get(material.get("name", ""))
    r, g, b, a = np.clip(rgba, 0.0, 1.0).tolist()
    return r, g, b, a


def _numbers(text: str, count: int) -> tuple[float, ...] | None:
    try:
        values = tuple(map(float, text.split()))
    except ValueError:
        return None
    return values if len(values) == count and np.isfinite(values).all() else None


def link_meshes(robot: Robot, source: Source | None) -> tuple[dict[str, Any], list[str]]:
    """By link, a `trimesh.Scene` in its frame, and a line for each visual that could not be read.

    The visuals are those of a URDF; links without them have shapes from the model. Raises as `load_trimesh`.
    """
    trimesh = load_trimesh()
    scenes: dict[str, Any] = {}
    missing: list[str] = []
    found = {} if source is None else visuals(source)
    bare: set[str] = set() if found else set(robot.link_names)
    for link, parts in found.items():
        if link not in robot.links:
            continue
        scene = trimesh.Scene()
        for part in parts:
            try:
                add_shape(trimesh, scene, part, "" if source is None else source.name)
            except DescriptionError as error:
                missing.append(f"link {link!r}: {error}")
                bare.add(link)
        if scene.geometry:
            scenes[link] = scene
    for link, mesh, colour in stand_ins(trimesh, robot, bare - set(scenes)):
        mesh.visual.face_colors = colour
        scenes.setdefault(link, trimesh.Scene()).add_geometry(mesh)
    return scenes, missing


def mesh_path(name: str, origin: str) -> Path:
    """The file of a mesh: a ``package://`` or ``file://`` URI, or a path relative to the URDF's folder.

    A package that the ROS environment does not have is looked for in the folders above the URDF's path `origin`, and
    among the packages that wheels bring. `DescriptionError` if there is no such file.
    """
    path = resolve_uri(name, Path(origin)) if "://" in name else Path(origin).parent / name
    if not path.is_file():
        raise DescriptionError(f"mesh {str(path)!r} does not exist; correct the file name, or install the meshes")
    return path


def add_shape(trimesh: Any, scene: Any, part: Visual, origin: str) -> None:
    """Add a visual to the scene of its link."""
    if part.shape != "mesh":
        make = {"box": lambda *sides: trimesh.creation.box(sides), "cylinder": trimesh.creation.cylinder,
                "sphere": lambda radius: trimesh.creation.icosphere(radius=radius, subdivisions=3)}  # fmt: skip
        mesh = make[part.shape](*part.size)
        scene.add_geometry(coloured(trimesh, mesh, part.colour), transform=part.placement)
        return
    path = mesh_path(part.file, origin)
    try:
        loaded = read_mesh(trimesh.load_scene, path)
    except ImportError as error:
        raise DescriptionError(f"{path}: {error}: {extra('view')}") from None
    except Exception as error:  # trimesh raises whatever its readers do
        said = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
        raise DescriptionError(f"{path}: trimesh cannot read it: {said}") from error
    unit = _unit(loaded) if path.suffix.lower() == ".dae" else 1.0
    own = path.suffix.lower() in (".dae", ".glb", ".gltf", ".obj")
    scale = np.diag([*(unit * np.array(part.size)), 1.0])
    for node in loaded.graph.nodes_geometry:
        place, geometry = loaded.graph[node]
        mesh = loaded.geometry[geometry]
        if len(getattr(mesh, "faces", ())) == 0:
            continue
        mesh = mesh.copy()
        if part.colour is not None or not own or mesh.visual.kind is None:
            mesh = coloured(trimesh, mesh, part.colour)
        mesh.apply_transform(part.placement @ scale @ place)
        scene.add_geometry(mesh)


def _unit(loaded: Any) -> float:
    """Metres per unit of a COLLADA file."""
    for mesh in loaded.geometry.values():
        words = str(mesh.metadata.get("units", "meters")).split()
        if len(words) == 3:  # "0.001 * meters"
            return float(words[0])
    return 1.0


def coloured(trimesh: Any, mesh: Any, colour: tuple[float, ...] | None) -> Any:
    """The mesh in one colour, RGBA, by default grey."""
    rgba = (255.0 * np.array(GREY if colour is None else colour)).astype(np.uint8)
    material = trimesh.visual.material.PBRMaterial(
        baseColorFactor=rgba, metallicFactor=0.1, roughnessFactor=0.6, doubleSided=True,
        alphaMode="BLEND" if rgba[3] < 255 else "OPAQUE",
    )
    mesh.visual = trimesh.visual.TextureVisuals(material=material)
    return mesh


def merged(scene: Any) -> tuple[Array, NDArray[np.int64]]:
    """Vertices (n, 3) and triangles (m, 3) of all parts of a scene together, for drawing in one colour."""
    mesh = scene.to_mesh()
    return np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)


def load_trimesh() -> Any:
    """The module trimesh; `MissingDependencyError` without it."""
    try:
        import trimesh
    except ImportError:
        raise MissingDependencyError(f"shapes of links need trimesh: {extra('view')}") from None
    return trimesh


def farthest(shapes: Iterable[Visual], origin: str, point: Array) -> float | None:
    """Largest distance of shapes in the URDF at `origin` from a point, m; None where it is not known."""
    trimesh = load_trimesh()
    scene = trimesh.Scene()
    try:
        for shape in shapes:
            add_shape(trimesh, scene, shape, origin)
    except DescriptionError:
        return None
    corners, _ = merged(scene)
    distance = float(np.linalg.norm(corners - point, axis=1).max(initial=0.0))
    return distance if 0.0 < distance < np.inf else None  # NaN of a sphere without radius


#: Radius of the capsules over the robot's size; a joint's cylinder is larger by `JOINT`.
SLENDER, JOINT = 0.018, 1.4
LINK_COLOUR, JOINT_COLOUR = (120, 144, 176, 255), (70, 78, 92, 255)
#: Distances below this share of the robot's size make no capsule.
NEAR = 0.01


def stand_ins(trimesh: Any, robot: Robot, links: Collection[str]) -> Iterator[tuple[str, Any, tuple[int, ...]]]:
    """Meshes for `links`, in the link's frame, and their colours: joints, and capsules to what is attached.

    Links that nothing is attached to have a capsule to their mass centre, or none without mass.
    """
    size = reach(robot)
    radius = SLENDER * size
    for joint in robot.tree.joints:
        if joint.child in links and joint.kind in ONE_FREEDOM:
            long = 1.6 if joint.kind is JointKind.PRISMATIC else 2.2
            mesh = trimesh.creation.cylinder(radius=JOINT * radius, height=long * JOINT * radius, sections=24)
            mesh.apply_transform(trimesh.geometry.align_vectors([0.0, 0.0, 1.0], joint.axis))
            yield joint.child, mesh, JOINT_COLOUR
    parents = {joint.parent for joint in robot.tree.joints}
    ends = [(joint.parent, joint.position) for joint in robot.tree.joints]
    ends += [(link.name, link.inertia.com) for link in robot.tree.links
             if link.name not in parents and link.inertia is not None and link.inertia.mass > 0.0]  # fmt: skip
    for name, end in ends:
        if name in links and np.linalg.norm(end) > NEAR * size:
            yield name, _capsule(trimesh, end, radius), LINK_COLOUR


def reach(robot: Robot) -> float:
    """The longest sum of joint distances from the root, at least 0.1; m."""
    far = {robot.tree.root: 0.0}
    for joint in robot.tree.depth_first:
        far[joint.child] = far[joint.parent] + float(np.linalg.norm(joint.position))
    return max(0.1, *far.values())


def _capsule(trimesh: Any, end: Array, radius: float) -> Any:
    """A capsule from the origin to `end`."""
    length = float(np.linalg.norm(end))
    mesh = trimesh.creation.capsule(height=length, radius=radius, count=(12, 16))
    mesh.apply_translation([0.0, 0.0, 0.5 * length - mesh.bounds[:, 2].mean()])
    mesh.apply_transform(trimesh.geometry.align_vectors([0.0, 0.0, 1.0], end))
    return mesh


#: Parts into which a link's surface is divided along its longest side: a box has corners at its ends only.
PARTS = 12


class BentSurface:
    """Vertices of a link's mesh as functions of the amplitudes δ; `ModelError`: a mesh of finite elements."""

    def __init__(self, link: ModalLink, scene: Any) -> None:
        vertices, triangles = _divided(*merged(scene))
        there = [link.field.at(vertex) for vertex in vertices]
        self.triangles: NDArray[np.int64] = triangles
        self._rest = vertices
        self._shapes = np.array([a.translation for a in there])
        self._shortening = np.array([a.shortening for a in there])

    def vertices(self, delta: Array) -> Array:
        """Vertices in the link's frame at amplitudes `delta`, (modes of the link,); m, shape (vertices, 3)."""
        moved: Array = self._rest + np.einsum("k,vkx->vx", delta, self._shapes)
        moved -= 0.5 * np.einsum("k,l,vklx->vx", delta, delta, self._shortening)
        return moved


def _divided(vertices: Array, triangles: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """The same surface with edges no longer than a `PARTS`-th of its size."""
    from importlib import import_module

    subdivide_to_size: Any = import_module("trimesh.remesh").subdivide_to_size

    longest = float(np.ptp(vertices, axis=0).max()) / PARTS
    fine, faces = subdivide_to_size(vertices, triangles, longest, max_iter=20)
    return np.asarray(fine), np.asarray(faces)
