"""Problems 4.7–4.9, 4.30–4.32 and what builds on them for the robot of the text: one revolute, three prismatic joints.

`examples/cylindrical_robot.yaml` describes it by a Denavit–Hartenberg table. Everything turns by θ and is otherwise
shifted, so that in the basis of frame 1 a mass centre at (X, Y, Z) moves with (Ẋ − θ̇ Y, Ẏ + θ̇ X, Ż): l is along y of
frame 1, d along its x, h along its z.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.errors import relative_error

import rne_dynamics as rne

ROBOT = rne.load_model(Path(__file__).resolve().parents[2] / "examples" / "cylindrical_robot.yaml")
LINKS = ("vertical_arm", "horizontal_arm", "tool_carriage")
FRAMES = ("vertical_arm", "horizontal_arm", "slide", "tool_carriage")
#: Frame i seen from frame i − 1, for i = 2, 3, 4: α = −90°; θ = 90° and then α = 90°; nothing.
TURNS = (
    np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]),
    np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]),
    np.eye(3),
)
G = np.array([0.0, 0.0, -9.81])


def frame_turns(theta: float) -> list[np.ndarray]:
    """R_0i of frames 1 to 4."""
    c, s = np.cos(theta), np.sin(theta)
    found = [np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])]
    for turn in TURNS:
        found.append(found[-1] @ turn)
    return found


def centre(link: int, q: np.ndarray) -> np.ndarray:
    """(X, Y, Z), the mass centre in axes parallel to frame 1, from the axis z₀."""
    _, climb, slide, shift = q
    com = ROBOT.tree.link(LINKS[link]).inertia.com
    at = np.array([0.06, 0.0, 0.30])
    if link == 0:
        return at + com
    at[2] += 0.20 + climb
    if link == 1:
        return at + TURNS[0] @ com
    return at + np.array([0.05 + shift, 0.15 + slide, 0.0]) + TURNS[0] @ TURNS[1] @ com


def slides(link: int, rates: np.ndarray) -> np.ndarray:
    """(Ẋ, Ẏ, Ż) from (θ̇, ḣ, l̇, ḋ), and likewise the second derivatives."""
    _, climb, slide, shift = rates
    return np.array([[0.0, 0.0, 0.0], [0.0, 0.0, climb], [shift, slide, climb]][link])


def velocity(link: int, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Velocity of the mass centre in the basis of frame 1."""
    return slides(link, qd) + qd[0] * np.cross([0.0, 0.0, 1.0], centre(link, q))


def acceleration(link: int, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """Its acceleration: (Ẍ − θ̈ Y − θ̇² X − 2 θ̇ Ẏ, Ÿ + θ̈ X − θ̇² Y + 2 θ̇ Ẋ, Z̈)."""
    X, Y, _ = centre(link, q)
    x, y, z = slides(link, qdd)
    across, along, _ = slides(link, qd)
    w, dw = qd[0], qdd[0]
    return np.array([x - dw * Y - w * w * X - 2 * w * along, y + dw * X - w * w * Y + 2 * w * across, z])


def moments(link: int) -> np.ndarray:
    """Inertia about the mass centre along the axes of frame 1."""
    turn = (np.eye(3), TURNS[0], TURNS[0] @ TURNS[1])[link]
    return turn @ ROBOT.tree.link(LINKS[link]).inertia.inertia @ turn.T


def states(count: int = 2) -> np.ndarray:
    return np.random.default_rng(47).uniform(-1.0, 1.0, (count, 3, 4))


def test_its_variables_are_those_of_the_text() -> None:
    assert ROBOT.joint_names == ("theta", "h", "l", "d")
    assert [j.kind.value for j in ROBOT.tree.joints] == ["revolute", "fixed", "prismatic", "prismatic", "prismatic"]
    q = states(1)[0, 0]
    poses = rne.forward_kinematics(ROBOT, q)
    for name, R in zip(FRAMES, frame_turns(q[0]), strict=True):
        assert relative_error(poses[name][:3, :3], R) < 1e-15


def test_4_7_to_4_9_linear_momentum_in_every_basis() -> None:
    for q, qd, _ in states():
        R = frame_turns(q[0])
        for i, link in enumerate(LINKS):
            p = ROBOT.tree.link(link).inertia.mass * velocity(i, q, qd)  # in the basis of frame 1
            found = rne.momentum(ROBOT, q, qd, links=[link]).linear
            assert relative_error(found, R[0] @ p, scale=0.1) < 1e-13
            for j in range((1, 2, 4)[i]):  # and of frames 1 to the link's own
                basis = rne.forward_kinematics(ROBOT, q)[FRAMES[j]][:3, :3]
                assert relative_error(basis.T @ found, R[j].T @ R[0] @ p, scale=0.1) < 1e-13


def test_4_30_to_4_32_angular_momentum_about_the_own_mass_centre() -> None:
    for q, qd, _ in states():
        R = frame_turns(q[0])
        for i, link in enumerate(LINKS):
            expected = moments(i) @ [0.0, 0.0, qd[0]]  # (I_xz, I_yz, I_zz) θ̇ in the basis of frame 1
            found = rne.momentum(ROBOT, q, qd, "com", links=[link]).angular
            assert relative_error(found, R[0] @ expected, scale=0.1) < 1e-13
            for j in range((1, 2, 4)[i]):
                basis = rne.forward_kinematics(ROBOT, q)[FRAMES[j]][:3, :3]
                assert relative_error(basis.T @ found, R[j].T @ R[0] @ expected, scale=0.1) < 1e-13


def test_4_37_to_4_39_and_4_41_to_4_43_eulers_laws_for_its_links() -> None:
    """Sums of the free bodies against m a and İ ω + ω × I ω in closed form."""
    for q, qd, qdd in states():
        R = frame_turns(q[0])[0]
        for i, link in enumerate(LINKS):
            body = rne.free_body(ROBOT, q, qd, qdd, link)
            mass, (xz, yz, zz) = ROBOT.tree.link(link).inertia.mass, moments(i)[:, 2]
            force = mass * R @ acceleration(i, q, qd, qdd)
            moment = R @ [xz * qdd[0] - yz * qd[0] ** 2, yz * qdd[0] + xz * qd[0] ** 2, zz * qdd[0]]
            assert relative_error(body.total, np.concatenate([force, moment]), scale=100.0) < 1e-13
            assert relative_error(np.concatenate(body.rate), np.concatenate([force, moment]), scale=100.0) < 1e-13


def test_the_forces_along_the_slides() -> None:
    for q, qd, qdd in states():
        drive = rne.inverse_dynamics(ROBOT, q, qd, qdd)
        carriage = 4.0 * acceleration(2, q, qd, qdd)
        assert drive[1] == pytest.approx(16.0 * (qdd[1] + 9.81), rel=1e-13)
        assert drive[2] == pytest.approx(carriage[1], rel=1e-12)
        assert drive[3] == pytest.approx(carriage[0], rel=1e-12)
