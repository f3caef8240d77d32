from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.flexible_arms import two_link_arm
from support.stepped import stepped

import rne_dynamics as rne
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.flexible.energy import flexible_kinetic_energy, flexible_potential_energy, tip_deflections
from rne_dynamics.flexible.linearised import linearised
from rne_dynamics.flexible.static import quasi_static, static_deflection
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.tree import Friction, Limits, Payload
from rne_dynamics.simulation.plant.coordinates import State, checked_state, coordinates_of
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import simulate
from rne_dynamics.simulation.runs.free_motion import free_motion
from rne_dynamics.simulation.runs.simulator import Simulator
from rne_dynamics.simulation.stepping.stepping import step, step_methods

Q = np.array([0.3, 0.8])
METHODS = step_methods(coordinates_of(two_link_arm()))


def with_joints(arm: FlexibleArm, **changes) -> FlexibleArm:
    """The same arm with fields of both driven joints changed."""
    tree = arm.robot.tree
    joints = tuple(replace(j, **changes) if j.name != "end" else j for j in tree.joints)
    return FlexibleArm(assemble(replace(tree, joints=joints), gravity=arm.gravity), arm.flexible_links)


def energy(arm: FlexibleArm, state: State) -> float:
    kinetic = flexible_kinetic_energy(arm, state.q, state.delta, state.qd, state.deltad)
    return float(kinetic + flexible_potential_energy(arm, state.q, state.delta))


def test_a_joint_sticks_while_links_ring_and_breaks_loose_beyond_its_friction():
    coulomb = 0.3
    arm = with_joints(two_link_arm(), friction=Friction(0.0, coulomb, coulomb))
    plant = ArmPlant(arm)
    state = checked_state(arm, Q, delta=[2e-3, 0.0, 1e-3, 0.0])
    swing = []
    for _ in range(300):
        state = step(plant, state, np.array([0.5, -0.5]) * coulomb, 1e-3, method="gauss")
        swing.append(state.delta[0])
    np.testing.assert_array_equal(state.q, Q)
    np.testing.assert_array_equal(state.qd, 0.0)
    assert np.ptp(swing) > 5e-4
    state = stepped(plant, state, np.array([3.0, 0.0]) * coulomb, 3, method="gauss")
    assert state.q[0] > Q[0]


@pytest.mark.filterwarnings("ignore::rne_dynamics.flexible.BendingRangeWarning")
def test_sliding_joints_come_to_rest_and_only_energy_leaves():
    arm = with_joints(two_link_arm(), friction=Friction(0.01, 0.2, 0.2), limits=Limits(-0.2, 1.0))
    log = free_motion(ArmPlant(arm), Q, [1.5, -1.0], seconds=1.5, dt=2e-3)
    assert ((log.q >= -0.2) & (log.q <= 1.0)).all()
    assert np.isin(log.q, (-0.2, 1.0)).any()
    assert np.diff(log.energy).max() < 1e-9 * log.energy[0]
    assert log.energy[-1] < 0.5 * log.energy[0]
    np.testing.assert_array_equal(log.qd[-1], 0.0)
    assert np.abs(log.deltad[-1]).max() > 1e-4  # the links still ring


@pytest.mark.slow
def test_the_order_is_kept_through_joints_that_turn_round_and_stops():
    arm = with_joints(two_link_arm(), friction=Friction(0.02, 0.1, 0.1), limits=Limits(-2.0, 0.9))
    start = checked_state(arm, Q, [0.6, 0.8])

    def end(steps: int) -> np.ndarray:
        state = stepped(ArmPlant(arm), start, np.array([-0.3, 0.1]), steps, 0.4 / steps)
        return np.concatenate([state.q, state.delta])

    exact = end(1600)
    errors = [np.abs(end(steps) - exact).max() for steps in (50, 100, 200)]
    assert errors[1] < errors[0] / 10.0
    assert errors[2] < errors[1] / 10.0


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_brakes_hold_joints_and_not_links(method):
    arm = two_link_arm()
    simulator = Simulator(ArmPlant(arm), Q, delta=[2e-3, 0.0, 0.0, 0.0], dt=2e-3, method=method)
    first, swing = energy(arm, simulator.state), []
    for _ in range(600):
        state = simulator.advance()
        swing.append(state.delta[0])
        np.testing.assert_array_equal(state.q, Q)
    assert min(swing) < 0.0 < max(swing)
    assert energy(arm, state) == pytest.approx(first, rel=1e-6 if method != "semi_implicit" else 0.1)
    assert state.t == pytest.approx(1.2)


def test_brakes_stop_the_joints_at_once_and_leave_the_links_swinging():
    arm = two_link_arm()
    simulator = Simulator(ArmPlant(arm), Q, [1.0, 1.0], command_timeout=0.01, on_timeout="brake")
    simulator.command([0.0, 0.0])
    before = simulator.advance(10)
    held = simulator.advance(1)
    np.testing.assert_array_equal(held.q, before.q)
    np.testing.assert_array_equal(held.qd, 0.0)
    # the ends of the links went on at the speed they had
    rate = np.linalg.norm(tip_deflections(arm, held.deltad)[0, :3])
    assert rate > 0.2
    later = simulator.advance(100)
    assert energy(arm, later) == pytest.approx(energy(arm, held), rel=1e-8)
    assert energy(arm, held) < energy(arm, before)
    simulator.command([0.1, 0.0])
    assert simulator.advance(1).q[0] != before.q[0]


def test_held_links_ring_at_their_natural_frequencies():
    arm = two_link_arm().with_payload(Payload("tip", 0.2))
    found = linearised(arm, Q)
    period, shape = 2.0 * np.pi / found.frequencies[0], 1e-5 * found.shapes[arm.n :, 0]
    simulator = Simulator(ArmPlant(arm), Q, delta=shape, dt=period / 400.0)
    np.testing.assert_allclose(simulator.advance(200).delta, -shape, atol=1e-9)
    np.testing.assert_allclose(simulator.advance(200).delta, shape, atol=1e-9)


@pytest.mark.slow
def test_a_push_on_the_tip_bends_held_links_as_statics_says():
    arm = two_link_arm(damping=0.7)
    push = {"tip": np.array([0.0, 0.4, 0.0, 0.0, 0.0, 0.02])}
    simulator = Simulator(ArmPlant(arm), Q, dt=5e-3)
    state = simulator.advance(3000, wrenches=push)
    expected = static_deflection(arm, Q, wrenches=push)
    np.testing.assert_allclose(state.delta, expected, atol=1e-10)
    assert np.abs(tip_deflections(arm, expected)).max() > 0.01


def test_a_rigid_law_moves_the_arm_and_the_log_holds_the_motion_of_its_tips(tmp_path):
    arm = rne.load_model("flexible_arm")
    law = ComputedTorque(arm.robot, Gains.critically_damped(2, 4.0))
    log = simulate(ArmPlant(arm), law, Quintic(Q, Q + 0.2, 1.0), dt=2e-3, seconds=1.5)
    assert np.abs(log.error).max() < 0.05
    assert log.delta.shape == log.deltad.shape == (751, 4)
    assert log.tip.shape == (751, 2, 6)
    np.testing.assert_allclose(log.tip, tip_deflections(arm, log.delta))
    assert 0.0 < log.elastic.max() <= log.potential.max() + 1e-12
    log.save_npz(tmp_path / "log.npz")
    assert {"delta/link1/y2", "deltad/link2/y1", "tip/link2/y", "elastic_energy"} <= set(log.columns())
    with np.load(tmp_path / "log.npz") as saved:
        assert saved["mode_names"].tolist() == list(arm.mode_names)
        np.testing.assert_array_equal(saved["delta"], log.delta)


@pytest.mark.parametrize("name", ["flexible_beam", "flexible_arm", "flexible_arm6"])
def test_shipped_arms_rest_where_they_are_held_and_where_gravity_is_balanced(name):
    """Near rest all that Newton's method sees is round-off."""
    arm = rne.load_model(name)
    simulator = Simulator(ArmPlant(arm), np.zeros(arm.n))
    bent = simulator.state.delta
    held = simulator.advance(30)
    np.testing.assert_allclose(held.delta, bent, atol=1e-9)
    assert not held.qd.any()
    simulator.command(quasi_static(arm, held.q, held.qd, held.qd).tau)
    free = simulator.advance(30)
    np.testing.assert_allclose(free.delta, bent, atol=1e-6)
    np.testing.assert_allclose(free.q, held.q, atol=1e-6)
