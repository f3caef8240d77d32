from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from analytic.systems import Pendulum
from support.arms import MASS, chain, floating_arm, gripper, slider
from support.kinds import kinds_of

from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.control.laws.computed_torque import ComputedTorque, computed_torque_kernel
from rne_dynamics.control.laws.pd_gravity import PdGravity
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.control.trajectory import Hold
from rne_dynamics.description.share import shipped_robots
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.dispatch import bias_torque
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque, inverse_dynamics
from rne_dynamics.errors import ControlError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.dice import random_configuration
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.tree import Friction
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import simulate
from rne_dynamics.simulation.stepping.stepping import integrate


def random_state(robot, seed=0):
    rng = np.random.default_rng(seed)
    reference = Reference(random_configuration(robot, rng), rng.normal(size=robot.n), rng.normal(size=robot.n))
    return random_configuration(robot, rng), rng.normal(size=robot.n), reference, rng.normal(size=robot.n)


@pytest.mark.parametrize("name", [*shipped_robots(), "gripper"])
def test_computed_torque_terms_are_those_of_the_model_and_sum_to_one_inverse_dynamics(name):
    robot = gripper() if name == "gripper" else load_urdf(name)
    gains = Gains(np.full(robot.n, 100.0), np.full(robot.n, 7.0), np.full(robot.n, 20.0))
    friction = FrictionCompensation(0.8, 0.05)
    q, qd, reference, integral = random_state(robot)
    terms = ComputedTorque(robot, gains, friction).law(q, qd, reference, integral)
    answer = 100.0 * (reference.q - q) + 20.0 * (reference.qd - qd) + 7.0 * integral
    M, g = mass_matrix(robot, q), gravity_torque(robot, q)
    scale = np.abs(terms.total).max()
    np.testing.assert_allclose(terms.inertia, M @ reference.qdd, atol=1e-12 * scale)
    slow = 0.8 * joint_friction(robot).viscous * 5.0 * (reference.q - q)  # Λ = p / d = d / 4
    np.testing.assert_allclose(terms.feedback, M @ answer + slow, atol=1e-12 * scale)
    np.testing.assert_allclose(terms.gravity, g, atol=1e-12 * scale)
    np.testing.assert_allclose(terms.friction, friction.torque(joint_friction(robot), reference.qd), rtol=1e-13)
    np.testing.assert_allclose(terms.coriolis, bias_torque(robot, q, qd) - g, atol=1e-12 * scale)
    one_call = inverse_dynamics(robot, q, qd, reference.qdd + answer)
    np.testing.assert_allclose(terms.total - terms.friction - slow, one_call, rtol=0.0, atol=1e-12 * scale)
    np.testing.assert_array_equal(terms.total, sum(terms[1:], terms[0]))


def test_pendulum_by_hand():
    pendulum = Pendulum()
    robot = assemble(pendulum.tree())
    J = pendulum.inertia + pendulum.mass * pendulum.c**2 + pendulum.rotor
    weight = pendulum.mass * 9.81 * pendulum.c * np.cos(0.4)
    reference = Reference(np.array([0.5]), np.array([0.2]), np.array([3.0]))
    terms = ComputedTorque(robot, Gains([10.0], [0.0], [2.0]), None).law([0.4], [0.1], reference)
    assert terms.inertia == pytest.approx([J * 3.0])
    assert terms.feedback == pytest.approx([J * (10.0 * 0.1 + 2.0 * 0.1)])
    assert terms.gravity == pytest.approx([weight])
    assert terms.coriolis == pytest.approx([0.0], abs=1e-14)
    assert terms.friction == [0.0]
    pd = PdGravity(robot, Gains([10.0], [5.0], [2.0]), None).law([0.4], [0.1], reference, [0.3])
    assert pd.total == pytest.approx([weight + 10.0 * 0.1 + 2.0 * 0.1 + 5.0 * 0.3])
    assert pd.inertia == pd.coriolis == [0.0]
    hand = GravityCompensation(robot, 0.6).law([0.4], [0.1])
    assert hand.total == pytest.approx([weight - 0.06])
    assert hand.feedback == pytest.approx([-0.06])


def test_cart_by_hand():
    terms = ComputedTorque(slider(), Gains([4.0])).law([1.0], [0.0], Reference(*np.array([[3.0], [0.0], [5.0]])))
    assert terms.total == pytest.approx([MASS * (5.0 + 4.0 * 2.0)])


@pytest.mark.parametrize(("p", "d"), [(25.0, 10.0), (100.0, 6.0)])
def test_on_a_matched_arm_the_error_obeys_its_linear_equation(p, d):
    """ë + d ė + p e = 0: critically damped and oscillating; on a seven-joint chain."""
    robot = chain(7)
    law = ComputedTorque(robot, Gains(np.full(7, p), np.zeros(7), np.full(7, d)), FrictionCompensation())
    e0 = np.linspace(-0.3, 0.3, 7)
    goal = np.full(7, 0.4)
    roots = np.roots([1.0, d, p]).astype(complex)
    t = np.linspace(0.0, 1.0, 51)
    if abs(roots[0] - roots[1]) < 1e-6:
        decay = (1.0 - roots[0] * t) * np.exp(roots[0] * t)
    else:
        decay = (roots[0] * np.exp(roots[1] * t) - roots[1] * np.exp(roots[0] * t)) / (roots[0] - roots[1])
    start = State(0.0, goal - e0, np.zeros(7))
    rest = Hold(goal).sample(0.0)
    states = integrate(ArmPlant(robot), start, lambda t, q, qd: law.law(q, qd, rest).total, t)
    error = goal - np.array([state.q for state in states])
    np.testing.assert_allclose(error, np.outer(decay.real, e0), rtol=0.0, atol=1e-8)


def test_holding_the_torque_for_a_cycle_costs_an_error_in_proportion_to_the_cycle():
    robot = chain(3)
    law = ComputedTorque(robot, Gains.critically_damped(3, 10.0))
    e0 = np.array([-0.3, 0.1, 0.3])
    worst = []
    for dt in (2e-3, 1e-3, 5e-4):
        log = simulate(ArmPlant(robot), law, Hold(np.zeros(3)), q=-e0, seconds=0.5, dt=dt)
        decay = (1.0 + 10.0 * log.time) * np.exp(-10.0 * log.time)
        worst.append(np.abs(log.error - np.outer(decay, e0)).max())
    for coarse, fine in pairwise(worst):
        assert fine == pytest.approx(0.5 * coarse, rel=0.05)


def test_integral_removes_what_an_unknown_load_leaves():
    robot = chain(3)
    goal = np.array([0.2, 0.3, -0.4])
    loaded = ArmPlant(replace(robot, gravity=np.array([0.0, 1.0, -14.0])))
    without = simulate(loaded, ComputedTorque(robot, Gains.critically_damped(3, 10.0)), Hold(goal), seconds=3.0)
    gains = Gains(np.full(3, 100.0), np.full(3, 250.0), np.full(3, 20.0))
    with_integral = simulate(loaded, ComputedTorque(robot, gains), Hold(goal), seconds=3.0)
    assert np.abs(without.error[-1]).max() > 1e-2
    assert np.abs(with_integral.error[-1]).max() < 1e-4


def test_friction_compensation_approaches_the_friction_of_the_model_and_is_smooth_at_rest():
    robot = gripper()
    friction = joint_friction(robot)
    for qd in (np.array([1.0, 2.0]), np.array([-1.0, -2.0])):
        torque = FrictionCompensation(1.0, 0.01).torque(friction, qd)
        np.testing.assert_allclose(torque, friction_torque(robot, qd), rtol=1e-12)
        np.testing.assert_allclose(FrictionCompensation(0.5, 0.01).torque(friction, qd), 0.5 * torque, rtol=1e-14)
    small = np.full(2, 1e-9)
    np.testing.assert_allclose(FrictionCompensation(1.0, 0.01).torque(friction, small), friction.offset, atol=1e-8)


def test_friction_compensation_takes_the_models_thresholds_and_stribeck_friction():
    one, other = Friction(0.3, 2.5, 1.5, 0.8, 0.1, 0.05), Friction(0.3, 1.0, 1.0)
    tree = chain(2).tree
    joints = tuple(replace(j, friction=f) for j, f in zip(tree.joints, (one, other), strict=True))
    robot = assemble(replace(tree, joints=joints))
    law = ComputedTorque(robot, Gains.critically_damped(2, 5.0), FrictionCompensation(0.5, 0.002))
    np.testing.assert_allclose(law.steepness, [20.0, 500.0])
    v = np.array([0.02, 0.001])
    s = np.array([0.4, 0.5])
    s = 0.5 * s * (3.0 - s**2)
    level = np.array([2.0 + 0.8 * np.exp(-0.04), 1.0])
    expected = 0.5 * (0.3 * v + [0.5, 0.0] + level * s)
    friction = law.law(np.zeros(2), np.zeros(2), Reference(np.zeros(2), v, np.zeros(2))).friction
    np.testing.assert_allclose(friction, expected, rtol=1e-13)
    np.testing.assert_allclose(FrictionCompensation(0.5, 0.002).torque(joint_friction(robot), v), expected, rtol=1e-13)
    smooth = friction_torque(robot, v)
    assert smooth[0] == pytest.approx(2.0 * expected[0], rel=1e-13)
    assert smooth[1] == pytest.approx(1.0 + 0.3 * v[1])  # without a threshold: by its sign


def test_friction_compensation_never_gives_more_than_friction_takes():
    friction = joint_friction(chain(1, Friction(0.3, 1.0, 2.0)))
    for v in np.linspace(-1.0, 1.0, 201):
        qd = np.array([v])
        given = FrictionCompensation(1.0, 0.02).torque(friction, qd)[0]
        taken = 0.3 * abs(v) + (1.0 if v > 0.0 else 2.0 if v < 0.0 else 0.0)
        assert given * np.sign(v) <= taken + 1e-15
        assert (given - friction.offset[0]) * np.sign(v) >= 0.0


def test_laws_do_not_change_what_they_are_given_nor_keep_it():
    robot = chain(3)
    law = ComputedTorque(robot, Gains.critically_damped(3, 5.0), FrictionCompensation())
    q, qd, reference, integral = random_state(robot)
    copies = q.copy(), qd.copy(), tuple(part.copy() for part in reference), integral.copy()
    first = law.law(q, qd, reference, integral)
    np.testing.assert_array_equal(q, copies[0])
    np.testing.assert_array_equal(qd, copies[1])
    for part, copy in zip(reference, copies[2], strict=True):
        np.testing.assert_array_equal(part, copy)
    np.testing.assert_array_equal(law.law(q, qd, reference, integral).total, first.total)


def test_not_a_number_in_the_state_becomes_not_a_number_in_the_torque():
    robot = chain(3)
    q, qd, reference, _ = random_state(robot)
    q[1] = np.nan
    assert np.isnan(ComputedTorque(robot, Gains.critically_damped(3, 5.0)).law(q, qd, reference).total).any()
    assert np.isnan(GravityCompensation(robot, 1.0).law(q, qd).total).any()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda r: ComputedTorque(r, Gains.critically_damped(2, 5.0)), "gains for 2 joints, but the robot has 3"),
        (lambda r: PdGravity(r, Gains.critically_damped(4, 5.0)), "gains for 4 joints, but the robot has 3"),
        (lambda r: GravityCompensation(r, [1.0, -1.0, 0.0]), "damping of joint 'joint2' is -1"),
        (lambda r: GravityCompensation(r, np.nan), "damping of joint 'joint1' is nan"),
        (lambda r: ComputedTorque(floating_arm(), Gains.critically_damped(8, 5.0)), "load it with base='fixed'"),
        (lambda r: FrictionCompensation(1.2), "scale is 1.2"),
        (lambda r: FrictionCompensation(np.nan), "scale is nan"),
        (lambda r: FrictionCompensation(1.0, 0.0), "velocity_threshold is 0"),
        (lambda r: GravityCompensation(r, 0.0).law([0.0], [0.0] * 3), r"q has shape \(1,\); the robot needs \(3,\)"),
    ],
)
def test_unusable_laws_are_refused(call, said):
    with pytest.raises(ControlError, match=said):
        call(chain(3))


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled here")
def test_nothing_is_compiled_anew_for_another_kind_of_array():
    """A kernel that met a new kind of array would stall a running control loop for seconds."""
    robot = chain(3)
    law = ComputedTorque(robot, Gains.critically_damped(3, 5.0))
    law.law(np.zeros(3), np.zeros(3), Hold(np.zeros(3)).sample(0.0))
    strided = np.zeros((3, 3))[:, 1]
    law.law([0.0, 0, 0], strided, Reference(strided, strided, strided.astype(np.float32)), [0.0, 0.0, 0.0])
    assert kinds_of(computed_torque_kernel) == 1
