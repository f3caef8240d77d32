"""Inertia of a uniform body bounded by triangles.

trimesh reads files, repairs them, and integrates over the volume, exactly for the polyhedron. Whether a mesh is closed
is checked here: trimesh does not say where it is not, and refuses bodies that touch at an edge.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.advice import extra
from rne_dynamics.errors import ArgumentError, DescriptionError, MissingDependencyError, ModelError, refuse
from rne_dynamics.input_file import check_regular
from rne_dynamics.model.inertia import Array, Inertia, read_only, set_fields
from rne_dynamics.model.principal import check_physical
from rne_dynamics.model.solids import mass_of

#: A part of an arm is not larger than this; its file is in millimetres.
_VAST = 10.0
#: Nor smaller than this; its file has been scaled twice.
_TINY = 1e-4
_REPAIR = "close and orient it in CAD, let trimesh try (repair, --repair), or take its convex hull (hull, --hull)"
#: Corners closer than this share of the mesh's size are one corner to a repair.
_WELD = 1e-5


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """Triangles that bound one or several bodies.

    Raises ModelError: wrong shapes, numbers that are not finite, corners that do not exist.
    """

    #: m; shape (vertices, 3).
    vertices: Array
    #: Corners as rows of `vertices`, counter-clockwise seen from outside; shape (triangles, 3).
    triangles: NDArray[np.int64]
    #: What to call it in messages.
    name: str = "mesh"

    def __post_init__(self) -> None:
        vertices = np.array(self.vertices, dtype=np.float64)
        triangles = np.array(self.triangles, dtype=np.int64)
        for what, array in (("vertices", vertices), ("triangles", triangles)):
            if array.ndim != 2 or array.shape[1] != 3 or array.shape[0] == 0:
                raise ModelError(f"{self.name}: {what} have shape {array.shape}; it must be (at least one, 3)")
        low, high = triangles.min(), triangles.max()
        refuse(
            ModelError,
            (not np.isfinite(vertices).all(), f"{self.name}: a vertex is not finite; every coordinate must be"),
            (low < 0 or high >= len(vertices),
             f"{self.name}: a triangle names vertex {low if low < 0 else high}; there are vertices 0 to "
             f"{len(vertices) - 1}"),
        )  # fmt: skip
        set_fields(self, vertices=read_only(vertices), triangles=read_only(triangles))

    @property
    def extent(self) -> Array:
        """Sides of the bounding box along the axes, m; shape (3,)."""
        used = self.vertices[np.unique(self.triangles)]
        return np.asarray(used.max(axis=0) - used.min(axis=0))

    def doubts(self) -> tuple[str, ...]:
        """Warnings about a mesh that can be computed but looks wrong, one sentence each, with the fix."""
        largest = float(self.extent.max())
        if largest > _VAST:
            return (f"{self.name} is {largest:.4g} m across; if the file is in millimetres, give scale 0.001",)
        if largest < _TINY:
            return (f"{self.name} is {largest:.4g} m across; if the file is in metres already, give scale 1",)
        return ()


def load_mesh(
    file: str | PathLike[str], *, scale: float = 1.0, repair: bool = False, hull: bool = False
) -> TriangleMesh:
    """Read a mesh file, `scale` metres per unit; `DescriptionError`, `MissingDependencyError`, `ArgumentError`.

    `repair`: weld corners, and let trimesh fill small holes and turn triangles of a mesh that needs it; cavities may be
    lost. `hull`: take the convex hull: rough, larger than the body, and there for every mesh.
    """
    path = Path(file)
    if not (np.isfinite(scale) and scale > 0.0):
        raise ArgumentError(f"{path}: scale is {scale}; it must be finite and above 0, 0.001 for millimetres")
    if not path.exists():
        raise DescriptionError(f"{path}: there is no such file")
    trimesh = _trimesh(("trimesh", "networkx") if repair or hull else ("trimesh",))
    try:
        mesh = read_mesh(trimesh.load, path, force="mesh", skip_materials=True)
    except OSError as error:
        raise DescriptionError(f"{path} cannot be read: {error.strerror or error}; give a mesh file") from None
    except Exception as error:  # trimesh raises whatever its readers do
        said = " ".join(str(error).split()) or type(error).__name__
        raise DescriptionError(f"{path}: trimesh cannot read it: {said}; export it as STL, OBJ or PLY") from error
    if len(getattr(mesh, "faces", ())) == 0:
        raise DescriptionError(f"{path}: there is no triangle in it; export a surface as STL, OBJ or PLY")
    # corners at one place are one corner: STL repeats them for every triangle, others for every normal or colour
    mesh = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    if hull:
        mesh = _hull(trimesh, mesh, path)
    elif repair and not (mesh.is_watertight and mesh.is_winding_consistent and mesh.volume > 0.0):
        _repair(trimesh, mesh)
    return TriangleMesh(scale * np.asarray(mesh.vertices), np.asarray(mesh.faces, dtype=np.int64), str(path))


def mesh_inertia(mesh: TriangleMesh, *, mass: float | None = None, density: float | None = None) -> Inertia:
    """Inertia of the uniform body inside a closed mesh, in its frame, by its mass, kg, or density, kg/m³.

    Surfaces that face the other way are cavities; what surfaces that cross enclose counts twice. `ModelError`: open,
    turned inside out; `ArgumentError`, `MissingDependencyError`.
    """
    value = mass_of(mesh.name, 1.0, mass, density)  # of a body of 1 m³, which checks both
    _check_closed(mesh)
    corner = mesh.vertices[mesh.triangles[0, 0]]  # digits far from the origin stay
    with np.errstate(all="ignore"):  # without volume there is no mass centre
        found = _trimesh(("trimesh",)).triangles.mass_properties((mesh.vertices - corner)[mesh.triangles])
    volume, size = float(found["volume"]), float(np.prod(np.maximum(mesh.extent, 1e-9 * mesh.extent.max())))
    refuse(
        ModelError,
        (volume < -1e-12 * size,
         f"{mesh.name}: its volume is {volume:.4g} m^3, for every triangle faces inwards; {_REPAIR}"),
        (volume <= 1e-12 * size,
         f"{mesh.name}: it encloses no volume; a surface without thickness has no mass; {_REPAIR}"),
    )  # fmt: skip
    rho = value if mass is None else value / volume
    body = Inertia(rho * volume, corner + found["center_mass"], rho * found["inertia"])
    return check_physical(body, mesh.name, fix=_REPAIR, tolerance=1e-6)


def _check_closed(mesh: TriangleMesh) -> None:
    """Refuse a mesh unless every edge is used as often in one direction as in the other."""
    count = len(mesh.vertices)
    start = mesh.triangles.ravel()
    end = np.roll(mesh.triangles, -1, axis=1).ravel()
    edges, which = np.unique(np.minimum(start, end) * count + np.maximum(start, end), return_inverse=True)
    near, far = np.divmod(edges, count)
    odd = np.bincount(which) % 2 == 1
    crossed = np.bincount(which, weights=np.where(start < end, 1.0, -1.0)) != 0.0
    for wrong, what, fix in (
        (odd, "it is not closed: {} of {} edges bound an odd number of triangles, the first near {}",
         "an open surface encloses no volume"),
        (crossed, "its triangles face different ways at {} of {} edges, the first near {}", "all must face outwards"),
    ):  # fmt: skip
        places = np.flatnonzero(wrong & (near != far))  # a triangle with two equal corners has an edge without length
        if len(places):
            middle = 0.5 * (mesh.vertices[near[places[0]]] + mesh.vertices[far[places[0]]])
            at = "({:.4g}, {:.4g}, {:.4g}) m".format(*middle)
            raise ModelError(f"{mesh.name}: {what.format(len(places), len(edges), at)}; {fix}; {_REPAIR}")


def _repair(trimesh: Any, mesh: Any) -> None:
    digits = int(np.ceil(-np.log10(max(_WELD * mesh.extents.max(), np.finfo(float).tiny))))
    mesh.merge_vertices(merge_tex=True, merge_norm=True, digits_vertex=digits)
    a, b, c = mesh.faces.T
    mesh.update_faces((a != b) & (b != c) & (a != c))
    trimesh.repair.fill_holes(mesh)
    trimesh.repair.fix_normals(mesh, multibody=True)


def _hull(trimesh: Any, mesh: Any, path: Path) -> Any:
    """The convex hull; trimesh's own drops triangles without area and so leaves holes."""
    from scipy.spatial import ConvexHull, QhullError  # slow to import, and used here alone

    try:
        hull = ConvexHull(np.asarray(mesh.vertices))
    except QhullError:
        raise ModelError(f"{path}: has no convex hull: its corners lie in a plane, or are too few") from None
    closed = trimesh.Trimesh(hull.points, hull.simplices, process=False)
    trimesh.repair.fix_normals(closed, multibody=False)
    return closed


def _trimesh(needed: tuple[str, ...]) -> Any:
    """The module trimesh; networkx is what it orients triangles with. Both are optional, and slow to import."""
    for name in needed:
        try:
            import_module(name)
        except ImportError:
            raise MissingDependencyError(
                f"mesh files need {name}, which is not installed: {extra('mesh')}"
            ) from None
    return import_module("trimesh")


#: Largest file, and content of a packed one, bytes: trimesh needs up to ten times that.
MOST_BYTES = 80_000_000
#: Formats with triangles of 8 bytes, where an STL has 50, and their largest file.
_DENSE, _MOST_DENSE = (".obj", ".off", ".ply"), 20_000_000
#: Packed formats; what others pack can be anything.
_PACKED, _REFUSED = (".3mf", ".zae"), (".zip", ".gz", ".bz2", ".xz", ".tar", ".7z")


def read_mesh(read: Callable[..., Any], path: Path, **options: Any) -> Any:
    """Read a file by a function of trimesh, which raises more; `OSError`: too large; `ValueError`: an archive."""
    from trimesh.resolvers import FilePathResolver

    class Limited(FilePathResolver):  # type: ignore[misc, unused-ignore]
        """Files that a mesh names: regular, and of limited size."""

        def get(self, name: str) -> bytes:
            """Content of a file."""
            check_regular(path.parent / name.strip(), MOST_BYTES)
            content: bytes = super().get(name)
            return content

    ending = path.suffix.lower()
    check_regular(path, _MOST_DENSE if ending in _DENSE else MOST_BYTES)
    if ending in _REFUSED:
        raise ValueError("it is an archive; unpack it")
    if ending in _PACKED:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
                raise ValueError(f"it unpacks to more than {MOST_BYTES // 1_000_000} MB")
    return read(str(path), resolver=Limited(str(path)), **options)
