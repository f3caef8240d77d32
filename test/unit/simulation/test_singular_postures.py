"""Mechanisms through postures in which their motors do not hold them, and from such postures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.mechanisms import changed, five_bar, four_bar, gap, ladder, three_rrr
from support.multipliers import Closed
from support.stepped import stepped

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble, assembled
from rne_dynamics.closed_chain.coordinates import motion_map, passive_singular_value
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.errors import AssemblyError, SimulationError, SingularPostureError
from rne_dynamics.model.assembly import assemble as assemble_tree
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.tree import Friction, Limits
from rne_dynamics.simulation.plant.coordinates import State, checked_state
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.free_motion import free_motion
from rne_dynamics.simulation.runs.simulator import Simulator
from rne_dynamics.simulation.stepping.stepping import step


def free(mechanism: Mechanism) -> ArmPlant:
    return ArmPlant(mechanism, friction=False, stops=False)


def pinned() -> Mechanism:
    """The pantograph held by its pins alone, which passes flat."""
    return assembled(rne.load_model(Path(__file__).parents[3] / "examples" / "pantograph_pins.yaml"))


def lost(log) -> float:
    """Energy error as a part of the largest kinetic energy."""
    return float(np.abs(log.energy - log.energy[0]).max() / log.kinetic.max())


@pytest.mark.slow
def test_three_legs_fall_through_singular_postures_as_multipliers_say():
    mechanism, seconds = three_rrr(), 0.32
    log = free_motion(free(mechanism), mechanism.neutral, seconds=seconds, dt=2.5e-4)
    work = workspace(pack(mechanism))
    distance = [passive_singular_value(mechanism, work, posture) for posture in log.tree_q[::4]]
    assert min(distance) < 2e-3  # through one
    assert lost(log) < 1e-7
    assert gap(mechanism, log.tree_q[-1]) < 1e-12
    closed, n = Closed(mechanism), mechanism.robot.n

    def rates(t, x):
        return np.concatenate([x[n:], closed.forward(x[:n], x[n:], np.zeros(3))])

    start = np.concatenate([mechanism.posture, np.zeros(n)])
    exact = solve_ivp(rates, (0.0, seconds), start, method="DOP853", rtol=1e-8, atol=1e-9).y[:, -1]
    np.testing.assert_allclose(log.tree_q[-1], exact[:n], atol=1e-6)
    np.testing.assert_allclose(log.tree_qd[-1], exact[n:], atol=1e-4)


def parallelogram(angle: float, rate: float, seconds: float, dt: float):
    """The driven bar of a parallelogram whose bars never cross: one freedom, the others ±1 times as fast."""
    mechanism, T = ladder(1), np.array([1.0, -1.0, 1.0])
    robot = mechanism.robot
    assert robot.joint_names == ("left0", "top0", "right0")

    def rates(t, x):
        q, qd = x[0] * T, x[1] * T
        M = T @ rne.mass_matrix(robot, q) @ T
        return [x[1], -(T @ rne.bias_torque(robot, q, qd)) / M]

    exact = solve_ivp(rates, (0.0, seconds), [angle, rate], method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    state = State(0.0, np.array([angle]), np.array([rate]), angle * T, tree_qd=rate * T, in_tree=True)
    state = stepped(free(mechanism), state, [0.0], round(seconds / dt), dt)
    return state, exact


# flat at the start, at a stage in the middle of the step, at its end, and next to these
@pytest.mark.parametrize("angle", [0.0, -4e-3, -8e-3 + 1e-7, 1e-5])
def test_a_parallelogram_passes_flat_wherever_the_stages_of_a_step_land(angle):
    state, exact = parallelogram(angle, 8.0, 0.02, 1e-3)
    np.testing.assert_allclose(state.posture, exact[0] * np.array([1.0, -1.0, 1.0]), rtol=0, atol=1e-8)
    np.testing.assert_allclose(state.tree_qd, exact[1] * np.array([1.0, -1.0, 1.0]), rtol=1e-7)


def test_a_parallelogram_turns_over_and_over_as_one_freedom():
    state, exact = parallelogram(1.0, 12.0, 1.2, 1e-3)
    assert exact[0] > 4.0 * np.pi
    np.testing.assert_allclose(state.posture, exact[0] * np.array([1.0, -1.0, 1.0]), rtol=0, atol=1e-6)


def test_a_crank_that_is_not_driven_takes_the_driven_rocker_through_its_dead_points():
    mechanism = four_bar(cut="coupler")
    driven = assembled(Mechanism(mechanism.robot, mechanism.loops, ("rocker",), mechanism.posture))
    by_crank = checked_state(mechanism, mechanism.neutral, [6.0])
    start = checked_state(driven, driven.neutral, by_crank.tree_qd[driven.actuated])
    there, here, modes = start, by_crank, set()
    for _ in range(1200):
        here, there = step(free(mechanism), here, [0.0], 1e-3), step(free(driven), there, [0.0], 1e-3)
        modes.add(there.in_tree)
    assert np.ptp([here.posture[0], mechanism.posture[0]]) > 2.0 * np.pi  # all the way round
    assert modes == {True, False}  # there and back
    np.testing.assert_allclose(there.posture, here.posture, atol=1e-7)


def test_a_singular_start_moves_on_its_own_branch():
    mechanism = ladder(1)
    T, q = np.array([1.0, -1.0, 1.0]), np.zeros(3)
    M, bias = T @ rne.mass_matrix(mechanism.robot, q) @ T, T @ rne.bias_torque(mechanism.robot, q, 3.0 * T)
    qdd = rne.forward_dynamics(mechanism, [0.0], [3.0], [1.0], method="tree_coordinates")
    np.testing.assert_allclose(qdd, (1.0 - bias) / M, rtol=1e-5)
    state = checked_state(mechanism, [0.0], [3.0])
    np.testing.assert_allclose(state.tree_qd, [3.0, -3.0, 3.0], rtol=1e-9)
    state = stepped(free(mechanism), state, [0.0], 50)
    np.testing.assert_allclose(state.posture, state.q[0] * np.array([1.0, -1.0, 1.0]), atol=1e-9)


def test_redundant_bars_share_their_load_through_flat():
    # a third bar makes the parallelogram's loops redundant, and carries it through flat
    pantograph = pinned()
    log = free_motion(free(pantograph), np.radians([0.0, 0.0, 50.0]), seconds=1.0)
    assert lost(log) < 1e-7
    assert gap(pantograph, log.tree_q[-1]) < 1e-12


def test_energy_is_kept_near_singular_postures_too():
    mechanism = five_bar()
    log = free_motion(free(mechanism), mechanism.neutral, seconds=1.0, dt=5e-4)
    assert lost(log) < 1e-7


def test_friction_and_stops_of_driven_joints_act_near_singular_postures():
    held = {"friction": Friction(0.0, 0.6, 0.6), "limits": Limits(-10.0, 1.3)}
    mechanism = changed(four_bar(), crank=held)
    plant, weight = ArmPlant(mechanism), rne.gravity_torque(mechanism, mechanism.neutral)
    start = replace(checked_state(mechanism, mechanism.neutral), in_tree=True)
    for effort, moves in ((weight + 0.59, False), (weight - 0.59, False), (weight + 0.62, True), (weight - 0.62, True)):
        state = start
        for _ in range(5):
            state = replace(step(plant, state, effort, 1e-3), in_tree=True)
        assert (state.q[0] != start.q[0]) == moves
        assert gap(mechanism, state.posture) < 1e-12
    state, regular = start, replace(start, in_tree=False)
    for _ in range(400):
        state = replace(step(plant, state, weight + 3.0, 1e-3), in_tree=True)
        regular = replace(step(plant, regular, weight + 3.0, 1e-3), in_tree=False)
        assert state.q[0] <= 1.3
        if regular.q[0] < 1.29:
            np.testing.assert_allclose(state.q, regular.q, atol=1e-5)
    np.testing.assert_allclose([*state.q, *state.qd], [1.3, 0.0], atol=1e-9)


def test_viscous_friction_in_the_tree_is_that_in_the_actuated_joints():
    mechanism = changed(four_bar(), crank={"friction": Friction(0.1)}, knee={"friction": Friction(0.4)})
    plant = ArmPlant(mechanism)
    regular = checked_state(mechanism, mechanism.neutral, [4.0])
    state = replace(regular, in_tree=True)
    for _ in range(200):
        state = replace(step(plant, state, [0.0], 1e-3), in_tree=True)
        regular = replace(step(plant, regular, [0.0], 1e-3), in_tree=False)
    np.testing.assert_allclose(state.posture, regular.posture, atol=1e-8)
    stiff = changed(four_bar(), knee={"friction": Friction(1e5)})
    state = replace(checked_state(stiff, stiff.neutral, [1.0]), in_tree=True)
    state = stepped(ArmPlant(stiff), state, [0.0], 50)
    assert abs(state.qd[0]) < 1e-3


def test_motion_that_is_fast_for_the_step_is_followed_in_parts_or_refused():
    mechanism = five_bar()
    simulator = Simulator(free(mechanism), mechanism.neutral, dt=5e-3)
    simulator.command([-20.0, 20.0])  # a second of work, and no friction
    state = simulator.advance(200)
    assert np.abs(state.tree_qd).max() > 50.0
    assert gap(mechanism, state.posture) < 1e-12
    before = checked_state(mechanism, mechanism.neutral, [1e5, 0.0])
    with pytest.raises(SimulationError, match=r"too fast to follow at t = 0\.001 s \(.*\).* take a shorter step"):
        step(free(mechanism), before, [0.0, 0.0], 1e-3)


@pytest.mark.slow
def test_a_light_crank_that_a_heavy_rocker_throws_through_its_dead_point():
    # within 1/200 of a step the crank goes from rest to 200 rad/s; steps of full length lose 12 % of the energy
    bars = four_bar("coupler")
    tree = bars.robot.tree
    light = ("crank", "coupler")
    links = tuple(
        replace(x, inertia=Inertia(1e-3 * x.inertia.mass, x.inertia.com, 1e-3 * x.inertia.inertia))
        if x.name in light else x for x in tree.links
    )  # fmt: skip
    joints = tuple(replace(joint, rotor_inertia=0.0) for joint in tree.joints)
    robot = assemble_tree(replace(tree, links=links, joints=joints), gravity=bars.gravity)
    mechanism = replace(bars, robot=robot, joint_names=("rocker",))
    log = free_motion(free(mechanism), mechanism.neutral, seconds=1.0)
    assert np.abs(log.tree_qd).max() > 100.0
    assert lost(log) < 2e-5


def test_errors_name_the_singularity():
    mechanism = four_bar(cut="coupler")
    driven = assembled(Mechanism(mechanism.robot, mechanism.loops, ("rocker",), mechanism.posture))
    with pytest.raises(AssemblyError, match=r"followed to rocker 2\.4\d+\. .*on this side of singular"):
        assemble(driven, [3.0])
    with pytest.raises(SingularPostureError, match=r"tree_coordinates"):
        rne.inverse_dynamics(ladder(1), [0.0], [0.0], [0.0])
    assert motion_map(driven, driven.posture).smallest > 0.01
    with pytest.raises(SimulationError, match=r"adaptive integration.* ends at t = 0 s.*singular posture.*`step`"):
        free_motion(free(ladder(1)), [0.0], [1.0], seconds=0.01, method="adaptive")


@pytest.mark.soak
@pytest.mark.parametrize(("dt", "starts"), [(5e-4, 10), (1e-3, 20), (2e-3, 60)])
def test_many_starts_of_the_second_oscillation_do_not_stop(dt, starts):
    pantograph = pinned()
    rng = np.random.default_rng(0)
    for _ in range(starts):
        start = np.radians(np.array([0.0, 0.0, 50.0]) + rng.uniform(-0.5, 0.5, 3))
        log = free_motion(free(pantograph), start, seconds=5.0, dt=dt, record_dt=2e-3)
        assert lost(log) < 1e-6


@pytest.mark.soak
def test_long_motions_keep_the_energy():
    for mechanism, rate in ((ladder(1), [12.0]), (ladder(2), [6.0, -4.0])):
        start = checked_state(mechanism, mechanism.neutral, rate)
        log = free_motion(free(mechanism), start.q, start.qd, seconds=100.0, record_dt=0.01)
        assert lost(log) < 1e-6
