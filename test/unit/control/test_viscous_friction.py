"""Heavy viscous friction on a light link: compensation along references and in hand guiding, at slow and fast rates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.arms import chain
from support.mechanisms import changed, five_bar, four_bar
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble as assemble_loops
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.gains import Gains, advised_bandwidth
from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.laws.pd_gravity import PdGravity
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.supervision.torques import Torques
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import Friction, Limits, TreeLink
from rne_dynamics.simulation.plant.plant import ArmPlant

RATES = (100.0, 250.0, 1000.0)

LIMITS = Limits(-3.0, 3.0, effort=60.0, velocity=3.0)
GOAL = np.array([0.4, 1.0])
HEAVY = Friction(10.0)


def light_wrist(friction: Friction = HEAVY):
    """A shoulder, and a wrist of 3e-4 kg m² whose friction (`HEAVY`) decays at 33,000 1/s."""
    tree = chain(2, Friction(0.5), LIMITS).tree
    joints = tree.joints[0], replace(tree.joints[1], friction=friction)
    wrist = TreeLink("link2", Inertia(0.3, np.array([0.0, 0.02, 0.0]), np.diag([3e-4, 3e-4, 3e-4])))
    return assemble(replace(tree, links=(*tree.links[:2], wrist), joints=joints))


def sampled_error(ratio: float, decay: float, friction: float, period: float) -> float:
    """RMS error of one joint of inertia 1, integrated exactly; effort a period late, `ratio` of friction measured."""
    w, path = min(40.0, 1.0 / (6.0 * period)), Quintic(np.zeros(1), np.ones(1), 1.5)
    a = np.exp(-friction * period)
    b = (1.0 - a) / friction
    q, v, effort, errors = 0.0, 0.0, 0.0, []
    for k in range(round(2.0 / period)):
        aim, speed, acceleration = (float(part[0]) for part in path.sample(k * period))
        compared = ratio * v + (1.0 - ratio) * (speed + decay * (aim - q))
        asked = acceleration + 2.0 * w * (speed - v) + w * w * (aim - q) + friction * compared
        errors.append(aim - q)
        q, v = q + b * v + (period - b) / friction * effort, a * v + b * effort
        effort = asked
    return float(np.sqrt(np.mean(np.square(errors))))


@pytest.mark.parametrize(("rate", "decay"), [(100.0, 0.3), (250.0, 33.0), (1000.0, 3.0)])
def test_no_ratio_of_measured_and_desired_velocity_is_better_in_an_exact_sampled_loop(rate, decay):
    """As the table in docs/friction.md."""
    T = 1.0 / rate
    errors = [sampled_error(ratio, 0.0, decay * rate, T) for ratio in np.linspace(0.0, 1.0, 11)]
    assert (np.diff(errors) > 0.0).all()
    assert sampled_error(0.0, 0.5 * min(40.0, rate / 6.0), decay * rate, T) < 0.62 * errors[0]


def gains_at(rate: float, n: int = 2) -> Gains:
    return Gains.critically_damped(n, advised_bandwidth(rate))


@pytest.mark.parametrize(("rate", "kind"), [(100.0, ComputedTorque), (1000.0, ComputedTorque), (250.0, PdGravity)])
def test_simulated_moves_of_an_arm_equal_to_its_model_track(rate, kind):
    """By computed torque within 0.02 % of the way at 1 kHz and 0.2 % at 100 Hz; PD lags by half a period."""
    robot = light_wrist()
    gains = gains_at(rate)
    if kind is PdGravity:
        inertia = np.diagonal(rne.mass_matrix(robot, np.zeros(2)))
        gains = Gains(inertia * gains.p, np.zeros(2), inertia * gains.d)
    path = Quintic(np.zeros(2), GOAL, 2.0)
    log = rne.simulate(ArmPlant(robot), kind(robot, gains), path, control_dt=1.0 / rate)
    fastest = np.abs(log.qd[:, 1]).max()
    assert log.rms_error[1] < (0.25 / rate if kind is ComputedTorque else 0.6 / rate) * fastest


def test_an_initial_error_decays_although_friction_outweighs_the_gains():
    robot = light_wrist()
    log = rne.simulate(
        ArmPlant(robot), ComputedTorque(robot, gains_at(1000.0)), Quintic(np.zeros(2), np.zeros(2), 0.5),
        q=np.array([0.0, 0.05]), control_dt=1e-3,
    )
    rate = 0.5 * advised_bandwidth(1000.0)
    np.testing.assert_allclose(log.error[:, 1], -0.05 * np.exp(-rate * log.time), atol=1e-3)


def test_a_light_joint_with_dry_friction_goes_all_of_a_short_way():
    """Below `velocity_threshold` friction holds it: that is to be the last, short part of the way only."""
    robot = light_wrist(Friction(0.0, 0.2, 0.2))
    goal = np.array([0.0, 0.004])
    path = Quintic(np.zeros(2), goal, 3.0)
    log = rne.simulate(ArmPlant(robot), ComputedTorque(robot, gains_at(1000.0)), path, control_dt=1e-3)
    assert abs(log.q[-1, 1] - goal[1]) < 0.01 * goal[1]


@pytest.mark.slow
@pytest.mark.parametrize("rate", RATES)
def test_a_supervised_move_tracks_and_a_held_arm_is_at_rest(rate):
    robot = light_wrist()
    plain = settings(robot, bandwidth=advised_bandwidth(rate), min_rate=0.0)
    rig = Rig(robot, np.zeros(2), plain, period=1.0 / rate)
    rig.run(0.3)
    rig.move(GOAL, 2.0)
    errors = []
    for _ in range(round(2.5 * rate)):
        rig.run(1.0 / rate)
        errors.append(rig.supervisor.queue.reference.q[1] - rig.simulator.state.q[1])
    assert rig.mode is Mode.HOLDING
    assert np.sqrt(np.mean(np.square(errors))) < 1.2 / rate
    assert np.ptp(np.array(rig.sent[-20:])[:, 1]) < 2e-3


@pytest.mark.parametrize("viscous", [0.0, 30.0])
def test_a_held_arm_is_stable_whose_friction_is_not_the_models(viscous):
    """Friction of 300 % of the model; and none on a joint whose friction counts little."""
    model = light_wrist(Friction(0.3 if viscous == 0.0 else 10.0))
    rig = Rig(light_wrist(Friction(viscous)), np.zeros(2), settings(model, bandwidth=40.0))
    rig.run(0.2)
    rig.run(0.05, wrenches={"link2": np.array([0.0, 0.0, 0.0, 0.3, 0.0, 0.0])})
    rig.run(1.0)
    assert rig.mode is Mode.HOLDING
    assert np.abs(rig.simulator.state.qd).max() < 2e-3


def test_hand_guiding_with_all_viscous_friction_compensated_does_not_oscillate():
    rate = 250.0
    robot = light_wrist()
    floating = GravityCompensation(robot, np.full(2, 0.01), FrictionCompensation(1.0, 0.05))
    rig = Rig(robot, np.zeros(2), settings(robot, tracking=False, floating=floating), period=1.0 / rate)
    rig.run(0.2)
    rig.run(0.3, wrenches={"link2": np.array([0.0, 0.0, 0.0, 0.3, 0.0, 0.0])})
    pushed = np.array(rig.sent)[-5:, 1]
    rig.run(0.3)
    released = np.diff(np.array(rig.sent)[-round(0.25 * rate) :, 1])
    assert rig.mode is Mode.FLOATING
    assert np.abs(np.diff(pushed)).max() < 1e-3
    assert np.abs(released).max() < 1e-3


def damped_mechanism(kind):
    mechanism = kind()
    joints = mechanism.robot.joint_names
    return changed(mechanism, **{joint: {"friction": Friction(0.3 + 0.2 * i)} for i, joint in enumerate(joints)})


@pytest.mark.parametrize(("p", "d", "rate", "kind"), [
    (25.0, 10.0, 2.5, "open"), (100.0, 6.0, 1.5, four_bar), (9.0, 12.0, 0.75, five_bar), (9.0, 0.0, 0.0, "open"),
])  # fmt: skip
def test_friction_damps_the_error_and_slows_it_down_to_the_decay_rate_at_most(p, d, rate, kind):
    """M (ë + d ė + p e) + D (ė + Λ e) = 0 with Λ the lesser of p / d and d / 4."""
    robot = chain(7, Friction(0.5)) if kind == "open" else damped_mechanism(kind)
    n, rng = robot.n, np.random.default_rng(1)
    law = ComputedTorque(robot, Gains(np.full(n, p), np.zeros(n), np.full(n, d)))
    q, qd = robot.neutral + rng.uniform(-0.1, 0.1, n), rng.normal(size=n)
    reference = Reference(q + rng.uniform(-0.1, 0.1, n), rng.normal(size=n), rng.normal(size=n))
    e, ed, M, D = reference.q - q, reference.qd - qd, rne.mass_matrix(robot, q), viscous_matrix(robot, q)
    effort = law.law(q, qd, reference).total - D @ qd
    edd = reference.qdd - rne.forward_dynamics(robot, q, qd, effort)
    np.testing.assert_allclose(M @ (edd + d * ed + p * e), -D @ (ed + rate * e), rtol=1e-7, atol=1e-7)


def viscous_matrix(robot, q):
    """Viscous friction of all joints as the driven ones feel it, from differences of assembled postures; (n, n)."""
    if not robot.loops:
        return np.diag(joint_friction(robot).viscous)
    h = 1e-5
    columns = [
        (assemble_loops(robot, q + h * axis) - assemble_loops(robot, q - h * axis)) / (2.0 * h)
        for axis in np.eye(robot.n)
    ]
    T = np.array(columns).T
    return T.T @ np.diag(joint_friction(robot.robot).viscous) @ T


def test_friction_that_the_hardware_compensates_is_neither_in_the_friction_nor_in_the_feedback_term():
    robot = light_wrist()
    found = settings(robot, compensated=frozenset({"friction"})).tracking
    reference = Reference(np.full(2, 0.1), np.ones(2), np.zeros(2))
    terms = found.law(np.zeros(2), np.zeros(2), reference)
    without = ComputedTorque(robot, found.gains, None).law(np.zeros(2), np.zeros(2), reference)
    np.testing.assert_array_equal(terms, without)


def test_hand_guiding_limits_the_friction_of_a_mechanisms_passive_joints():
    joints = {name: {"friction": Friction(50.0)} for name in ("coupler", "knee")}
    robot = changed(four_bar(), **joints).with_effort_limit(np.full(1, 100.0))
    floating = GravityCompensation(robot, np.zeros(1), FrictionCompensation(1.0, 0.05))
    torques = Torques(settings(robot, tracking=False, floating=floating))
    q, qd = np.array(robot.neutral), np.ones(1)
    torques.update_inertia(q)
    rate = torques.floating(q, qd, 1.0).friction / rne.mass_matrix(robot, q)[0]
    assert rate == pytest.approx(0.5 / torques.period.longest)
