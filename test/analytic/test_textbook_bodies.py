"""Problems 4.10–4.24 of the textbook chapter: composite bodies, the two-link robot, the satellite with two panels.

The figures are missing from the scan; every test says the geometry it assumes. Expected values are closed forms derived
out by hand in general dimensions, which hypothesis draws.
"""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.errors import relative_error

import rne_dynamics as rne
from rne_dynamics.dynamics.composite.momentum import composite_inertia
from rne_dynamics.model import solids
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.principal import composite, symmetry_planes
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink, rotation_about
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.free_motion import free_motion

X, Y, Z = np.eye(3)
RHO = 2700.0
TOLERANCE = 1e-12
length = st.floats(0.02, 1.0)
angle = st.floats(-3.1, 3.1)


def at(body: Inertia, x: float = 0.0, y: float = 0.0, z: float = 0.0, R: np.ndarray | None = None) -> Inertia:
    return body.moved(np.eye(3) if R is None else R, (x, y, z))


# -- problems 4.10, 4.15, 4.16, 4.20: two cylinders --------------------------------------------------------------------
# Cylinder 2 (r2, l2) lies along x with its middle in O, the frame's origin; cylinder 1 (r1, l1) is along z with its
# mass centre at height d.


def tool(r1: float, l1: float, r2: float, l2: float, d: float) -> tuple[Inertia, float, float]:
    upright = at(solids.cylinder(r1, l1, density=RHO), z=d)
    lying = at(solids.cylinder(r2, l2, density=RHO), R=rotation_about(Y, pi / 2))
    return composite([upright, lying]), RHO * pi * r1**2 * l1, RHO * pi * r2**2 * l2


def tool_about_O(r1: float, l1: float, r2: float, l2: float, d: float, m1: float, m2: float) -> np.ndarray:
    slender1, slender2 = m1 * (3 * r1**2 + l1**2) / 12, m2 * (3 * r2**2 + l2**2) / 12
    return np.diag(
        [slender1 + m1 * d**2 + m2 * r2**2 / 2, slender1 + m1 * d**2 + slender2, m1 * r1**2 / 2 + slender2]
    )  # fmt: skip


@settings(max_examples=30)
@given(length, length, length, length, length)
def test_4_10_mass_centre_of_two_cylinders(r1, l1, r2, l2, d) -> None:
    body, m1, m2 = tool(r1, l1, r2, l2, d)
    assert body.mass == pytest.approx(m1 + m2, rel=TOLERANCE)
    expected = d * r1**2 * l1 / (r1**2 * l1 + r2**2 * l2)  # the density cancels
    assert body.com == pytest.approx([0.0, 0.0, expected], rel=TOLERANCE, abs=1e-15)


@settings(max_examples=30)
@given(length, length, length, length, length, angle)
def test_4_15_4_16_4_20_inertia_of_two_cylinders(r1, l1, r2, l2, d, theta) -> None:
    body, m1, m2 = tool(r1, l1, r2, l2, d)
    # 4.15: x = 0 and y = 0 are planes of symmetry, so every product vanishes and the axes are principal
    assert set(symmetry_planes(body)) >= {"yz", "zx"}
    about_O = tool_about_O(r1, l1, r2, l2, d, m1, m2)
    assert relative_error(body.about_origin, about_O) < TOLERANCE
    # 4.16: about the mass centre, the parts' distances d − z and −z make the reduced mass times d²
    closer = m1 * d**2 - m1 * m2 / (m1 + m2) * d**2
    assert relative_error(body.inertia, about_O - np.diag([closer, closer, 0.0])) < TOLERANCE
    # 4.20: the frame turned by θ about y
    A, B, C = np.diag(about_O)
    c, s = cos(theta), sin(theta)
    turned = [[A * c * c + C * s * s, 0, (A - C) * s * c], [0, B, 0], [(A - C) * s * c, 0, A * s * s + C * c * c]]
    assert relative_error(body.about((0, 0, 0), rotation_about(Y, theta)), turned) < TOLERANCE


# -- problems 4.11, 4.19: prism and cylinder ---------------------------------------------------------------------------
# The prism a × b × c is on the plane z = 0, O in the middle of its underside; the cylinder (r, tall) is on it,
# its axis at x = e.


@settings(max_examples=30)
@given(length, length, length, length, length, st.floats(-0.5, 0.5))
def test_4_11_4_19_robot_base(a, b, c, r, tall, e) -> None:
    base = composite(
        [at(solids.box(a, b, c, density=RHO), z=c / 2), at(solids.cylinder(r, tall, density=RHO), x=e, z=c + tall / 2)]
    )
    m1, m2, h = RHO * a * b * c, RHO * pi * r * r * tall, c + tall / 2
    centre = np.array([m2 * e, 0.0, m1 * c / 2 + m2 * h]) / (m1 + m2)
    assert base.com == pytest.approx(centre, rel=1e-11, abs=1e-14)
    across = m2 * (3 * r * r + tall * tall) / 12
    expected = np.array(
        [
            [m1 * (b * b / 12 + c * c / 3) + across + m2 * h * h, 0.0, -m2 * e * h],
            [0.0, m1 * (a * a / 12 + c * c / 3) + across + m2 * (h * h + e * e), 0.0],
            [-m2 * e * h, 0.0, m1 * (a * a + b * b) / 12 + m2 * (r * r / 2 + e * e)],
        ]
    )
    assert relative_error(base.about_origin, expected) < TOLERANCE
    assert "zx" in symmetry_planes(base)


# -- problems 4.12, 4.17, 4.18, 4.21: a yoke of three prisms -----------------------------------------------------------
# The foot a × b × c is on z = 0, O in the middle of its underside; two arms p × q × h are on it at y = ±e.


@settings(max_examples=30)
@given(length, length, length, length, length, length, length, angle)
def test_4_12_4_17_4_18_4_21_yoke(a, b, c, p, q, h, e, theta) -> None:
    foot, arm = at(solids.box(a, b, c, density=RHO), z=c / 2), solids.box(p, q, h, density=RHO)
    yoke = composite([foot, at(arm, y=e, z=c + h / 2), at(arm, y=-e, z=c + h / 2)])
    m1, m2, z2 = RHO * a * b * c, RHO * p * q * h, c + h / 2
    m, zc = m1 + 2 * m2, (m1 * c / 2 + 2 * m2 * z2) / (m1 + 2 * m2)
    assert yoke.com == pytest.approx([0.0, 0.0, zc], rel=TOLERANCE, abs=1e-14)
    assert set(symmetry_planes(yoke)) >= {"yz", "zx"}  # 4.17: hence the frame is principal
    A = m1 * (b * b / 12 + c * c / 3) + 2 * m2 * ((q * q + h * h) / 12 + z2**2 + e * e)
    B = m1 * (a * a / 12 + c * c / 3) + 2 * m2 * ((p * p + h * h) / 12 + z2**2)
    C = m1 * (a * a + b * b) / 12 + 2 * m2 * ((p * p + q * q) / 12 + e * e)
    assert relative_error(yoke.about_origin, np.diag([A, B, C])) < TOLERANCE
    assert relative_error(yoke.inertia, np.diag([A - m * zc**2, B - m * zc**2, C])) < 1e-11  # 4.18
    co, si = cos(theta), sin(theta)  # 4.21: the frame turned by θ about z
    xy = (B - A) * si * co
    turned = [[A * co**2 + B * si**2, xy, 0], [xy, A * si**2 + B * co**2, 0], [0, 0, C]]
    assert relative_error(yoke.about((0, 0, 0), rotation_about(Z, theta)), turned) < TOLERANCE


# -- problems 4.13, 4.14, 4.22, 4.23: a two-link robot -----------------------------------------------------------------
# Both joints turn about z; frame 2 sits at x = l₁ of frame 1. Horizontal: θ₂ = 0; vertical: θ₂ = 90°.


def body(seed: int) -> Inertia:
    rng = np.random.default_rng(seed)
    points = 0.3 * rng.normal(size=(6, 3))
    r = points - points.mean(axis=0)
    second = r.T @ r
    return Inertia(6.0 + seed, points.mean(axis=0), np.trace(second) * np.eye(3) - second)


def two_links(one: Inertia, two: Inertia, l1: float) -> rne.RobotModel:
    links = (TreeLink("base"), TreeLink("link1", one), TreeLink("link2", two))
    joints = (
        TreeJoint("joint1", JointKind.CONTINUOUS, "base", "link1"),
        TreeJoint("joint2", JointKind.CONTINUOUS, "link1", "link2", position=l1 * X),
    )
    return rne.assemble(KinematicTree("two_links", links, joints))


@pytest.mark.parametrize(
    ("theta", "turn"),
    [(0.0, np.eye(3)), (pi / 2, np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))],
    ids=["4.13-4.22-horizontal", "4.14-4.23-vertical"],
)
def test_two_link_robot(theta: float, turn: np.ndarray) -> None:
    one, two, l1 = body(0), body(10), 0.7
    whole = composite_inertia(two_links(one, two, l1), [1.1, theta], "link1")
    (x1, y1, z1), (x2, y2, z2) = one.com, turn @ two.com
    x2 += l1
    m1, m2 = one.mass, two.mass
    expected = np.array([m1 * x1 + m2 * x2, m1 * y1 + m2 * y2, m1 * z1 + m2 * z2]) / (m1 + m2)
    assert whole.com == pytest.approx(expected, rel=1e-11, abs=1e-13)
    turned = two.inertia.copy()
    if theta:  # a quarter turn swaps xx and yy, and sends (xy, xz, yz) to (−xy, −yz, xz)
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = two.inertia
        turned = np.array([[yy, -xy, -yz], [-xy, xx, xz], [-yz, xz, zz]])
    about = one.inertia + turned
    for m, x, y, z in ((m1, x1, y1, z1), (m2, x2, y2, z2)):
        about = about + m * np.array(
            [[y * y + z * z, -x * y, -x * z], [-x * y, x * x + z * z, -y * z], [-x * z, -y * z, x * x + y * y]]
        )
    assert relative_error(whole.about_origin, about) < TOLERANCE


# -- problem 4.24: a satellite with two panels -------------------------------------------------------------------------
# The panels turn by θ₁ and θ₂ about y of the body's frame; their mass centres lie on that axis at y = ±d, in the
# origins of their frames.


def satellite(main, panel, m: float, mp: float, d: float) -> rne.RobotModel:
    plate = Inertia(mp, np.zeros(3), np.diag(panel))
    links = (TreeLink("bus", Inertia(m, np.zeros(3), np.diag(main))), TreeLink("left", plate), TreeLink("right", plate))
    joints = tuple(
        TreeJoint(f"{side}_joint", JointKind.CONTINUOUS, "bus", side, position=way * d * Y, axis=Y)
        for side, way in (("left", 1.0), ("right", -1.0))
    )
    return rne.assemble(KinematicTree("satellite", links, joints), base="floating", gravity=(0.0, 0.0, 0.0))


MAIN, PANEL, M, MP, D = (40.0, 55.0, 62.0), (1.2, 0.3, 1.5), 310.0, 9.0, 1.8


def satellite_inertia(t1: float, t2: float) -> np.ndarray:
    """Computed by hand: I + Σ R(θ) P R(θ)ᵀ + 2 m_p d² (xx and zz)."""
    J = np.diag([MAIN[0] + 2 * MP * D**2, MAIN[1] + 2 * PANEL[1], MAIN[2] + 2 * MP * D**2])
    for t in (t1, t2):
        c, s = cos(t), sin(t)
        J[0, 0] += PANEL[0] * c * c + PANEL[2] * s * s
        J[2, 2] += PANEL[0] * s * s + PANEL[2] * c * c
        J[0, 2] += (PANEL[2] - PANEL[0]) * s * c
        J[2, 0] = J[0, 2]
    return J


def satellite_state(robot: rne.RobotModel, t1: float, t2: float) -> np.ndarray:
    q = robot.neutral.copy()
    q[7:] = t1, t2
    return q


@settings(max_examples=30)
@given(angle, angle)
def test_4_24_inertia_of_the_satellite_for_any_panel_angles(t1, t2) -> None:
    robot = satellite(MAIN, PANEL, M, MP, D)
    q = satellite_state(robot, t1, t2)
    whole = composite_inertia(robot, q, "bus")
    assert np.abs(whole.com).max() < 1e-14  # whatever the angles
    assert relative_error(whole.inertia, satellite_inertia(t1, t2)) < TOLERANCE
    # the same matrix is the angular block of the floating base's mass matrix, and maps ω to angular momentum
    assert relative_error(rne.mass_matrix(robot, q)[3:6, 3:6], satellite_inertia(t1, t2)) < TOLERANCE
    qd = np.array([0.3, -0.1, 0.2, 0.5, -0.4, 0.7, 0.0, 0.0])
    momentum = rne.momentum(robot, q, qd, "com")
    assert relative_error(momentum.angular, satellite_inertia(t1, t2) @ qd[3:6]) < TOLERANCE
    assert relative_error(momentum.linear, (M + 2 * MP) * qd[:3]) < TOLERANCE


def test_4_24_panel_motors_turn_the_satellite_the_other_way() -> None:
    robot = satellite(MAIN, PANEL, M, MP, D)
    q, tau = satellite_state(robot, 0.4, -0.9), np.array([0.0] * 6 + [0.8, 0.5])
    qdd = rne.forward_dynamics(robot, q, np.zeros(8), tau)
    panels = PANEL[1] * (qdd[6] + qdd[7])
    assert qdd[4] == pytest.approx(-panels / (MAIN[1] + 2 * PANEL[1]), rel=1e-12)
    assert PANEL[1] * (qdd[4] + qdd[6:]) == pytest.approx([0.8, 0.5], rel=1e-12)
    assert np.abs(qdd[[0, 1, 2, 3, 5]]).max() < 1e-15


def test_4_24_momentum_is_kept_while_motors_drive_the_panels() -> None:
    robot = satellite(MAIN, PANEL, M, MP, D)
    q = satellite_state(robot, 0.4, -0.9)
    qd = np.array([0.1, 0.2, -0.1, 0.3, 0.2, -0.4, 0.6, -0.8])
    motors = np.array([0.0] * 6 + [0.4, -0.3])
    log = free_motion(ArmPlant(robot), q, qd, seconds=5.0, record_dt=0.1, effort=motors, method="adaptive")
    assert np.abs(log.qd[-1, 6:] - qd[6:]).min() > 0.5  # the motors have done much
    kept = rne.momentum(robot, log.q, log.qd)
    assert relative_error(kept.linear, np.broadcast_to(kept.linear[0], kept.linear.shape)) < 1e-9
    assert relative_error(kept.angular, np.broadcast_to(kept.angular[0], kept.angular.shape)) < 1e-9


def test_example_4_13_free_bodies_of_the_satellite() -> None:
    """Three diagrams without weight or support: each obeys Euler's laws, and together nothing acts on them."""
    robot = satellite(MAIN, PANEL, M, MP, D)
    rng = np.random.default_rng(413)
    q, qd = satellite_state(robot, 0.4, -0.9), rng.normal(size=8)
    qdd = rne.forward_dynamics(robot, q, qd, [0, 0, 0, 0, 0, 0, 0.8, -0.5])
    bodies = {link: rne.free_body(robot, q, qd, qdd, link, None) for link in ("bus", "left", "right")}
    assert set(bodies["bus"].joints) == {"left_joint", "right_joint"}
    for link, body in bodies.items():
        assert relative_error(body.total, np.concatenate(body.rate), scale=1.0) < TOLERANCE
        assert not body.gravity.any()
        assert np.abs(body.base).max() < 1e-11 * np.abs(bodies["bus"].total).max()
        if link != "bus":
            assert relative_error(body.total, -bodies["bus"].joints[f"{link}_joint"]) < TOLERANCE
    assert np.abs(sum(body.total for body in bodies.values())).max() < 1e-11 * np.abs(bodies["bus"].total).max()
