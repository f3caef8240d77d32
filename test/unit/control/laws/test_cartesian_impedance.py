"""Cartesian impedance against closed forms and against MuJoCo's arm."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.transform import Rotation
from support.compliant import START, TIP, Loop, ratio_of
from support.mechanisms import five_bar

import rne_dynamics as rne
from rne_dynamics.control.control_law import rate_warnings
from rne_dynamics.control.laws.cartesian_impedance import _motions
from rne_dynamics.control.task_space import put_pose_error
from rne_dynamics.errors import ControlError, ModelError

PANDA = rne.load_urdf("panda")
SOFT = (200.0, 300.0, 250.0, 6.0, 8.0, 7.0)
TOOL = np.array([0.03, -0.02, 0.1])


def pose(robot, link, q, tool=TOOL):
    """Turn and place of the tool."""
    X = rne.forward_kinematics(robot, q)[link]
    return X[:3, :3], X[:3, 3] + X[:3, :3] @ tool


def tool_jacobian(robot, link, q, tool=TOOL):
    return _motions(robot, q[None], link, np.asarray(tool))[0][0]


def state(robot, seed=0):
    rng = np.random.default_rng(seed)
    q = START["panda"] + 0.1 * rng.normal(size=robot.n)
    return q, 0.2 * rng.normal(size=robot.n), rne.Reference(
        q + 0.05 * rng.normal(size=robot.n), 0.1 * rng.normal(size=robot.n), rng.normal(size=robot.n)
    )


def test_the_jacobian_of_the_tool_s_point_is_the_derivative_of_its_place():
    q, h = START["panda"], 1e-6
    found = tool_jacobian(PANDA, "panda_link8", q)
    for j, step in enumerate(h * np.eye(7)):
        (R, p), (S, r) = (pose(PANDA, "panda_link8", q + sign * step) for sign in (1.0, -1.0))
        np.testing.assert_allclose((p - r) / (2 * h), found[:3, j], atol=1e-8)
        np.testing.assert_allclose(Rotation.from_matrix(R @ S.T).as_rotvec() / (2 * h), found[3:, j], atol=1e-8)


@pytest.mark.parametrize(("robot", "axes", "mode"), [
    (PANDA, "tool", "impedance"), (PANDA, "base", "operational_space"), (PANDA.with_shared_code(), "tool", "impedance"),
], ids=["impedance", "operational space", "own code"])
def test_the_torque_is_that_of_the_formula(robot, axes, mode):
    link, K0, ratio = "panda_link8", np.linspace(5.0, 2.0, 7), 1.0
    law = rne.CartesianImpedance(
        robot, link, TOOL, axes, mode, SOFT, (ratio,) * 6, (12.0,) * 6, K0, friction_compensation=None, rate=1e5
    )
    q, qd, aim = state(robot)
    terms = law.law(q, qd, aim)
    M, J, wanted = rne.mass_matrix(PANDA, q), *(tool_jacobian(PANDA, link, x) for x in (q, aim.q))
    (R, p), (Rd, pd) = (pose(PANDA, link, x) for x in (q, aim.q))
    error = np.concatenate([pd - p, Rotation.from_matrix(Rd @ R.T).as_rotvec()])
    h = 1e-6
    rate, rate_d = ((tool_jacobian(PANDA, link, x + h * v) - tool_jacobian(PANDA, link, x - h * v)) / (2 * h)
                    for x, v in ((q, qd), (aim.q, aim.qd)))
    acceleration = wanted @ aim.qdd + rate_d @ aim.qd - rate @ qd
    turn = scipy.linalg.block_diag(*[R if axes == "tool" else np.eye(3)] * 2)
    inertia = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    K = turn @ np.diag(SOFT) @ turn.T if mode == "impedance" else 12.0**2 * inertia
    N = np.eye(7) - J.T @ inertia @ J @ np.linalg.inv(M)
    whole = J.T @ K @ J + N @ np.diag(K0) @ N.T
    squares, X = scipy.linalg.eigh(whole, M)
    D = 2.0 * ratio * M @ X @ np.diag(np.sqrt(np.maximum(squares, 0.0))) @ X.T @ M
    steady = aim.qd + np.linalg.solve(M, J.T @ inertia @ (wanted @ aim.qd - J @ aim.qd))
    expected = J.T @ K @ error + N @ (K0 * (aim.q - q)) + D @ (steady - qd)
    np.testing.assert_allclose(terms.feedback, expected, rtol=1e-3, atol=1e-3)
    forward = M @ aim.qdd + J.T @ inertia @ (acceleration - J @ aim.qdd)
    np.testing.assert_allclose(terms.inertia, forward, rtol=1e-6, atol=1e-5)
    bias = rne.bias_torque(PANDA, q, qd)
    np.testing.assert_allclose(terms.coriolis + terms.gravity, bias, rtol=1e-9, atol=1e-9)


def cartesian(name, **given):
    given = {"link": TIP[name], "stiffness": SOFT, "damping_ratio": (0.7,) * 6, **given}
    return Loop(name, "cartesian_impedance", given)


def test_a_wrench_from_outside_deflects_the_tool_by_wrench_over_stiffness():
    loop = cartesian("panda", null_space_stiffness=1.0, stiffness=SOFT)
    deflection, link = np.array([0.01, -0.008, 0.012, 0.03, 0.02, -0.03]), TIP["panda"]
    R, p = pose(PANDA, link, loop.start, np.zeros(3))
    for _ in range(300):
        loop.push = tool_jacobian(PANDA, link, loop.arm.state.q, np.zeros(3)).T @ (SOFT * deflection)
        loop.run(0.01)
    S, r = pose(PANDA, link, loop.arm.state.q, np.zeros(3))
    hard = loop.law.softening.left(1000.0) > 0.99
    assert hard[:3].all()
    found = np.concatenate([r - p, Rotation.from_matrix(S @ R.T).as_rotvec()])
    np.testing.assert_allclose(found[hard], deflection[hard], rtol=0.01)


def stiffness_of(loop):
    """Whole stiffness at the joints, of tool and posture, at the start."""
    robot, law, q = loop.robot, loop.law, loop.start
    M, J = rne.mass_matrix(robot, q), tool_jacobian(robot, law.link, q, np.zeros(3))
    W = np.linalg.inv(M)
    N = np.eye(robot.n) - J.T @ np.linalg.pinv(J @ W @ J.T, rcond=1e-6) @ J @ W
    return M, J.T @ np.diag(law.stiffness) @ J + N @ np.diag(law.null_space_stiffness) @ N.T


def test_every_mode_below_30_rad_per_s_has_the_damping_ratio():
    given = {"stiffness": (60.0,) * 3 + (0.8,) * 3, "damping_ratio": (0.3,) * 6, "null_space_stiffness": 5.0}
    M, K = stiffness_of(cartesian("panda", **given))
    squares, X = scipy.linalg.eigh(K, M)
    tested = 0
    for k, square in enumerate(squares):
        if not 1.0 < square < 30.0**2:
            continue
        tested += 1
        loop = cartesian("panda", **given)
        loop.arm.data.qpos[:] = loop.start + X[:, k] * 0.002 / np.abs(X[:, k]).max()
        loop.run(4.0 / np.sqrt(square))
        mode = X[:, k] @ M
        found, omega = ratio_of((np.array(loop.q) - loop.start) @ mode, np.array(loop.qd) @ mode)
        assert omega == pytest.approx(np.sqrt(square), rel=0.05)
        assert found == pytest.approx(0.3, rel=0.05)
    assert tested >= 5


def test_the_elbow_moves_in_the_null_space_and_the_tool_does_not():
    loop = cartesian("panda", null_space_stiffness=20.0, stiffness=(400.0,) * 3 + (20.0,) * 3)
    q, link = loop.start.copy(), TIP["panda"]
    R, p = pose(PANDA, link, q, np.zeros(3))
    for _ in range(400):  # along the self-motion
        J = tool_jacobian(PANDA, link, q, np.zeros(3))
        way = scipy.linalg.null_space(J)[:, 0]
        S, r = pose(PANDA, link, q, np.zeros(3))
        off = np.concatenate([p - r, Rotation.from_matrix(R @ S.T).as_rotvec()])
        q = q + 1e-3 * way * np.sign(way[2]) + np.linalg.pinv(J) @ off
    moved = np.abs(q - loop.start).max()
    assert moved > 0.2
    loop.arm.data.qpos[:] = q
    loop.run(3.0)
    np.testing.assert_allclose(loop.arm.state.q, loop.start, atol=0.05 * moved)
    places = np.array([pose(PANDA, link, x, np.zeros(3))[1] for x in loop.q[::5]])
    assert np.linalg.norm(places - p, axis=1).max() < 5e-5


@pytest.mark.parametrize(("name", "mode"), [("puma560", "operational_space"), ("ur10", "impedance")])
def test_a_motion_through_a_singular_posture_is_tracked(name, mode):
    start, way = START[name].copy(), np.zeros(len(START[name]))
    if name == "puma560":  # the wrist straightens
        start[4], way[4], way[3] = -0.5, 1.0, 0.3
    else:  # elbow and wrist
        start[[2, 4]], way[[2, 4]] = (-0.4, 0.6), (0.8, -1.2)
    given = {"link": TIP[name], "mode": mode, "damping_ratio": (1.0,) * 6}
    loop = Loop(name, "cartesian_impedance", given, start)
    move = rne.Quintic(start, start + way, 1.5)
    mobility = [np.linalg.svd(tool_jacobian(loop.robot, TIP[name], move.sample(t).q))[1][5] for t in (0.0, 0.75, 1.5)]
    assert mobility[1] < 0.2 * min(mobility[0], mobility[2])
    loop.run(2.0, move.sample)
    for k in range(0, 2000, 10):
        wanted = pose(loop.robot, TIP[name], move.sample(1e-3 * k).q)[1]
        assert np.linalg.norm(pose(loop.robot, TIP[name], loop.q[k])[1] - wanted) < 2e-3
    assert np.abs(loop.arm.state.qd).max() < 1e-3


@pytest.mark.slow
def test_an_arm_that_is_pushed_while_it_is_stretched_out_comes_back():
    start = np.array([0.0, -0.4, 0.0, -0.3, 0.0, 0.0])  # elbow and wrist straight
    loop = Loop("ur10", "cartesian_impedance", {"link": "tool0"}, start)
    for _ in range(60):
        q = loop.arm.state.q
        loop.push = tool_jacobian(loop.robot, "tool0", q).T @ np.array([-60.0, 40.0, -80.0, 0.0, 5.0, 0.0])
        loop.run(0.02)
    assert np.linalg.norm(pose(loop.robot, "tool0", loop.q[-1])[1] - pose(loop.robot, "tool0", start)[1]) > 0.03
    loop.push[:] = 0.0
    loop.run(6.0)
    assert np.isfinite(loop.efforts).all()
    assert np.abs(loop.arm.state.qd).max() < 1e-2
    np.testing.assert_allclose(pose(loop.robot, "tool0", loop.q[-1])[1], pose(loop.robot, "tool0", start)[1], atol=0.01)


def test_force_and_moment_of_the_spring_are_limited():
    law = rne.CartesianImpedance(
        PANDA, "panda_link8", stiffness=(1000.0,) * 3 + (50.0,) * 3, force_limit=20.0, moment_limit=3.0,
        null_space_stiffness=0.0, friction_compensation=None, rate=1e5,
    )
    q, still = START["panda"], np.zeros(7)
    aim = q + np.array([0.3, 0.2, -0.2, 0.3, 0.2, -0.2, 0.5])
    torque = law.law(q, still, rne.Reference(aim, still, still)).feedback
    J = tool_jacobian(PANDA, "panda_link8", q, np.zeros(3))
    wrench = np.linalg.lstsq(J.T, torque, rcond=None)[0]
    np.testing.assert_allclose(J.T @ wrench, torque, atol=1e-9)
    assert np.linalg.norm(wrench[:3]) == pytest.approx(20.0)
    assert np.linalg.norm(wrench[3:]) == pytest.approx(3.0)


@pytest.mark.parametrize("angle", [0.0, 1e-5, 1.0, np.pi - 1e-10, np.pi])
def test_the_error_of_a_turn_is_its_rotation_vector(angle):
    rng = np.random.default_rng(4)
    for axis in (*np.eye(3), *rng.normal(size=(5, 3))):
        R, turn = Rotation.random(random_state=1), Rotation.from_rotvec(angle * axis / np.linalg.norm(axis))
        error = np.empty(6)
        put_pose_error(*(np.append(x.as_matrix().ravel(), np.zeros(3)) for x in (turn * R, R)), error)
        found = error[3:]
        assert np.linalg.norm(found) == pytest.approx(angle, abs=1e-7)
        np.testing.assert_allclose(Rotation.from_rotvec(found).as_matrix(), turn.as_matrix(), atol=1e-7)


@pytest.mark.parametrize("name", ["panda", "four_joint_arm"])  # with more joints than a pose needs, and fewer
def test_defaults_follow_a_move_on_every_arm(name):
    loop = Loop(name, "cartesian_impedance", {})
    assert rate_warnings(loop.law, 250.0) == ()
    move = rne.Quintic(loop.start, loop.start + 0.3, 1.0)
    loop.run(1.5, move.sample)
    np.testing.assert_allclose(loop.arm.state.q, loop.start + 0.3, atol=0.02)
    assert np.abs(loop.arm.state.qd).max() < 0.01


def test_a_given_stiffness_that_is_softened_is_reported_by_axis():
    law = rne.CartesianImpedance(PANDA, "panda_link8", stiffness=(3000.0,) * 3 + (300.0,) * 3)
    (text,) = rate_warnings(law, 250.0)
    assert re.search(r"stiffness is softened: .*rx to \d+%", text)


@pytest.mark.parametrize(
    ("robot", "values", "error", "message"),
    [
        ("five_bar", {}, ControlError, "closed loops, whose passive joints move its links too; use joint_impedance"),
        ("panda", {"link": "panda_link0"}, ControlError, "link 'panda_link0' does not move"),
        ("panda", {"link": "panda_link_8"}, ModelError, "no link"),
        ("panda", {"stiffness": (np.nan,) * 6}, ControlError, "stiffness x' is nan"),
        ("panda", {"mode": "position"}, ControlError, "mode is 'position'; allowed: impedance, operational_space"),
        ("panda", {"force_limit": -1.0}, ControlError, "force_limit is -1"),
    ],
)
def test_what_makes_no_law_is_refused(robot, values, error, message):
    with pytest.raises(error, match=message):
        rne.CartesianImpedance(PANDA if robot == "panda" else five_bar(), **values)
