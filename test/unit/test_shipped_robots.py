"""The robots that ship: the published figures, and nothing that would mislead a controller."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from analytic.denavit_hartenberg import PUMA

import rne_dynamics as rne
from rne_dynamics.description.share import shipped_models, shipped_robots

URDF = Path(__file__).resolve().parents[2] / "urdf"
ROBOTS = ("puma560", "panda", "scara", "cylindrical", "planar2", "shuttle_arm")
#: Corke and Armstrong-Hélouvry 1994, as printed.
PUMA_VISCOUS = (1.48e-3, 0.817e-3, 1.38e-3, 71.2e-6, 82.6e-6, 36.7e-6)
PUMA_COULOMB = (
    (0.395, 0.435), (0.126, 0.071), (0.132, 0.105), (11.2e-3, 16.9e-3), (9.26e-3, 14.5e-3), (3.96e-3, 10.5e-3),
)  # fmt: skip


def elements(name: str, tag: str) -> list[ET.Element]:
    return ET.parse(URDF / f"{name}.urdf").getroot().findall(tag)


def numbers(text: str | None) -> np.ndarray:
    return np.array([float(x) for x in (text or "0 0 0").split()])


def tensor(link: ET.Element) -> np.ndarray:
    i = link.find("inertial/inertia")
    xx, xy, xz, yy, yz, zz = (float(i.attrib[k]) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def test_every_urdf_of_the_folder_is_tested_here() -> None:
    assert shipped_robots() == tuple(sorted(ROBOTS))
    assert sorted(p.stem for p in URDF.glob("*.urdf")) == sorted((*ROBOTS, *shipped_models()))


def test_puma_friction_is_the_published_one_referred_to_the_joint() -> None:
    robot = rne.load_urdf("puma560")
    gear = np.array([abs(link.gear) for link in PUMA])
    qd = np.array([0.3, -0.2, 0.5, -1.0, 0.7, 1.0])
    coulomb = np.mean(PUMA_COULOMB, axis=1) * gear
    expected = np.array(PUMA_VISCOUS) * gear**2 * qd + coulomb * np.sign(qd)
    np.testing.assert_allclose(rne.friction_torque(robot, qd), expected, rtol=1e-12)
    expected = np.array([120, 163, 129, 406, 366, 440]) / gear  # speeds of the motors, rounded down
    assert (robot.velocity_limit <= expected).all()
    np.testing.assert_allclose(robot.velocity_limit, expected, rtol=1e-4)


def test_puma_velocity_limits_are_the_motors_divided_by_the_gears() -> None:
    robot = rne.load_urdf("puma560")
    motors = np.array([120, 163, 129, 406, 366, 440])
    expected = motors / [abs(link.gear) for link in PUMA]
    assert (robot.velocity_limit <= expected).all()
    np.testing.assert_allclose(robot.velocity_limit, expected, rtol=1e-4)


# Nguyen and Hughes 1994 as transcribed: mass, then xx xy xz yy yz zz about the joint, products as sums of m x y
SHUTTLE = {
    "base_link": (63.24, (3.664, 0.0044, 0.0047, 3.803, 0.506, 0.686)),
    "shoulder": (32.12, (1.115, -0.019, -0.08, 1.417, -0.037, 0.595)),
    "upper_boom": (139.35, (3.225, -1.928, 9.185, 998.63, -0.0302, 997.18)),
    "lower_boom": (87.42, (1.59, 0.8021, -3.786, 632.9, -0.08, 632.51)),
    "wrist": (8.48, (0.0893, 0, 0, 0.402, 0, 0.402)),
    "wrist_roll_housing": (45.94, (0.408, 0, 0, 4.68, 0, 4.68)),
    "end_effector": (45.21, (1.903, 0.385, 0.966, 3.816, 0.353, 2.823)),
}


@pytest.mark.parametrize("name", SHUTTLE)
def test_shuttle_links_have_the_published_inertias_about_their_joints(name: str) -> None:
    mass, (xx, xy, xz, yy, yz, zz) = SHUTTLE[name]
    inertia = rne.load_urdf("shuttle_arm").tree.link(name).inertia
    assert inertia.mass == mass
    published = np.array([[xx, -xy, -xz], [-xy, yy, -yz], [-xz, -yz, zz]])
    if name == "base_link":  # its axes are the paper's turned by half a turn about x
        published *= np.array([[1, -1, -1], [-1, 1, 1], [-1, 1, 1]])
    np.testing.assert_allclose(inertia.about_origin, published, rtol=1e-6, atol=1e-6)


def test_shuttle_joints_are_at_the_orbiter_coordinates() -> None:
    robot = rne.load_urdf("shuttle_arm")
    poses = rne.forward_kinematics(robot, np.zeros(6))
    shoulder = poses["upper_boom"][:3, 3]
    inch = 0.0254
    for link, along, off in (
        ("shoulder", 0.0, -12.0), ("lower_boom", 930.55 - 679.5, -6.0), ("wrist", 1208.5 - 679.5, 0.0),
        ("wrist_roll_housing", 1226.5 - 679.5, 0.0), ("tip", 1282.5 - 679.5, 0.0),
    ):  # fmt: skip
        np.testing.assert_allclose(poses[link][:3, 3] - shoulder, [along * inch, 0, off * inch], atol=1e-4)
    assert rne.forward_kinematics(robot, [0, 0.5, 0, 0, 0, 0])["tip"][2, 3] > shoulder[2]
    # an arm for free fall
    assert abs(rne.gravity_torque(robot, np.zeros(6))[1]) > 14 * robot.effort_limit[1]


def test_the_shuttle_arm_is_one_for_free_fall() -> None:
    ground = rne.load_urdf("shuttle_arm")
    assert abs(rne.gravity_torque(ground, np.zeros(6))[1]) > 14 * ground.effort_limit[1]
    orbit = rne.load_urdf("shuttle_arm", gravity=(0, 0, 0))
    assert np.abs(rne.gravity_torque(orbit, np.full(6, 0.3))).max() == 0.0


def test_planar_arm_is_slotine_and_lis() -> None:
    """H, C and gravity of their example 9.1, the plane upright."""
    robot = rne.load_urdf("planar2")
    m1, l1, lc1, I1, me, lce, Ie, de, g = 1.0, 1.0, 0.5, 0.12, 2.0, 0.6, 0.25, math.radians(30), 9.81
    a1, a2 = I1 + m1 * lc1**2 + Ie + me * lce**2 + me * l1**2, Ie + me * lce**2
    a3, a4 = me * l1 * lce * math.cos(de), me * l1 * lce * math.sin(de)
    rng = np.random.default_rng(91)
    for _ in range(20):
        q, qd, qdd = rng.uniform(-3.0, 3.0, (3, 2))
        c, s = math.cos(q[1]), math.sin(q[1])
        coupling = a2 + a3 * c + a4 * s
        H = np.array([[a1 + 2 * a3 * c + 2 * a4 * s, coupling], [coupling, a2]])
        h = a3 * s - a4 * c
        C = np.array([[-h * qd[1], -h * (qd[0] + qd[1])], [h * qd[0], 0.0]])
        outer = me * lce * g * math.cos(q[0] + q[1] - de)
        gravity = np.array([(m1 * lc1 + me * l1) * g * math.cos(q[0]) + outer, outer])
        expected = H @ qdd + C @ qd + gravity
        assert np.abs(rne.inverse_dynamics(robot, q, qd, qdd) - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["scara", "cylindrical"])
def test_links_without_published_figures_are_the_solids_drawn(name: str) -> None:
    for link in (link for link in elements(name, "link") if link.find("inertial/mass") is not None):
        mass, solid = float(link.find("inertial/mass").attrib["value"]), link.find("visual/geometry/*")
        if solid.tag == "box":
            a, b, c = numbers(solid.attrib["size"])
            expected = mass / 12 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
        else:
            r, h = float(solid.attrib["radius"]), float(solid.attrib["length"])
            across = mass / 12 * (3 * r * r + h * h)
            expected = np.diag([across, across, mass / 2 * r * r])
        np.testing.assert_allclose(tensor(link), expected, rtol=1e-12)
        origins = [link.find(path) for path in ("inertial/origin", "visual/origin")]
        at = [numbers(None if o is None else o.attrib.get("xyz")) for o in origins]
        np.testing.assert_array_equal(at[0], at[1])


@pytest.mark.parametrize("name", [name for name in ROBOTS if name != "shuttle_arm"])
def test_efforts_hold_the_arm_anywhere_within_its_limits(name: str) -> None:
    robot = rne.load_urdf(name)
    rng = np.random.default_rng(1)
    q = rng.uniform(robot.lower, robot.upper, (2000, robot.n))
    worst = np.abs(rne.gravity_torque(robot, q)).max(axis=0)
    assert (worst < 0.8 * robot.effort_limit).all(), f"{worst} against {robot.effort_limit}"


@pytest.mark.parametrize(
    ("name", "joint", "reflected"),
    [("scara", "joint3", 1e-5 * (2 * math.pi / 0.02) ** 2), ("puma560", "joint1", 200e-6 * 62.6111**2)],
)
def test_rotors_are_felt_through_the_gears(name: str, joint: str, reflected: float) -> None:
    robot = rne.load_urdf(name)
    assert robot.tree.joint(joint).rotor_inertia == pytest.approx(reflected, rel=1e-12)
