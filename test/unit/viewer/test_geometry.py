"""What the viewer draws, without a browser: visuals, stand-ins, ellipsoids, bending, bars."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.description.model_file import urdf_source
from rne_dynamics.description.sources import read_source
from rne_dynamics.errors import DescriptionError
from rne_dynamics.flexible.energy import tip_deflections
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.viewer.meshes import BentSurface, link_meshes, mesh_path, visuals
from rne_dynamics.viewer.scene import Kinematics, bars, equivalent_ellipsoid

TWO_LINKS = """<robot name="two"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"/>
<link name="arm"><visual><origin xyz="0 0 0.5" rpy="0 0 0"/><geometry><box size="0.1 0.2 1"/></geometry>
<material name="red"/></visual>{visual}<inertial><origin xyz="0 0 0.5"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="9" velocity="1"/></joint></robot>"""
MISSING = '<visual><geometry><mesh filename="package://nowhere/a.stl"/></geometry></visual>'


def test_a_primitive_has_its_size_place_and_colour_and_a_missing_mesh_is_named():
    text = TWO_LINKS.format(visual=MISSING)
    box = visuals(read_source(text))["arm"][0]
    assert (box.shape, box.size, box.colour) == ("box", (0.1, 0.2, 1.0), (1.0, 0.0, 0.0, 1.0))
    scenes, (missing,) = link_meshes(rne.load_urdf(text), read_source(text))
    assert "nowhere" in missing
    np.testing.assert_allclose(scenes["arm"].bounds, [[-0.05, -0.1, 0.0], [0.05, 0.1, 1.0]], atol=1e-12)


def test_meshes_of_a_package_are_found_above_the_urdf():
    path = wheel_urdf("panda.urdf")
    scenes, missing = link_meshes(rne.load_urdf(path), read_source(path))
    assert not missing
    assert 0.2 < scenes["panda_link1"].extents.max() < 0.5, "in metres"
    with pytest.raises(DescriptionError, match="outside"):
        mesh_path("package://example-robot-data/../secret.stl", str(path))


def test_the_ellipsoid_of_an_ellipsoid_is_itself():
    a, b, c, m = 0.3, 0.2, 0.1, 5.0
    moments = m / 5.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    R = trimesh.transformations.random_rotation_matrix()[:3, :3]
    axes, half_axes = equivalent_ellipsoid(Inertia(m, np.array([1.0, 2.0, 3.0]), R @ np.diag(moments) @ R.T))
    np.testing.assert_allclose(sorted(half_axes), [c, b, a], rtol=1e-9)
    longest = axes[:, np.argmax(half_axes)]
    np.testing.assert_allclose(abs(longest @ R[:, 0]), 1.0, rtol=1e-9)
    assert equivalent_ellipsoid(Inertia()) is None


def test_a_bent_surface_ends_where_the_tip_is():
    arm = rne.load_model("flexible_arm")
    link, delta = arm.flexible_links[0], np.zeros(arm.modes)
    surface = BentSurface(link, link_meshes(arm, urdf_source("flexible_arm"))[0][link.link])
    delta[: link.modes] = 0.02
    bent, straight = (surface.vertices(x) for x in (delta[: link.modes], np.zeros(link.modes)))
    tip = tip_deflections(arm, delta)[0, :3]
    nearest = np.argmin(np.linalg.norm(straight - link.tip, axis=1))
    assert np.linalg.norm((bent - straight)[nearest] - tip) < 0.1 * np.linalg.norm(tip)


def test_poses_close_the_loops():
    robot = rne.load_model("pantograph")
    poses = Kinematics(robot).poses(robot.neutral + 0.05)
    for loop in robot.loops:
        ends = [poses[frame.link] @ np.append(frame.position, 1.0) for frame in (loop.a, loop.b)]
        blocked = loop.blocked[:3]
        axes = (poses[loop.a.link][:3, :3] @ loop.a.rotation).T
        assert np.abs(blocked * (axes @ (ends[1] - ends[0])[:3])).max() < 1e-8


def test_bars_name_joints_escape_them_and_show_limits():
    text = bars(["a<b", "c"], np.array([9.9, np.nan]), np.array([10.0, np.inf]), {"gravity": np.array([9.9, 1.0])})
    assert all(part in text for part in ("a&lt;b", "9.9 / 10", "?", "#c81e3a")), "the colour: near its limit"
