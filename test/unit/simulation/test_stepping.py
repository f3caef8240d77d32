from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from support.arms import MASS, chain, floating_arm, slider
from support.stepped import stepped

from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.composite.momentum import center_of_mass
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.dice import random_configuration
from rne_dynamics.model.tree import Friction, Limits
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.free_motion import free_motion
from rne_dynamics.simulation.stepping.stepping import integrate, step

NOTHING = {"friction": False, "stops": False}


@pytest.mark.parametrize("name", ["scara", "panda"])
def test_free_motion_keeps_its_energy(name):
    """Relative to the largest kinetic energy on the way; one step a millisecond."""
    plant = ArmPlant(load_urdf(name), **NOTHING)
    q = random_configuration(plant.robot, np.random.default_rng(1))
    log = free_motion(plant, q, seconds=3.0, dt=1e-3, record_dt=1e-2)
    assert np.abs(log.energy - log.energy[0]).max() < 1e-6 * log.kinetic.max()


@pytest.mark.parametrize("robot", [chain(4), floating_arm()], ids=lambda r: r.name)
def test_runge_kutta_is_of_fourth_order_against_the_adaptive_integrator(robot):
    plant = ArmPlant(robot, **NOTHING)
    rng = np.random.default_rng(3)
    start = State(0.0, random_configuration(robot, rng), rng.normal(size=robot.n))
    effort = mass_matrix(robot, start.q) @ rng.normal(size=robot.n)
    exact = integrate(plant, start, effort, [0.4], rtol=1e-12, atol=1e-13)[0]
    errors = []
    for steps in (20, 40, 80):
        state = stepped(plant, start, effort, steps, 0.4 / steps)
        errors.append(max(np.abs(state.q - exact.q).max(), np.abs(state.qd - exact.qd).max()))
    for coarse, fine in pairwise(errors):
        assert fine < coarse / 12.0
    assert errors[-1] < 1e-5


def test_the_order_is_kept_through_impacts_and_through_joints_coming_to_rest():
    plant = ArmPlant(chain(3, Friction(0.05, 0.3, 0.3), Limits(-0.7, 0.7)))
    rng = np.random.default_rng(0)
    start = State(0.0, rng.uniform(-0.7, 0.7, 3), rng.normal(size=3))

    def end(steps):
        state, events = start, set()
        for _ in range(steps):
            state = step(plant, state, np.zeros(3), 0.5 / steps)
            events |= {f"rest {j}" for j in np.flatnonzero(state.qd == 0.0)}
            events |= {f"stop {j}" for j in np.flatnonzero(np.abs(state.q) == 0.7)}
        return np.concatenate([state.q, state.qd]), events

    exact, events = end(2000)
    assert {event.split()[0] for event in events} == {"rest", "stop"}
    errors = [np.abs(end(steps)[0] - exact).max() for steps in (50, 100, 200)]
    for coarse, fine in pairwise(errors):
        assert fine < coarse / 12.0


def test_a_floating_arm_keeps_its_momentum_and_a_unit_quaternion():
    robot = floating_arm()
    plant = ArmPlant(robot, **NOTHING)
    rng = np.random.default_rng(0)
    state = State(0.0, random_configuration(robot, rng), rng.normal(size=robot.n))
    first = center_of_mass(robot, state.q)
    path = [first]
    for _ in range(300):
        state = step(plant, state, np.zeros(robot.n), 1e-3, method="semi_implicit")
        path.append(center_of_mass(robot, state.q))
    assert np.linalg.norm(state.q[3:7]) == pytest.approx(1.0, abs=1e-12)
    # no force from outside: the mass centre moves evenly on a straight line
    bend = np.diff(path, 2, axis=0) / 1e-6
    assert np.abs(bend).max() < 5e-2


def test_a_wrench_pushes_in_the_axes_of_its_link():
    push = {"cart": [3.0, 0.0, 0.0, 0.0, 0.0, 0.0]}
    state = step(ArmPlant(slider()), State(0.0, np.zeros(1), np.zeros(1)), [0.0], 0.1, wrenches=push)
    assert state.qd[0] == pytest.approx(3.0 / MASS * 0.1)
    robot = chain(3)
    wrench = {"link3": np.array([1.0, -2.0, 0.5, 0.1, 0.2, -0.3])}
    start = State(0.0, np.array([0.3, 0.2, -0.5]), np.zeros(3))
    fixed = stepped(ArmPlant(robot), start, np.zeros(3), 100, wrenches=wrench)
    adaptive = integrate(ArmPlant(robot), start, np.zeros(3), [0.1], wrenches=wrench)[0]
    np.testing.assert_allclose(fixed.q, adaptive.q, atol=1e-10)


def test_efforts_are_cut_at_the_limits_of_the_drives():
    cart = slider(limits=Limits(effort=5.0))
    start = State(0.0, np.zeros(1), np.zeros(1))
    assert step(ArmPlant(cart), start, [100.0], 0.1).qd[0] == pytest.approx(5.0 / MASS * 0.1)
    assert step(ArmPlant(cart), start, [-100.0], 0.1).qd[0] == pytest.approx(-5.0 / MASS * 0.1)
    assert step(ArmPlant(cart, limit_effort=False), start, [100.0], 0.1).qd[0] == pytest.approx(5.0)


def test_motion_that_is_not_finite_any_more_names_joint_and_time():
    plant = ArmPlant(chain(3))
    with pytest.raises(SimulationError, match=r"joint 'joint\d': its motion is not finite any more at t = 2.5"):
        step(plant, State(2.49, np.zeros(3), np.array([0.0, 1e200, 0.0])), np.zeros(3), 1e-2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"effort": [0.0, np.nan, 0.0]}, "the effort of joint 'joint2' is nan"),
        ({"effort": [0.0]}, r"the effort has shape \(1,\); robot 'chain3' needs \(3,\)"),
        ({"dt": 0.0}, "the step is 0.0 s"),
        ({"dt": np.inf}, "the step is inf s"),
        ({"method": "euler"}, "method is 'euler'; it must be one of 'rk4', 'semi_implicit'"),
    ],
)
def test_unusable_steps_are_refused(change, said):
    arguments = {"effort": np.zeros(3), "dt": 1e-3, "method": "rk4", **change}
    with pytest.raises(SimulationError, match=said):
        step(ArmPlant(chain(3)), State(0.0, np.zeros(3), np.zeros(3)), **arguments)


def test_the_adaptive_integrator_refuses_friction_and_stops_by_name():
    start = State(0.0, np.zeros(1), np.array([1.0]))
    with pytest.raises(SimulationError, match="joint 'rail' has Coulomb friction"):
        integrate(ArmPlant(slider(Friction(0.0, 1.0, 1.0))), start, [0.0], [1.0])
    with pytest.raises(SimulationError, match=r"joint 'rail' reaches its stop at t = 0.25 s"):
        integrate(ArmPlant(slider(limits=Limits(-1.0, 0.25))), start, [0.0], [1.0])
    with pytest.raises(SimulationError, match="times must be"):
        integrate(ArmPlant(slider()), start, [0.0], [1.0, 0.5])


def test_the_adaptive_integrator_follows_viscous_friction_and_a_law_of_time():
    plant = ArmPlant(slider(Friction(viscous=MASS)))
    states = integrate(plant, State(0.0, np.zeros(1), np.array([1.0])), [0.0], [0.5, 1.0])
    assert [s.qd[0] for s in states] == pytest.approx(np.exp([-0.5, -1.0]), rel=1e-9)
    law = integrate(ArmPlant(slider()), State(0.0, np.zeros(1), np.zeros(1)), lambda t, q, qd: [MASS * t], [2.0])[0]
    assert law.qd[0] == pytest.approx(2.0, rel=1e-9)
