"""Stribeck friction and offsets in simulation, against closed forms and SciPy's integration of the smooth law."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.arms import MASS, chain, gripper, slider
from support.mechanisms import changed, four_bar
from support.stepped import moved

import rne_dynamics as rne
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.dynamics.composite.momentum import kinetic_energy
from rne_dynamics.errors import ModelError
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.tree import Friction
from rne_dynamics.simulation.plant.arrays import NO_WRENCH
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.stepping.stepping import step, unchecked_step
from rne_dynamics.simulation.stepping.tree_step import tree_step

BOTH = pytest.mark.parametrize("method", ["rk4", "semi_implicit"])

#: Viscous, forward, backward, Stribeck, Stribeck velocity.
RUBBING = Friction(0.4, 2.5, 1.5, 1.2, 0.3)


def friction(f: Friction, v: float, way: float) -> float:
    """Of a cart that slides that way."""
    level = f.coulomb_forward if way > 0.0 else f.coulomb_backward
    return f.viscous * v + math.copysign(level + f.stribeck * math.exp(-((v / f.stribeck_velocity) ** 2)), way)


@pytest.mark.parametrize("v0", [1.0, -1.0])
def test_a_cart_comes_to_rest_where_scipy_says(v0):
    plant = ArmPlant(slider(RUBBING))
    stop = lambda _t, x: x[1]  # noqa: E731
    stop.terminal, stop.direction = True, -math.copysign(1.0, v0)
    exact = solve_ivp(
        lambda _t, x: [x[1], -friction(RUBBING, x[1], v0) / MASS], (0.0, 5.0), [0.0, v0], events=stop,
        rtol=1e-11, atol=1e-13,
    )  # fmt: skip
    errors = []
    for dt in (0.02, 0.01):
        state = moved(plant, [0.0], [v0], [0.0], 3.0, dt)
        assert state.qd[0] == 0.0
        errors.append(abs(state.q[0] - exact.y[0, -1]))
    assert errors[1] < 1e-7
    assert errors[1] < errors[0] / 10.0
    rough = moved(plant, [0.0], [v0], [0.0], 3.0, 1e-3, "semi_implicit")
    assert rough.qd[0] == 0.0
    assert rough.q[0] == pytest.approx(exact.y[0, -1], abs=1e-3)


@pytest.mark.parametrize(("sign", "method"), [(1.0, "rk4"), (-1.0, "semi_implicit")])
def test_a_joint_breaks_away_above_coulomb_and_stribeck_friction_with_the_offset(sign, method):
    plant = ArmPlant(slider(RUBBING))
    most = (2.5 if sign > 0.0 else 1.5) + 1.2
    held = moved(plant, [0.2], [0.0], [sign * most * (1.0 - 1e-9)], 0.5, 1e-2, method)
    assert (held.q[0], held.qd[0]) == (0.2, 0.0)
    slipping = moved(plant, [0.2], [0.0], [sign * (most + 0.01)], 2.0, 1e-2, method)
    exact = solve_ivp(lambda _t, x: [x[1], (sign * (most + 0.01) - friction(RUBBING, x[1], sign)) / MASS], (0.0, 2.0),
                      [0.2, 0.0], rtol=1e-10, atol=1e-12).y[:, -1]  # fmt: skip
    tolerance = 1e-6 if method == "rk4" else 0.03
    np.testing.assert_allclose([slipping.q[0], slipping.qd[0]], exact, atol=tolerance)


def test_an_offset_larger_than_coulomb_friction_moves_a_free_joint():
    plant = ArmPlant(slider(Friction(0.0, 2.0, -1.0)))  # Coulomb 0.5, offset 1.5
    state = moved(plant, [0.0], [0.0], [0.0], 1.0, 0.01)
    assert state.qd[0] == pytest.approx(-(1.5 - 0.5) / MASS)
    held = moved(plant, [0.0], [0.0], [1.5 + 0.49], 1.0, 0.01)
    assert held.qd[0] == 0.0
    only = moved(ArmPlant(slider(Friction(0.0, 1.5, -1.5))), [0.0], [0.3], [0.0], 1.0, 0.01)
    assert only.qd[0] == pytest.approx(0.3 - 1.5 / MASS, rel=1e-9)


@pytest.mark.slow
def test_stick_slip_of_a_mass_pulled_by_a_spring():
    """Friction falls at once to Coulomb's: v = V (1 − cos ωt) + A sin ωt with A = F_s / √(k m) until it stops again."""
    k, drive, dt, Fc, Fs = 800.0, 0.002, 2e-4, 3.0, 0.8
    plant = ArmPlant(slider(Friction(0.0, Fc, Fc, Fs, 1e-6)))
    state, starts, ends, places = State(0.0, np.zeros(1), np.zeros(1)), [], [], []
    for _ in range(round(2.9 / dt)):
        after = step(plant, state, [k * (drive * (state.t + 0.5 * dt) - state.q[0])], dt)
        if state.qd[0] == 0.0 < after.qd[0]:
            starts.append(after.t - dt)
        if state.qd[0] > 0.0 == after.qd[0]:
            ends.append(after.t)
            places.append(after.q[0])
        state = after
    assert starts[0] == pytest.approx((Fc + Fs) / (k * drive), abs=2.0 * dt)
    omega = math.sqrt(k / MASS)
    slip = 2.0 * (math.pi - math.atan(Fs / math.sqrt(k * MASS) / drive)) / omega
    way = drive * (slip - math.sin(omega * slip) / omega) + Fs / k * (1.0 - math.cos(omega * slip))
    assert ends[0] - starts[0] == pytest.approx(slip, rel=0.02)  # what it takes to reach 1e-6 m/s
    assert places[0] == pytest.approx(way, rel=0.01)
    assert len(places) == 1


def test_stick_slip_is_that_of_the_smooth_law_at_a_small_threshold():
    k, drive, f = 200.0, 0.1, Friction(0.5, 2.0, 2.0, 1.5, 0.05)
    plant, dt = ArmPlant(slider(f)), 5e-4

    def smooth(t, x):
        level = 2.0 + 1.5 * math.exp(-((x[1] / 0.05) ** 2))
        s = min(max(x[1] / 1e-5, -1.0), 1.0)
        return [x[1], (k * (drive * t - x[0]) - 0.5 * x[1] - level * s * (1.5 - 0.5 * s * s)) / MASS]

    exact = solve_ivp(smooth, (0.0, 0.9), [0.0, 0.0], method="Radau", rtol=1e-6, atol=1e-8, dense_output=True)
    state, worst = State(0.0, np.zeros(1), np.zeros(1)), 0.0
    for _ in range(round(0.9 / dt)):
        # the spring's force in the middle of the step, as if it acted all the time
        state = step(plant, state, [k * (drive * (state.t + 0.5 * dt) - state.q[0] - 0.5 * dt * state.qd[0])], dt)
        worst = max(worst, abs(state.q[0] - exact.sol(state.t)[0]))
    assert np.ptp(exact.y[1]) > 0.15  # it has slipped
    assert worst < 2e-4


@BOTH
def test_friction_only_takes_energy_out(method):
    robot = chain(4, Friction(0.05, 2.0, 1.5, 1.0, 0.2))
    plant = ArmPlant(replace(robot, gravity=np.zeros(3)))
    state = State(0.0, np.array([0.1, 0.5, -0.4, 0.2]), np.array([3.0, -2.0, 4.0, -5.0]))
    energy = float(kinetic_energy(robot, state.q, state.qd))
    for _ in range(3000):
        state = step(plant, state, np.zeros(4), 1e-3, method=method)
        now = float(kinetic_energy(robot, state.q, state.qd))
        assert now <= energy * (1.0 + (1e-12 if method == "rk4" else 1e-3))
        energy = now
    np.testing.assert_array_equal(state.qd, 0.0)


def rubbing_arm():
    tree = rne.load_urdf("puma560").tree
    joints = []
    for k, joint in enumerate(tree.joints):
        viscous, coulomb = joint.friction.viscous, joint.friction.coulomb
        friction = Friction(viscous, 1.1 * coulomb, 0.7 * coulomb, 0.5 * coulomb, 0.1, 0.01 if k % 2 else 0.0)
        joints.append(replace(joint, friction=friction))
    return rne.assemble(replace(tree, joints=tuple(joints)))


def test_compensation_of_all_of_the_models_friction_tracks():
    """The model's thresholds are used where it has some: below 0.01 rad/s less than friction is given."""
    robot, path = rubbing_arm(), Quintic(np.zeros(6), np.full(6, 0.5), 1.0)
    plain = rne.with_payload(robot, rne.Payload("link6", 0.0))
    found = {}
    for name, law in (
        ("all", ComputedTorque(robot, Gains.critically_damped(6, 40.0))),
        ("none", ComputedTorque(plain, Gains.critically_damped(6, 40.0), None)),
    ):
        found[name] = np.abs(rne.simulate(ArmPlant(robot), law, path, control_dt=1e-3).error).max()
    assert found["all"] < 0.02 * found["none"]


def test_a_mechanism_in_its_tree_moves_as_in_its_actuated_joints():
    mechanism = changed(four_bar(), crank={"friction": Friction(0.1, 0.4, 0.2, 0.5, 0.5)})
    plant = ArmPlant(mechanism)
    state = step(plant, State(0.0, np.array(mechanism.neutral), np.array([0.8])), np.zeros(1), 1e-4)
    ours = unchecked_step(plant, state, np.zeros(1), 1e-3, "rk4", NO_WRENCH)
    other = tree_step(plant, state, np.zeros(1), 1e-3, False, NO_WRENCH, None)
    np.testing.assert_allclose(other.qd, ours.qd, rtol=1e-9)
    without = ArmPlant(changed(four_bar(), crank={"friction": Friction(0.1, 0.4, 0.2)}))
    assert abs(unchecked_step(without, state, np.zeros(1), 1e-3, "rk4", NO_WRENCH).qd - ours.qd) > 1e-6


def test_flexible_links_move_with_it_by_collocation_as_by_runge_kutta():
    arm = rne.load_model("flexible_arm")
    robot = arm.robot
    joints = tuple(replace(joint, friction=Friction(0.05, 0.2, 0.2, 0.3, 0.4)) for joint in robot.tree.joints)
    bent = replace(arm, robot=rne.assemble(replace(robot.tree, joints=joints), gravity=robot.gravity))
    plant = ArmPlant(bent)
    still = np.zeros(bent.modes)
    state = State(0.0, np.array(bent.neutral), np.full(bent.n, 0.6), None, still, still)
    ends = [unchecked_step(plant, state, np.zeros(bent.n), 1e-5, method, NO_WRENCH).qd for method in ("rk4", "gauss")]
    np.testing.assert_allclose(*ends, rtol=1e-8)


def test_joints_that_move_together_add_up():
    """The fingers of a gripper, the second 1.5 times as fast and backwards."""
    tree = gripper().tree
    left, right = (j for j in tree.joints if j.friction.viscous or j.friction.coulomb)

    def friction_of(slow: float):
        changed = {left.name: replace(left, friction=Friction(0.0, 0.2, 0.3, 0.5, 0.2, 0.03)),
                   right.name: replace(right, friction=Friction(0.0, 0.4, 0.1, 0.1, slow, 0.06))}  # fmt: skip
        return joint_friction(rne.assemble(replace(tree, joints=tuple(changed.get(j.name, j) for j in tree.joints))))

    k = 1.5
    found = friction_of(0.2 * k)
    assert found.stribeck[1] == pytest.approx(0.5 + 0.1 * k)
    assert found.stribeck_velocity[1] == pytest.approx(0.2)
    assert found.threshold[1] == pytest.approx(0.06 / k)
    assert found.static[1] == pytest.approx(max(0.2 + 0.1 * k, 0.3 + 0.4 * k) + 0.5 + 0.1 * k)
    with pytest.raises(ModelError, match=r"have the Stribeck velocities 0\.2 and 0\.1 at its speed"):
        friction_of(0.15)
