from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from support.flexible_arms import random_state, two_link_arm
from support.stepped import stepped

from rne_dynamics.errors import SimulationError
from rne_dynamics.flexible.energy import flexible_kinetic_energy, flexible_potential_energy
from rne_dynamics.flexible.linearised import linearised
from rne_dynamics.flexible.static import damping_matrix, elastic_matrix, static_deflection
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.tree import Friction
from rne_dynamics.simulation.plant.coordinates import State, checked_state
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.free_motion import free_motion
from rne_dynamics.simulation.stepping.stepping import integrate, step


@pytest.fixture(scope="module")
def arm() -> FlexibleArm:
    return two_link_arm()


def moving(arm: FlexibleArm, size: float = 0.01) -> State:
    q, delta, qd, deltad = random_state(arm, 1, size)
    return State(0.0, q, qd, None, delta, deltad)


def stacked(state: State) -> np.ndarray:
    return np.concatenate([state.q, state.delta, state.qd, state.deltad])


def energy(arm: FlexibleArm, state: State) -> float:
    kinetic = flexible_kinetic_energy(arm, state.q, state.delta, state.qd, state.deltad)
    return float(kinetic + flexible_potential_energy(arm, state.q, state.delta))


@pytest.mark.soak
def test_free_motion_keeps_its_energy_over_twenty_seconds(arm):
    """Relative to the largest kinetic energy; one step a millisecond; the joints turn round several times."""
    there = moving(arm)
    log = free_motion(
        ArmPlant(arm), there.q, there.qd, delta=there.delta, deltad=there.deltad, seconds=20.0, record_dt=1e-2
    )
    assert np.abs(log.energy - log.energy[0]).max() < 1e-6 * log.kinetic.max()
    assert (np.ptp(log.q, axis=0) > 2.0 * np.pi).all()
    assert np.linalg.norm(log.tip[-200:, :, :3], axis=-1).max() > 4e-3  # m, and all the way


def test_free_motion_keeps_its_energy_over_seconds(arm):
    """Relative to the largest kinetic energy; one step of 2 ms."""
    there = moving(arm)
    log = free_motion(
        ArmPlant(arm), there.q, there.qd, delta=there.delta, deltad=there.deltad, seconds=3.0, dt=2e-3, record_dt=1e-2
    )
    assert np.abs(log.energy - log.energy[0]).max() < 1e-6 * log.kinetic.max()
    assert np.linalg.norm(log.tip[-50:, :, :3], axis=-1).max() > 4e-3  # m, and all the way


def test_gauss_is_of_fourth_order_and_agrees_with_the_adaptive_integrator(arm):
    plant, start, effort = ArmPlant(arm), moving(arm, 0.005), np.array([0.05, -0.02])
    exact = stacked(integrate(plant, start, effort, [0.1], rtol=1e-12, atol=1e-13)[0])
    errors = [np.abs(stacked(stepped(plant, start, effort, n, 0.1 / n)) - exact).max() for n in (20, 40, 80, 160)]
    for coarse, fine in pairwise(errors):
        assert fine < coarse / 12.0
    assert errors[-1] < 1e-4
    rk4 = stacked(stepped(plant, start, effort, 2000, 0.1 / 2000, method="rk4"))
    np.testing.assert_allclose(rk4, exact, atol=1e-7)


def test_the_work_of_motors_less_friction_and_damping_is_the_energy_gained():
    bare = two_link_arm(damping=0.05)
    tree = bare.robot.tree
    joints = tuple(replace(j, friction=Friction(0.02)) if j.name != "end" else j for j in tree.joints)
    arm = FlexibleArm(assemble(replace(tree, joints=joints), gravity=np.array([0.0, -9.81, 0.0])), bare.flexible_links)
    plant, effort, dt, state = ArmPlant(arm), np.array([1.0, 0.4]), 5e-4, moving(arm)
    D, power = damping_matrix(arm), []
    first = energy(arm, state)
    for k in range(801):
        power.append(effort @ state.qd - 0.02 * state.qd @ state.qd - state.deltad @ D @ state.deltad)
        if k < 800:
            state = step(plant, state, effort, dt)
    p = np.array(power)
    work = dt / 3.0 * (p[0] + 4.0 * p[1::2].sum() + 2.0 * p[2:-1:2].sum() + p[-1])  # Simpson's rule
    assert abs(work - (energy(arm, state) - first)) < 1e-6 * np.abs(p).max() * 0.4


@pytest.mark.slow
def test_ever_stiffer_links_follow_the_rigid_arm_at_steps_that_are_long_for_them():
    """With EI a million times as large a step is many periods of every mode, of the fastest one thousands."""
    gaps = []
    for stiffness in (1e4, 1e6):
        arm = two_link_arm(stiffness=stiffness)
        q, qd, effort = np.array([0.3, 0.8]), np.array([2.0, -3.0]), np.array([0.5, -0.2])
        plant = ArmPlant(arm)
        fastest = linearised(arm, q).frequencies[-1]
        bent = stepped(plant, checked_state(arm, q, qd), effort, 1000)
        stiff = stepped(ArmPlant(arm.robot), State(0.0, q, qd), effort, 1000)
        gaps.append(np.abs(bent.q - stiff.q).max())
        assert np.isfinite(stacked(bent)).all()
    assert fastest * 1e-3 > 30.0
    assert gaps[0] < 1e-3
    assert gaps[1] < 1e-5


def test_too_stiff_for_runge_kutta_is_stepped_by_gauss():
    arm = two_link_arm(stiffness=1e6)
    plant, start = ArmPlant(arm), moving(arm, 1e-6)
    effort = np.zeros(2)
    np.testing.assert_array_equal(
        stacked(stepped(plant, start, effort, 10, method="rk4")), stacked(stepped(plant, start, effort, 10))
    )


def test_the_semi_implicit_step_damps_a_mode_as_documented(arm):
    start = checked_state(arm, [0.0, 0.5], delta=[1e-4, 0.0, 0.0, 0.0])
    dt, n = 2e-3, 500
    plant = ArmPlant(arm, stops=False)
    log = free_motion(plant, start.q, delta=start.delta, seconds=n * dt, dt=dt, method="semi_implicit")
    # of the energy, each mode with the joints free keeps 1/(1 + (ω dt)²) a step
    shapes = linearised(arm, start.q, joint_stiffness=np.zeros(2))
    moving_modes = shapes.frequencies > 1.0
    kept = (1.0 + (shapes.frequencies[moving_modes] * dt) ** 2) ** -float(n)
    amplitude = np.linalg.solve(shapes.shapes, np.concatenate([np.zeros(2), start.delta]))[moving_modes]
    bent = shapes.shapes[arm.n :, moving_modes] * amplitude
    stored = 0.5 * np.einsum("ik,ij,jk->k", bent, elastic_matrix(arm), bent)
    assert log.energy[-1] == pytest.approx(float(stored @ kept), rel=2e-2)
    assert log.energy[-1] < 0.9 * log.energy[0]


def test_a_step_that_does_not_converge_is_an_error(arm):
    wild = replace(moving(arm), qd=np.array([1e5, -1e5]))
    with pytest.raises(SimulationError, match="do not converge, nor in parts of"):
        step(ArmPlant(arm), wild, np.zeros(2), 0.1)
    broken = replace(wild, deltad=np.array([np.nan, 0.0, 0.0, 0.0]))
    with pytest.raises(SimulationError, match="mode 'link1/y1': its motion is not finite any more"):
        step(ArmPlant(arm), broken, np.zeros(2), 0.1)


@pytest.mark.filterwarnings("ignore::rne_dynamics.flexible.BendingRangeWarning")
def test_states_of_flexible_arms_are_checked(arm):
    state = checked_state(arm, [0.1, 0.2])
    np.testing.assert_array_equal(state.delta, np.zeros(4))  # in its horizontal plane nothing bends it
    hanging = FlexibleArm(assemble(arm.robot.tree, gravity=np.array([0.0, -9.81, 0.0])), arm.flexible_links)
    np.testing.assert_array_equal(checked_state(hanging, [0.1, 0.2]).delta, static_deflection(hanging, [0.1, 0.2]))
    np.testing.assert_array_equal(checked_state(hanging, [0.1, 0.2], delta=0.0).delta, np.zeros(4))
    with pytest.raises(SimulationError, match=r"delta has shape \(2,\); arm 'two_link_arm' needs \(4,\)"):
        checked_state(arm, [0.1, 0.2], delta=[0.0, 0.0])
    with pytest.raises(SimulationError, match="deltad of mode 'link2/y1' is inf"):
        checked_state(arm, [0.1, 0.2], deltad=[0.0, 0.0, np.inf, 0.0])
    with pytest.raises(SimulationError, match="has no flexible links; leave out delta and deltad"):
        checked_state(arm.robot, [0.1, 0.2], delta=0.0)
    with pytest.raises(SimulationError, match="method is 'gauss', which is for arms with flexible links"):
        step(ArmPlant(arm.robot), State(0.0, np.zeros(2), np.zeros(2)), np.zeros(2), 1e-3, method="gauss")
