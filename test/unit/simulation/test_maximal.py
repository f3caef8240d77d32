from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.arms import floating_arm, gripper
from support.robots import robot
from support.stepped import stepped

import rne_dynamics as rne
from rne_dynamics.dynamics.free_bodies.state import body_states, consistent, constraint_errors
from rne_dynamics.errors import ArgumentError, SimulationError
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.free_motion import simulate_maximal


def reduced_motion(model: rne.RobotModel, q, qd, seconds: float, dt: float, effort=0.0, wrenches=None):
    """The same Runge–Kutta steps on the ordinary equations in joint coordinates."""
    plant = ArmPlant(model, friction=False, stops=False, limit_effort=False)
    start = State(0.0, np.array(q, float), np.array(qd, float))
    efforts = np.broadcast_to(effort, model.n)
    end = stepped(plant, start, efforts, round(seconds / dt), dt, method="rk4", wrenches=wrenches)
    return end.q, end.qd


@pytest.mark.parametrize(
    ("model", "q", "qd", "seconds"),
    [
        pytest.param(
            robot("scara"), [0.3, -0.7, -0.1, 0.2], [1.0, -0.5, 0.1, 2.0], 0.08, marks=pytest.mark.slow,
        ),
        (floating_arm(), floating_arm().neutral, [0.2, 0.1, -0.1, 0.5, 0.3, -0.4, 1.0, -1.2], 0.08),
    ],
    ids=["scara", "floating_arm"],
)
def test_the_motion_is_that_of_the_ordinary_equations(model, q, qd, seconds):
    dt = 1.6e-3
    log = simulate_maximal(model, body_states(model, q, qd), seconds, dt, record_every=25)
    q_end, qd_end = reduced_motion(model, q, qd, seconds, dt)
    assert log.time[-1] == pytest.approx(seconds)
    assert np.abs(log.q[-1] - q_end).max() < 1e-8
    assert np.abs(log.qd[-1] - qd_end).max() < 1e-7
    assert log.position_error.max() < 1e-12
    assert log.velocity_error.max() < 1e-12
    assert np.abs(log.energy - log.energy[0]).max() < 1e-8 * log.kinetic.max()
    assert log.kinetic[0] == pytest.approx(rne.kinetic_energy(model, q, qd), rel=1e-12, abs=1e-15)
    assert log.potential[0] == pytest.approx(rne.potential_energy(model, q), rel=1e-12, abs=1e-15)


def test_a_mimic_joint_keeps_its_gear_past_a_half_turn():
    model = gripper()
    q, qd, effort = [3.1, 3.1], [1.0, 4.0], [0.01, 0.0]
    log = simulate_maximal(model, body_states(model, q, qd), 0.1, 2e-3, effort=effort, record_every=10)
    q_end, _ = reduced_motion(model, q, qd, 0.1, 2e-3, effort)
    assert log.q.max(axis=0).min() > np.pi  # past where an angle read off a rotation jumps
    assert np.abs(log.q[-1] - q_end).max() < 1e-8
    assert log.position_error.max() < 1e-12


@pytest.mark.soak
def test_drift_grows_alone_is_bounded_by_baumgarte_and_ends_with_projection():
    model = robot("planar2")
    start = body_states(model, [0.5, 1.0], [0.0, 0.0])
    early, late = slice(0, 250), slice(750, None)
    alone = simulate_maximal(model, start, 4.0, 4e-3, stabilization="none").position_error
    assert alone[late].max() > 4.0 * alone[early].max() > 1e-6
    pulled = simulate_maximal(model, start, 4.0, 4e-3, stabilization="baumgarte").position_error
    assert 1e-9 < pulled[late].max() < pulled[early].max() < 0.5 * alone[early].max()
    projected = simulate_maximal(model, start, 1.0, 4e-3)
    assert projected.position_error.max() < 1e-13
    assert projected.velocity_error.max() < 1e-13


def test_the_order_of_the_integrator_survives_projection():
    model = robot("planar2")
    start = body_states(model, [0.5, 1.0], [1.0, 0.0])
    exact, _ = reduced_motion(model, [0.5, 1.0], [1.0, 0.0], 0.2, 5e-4)
    errors = [np.abs(simulate_maximal(model, start, 0.2, 0.2 / k).q[-1] - exact).max() for k in (10, 20)]
    assert errors[1] < errors[0] / 12.0


@pytest.mark.slow
def test_an_inconsistent_start_is_projected_and_stays_consistent():
    model = robot("puma560")
    rng = np.random.default_rng(0)
    states = body_states(model, rng.uniform(-1.0, 1.0, 6), np.zeros(6))
    broken = replace(states, position=states.position + 0.02 * rng.normal(size=(6, 3)), twist=rng.normal(size=(6, 6)))
    assert np.abs(constraint_errors(model, broken)[0]).max() > 0.02
    log = simulate_maximal(model, consistent(model, broken), 0.1, 2e-3)
    assert log.position_error.max() < 1e-12
    # the first step's projection does the same
    assert simulate_maximal(model, broken, 0.01, 2e-3).position_error[1:].max() < 1e-12


def test_efforts_and_loads_act():
    model = robot("scara")
    q, qd = [0.3, -0.7, -0.1, 0.2], [0.0, 0.0, 0.0, 0.0]
    load = {model.link_names[-1]: [1.0, -2.0, 3.0, 0.1, 0.2, -0.3]}
    hold = simulate_maximal(
        model, body_states(model, q, qd), 0.1, 5e-3,
        effort=lambda t, q, qd: rne.inverse_dynamics(model, q, 0.0 * qd, 0.0 * qd, wrenches=load), wrenches=load,
    )  # fmt: skip
    assert np.abs(hold.q - q).max() < 1e-13
    pushed = simulate_maximal(model, body_states(model, q, qd), 0.05, 1e-3, effort=[1.0, 2.0, 3.0, 0.1], wrenches=load)
    q_end, _ = reduced_motion(model, q, qd, 0.05, 1e-3, [1.0, 2.0, 3.0, 0.1], load)
    assert np.abs(pushed.q[-1] - q_end).max() < 1e-12


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dt": 0.0}, "dt is 0.0 s"),
        ({"seconds": np.inf}, "time to simulate is inf s"),
        ({"stabilization": "hope"}, "stabilization is 'hope'; it must be one of 'none', 'baumgarte', 'projection'"),
        ({"baumgarte_rate": -1.0}, "baumgarte_rate is -1.0 1/s"),
        ({"record_every": 0}, "record period is 0.0 s"),
        ({"effort": [1.0]}, "the effort has shape"),
        ({"effort": lambda t, q, qd: [np.nan, 0.0]}, "must be finite"),
    ],
)
def test_invalid_arguments_are_refused(given, message):
    model = robot("planar2")
    arguments = {"seconds": 0.01, "dt": 0.01, **given}
    with pytest.raises(SimulationError, match=message):
        simulate_maximal(model, body_states(model, [0.0, 0.0], [0.0, 0.0]), **arguments)


def test_states_of_another_robot_are_refused():
    with pytest.raises(ArgumentError, match="position of the bodies has shape"):
        simulate_maximal(robot("puma560"), body_states(robot("planar2"), [0.0, 0.0], [0.0, 0.0]), 0.1, 0.01)
