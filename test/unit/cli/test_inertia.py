from __future__ import annotations

import math
from pathlib import Path

import pytest

from rne_dynamics.description.urdf_writer import inertial_xml

pytest.importorskip("trimesh", reason="trimesh reads the meshes: pip install '.[test]'")

import numpy as np
import trimesh
from support.errors import relative_error

import rne_dynamics as rne
from rne_dynamics.description.urdf_tree import rotation_rpy
from rne_dynamics.dynamics.composite.momentum import composite_inertia
from rne_dynamics.errors import ArgumentError, ModelError
from rne_dynamics.model import solids
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.materials import MATERIALS
from rne_dynamics.model.tree import rotation_about

SOLIDS = {
    "box": "0.1 0.2 0.3", "cylinder": "0.1 0.4", "tube": "0.1 0.07 0.4", "elliptic_cylinder": "0.1 0.2 0.3",
    "sphere": "0.2", "hollow_sphere": "0.2 0.15", "hemisphere": "0.2", "ellipsoid": "0.1 0.2 0.3",
    "capsule": "0.1 0.3", "cone": "0.1 0.4", "frustum": "0.3 0.1 0.4", "torus": "0.3 0.1", "wedge": "0.1 0.2 0.3",
    "rod": "0.4", "hoop": "0.4", "plate": "0.4 0.3", "disc": "0.4", "spherical_shell": "0.4",
    "hemispherical_shell": "0.4", "cylindrical_shell": "0.4 0.3", "conical_shell": "0.4 0.3",
}  # fmt: skip


def pasted(element: str) -> Inertia:
    """The element in a URDF, as the loader reads it."""
    text = (
        f'<robot name="r"><link name="a"/><link name="b">{element}</link><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>'
    )
    return rne.load_urdf(text).tree.links[1].inertia


def same(body: Inertia, other: Inertia, tolerance: float = 1e-12) -> None:
    assert body.mass == pytest.approx(other.mass, rel=tolerance)
    assert body.com == pytest.approx(other.com, abs=tolerance)
    assert relative_error(body.inertia, other.inertia) < tolerance


@pytest.mark.parametrize("name", solids.SOLIDS)
def test_what_is_printed_for_a_solid_loads_back(name: str, run_rne) -> None:
    words = [name, *SOLIDS[name].split(), "--mass", "2.3", "--xyz", "1E-1", "-2e-1", ".3", "--rpy", "0.3", "-1", "2"]
    body = solids.SOLIDS[name](*map(float, SOLIDS[name].split()), mass=2.3)
    expected = body.moved(rotation_rpy(0.3, -1.0, 2.0), (0.1, -0.2, 0.3))
    out = run_rne("inertia", *words).out
    same(pasted(out[out.index("<inertial>") :]), expected)
    same(pasted(run_rne("inertia", *words, "--urdf", "--digits", "5").out), expected, 1e-4)


def test_a_box_in_numbers(figures) -> None:
    report = figures("inertia", "box", "0.1", "0.2", "0.3", "--mass", "12", "--xyz", "1", "0", "0")
    assert (report["mass"], report["com"], report["physical"], report["about"]) == (12.0, [1.0, 0.0, 0.0], True, None)
    assert np.diag(report["about_origin"]) == pytest.approx([0.13, 12.10, 12.05])
    assert report["principal"]["moments"] == pytest.approx([0.05, 0.10, 0.13])
    assert report["principal"]["axes"] == [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
    assert (report["symmetry"], report["symmetry_planes_of_inertia"]) == ("none", ["xy", "yz", "zx"])
    assert [report["triangle_margin"], *report["equivalent_box"]] == pytest.approx([0.02, 0.3, 0.2, 0.1])


def test_density_and_material(figures, run_rne) -> None:
    plate = ("inertia", "plate", "0.2", "0.3", "--thickness", "0.002")
    by_density = figures(*plate, "--density", "2700")
    assert by_density["mass"] == pytest.approx(0.2 * 0.3 * 0.002 * 2700)
    assert figures(*plate, "--material", "aluminium") == by_density
    assert figures("inertia", "rod", "1", "--area", "1e-4", "--material", "steel")["mass"] == pytest.approx(0.785)
    out = run_rne("inertia", "materials").out
    assert all(f"{name} " in out and m.source in out for name, m in MATERIALS.items())
    assert figures("inertia", "materials")["steel"]["density"] == 7850.0


def test_a_mesh(tmp_path: Path, run_rne, figures) -> None:
    path = tmp_path / "part.stl"
    trimesh.creation.box((100.0, 200.0, 300.0)).export(path)
    report = figures("inertia", "mesh", path, "--scale", "0.001", "--density", "1000")
    same(pasted(report["urdf"]), solids.box(0.1, 0.2, 0.3, density=1000.0), 1e-6)
    assert "if the file is in millimetres, give scale 0.001" in run_rne("inertia", "mesh", path, "--mass", "1").err


PARTS = """
material: aluminium
parts:
  - box: {x: 0.10, y: 0.06, z: 0.02}
  - cylinder: [0.02, 0.08]
    xyz: [0, 0, 0.05]
    rpy: [1.5707963267948966, 0, 0]
    mass: 0.3
  - mesh: cube.stl
    scale: 1e-3
    density: 1240
    xyz: [0, 0.1, 0]
  - plate: [0.1, 0.1]
    thickness: 0.001
  - sphere: 0.01
    hole: true
"""


def test_a_composite(tmp_path: Path, figures) -> None:
    trimesh.creation.box((10.0, 10.0, 10.0)).export(tmp_path / "cube.stl")
    path = tmp_path / "parts.yaml"
    path.write_text(PARTS)
    body = (
        solids.box(0.1, 0.06, 0.02, density=2700.0)
        + solids.cylinder(0.02, 0.08, mass=0.3).moved(rotation_about([1.0, 0, 0], math.pi / 2), (0.0, 0.0, 0.05))
        + solids.box(0.01, 0.01, 0.01, density=1240.0).moved(np.eye(3), (0.0, 0.1, 0.0))
        + solids.plate(0.1, 0.1, thickness=0.001, density=2700.0)
    )
    rest = pasted(figures("inertia", "composite", str(path))["urdf"])
    same(rest + solids.sphere(0.01, density=2700.0), body, 1e-6)  # the STL keeps float32


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parts: []", "a composite without parts"),
        ("{}", "parts is missing: the list of parts"),
        ("- 3", "part number 1: is '3'; it must be a mapping"),
        ("[", "is no YAML"),
        ("- box: [1, 2, 3]", "part 1: has neither; it must have exactly one of mass, density and material"),
        ("- {box: [1, 2, 3], mass: 1, density: 1}", "part 1: has mass and density"),
        ("- {box: [1, 2, 3, 4], mass: 1}", "box (x, y, z, in m): holds 4 numbers; it must hold 3"),
        ("- {box: {x: 1, y: 2, w: 3}, mass: 1}", "key 'w' is unknown; known: x, y, z"),
        ("- {box: [1, 2, wide], mass: 1}", "box (x, y, z, in m)[2]: is 'wide'; it must be one finite number"),
        ("- {box: [1, 2, -3], mass: 1}", "part 1: box: z is -3 m; it must be finite and above 0"),
        ("- {boxx: [1, 2, 3], mass: 1}", "write 'box'"),
        ("- {box: [1, 2, 3], sphere: 1, mass: 1}", "part 1: has box and sphere; it must have exactly one of mesh, box"),
        ("- {mass: 1}", "part 1: has no shape; it must have exactly one of mesh, box"),
        ("- {box: [1, 2, 3], mass: 1, colour: red}", "key 'colour' is unknown"),
        ("- {box: [1, 2, 3], mass: 1, thickness: 1}", "box takes no thickness; leave it out"),
        ("- {box: [1, 2, 3], mass: 1, hole: 1}", "hole: is '1'; it must be one of true, false"),
        ("- {box: [1, 2, 3], material: cheese}", "no material named 'cheese'"),
        ("- {box: [1, 2, 3], mass: 1, hole: true}", "a composite without parts"),
        ("- {sphere: 1, mass: 1}\n- {sphere: 1, mass: 2, hole: true}", "some mass must be left"),
        ("- {mesh: none.stl, mass: 1}", "none.stl: there is no such file"),
        ("speed: 3\nparts: [{sphere: 1, mass: 1}]", "key 'speed' is unknown; known: parts, material, density"),
    ],
)
def test_faulty_part_files(text: str, said: str, tmp_path: Path, run_rne) -> None:
    path = tmp_path / "parts.yaml"
    path.write_text(text)
    assert said in run_rne("inertia", "composite", path, code=1).err


def test_a_link_and_a_subtree_of_a_robot(figures) -> None:
    puma = rne.load_urdf("puma560")
    point, turn = (0.0, 0.0, 0.2275), (0.0, 0.5 * math.pi, 0.0)
    report = figures("inertia", "robot", "puma560", "--link", "link2", "--about", *point, "--axes", *turn)
    R, link2 = rotation_rpy(*turn), puma.tree.link("link2").inertia
    assert (report["mass"], report["com"]) == (link2.mass, link2.com.tolist())
    assert relative_error(report["about"]["inertia"], R.T @ link2.about(point) @ R) < 1e-14
    outer = figures("inertia", "robot", "puma560", "--link", "link2", "--subtree", "--at", "joint3=0.7")
    # the moment about the shoulder's axis is what the joint feels, less its rotor
    q = np.array([0.0, 0.0, 0.7, 0.0, 0.0, 0.0])
    felt = rne.mass_matrix(puma, q)[1, 1] - 200e-6 * 107.815**2
    assert outer["about_origin"][2][2] == pytest.approx(felt, rel=1e-12)
    whole = figures("inertia", "robot", "puma560")
    assert whole["mass"] == pytest.approx(puma.mass)
    assert whole["com"] == pytest.approx(rne.center_of_mass(puma, puma.neutral))


def test_composite_inertia_asks_for_one_configuration_and_known_links() -> None:
    puma = rne.load_urdf("puma560")
    with pytest.raises(ArgumentError, match=r"q has shape \(2, 6\); give one configuration"):
        composite_inertia(puma, np.zeros((2, 6)), "link1")
    with pytest.raises(ModelError, match="no link named 'hand'"):
        composite_inertia(puma, puma.neutral, "link1", ["hand"])
    assert composite_inertia(puma, puma.neutral, "link6", ["link6", "link5", "link6"]).mass == pytest.approx(0.43)


def test_a_floating_joint_cannot_be_placed(tmp_path: Path, run_rne) -> None:
    path = tmp_path / "float.urdf"
    element = inertial_xml(solids.sphere(0.1, mass=1.0))
    path.write_text(
        f'<robot name="r"><link name="a">{element}</link><link name="b">{element}</link>'
        '<joint name="f" type="floating"><parent link="a"/><child link="b"/></joint></robot>'
    )
    error = run_rne("inertia", "robot", path, "--at", "f/rot_x=1", code=1).err
    assert "belongs to a floating joint, which stays at zero" in error


def test_a_body_that_cannot_be_is_shown_as_such(tmp_path: Path, run_rne, figures) -> None:
    path = tmp_path / "odd.urdf"
    odd = inertial_xml(Inertia(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0])))
    path.write_text(f'<robot name="r"><link name="a">{odd}</link></robot>')
    assert "margin -1 kg m^2; physically impossible: see `" in run_rne("inertia", "robot", path, "--link", "a").out
    report = figures("inertia", "robot", str(path), "--link", "a")
    assert report["physical"] is False
    assert report["equivalent_box"] is None


def test_arguments_reach_the_xacro_file_of_a_model_file(figures, tmp_path) -> None:
    pytest.importorskip("xacro")
    (tmp_path / "arm.urdf.xacro").write_text(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="m" default="1"/><link name="a"/>'
        '<link name="b"><inertial><mass value="$(arg m)"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        '</inertial></link><joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    )
    model = tmp_path / "arm.yaml"
    model.write_text("urdf: arm.urdf.xacro\n")
    assert figures("inertia", "robot", str(model), "--arg", "m:=3")["mass"] == 3.0
