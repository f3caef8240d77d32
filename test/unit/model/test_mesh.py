from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.wheel import wheel_urdf

pytest.importorskip("trimesh", reason="trimesh reads the meshes: pip install '.[test]'")

import numpy as np
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from support.errors import relative_error

from rne_dynamics.errors import ArgumentError, DescriptionError, MissingDependencyError, ModelError
from rne_dynamics.model import solids
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.materials import MATERIALS, density_of
from rne_dynamics.model.mesh import TriangleMesh, load_mesh, mesh_inertia
from rne_dynamics.model.principal import without
from rne_dynamics.model.tree import rotation_about

CUBE = trimesh.creation.box((0.1, 0.2, 0.3))
ROUND = {
    "cylinder": (lambda n: trimesh.creation.cylinder(0.1, 0.4, sections=n), solids.cylinder(0.1, 0.4, mass=1)),
    "tube": (lambda n: trimesh.creation.annulus(0.07, 0.1, 0.4, sections=n), solids.tube(0.1, 0.07, 0.4, mass=1)),
    "cone": (lambda n: trimesh.creation.cone(0.1, 0.4, sections=n), solids.cone(0.1, 0.4, mass=1)),
    "torus": (
        lambda n: trimesh.creation.torus(0.3, 0.1, major_sections=n, minor_sections=n), solids.torus(0.3, 0.1, mass=1)
    ),
    "sphere": (lambda n: trimesh.creation.uv_sphere(0.2, count=(n, n)), solids.sphere(0.2, mass=1)),
    "capsule": (
        lambda n: trimesh.creation.capsule(height=0.3, radius=0.1, count=(n, n)).apply_translation(
            -trimesh.creation.capsule(height=0.3, radius=0.1, count=(n, n)).bounds.mean(axis=0)
        ),
        solids.capsule(0.1, 0.3, mass=1),
    ),
}  # fmt: skip


def own(mesh: trimesh.Trimesh) -> TriangleMesh:
    return TriangleMesh(mesh.vertices, mesh.faces)


def close(body: Inertia, expected: Inertia, tolerance: float) -> None:
    assert body.mass == pytest.approx(expected.mass, rel=tolerance)
    assert body.com == pytest.approx(expected.com, abs=tolerance)
    assert relative_error(body.inertia, expected.inertia) < tolerance


def test_a_box_is_exact() -> None:
    close(mesh_inertia(own(CUBE), density=2700.0), solids.box(0.1, 0.2, 0.3, density=2700.0), 1e-13)
    close(mesh_inertia(own(CUBE), mass=1.5), solids.box(0.1, 0.2, 0.3, mass=1.5), 1e-13)


@pytest.mark.parametrize("name", ROUND)
def test_round_bodies_converge_to_the_closed_forms(name: str) -> None:
    make, solid = ROUND[name]
    errors = [relative_error(mesh_inertia(own(make(n)), mass=1.0).about_origin, solid.about_origin) for n in (32, 64)]
    assert errors[1] < 5e-3
    assert 3.5 < errors[0] / errors[1] < 4.7  # a polygon misses its circle by the square of the side


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.floats(-2.0, 2.0), st.floats(-3.0, 3.0))
def test_tetrahedra_anywhere(seed: int, shift: float, angle: float) -> None:
    """Against the closed form: a tetrahedron has the second moments of five points (its corners and its centre)."""
    rng = np.random.default_rng(seed)
    corners = rng.normal(size=(4, 3)) @ rotation_about([0.0, 0.6, 0.8], angle).T + shift
    if np.linalg.det(corners[1:] - corners[0]) < 0.0:
        corners[[0, 1]] = corners[[1, 0]]
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    volume = np.linalg.det(corners[1:] - corners[0]) / 6.0
    centre = corners.mean(axis=0)
    r = np.array([*(corners - centre)])
    second = volume / 20.0 * r.T @ r
    expected = Inertia(volume, centre, np.trace(second) * np.eye(3) - second)
    body = mesh_inertia(TriangleMesh(corners, faces), density=1.0)
    assert body.mass == pytest.approx(volume, rel=1e-9)
    assert relative_error(body.about(centre), expected.inertia) < 1e-8


def test_far_from_the_origin_digits_stay() -> None:
    far = TriangleMesh(CUBE.vertices + np.array([1000.0, -2000.0, 3000.0]), CUBE.faces)
    body = mesh_inertia(far, density=1.0)
    assert relative_error(body.inertia, solids.box(0.1, 0.2, 0.3, density=1.0).inertia) < 1e-10


def test_surfaces_that_face_inwards_are_cavities_and_bodies_may_be_several() -> None:
    hole = trimesh.creation.box((0.02, 0.03, 0.04))
    hole.invert()
    hole.apply_translation((0.01, 0.0, 0.02))
    hollow = trimesh.util.concatenate([CUBE, hole])
    inside = solids.box(0.02, 0.03, 0.04, density=1.0).moved(np.eye(3), (0.01, 0.0, 0.02))
    close(mesh_inertia(own(hollow), density=1.0), without(solids.box(0.1, 0.2, 0.3, density=1.0), inside), 1e-12)
    neighbour = trimesh.creation.box((0.1, 0.1, 0.1))
    neighbour.apply_translation((0.1, 0.0, 0.0))
    two = mesh_inertia(own(trimesh.util.concatenate([CUBE, neighbour])), density=1.0)
    assert two.mass == pytest.approx(0.007)


@pytest.mark.parametrize("ending", ["stl", "glb"])
def test_files(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"cube.{ending}"
    mesh = CUBE.copy()
    mesh.apply_scale(1000.0)
    mesh.export(path)
    read = load_mesh(path, scale=1e-3)
    assert read.extent == pytest.approx([0.1, 0.2, 0.3], rel=1e-6)
    close(mesh_inertia(read, density=7850.0), solids.box(0.1, 0.2, 0.3, density=7850.0), 1e-6)  # STL keeps float32
    assert read.doubts() == ()
    assert load_mesh(path).doubts() == (f"{path} is 300 m across; if the file is in millimetres, give scale 0.001",)
    assert "if the file is in metres already, give scale 1" in load_mesh(path, scale=1e-9).doubts()[0]


def test_open_meshes_are_refused_and_repaired_when_asked(tmp_path: Path) -> None:
    holed = trimesh.Trimesh(CUBE.vertices, CUBE.faces[1:], process=False)
    path = tmp_path / "holed.stl"
    holed.export(path)
    with pytest.raises(ModelError, match=r"holed.stl: it is not closed: 3 of 18 edges.*near \(.*\) m.*--repair"):
        mesh_inertia(load_mesh(path), mass=1.0)
    close(mesh_inertia(load_mesh(path, repair=True), mass=1.0), solids.box(0.1, 0.2, 0.3, mass=1.0), 1e-6)


def test_triangles_that_face_different_ways_are_refused_and_repaired_when_asked(tmp_path: Path) -> None:
    faces = CUBE.faces.copy()
    faces[3] = faces[3][::-1]
    path = tmp_path / "mixed.off"
    trimesh.Trimesh(CUBE.vertices, faces, process=False).export(path)
    with pytest.raises(ModelError, match="its triangles face different ways at 3 of 18 edges"):
        mesh_inertia(load_mesh(path), mass=1.0)
    close(mesh_inertia(load_mesh(path, repair=True), mass=1.0), solids.box(0.1, 0.2, 0.3, mass=1.0), 1e-6)


def test_repair_leaves_good_meshes_alone_and_welds_loose_corners(tmp_path: Path) -> None:
    hole = trimesh.creation.box((0.02, 0.03, 0.04))
    hole.invert()
    hollow = trimesh.util.concatenate([CUBE, hole])
    path = tmp_path / "hollow.ply"
    hollow.export(path)
    # PLY keeps float32; turning the cavity's triangles round would have added it
    assert mesh_inertia(load_mesh(path, repair=True), density=1.0).mass == pytest.approx(0.006 - 0.000024, rel=1e-6)
    loose = np.random.default_rng(1).uniform(-4e-7, 4e-7, size=(12, 3, 3)) + CUBE.vertices[CUBE.faces]
    path = tmp_path / "loose.off"
    trimesh.Trimesh(loose.reshape(-1, 3), np.arange(36).reshape(12, 3), process=False).export(path, digits=12)
    with pytest.raises(ModelError, match="it is not closed"):
        mesh_inertia(load_mesh(path), mass=1.0)
    close(mesh_inertia(load_mesh(path, repair=True), mass=1.0), solids.box(0.1, 0.2, 0.3, mass=1.0), 2e-5)


@pytest.mark.parametrize("name", ["link0", "link5", "hand", "finger"])
def test_meshes_of_a_real_arm(name: str) -> None:
    """The Panda's collision meshes are hulls as they ship, so that the convex hull changes next to nothing."""
    path = next(wheel_urdf("panda.urdf").parents[1].rglob(f"collision/{name}.stl"))
    body, hull = (mesh_inertia(load_mesh(path, hull=h), density=1000.0) for h in (False, True))
    assert 0.0 < body.mass <= hull.mass * (1.0 + 1e-6)
    assert relative_error(body.inertia, hull.inertia) < 1e-3


def test_the_convex_hull_closes_everything_that_is_not_flat(tmp_path: Path) -> None:
    path = tmp_path / "half.stl"
    trimesh.Trimesh(CUBE.vertices, CUBE.faces[:9], process=False).export(path)
    assert len(set(CUBE.faces[:9].ravel())) == 8  # every corner is there
    close(mesh_inertia(load_mesh(path, hull=True), mass=1.0), solids.box(0.1, 0.2, 0.3, mass=1.0), 1e-6)
    trimesh.Trimesh(CUBE.vertices, CUBE.faces[:1], process=False).export(path)
    with pytest.raises(ModelError, match="has no convex hull: its corners lie in a plane"):
        load_mesh(path, hull=True)


def test_a_mesh_inside_out_or_flat_is_refused() -> None:
    with pytest.raises(ModelError, match=r"its volume is -0.006 m\^3, for every triangle faces inwards"):
        mesh_inertia(TriangleMesh(CUBE.vertices, CUBE.faces[:, ::-1]), mass=1.0)
    flat = TriangleMesh(np.eye(3), [[0, 1, 2], [2, 1, 0]])
    with pytest.raises(ModelError, match="it encloses no volume"):
        mesh_inertia(flat, mass=1.0)


def test_triangles_without_area_do_no_harm() -> None:
    faces = np.vstack([CUBE.faces, [[0, 0, 1], [2, 2, 2]]])
    close(mesh_inertia(TriangleMesh(CUBE.vertices, faces), mass=1.0), solids.box(0.1, 0.2, 0.3, mass=1.0), 1e-12)


@pytest.mark.parametrize(
    ("vertices", "triangles", "said"),
    [
        (np.zeros((0, 3)), [[0, 1, 2]], r"vertices have shape \(0, 3\)"),
        (np.eye(3), [[0, 1]], r"triangles have shape \(1, 2\)"),
        (np.eye(3) * np.nan, [[0, 1, 2]], "a vertex is not finite"),
        (np.eye(3), [[0, 1, 3]], "a triangle names vertex 3; there are vertices 0 to 2"),
        (np.eye(3), [[0, 1, -1]], "a triangle names vertex -1"),
    ],
)
def test_no_meshes(vertices, triangles, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        TriangleMesh(vertices, triangles)


def test_files_that_are_no_meshes(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="there is no such file"):
        load_mesh(tmp_path / "none.stl")
    files = (("bad.glb", "no mesh"), ("bad.stl", "solid\nfacet"), ("empty.obj", "# nothing\n"), ("a.txt", "x"))
    for name, text in files:
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(DescriptionError, match=f"{name}: .*export .* as STL, OBJ or PLY"):
            load_mesh(path)
    with pytest.raises(ArgumentError, match=r"scale is 0\.0; it must be finite and above 0"):
        load_mesh(path, scale=0.0)


def test_without_trimesh_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "cube.stl"
    CUBE.export(path)
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(MissingDependencyError, match=r"need trimesh, which is not installed: pip install '\.\[mesh\]'"):
        load_mesh(path)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "networkx", None)
    load_mesh(path)
    with pytest.raises(MissingDependencyError, match="need networkx, which is not installed"):
        load_mesh(path, repair=True)


def test_materials() -> None:
    assert density_of("Aluminum") == density_of("aluminium") == 2700.0
    assert density_of("stainless steel") == density_of("stainless-steel") == 7900.0
    with pytest.raises(ArgumentError, match=r"no material named 'steal'; did you mean 'steel'.*or give the density"):
        density_of("steal")
    assert all(900.0 < m.density < 20000.0 and m.source for m in MATERIALS.values())
