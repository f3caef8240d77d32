from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.mechanisms import changed, four_bar, gap
from support.stepped import stepped

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble, assembled
from rne_dynamics.closed_chain.coordinates import motion_map, tree_velocity
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.tree import Friction, Limits
from rne_dynamics.simulation.plant.coordinates import State, checked_state
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.free_motion import free_motion
from rne_dynamics.simulation.runs.simulator import Simulator
from rne_dynamics.simulation.stepping.stepping import step


@pytest.fixture(scope="module")
def pantograph():
    return assembled(rne.load_model("pantograph"))


def one_freedom(mechanism: Mechanism, q, qd, seconds, torque, stop=None):
    """The crank alone, M(q) q̈ = torque(q̇) − bias, by an adaptive integrator; ends where q passes `stop`."""

    def rate(t, x):
        M, bias = rne.mass_matrix(mechanism, x[:1]), rne.bias_torque(mechanism, x[:1], x[1:])
        return [x[1], (torque(x[1]) - bias[0]) / M[0, 0]]

    def met(t, x):
        return 1.0 if stop is None else stop - x[0]

    met.terminal = True
    return solve_ivp(rate, (0.0, seconds), [q, qd], rtol=1e-10, atol=1e-12, events=met)


def test_the_pantograph_swings_about_hanging_and_keeps_its_energy(pantograph):
    plant = ArmPlant(pantograph, friction=False, stops=False)
    log = free_motion(plant, np.radians((0.0, 0.0, 50.0)), seconds=2.0, dt=2e-3)
    assert np.abs(log.energy - log.energy[0]).max() < 1e-6 * log.kinetic.max()
    assert log.q[:, 1].min() < np.radians(-90.0) < log.q[:, 1].max()
    pins = rne.load_model(Path(__file__).parents[3] / "examples" / "pantograph_pins.yaml")
    assert gap(pins, log.tree_q[-1]) < 1e-12


@pytest.mark.parametrize("seconds", [
    pytest.param(15.0, marks=pytest.mark.slow), pytest.param(60.0, marks=pytest.mark.soak),
])  # fmt: skip
def test_a_long_motion_keeps_the_energy_and_the_loops(seconds):
    mechanism = four_bar()
    log = free_motion(ArmPlant(mechanism), mechanism.neutral, seconds=seconds, record_dt=0.05)
    assert np.abs(log.energy - log.energy[0]).max() < 1e-6 * log.kinetic.max()
    assert max(gap(mechanism, posture) for posture in log.tree_q[-200:]) < 1e-10
    assert np.ptp(log.q) > 6.0  # the crank went all the way round


def test_the_work_of_the_motor_less_friction_is_the_energy_gained():
    mechanism = changed(four_bar(), crank={"friction": Friction(0.05)}, knee={"friction": Friction(0.2)})
    plant, effort, dt = ArmPlant(mechanism), np.array([3.0]), 1e-3
    state = checked_state(mechanism, mechanism.neutral, [2.0])
    names = mechanism.robot.joint_names
    viscous = np.array([{"crank": 0.05, "knee": 0.2}.get(name, 0.0) for name in names])
    power, energy = [], []
    for _ in range(400):
        rates = tree_velocity(mechanism, state.posture, state.qd)
        power.append(effort @ state.qd - viscous @ rates**2)
        kinetic, potential = rne.kinetic_energy(mechanism, state.q, state.qd), rne.potential_energy(mechanism, state.q)
        energy.append(float(kinetic + potential))
        state = step(plant, state, effort, dt)
    # Simpson's rule over pairs of steps against the energy itself
    p = np.array(power)
    work = dt / 3.0 * (p[:-2:2] + 4.0 * p[1:-1:2] + p[2::2]).sum()
    gained = energy[len(p[2::2]) * 2] - energy[0]
    assert abs(work - gained) < 1e-7 * np.abs(p).max() * 0.4


def test_sliding_and_a_stop_as_the_equivalent_system_of_one_freedom():
    coulomb, limit = 0.6, 1.3
    mechanism = changed(
        four_bar(), crank={"friction": Friction(0.1, coulomb, coulomb), "limits": Limits(-10.0, limit)}
    )
    plant, effort = ArmPlant(mechanism), 8.0
    start = mechanism.neutral
    exact = one_freedom(mechanism, start[0], 0.5, 2.0, lambda v: effort - 0.1 * v - coulomb, limit)
    t_hit = exact.t_events[0][0]
    state = checked_state(mechanism, start, [0.5])
    before = int(t_hit / 1e-3)
    state = stepped(plant, state, [effort], before)
    reference = one_freedom(mechanism, start[0], 0.5, before * 1e-3, lambda v: effort - 0.1 * v - coulomb)
    np.testing.assert_allclose([state.q[0], state.qd[0]], reference.y[:, -1], rtol=0, atol=1e-8)
    state = stepped(plant, state, [effort], 5)
    assert state.q[0] == limit
    assert state.qd[0] == 0.0


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_friction_holds_a_crank_up_to_its_coulomb_torque(method):
    coulomb = 0.6
    mechanism = changed(four_bar(), crank={"friction": Friction(0.0, coulomb, coulomb)})
    plant, state = ArmPlant(mechanism), checked_state(mechanism, mechanism.neutral)
    weight = rne.gravity_torque(mechanism, state.q)
    for effort in (weight + 0.99 * coulomb, weight - 0.99 * coulomb):
        held = stepped(plant, state, effort, 20, method=method)
        np.testing.assert_array_equal(held.q, state.q)
    assert step(plant, state, weight + 1.01 * coulomb, 1e-3, method=method).q[0] > state.q[0]
    assert step(plant, state, weight - 1.01 * coulomb, 1e-3, method=method).q[0] < state.q[0]


def test_viscous_friction_of_passive_joints_is_felt_at_the_crank():
    mechanism = changed(four_bar(), knee={"friction": Friction(0.7)}, coupler={"friction": Friction(0.3)})
    posture = assemble(mechanism, mechanism.neutral)
    T = motion_map(mechanism, posture).T[:, 0]
    names = mechanism.robot.joint_names
    viscous = np.array([{"knee": 0.7, "coupler": 0.3}.get(name, 0.0) for name in names])
    felt = T @ (viscous * T)

    def torque(v):  # at the start; the step is short
        return -felt * v

    exact = one_freedom(mechanism, mechanism.neutral[0], 1.0, 1e-5, torque).y[1, -1]
    state = checked_state(mechanism, mechanism.neutral, [1.0])
    moved = step(ArmPlant(mechanism), state, [0.0], 1e-5).qd[0]
    loose = step(ArmPlant(mechanism, friction=False), state, [0.0], 1e-5).qd[0]
    assert abs(moved - exact) < 1e-5 * abs(loose - exact)


def test_passive_friction_too_stiff_for_runge_kutta_is_taken_implicitly():
    mechanism = changed(four_bar(), knee={"friction": Friction(1e5)})
    state = checked_state(mechanism, mechanism.neutral, [1.0])
    plant = ArmPlant(mechanism)
    state = stepped(plant, state, [0.0], 50)
    assert abs(state.qd[0]) < 1e-3


def test_the_branch_is_that_of_the_posture(pantograph):
    mechanism = four_bar(cut="coupler")
    other = assembled(mechanism.with_posture(
        [{"crank": 0.8, "rocker": -1.9, "coupler": -1.9}.get(n, 0.0) for n in mechanism.robot.joint_names]
    ))  # fmt: skip
    assert np.abs(other.posture - mechanism.posture).max() > 0.5
    for machine in (mechanism, other):
        state = checked_state(machine, machine.neutral, [6.0])
        state = stepped(ArmPlant(machine), state, [0.0], 300)
        np.testing.assert_allclose(state.posture, assemble(machine, state.q), atol=1e-9)


@pytest.mark.slow
def test_adaptive_integration_agrees_with_the_steps(pantograph):
    plant = ArmPlant(pantograph, friction=False, stops=False)
    fixed = free_motion(plant, np.radians([0.0, -70.0, 0.0]), [0.3, 0.0, 0.0], seconds=0.3)
    adaptive = free_motion(plant, np.radians([0.0, -70.0, 0.0]), [0.3, 0.0, 0.0], seconds=0.3, method="adaptive")
    np.testing.assert_allclose(fixed.q[-1], adaptive.q[-1], atol=1e-9)
    np.testing.assert_allclose(fixed.tree_q[-1], adaptive.tree_q[-1], atol=1e-9)


def test_a_push_on_a_passive_link_moves_the_arm(pantograph):
    plant, state = ArmPlant(pantograph, friction=False), checked_state(pantograph, pantograph.neutral)
    wrench = {"wrist": [0.0, 0.0, 5.0, 0.0, 0.0, 0.0]}
    moved = step(plant, state, rne.gravity_torque(pantograph, state.q), 1e-4, wrenches=wrench)
    qdd = rne.forward_dynamics(
        pantograph, state.q, state.qd, rne.gravity_torque(pantograph, state.q), wrenches=wrench
    )
    np.testing.assert_allclose(moved.qd, 1e-4 * qdd, atol=1e-7)


def test_brakes_hold_a_mechanism_and_a_reset_brings_it_back(pantograph):
    simulator = Simulator(ArmPlant(pantograph), pantograph.neutral)
    simulator.advance(3)
    np.testing.assert_array_equal(simulator.state.q, pantograph.neutral)
    simulator.command([0.0, 20.0, 0.0])
    moved = simulator.advance(20)
    assert moved.q[1] != pantograph.neutral[1]
    np.testing.assert_allclose(moved.posture, assemble(pantograph, moved.q), atol=1e-9)
    np.testing.assert_array_equal(simulator.reset().q, pantograph.neutral)


def test_a_state_without_posture_starts_from_the_mechanisms(pantograph):
    plant = ArmPlant(pantograph)
    state = checked_state(pantograph, pantograph.neutral)
    bare = State(0.0, state.q, state.qd)
    np.testing.assert_array_equal(step(plant, bare, np.ones(3), 1e-3).q, step(plant, state, np.ones(3), 1e-3).q)
