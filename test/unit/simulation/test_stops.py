from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from analytic.systems import PlanarTwoLink
from support.arms import MASS, chain, slider
from support.stepped import stepped

from rne_dynamics.description.share import shipped_robots
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.composite.momentum import kinetic_energy, potential_energy
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.dice import random_configuration
from rne_dynamics.model.tree import Friction, Limits
from rne_dynamics.simulation.plant.arrays import NO_WRENCH
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.stepping.events import step_with_events
from rne_dynamics.simulation.stepping.stepping import step


@pytest.mark.parametrize(("method", "dt"), [("rk4", 0.03), ("semi_implicit", 1e-3)])
def test_a_cart_runs_into_its_stop_and_stays_there(method, dt):
    plant = ArmPlant(slider(limits=Limits(-1.0, 0.5)))
    state = State(0.0, np.zeros(1), np.array([2.0]))
    for _ in range(40):
        state = step(plant, state, [4.0], dt, method=method)
        assert state.q[0] <= 0.5
        if state.t > 0.3 + 2 * dt:
            assert state.q[0] == 0.5
            assert state.qd[0] == 0.0


def test_a_cart_leaves_its_stop_freely():
    plant = ArmPlant(slider(limits=Limits(-1.0, 0.5)))
    state = State(0.0, np.array([0.5]), np.zeros(1))
    state = stepped(plant, state, [3.0], 5, 0.1)
    assert state.q[0] == 0.5
    state = stepped(plant, state, [-3.0], 5, 0.1)
    assert state.q[0] == pytest.approx(0.5 - 0.5 * 3.0 / MASS * 0.25, rel=1e-12)


def test_an_impact_acts_on_the_whole_arm_by_one_impulse_at_the_stop():
    tree = PlanarTwoLink().tree()
    elbow = tree.joints[1]
    stopped = replace(elbow, limits=Limits(-2.0, 1.0))
    robot = assemble(replace(tree, joints=(tree.joints[0], stopped)), gravity=np.zeros(3))
    q, before = np.array([0.3, 1.0]), np.array([1.5, 2.0])
    after = step(ArmPlant(robot), State(0.0, q, before), [0.0, 0.0], 1e-9).qd
    assert after[1] == pytest.approx(0.0, abs=1e-7)  # it may fly off again within the nanosecond
    momentum = mass_matrix(robot, q) @ (after - before)
    assert momentum[0] == pytest.approx(0.0, abs=1e-7)
    assert momentum[1] < 0.0


def test_a_joint_that_starts_beyond_its_stop_is_let_back_in_but_no_further_out():
    plant = ArmPlant(slider(limits=Limits(-1.0, 0.5)))
    out = State(0.0, np.array([0.7]), np.array([0.3]))
    for _ in range(20):
        out = step(plant, out, [1.0], 1e-2)
        assert out.q[0] == 0.7
    out = stepped(plant, out, [-1.0], 200, 1e-2)
    assert out.q[0] < 0.5


def test_a_joint_without_play_does_not_move():
    plant = ArmPlant(slider(limits=Limits(0.2, 0.2)))
    state = step(plant, State(0.0, np.array([0.2]), np.array([1.0])), [5.0], 1e-2)
    assert state.q[0] == 0.2
    assert state.qd[0] == 0.0


# what is allowed is the error of RK4 itself in the quick free swings of light wrists between the stops
@pytest.mark.parametrize(("method", "friction", "dt", "allowed"), [
    ("rk4", False, 5e-3, 1e-5), ("rk4", True, 2e-2, 2e-3), ("semi_implicit", True, 2e-3, 0.02),
])  # fmt: skip
@pytest.mark.parametrize("name", ["puma560", "scara"])
def test_an_arm_that_drops_onto_its_stops_never_gains_energy_nor_leaves_its_range(name, method, friction, dt, allowed):
    plant = ArmPlant(load_urdf(name), friction=friction)
    robot = plant.robot
    for seed in range(2):
        rng = np.random.default_rng(seed)
        path = [State(0.0, random_configuration(robot, rng), rng.normal(size=robot.n))]
        for _ in range(round(1.5 / dt)):
            path.append(step(plant, path[-1], np.zeros(robot.n), dt, method=method))
        q, qd = np.array([s.q for s in path]), np.array([s.qd for s in path])
        kinetic = kinetic_energy(robot, q, qd)
        assert np.diff(kinetic + potential_energy(robot, q)).max() <= allowed * kinetic.max()
        assert (robot.lower <= q).all()
        assert (q <= robot.upper).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_robots())
def test_events_in_a_drop_always_end_within_the_step(name):
    """Two joints leaning on stops once handed each other ever smaller impacts; the first-order way out is not used."""
    robot = load_urdf(name)
    plant = ArmPlant(robot, friction=False)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        q, qd = random_configuration(robot, rng), rng.normal(size=robot.n)
        arrays = plant.arrays(State(0.0, q, qd), plant.base_at(0.0), NO_WRENCH)
        for _ in range(1500):
            q_new, qd_new = np.empty(robot.n), np.empty(robot.n)
            left = step_with_events(arrays, q, qd, np.zeros(robot.n), 1e-3, False, q_new, qd_new)
            assert left <= 0.0
            q, qd = q_new, qd_new


def test_an_arm_in_a_narrow_cage_settles():
    robot = chain(6, Friction(0.01, 1.5, 1.5), Limits(-0.2, 0.2))
    plant = ArmPlant(robot)
    state = State(0.0, np.zeros(6), np.array([5.0, -5.0, 5.0, -5.0, 5.0, -5.0]))
    for _ in range(3000):
        state = step(plant, state, np.zeros(6), 1e-3)
        assert (np.abs(state.q) <= 0.2).all()
    np.testing.assert_array_equal(state.qd, 0.0)
