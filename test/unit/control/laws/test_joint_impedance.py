"""Joint impedance against closed forms and against MuJoCo's arm."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from support.compliant import START, Loop, ratio_of, text_of
from support.mechanisms import five_bar

import rne_dynamics as rne
from rne_dynamics.control.control_law import rate_warnings
from rne_dynamics.errors import ControlError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.tree import Friction, Limits

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
PANDA = rne.load_urdf("panda")
PANDA_COULOMB = joint_friction(PANDA).coulomb_forward


def state(robot, seed=0):
    rng = np.random.default_rng(seed)
    q = np.clip(robot.neutral + 0.3 * rng.normal(size=robot.n), robot.lower, robot.upper)
    qd, qdd = rng.normal(size=(2, robot.n))
    return q, 0.1 * qd, rne.Reference(q + 0.02 * rng.normal(size=robot.n), 0.1 * rng.normal(size=robot.n), qdd)


def damping_of(M, K, ratio, fastest=np.inf):
    """Stiffness and damping by SciPy's generalised eigenvectors."""
    squares, X = scipy.linalg.eigh(K, M)  # Xᵀ M X = 1, Xᵀ K X = ω²
    omega = np.minimum(np.sqrt(np.maximum(squares, 0.0)), fastest)
    Q = M @ X
    return Q * omega**2 @ Q.T, Q * (2.0 * ratio * omega) @ Q.T


@pytest.mark.parametrize("robot", [PANDA, PANDA.with_shared_code(), five_bar()], ids=["general", "own code", "loops"])
@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_the_torque_is_that_of_double_diagonalisation(robot, ratio):
    stiffness = np.linspace(300.0, 40.0, robot.n)
    law = rne.JointImpedance(robot, stiffness, ratio, None, 1000.0)
    q, qd, aim = state(robot)
    if robot.loops:
        q = np.array(robot.posture[robot.actuated]) + 0.02
        aim = rne.Reference(q + 0.01, aim.qd, aim.qdd)
    terms = law.law(q, qd, aim, posture=robot.posture if robot.loops else None)
    M = rne.mass_matrix(robot, q)
    fastest = 1000.0 * min(0.125 / ratio, 0.5 * ratio)
    K, D = damping_of(M, np.diag(stiffness), ratio, fastest)
    np.testing.assert_allclose(terms.feedback, K @ (aim.q - q) + D @ (aim.qd - qd), rtol=1e-4, atol=1e-4)
    model = rne.inverse_dynamics(robot, q, qd, aim.qdd)
    np.testing.assert_allclose((terms.inertia + terms.coriolis + terms.gravity), model, rtol=1e-9, atol=1e-8)


def rough_five_bar():
    """Its cranks have friction and velocity limits."""
    bars = five_bar()
    rough = {"friction": Friction(0.1, 3.0, 3.0), "limits": Limits(velocity=2.0)}
    joints = tuple(replace(j, **rough) if j.name in bars.joint_names else j for j in bars.robot.tree.joints)
    return replace(bars, robot=assemble(replace(bars.robot.tree, joints=joints), gravity=bars.gravity))


@pytest.mark.parametrize("robot", [PANDA, rough_five_bar()], ids=["open", "loops"])
def test_friction_that_is_not_there_drives_no_joint_half_its_velocity_limit_too_fast(robot):
    """Before: a wrist without friction was thrown at 100 joint states per second and 25 ms of delay."""
    law = rne.JointImpedance(robot, np.full(robot.n, 50.0), 1.0, rne.FrictionCompensation(), 100.0)
    law.act_after(0.025, 0.01)
    posture = robot.posture if robot.loops else None
    q = START["panda"] if posture is None else np.array(posture[robot.actuated])
    speed = -0.9 * robot.velocity_limit
    friction = law.law(q, speed, rne.Reference(q, speed, np.zeros(robot.n)), posture=posture).friction
    D = damping_of(rne.mass_matrix(robot, q), np.diag(law.stiffness), 1.0, law.damped_rate[0] * 0.125)[1]
    held, whole = 0.5 * robot.velocity_limit * np.diag(D), law.friction_torque(speed, np.zeros(robot.n))
    assert (np.abs(whole) > held).any()
    np.testing.assert_allclose(friction, np.clip(whole, -held, held), rtol=1e-4)


def test_friction_is_compensated_whole_where_the_description_has_no_velocity_limit():
    text = re.sub(r'velocity="[^"]*"', 'velocity="0"', text_of("puma560"))
    robot = rne.load_urdf(text)
    law = rne.JointImpedance(robot, 1.0, 1.0, rne.FrictionCompensation())
    still, speed = np.zeros(6), np.full(6, 0.5)
    friction = law.law(still, speed, rne.Reference(still, speed, still)).friction
    np.testing.assert_allclose(friction, law.friction_torque(speed, still), rtol=1e-12)


@pytest.mark.parametrize("robot", [PANDA, rough_five_bar()], ids=["open", "loops"])
@pytest.mark.parametrize("part", [0.0, 0.6, -1.2])
def test_springs_drive_no_mode_beyond_a_velocity_limit(robot, part):
    """Before: a wrist that dry friction held was thrown by the springs within two periods of 4 ms."""
    law = rne.JointImpedance(robot, np.full(robot.n, 1e4), 1.0, None, 250.0)
    posture = robot.posture if robot.loops else None
    q = START["panda"] if posture is None else np.array(posture[robot.actuated])
    M, rate, speed = rne.mass_matrix(robot, q), law.damped_rate[0], part * robot.velocity_limit
    aim = rne.Reference(q + 1.5, 0.3 * speed, np.zeros(robot.n))
    K, D = damping_of(M, np.diag(law.stiffness), 1.0, rate * 0.125)
    X = scipy.linalg.eigh(np.diag(law.stiffness), M)[1]  # in columns motions at a speed of a mode of 1
    forces = X.T @ (K @ (aim.q - q) + D @ (aim.qd - speed))
    fastest = 1.0 / (np.abs(X) / robot.velocity_limit[:, None]).max(axis=0)
    wanted, found = X.T @ M @ aim.qd, X.T @ M @ speed
    least, most = (
        0.25 * rate * (sign * np.maximum(0.8 * fastest, 0.25 * fastest + sign * wanted) - found) for sign in (-1.0, 1.0)
    )
    assert ((forces < least) | (forces > most)).any()
    feedback = law.law(q, speed, aim, posture=posture).feedback
    np.testing.assert_allclose(feedback, M @ X @ np.clip(forces, least, most), rtol=1e-3, atol=1e-3)


def soft(name, frequency):
    """Stiffness that gives each joint alone this frequency at the start."""
    robot = rne.load_urdf(text_of(name))
    return frequency**2 * np.diag(rne.mass_matrix(robot, START[name]))


def test_an_effort_from_outside_deflects_each_joint_by_effort_over_stiffness():
    loop = Loop("panda", "joint_impedance", {"stiffness": soft("panda", 10.0), "damping_ratio": 0.7})
    deflection = 0.02 * np.where(np.arange(loop.robot.n) % 2, -1.0, 1.0)
    loop.push = loop.law.stiffness * deflection
    np.testing.assert_allclose(loop.run(3.0) - loop.start, deflection, rtol=0.01)


@pytest.mark.parametrize(("name", "ratio"), [("panda", 0.3), ("puma560", 0.7)])
def test_every_mode_below_30_rad_per_s_has_the_damping_ratio(name, ratio):
    given = {"stiffness": soft(name, 8.0), "damping_ratio": ratio}
    M = rne.mass_matrix(rne.load_urdf(text_of(name)), START[name])
    squares, X = scipy.linalg.eigh(np.diag(given["stiffness"]), M)
    assert squares.max() < 30.0**2
    for k, square in enumerate(squares):
        loop = Loop(name, "joint_impedance", given)
        loop.arm.data.qpos[:] = loop.start + X[:, k] * 0.01 / np.abs(X[:, k]).max()
        loop.run(4.0 / np.sqrt(square))
        mode = X[:, k] @ M
        found, omega = ratio_of((np.array(loop.q) - loop.start) @ mode, np.array(loop.qd) @ mode)
        assert found == pytest.approx(ratio, rel=0.05)
        assert omega == pytest.approx(np.sqrt(square), rel=0.05)


def test_modes_that_the_rate_cannot_damp_are_softened_and_reported_with_the_figure():
    law = rne.JointImpedance(PANDA, 600.0, 1.0, None, 250.0)
    (text,) = rate_warnings(law, 250.0)
    assert re.search(r"250 joint states per second damp modes up to 31\.2 rad/s, and the fastest one is \d+ rad", text)
    left = law.softening.left(250.0)
    assert f"'panda_joint7' to {left[6]:.0%}" not in text
    assert f"panda_joint7 to {left[6]:.0%}" in text
    # the figure is what the tip of that joint feels, in the posture in which that is least
    q = law.softening.posture
    M = rne.mass_matrix(PANDA, q)
    K, _ = damping_of(M, np.diag(law.stiffness), 1.0, 31.25)
    assert 1.0 / np.linalg.inv(K)[6, 6] / 600.0 >= left[6] * (1.0 - 1e-9)
    torque = law.law(q, np.zeros(7), rne.Reference(q + 0.01, np.zeros(7), np.zeros(7))).feedback
    expected = K @ np.full(7, 0.01)
    np.testing.assert_allclose(torque, expected, rtol=0.0, atol=1e-5 * expected.max())
    assert rate_warnings(rne.JointImpedance(PANDA), 250.0) == ()


def test_a_softened_law_is_stable_at_its_rate_and_not_driven_far_below():
    law = rne.JointImpedance(PANDA, 5000.0, 0.2, None, 1000.0)
    assert 100.0 < law.lowest_rate < 1000.0
    loop = Loop("panda", "joint_impedance", {"stiffness": 5000.0, "damping_ratio": 0.2})
    loop.arm.data.qpos[:] += 0.01
    loop.run(3.0)
    assert np.abs(loop.run(0.1) - loop.start).max() < 1e-4


def test_a_late_loop_softens_more_and_regains_the_stiffness_slowly():
    law = rne.JointImpedance(PANDA, 87.0, 1.0, None, 1000.0)
    q, still = START["panda"], np.zeros(7)
    aim = rne.Reference(q + 0.01, still, still)
    stiff = law.law(q, still, aim).feedback
    law.act_after(0.01, 0.001)
    assert law.damped_rate[0] == pytest.approx(1.5 / 0.0105)
    assert law.tolerated_delay == pytest.approx(0.021)
    K, _ = damping_of(rne.mass_matrix(PANDA, q), np.diag(law.stiffness), 1.0, 0.125 * law.damped_rate[0])
    np.testing.assert_allclose(law.law(q, still, aim).feedback, K @ np.full(7, 0.01), rtol=1e-3)
    before = law.damped_rate[0]
    law.act_after(0.0, 0.001)
    assert before < law.damped_rate[0] < 1.06 * before
    for _ in range(100):
        law.act_after(0.001, 0.001)
    np.testing.assert_allclose(law.law(q, still, aim).feedback, stiff)


def test_motors_that_depend_on_each_other_are_refused():
    with pytest.raises(ControlError, match=r"depend on each other.*use computed_torque"):
        rne.JointImpedance(rne.load_model(EXAMPLES / "five_bar_redundant.yaml"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((np.nan,), "stiffness of joint 'panda_joint1' is nan"), ((10.0, 0.01), "damping ratio .* at least 0.05"),
        (([1.0, 2.0],), r"stiffness has shape \(2,\)"),
    ],
)
def test_numbers_that_make_no_spring_are_refused(values, message):
    with pytest.raises(ControlError, match=message):
        rne.JointImpedance(PANDA, *values)


def test_the_dead_band_of_friction_is_reported_for_a_given_stiffness():
    law = rne.JointImpedance(PANDA, np.where(np.arange(7) == 4, 2.0, 100.0), 1.0, None, 1000.0)
    np.testing.assert_allclose(law.dead_band[4], PANDA_COULOMB[4] / 2.0)
    texts = rate_warnings(law, 1000.0)
    assert any(re.search(r"friction holds joints .*panda_joint5 up to 0\.21", text) for text in texts)
