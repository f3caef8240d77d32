"""Mechanisms whose motors are no coordinates: idle freedoms, and more or fewer motors than freedoms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.errors import relative_error
from support.mechanisms import (
    X,
    five_bar,
    four_bar,
    ladder,
    revolute,
    rod_between_balls,
    states,
    stewart_platform,
    two_legs,
)
from support.multipliers import Closed

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import Follower, assemble
from rne_dynamics.closed_chain.coordinates import mobility
from rne_dynamics.closed_chain.independence import generic_rank, independent_joints
from rne_dynamics.closed_chain.inverse_dynamics import closed_inverse, motor_inertia
from rne_dynamics.closed_chain.tree_dynamics import tree_forward_dynamics
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.errors import AssemblyError, ModelError, SingularPostureError
from rne_dynamics.model.assembly import assemble as assemble_tree
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.tree import TreeLink
from rne_dynamics.simulation.plant.coordinates import checked_state
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.free_motion import free_motion
from rne_dynamics.simulation.runs.simulator import Simulator
from rne_dynamics.simulation.stepping.stepping import step


def moving(mechanism: Mechanism, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A closed posture near the mechanism's own, and velocities of all joints that the loops allow."""
    rng, closed = np.random.default_rng(seed), Closed(mechanism)
    kept = independent_joints(mechanism)
    names = mechanism.joint_names if kept is None else tuple(mechanism.joint_names[k] for k in kept)
    driven = replace(mechanism, joint_names=names)
    x = assemble(driven, driven.neutral + rng.uniform(-0.1, 0.1, driven.n))
    K = closed.K(x)
    _, sizes, V = np.linalg.svd(K)
    free = V[int((sizes > 1e-8).sum()) :]
    return x, rng.normal(size=len(free)) @ free


LOOSE = {
    "idle rod": rod_between_balls,
    "crooked idle rod": lambda: rod_between_balls(axisymmetric=False),
    "one motor of two": lambda: five_bar(("left",)),
    "two motors of one": lambda: replace(four_bar("coupler"), joint_names=("crank", "rocker")),
    "two legs": two_legs,
    "Stewart platform": stewart_platform,
}


@pytest.mark.parametrize("name", LOOSE)
def test_forward_dynamics_as_multipliers_say(name):
    """And as Pinocchio and MuJoCo in test_tree_oracles.py."""
    mechanism = LOOSE[name]()
    closed = Closed(mechanism)
    x, xd = moving(mechanism, 0)
    tau = np.random.default_rng(0).normal(size=mechanism.n)
    found = tree_forward_dynamics(mechanism, np.stack([x, x]), np.stack([0.0 * xd, xd]), tau)
    assert relative_error(found[1], closed.forward(x, xd, tau)) < 1e-10
    still = closed.forward(x, 0.0 * xd, tau)
    assert relative_error(found[0], still) < 1e-10
    rest = rne.forward_dynamics(mechanism, x[mechanism.actuated], np.zeros(mechanism.n), tau)
    assert relative_error(rest, still[mechanism.actuated]) < 1e-10


@pytest.mark.parametrize("name", [*LOOSE, "coordinates"])
def test_what_motors_feel_is_what_forward_dynamics_says(name):
    mechanism = five_bar() if name == "coordinates" else LOOSE[name]()
    x, still, rng = np.array(mechanism.posture), np.zeros(mechanism.robot.n), np.random.default_rng(0)
    found, tau = motor_inertia(mechanism, x), rng.normal(size=mechanism.n)
    a, b = (tree_forward_dynamics(mechanism, x, still, efforts)[mechanism.actuated] for efforts in (tau, 0.0 * tau))
    assert relative_error(found.inverse @ tau, a - b) < 1e-10
    np.testing.assert_allclose(found.inverse @ found.moving @ tau, a - b, rtol=1e-8, atol=1e-9 * np.abs(a - b).max())
    np.testing.assert_allclose(found.moving @ found.moving, found.moving, atol=1e-10)
    assert (found.held * np.diag(found.inverse) >= 1.0 - 1e-9).all()  # it yields at least as easily
    if generic_rank(mechanism).coordinates:
        M = rne.mass_matrix(mechanism, mechanism.neutral)
        np.testing.assert_allclose(found.inverse, np.linalg.inv(M), rtol=1e-11)
        np.testing.assert_allclose(found.held, np.diag(M), rtol=1e-11)
        np.testing.assert_allclose(found.moving, np.eye(mechanism.n), atol=1e-12)


@pytest.mark.parametrize("name", ["idle rod", "Stewart platform"])
def test_inverse_dynamics_with_idle_freedoms_is_that_of_forward_dynamics(name):
    mechanism = LOOSE[name]()
    x, xd = moving(mechanism, 0)
    q, qd, qdd = x[mechanism.actuated], xd[mechanism.actuated], states(mechanism, 1)[2][0]
    answer = closed_inverse(mechanism, q, qd, qdd)
    assert np.abs(answer.passive_torque).max() < 1e-11
    found = tree_forward_dynamics(mechanism, answer.q, answer.qd, answer.torque)
    assert relative_error(found, answer.qdd) < 1e-10
    np.testing.assert_allclose(found[mechanism.actuated], qdd, rtol=1e-9)
    np.testing.assert_allclose(rne.forward_dynamics(mechanism, q, qd, answer.torque), qdd, rtol=1e-9)
    assert relative_error(Closed(mechanism).forward(answer.q, answer.qd, answer.torque), answer.qdd) < 1e-10
    M, bias = rne.mass_matrix(mechanism, q), rne.bias_torque(mechanism, q, qd)
    np.testing.assert_allclose(M, M.T, atol=1e-10 * np.abs(M).max())
    assert relative_error(M @ qdd + bias, answer.torque) < 1e-10
    # the forces at the cuts leave the passive joints, and the platform, without effort
    assert all(np.isfinite(answer.cut_force(loop.name)).all() for loop in mechanism.loops)


def test_a_freedom_that_gravity_moves_is_not_idle():
    for mechanism in (rod_between_balls(axisymmetric=False), five_bar(("left",))):
        with pytest.raises(SingularPostureError, match=r"passive ones .* at any posture: drive one"):
            rne.inverse_dynamics(mechanism, mechanism.neutral, np.zeros(1), np.zeros(1))


def test_a_singular_posture_is_refused_with_idle_freedoms_too():
    plain = ladder(1)
    tree = plain.robot.tree
    disc = Inertia(0.3, np.zeros(3), 1e-3 * np.diag([1.0, 1.0, 2.0]))
    links, joints = (*tree.links, TreeLink("disc", disc)), (*tree.joints, revolute("axle", "top0", "disc", 0.1 * X))
    robot = assemble_tree(replace(tree, links=links, joints=joints), gravity=plain.gravity)
    values = dict(zip(plain.robot.joint_names, plain.posture, strict=True))
    wheel = Mechanism(robot, plain.loops, plain.joint_names, [values.get(name, 0.4) for name in robot.joint_names])
    assert generic_rank(wheel).idle == 1
    bare = Inertia(0.3, np.zeros(3), 1e-9 * np.eye(3))  # the top only translates: no torque is on the axle
    same = replace(wheel, robot=assemble_tree(replace(robot.tree, links=(*tree.links, TreeLink("disc", bare))),
                                              gravity=plain.gravity))  # fmt: skip
    tau = rne.inverse_dynamics(wheel, [1.0], [2.0], [3.0])
    np.testing.assert_allclose(tau, rne.inverse_dynamics(same, [1.0], [2.0], [3.0]), rtol=1e-9)
    with pytest.raises(SingularPostureError, match=r"\(top0, right0\) in the singular posture at left0 0"):
        rne.inverse_dynamics(wheel, [0.0], [2.0], [3.0])


def test_an_idle_rod_spins_on():
    mechanism = rod_between_balls()
    j = mechanism.robot.joint_index("spin")
    state = checked_state(mechanism, mechanism.neutral, [1.0])
    spun = np.array(state.tree_qd)
    idle = np.linalg.svd(Closed(mechanism).K(state.posture)[:, mechanism.passive])[2][-1]
    spun[mechanism.passive] += 20.0 * idle
    state, plant = replace(state, tree_qd=spun), ArmPlant(mechanism, friction=False, stops=False)
    energy = []
    for k in range(600):
        if k % 50 == 0:
            kinetic = rne.kinetic_energy(mechanism.robot, state.posture, state.tree_qd)
            energy.append(float(kinetic + rne.potential_energy(mechanism.robot, state.posture)))
        state = step(plant, state, [0.0], 1e-3)
    assert np.ptp(energy) < 1e-6 * max(abs(e) for e in energy)
    assert abs(state.posture[j]) > 4.0


@pytest.mark.parametrize("name", ["crooked idle rod", "two legs"])
def test_free_motion_keeps_energy_and_loops(name):
    mechanism = LOOSE[name]()
    log = free_motion(ArmPlant(mechanism, friction=False, stops=False), mechanism.neutral, seconds=0.3, dt=5e-4)
    assert np.abs(log.energy - log.energy[0]).max() < 1e-7 * log.kinetic.max()
    assert np.abs(Closed(mechanism).residual(log.tree_q[-1])).max() < 1e-12


def test_brakes_hold_the_motors_and_not_what_is_loose():
    mechanism = five_bar(("left",))
    simulator = Simulator(ArmPlant(mechanism), mechanism.neutral)
    state = simulator.advance(200)
    np.testing.assert_allclose(state.q, mechanism.neutral, atol=1e-9)
    assert np.abs(state.posture - mechanism.posture).max() > 0.05


def test_weights_and_preload_of_more_motors_than_freedoms():
    legs = two_legs()
    x, xd = moving(legs, 0)
    q, qd = x[legs.actuated], xd[legs.actuated]
    qdd = tree_forward_dynamics(legs, x, xd, np.zeros(12))[legs.actuated]
    least = rne.inverse_dynamics(legs, q, qd, qdd)
    assert np.abs(least).max() < 1e-8  # none is needed
    still = np.zeros(12)
    plain = rne.inverse_dynamics(legs, q, still, still)
    heavy = {name: 100.0 for name in legs.joint_names if name.startswith("left")}
    weighted = rne.inverse_dynamics(replace(legs, effort_weights=heavy), q, still, still)
    tense = {"left3": 5.0, "right3": 5.0}
    strained = rne.inverse_dynamics(replace(legs, preload=tense), q, still, still)
    for tau in (plain, weighted, strained):  # all hold it
        found = rne.forward_dynamics(legs, q, still, tau)
        assert np.abs(found).max() < 1e-9 * np.abs(rne.forward_dynamics(legs, q, still, still)).max()
    w, p = replace(legs, effort_weights=heavy).weights, replace(legs, preload=tense).preloads
    assert np.linalg.norm(plain) < min(np.linalg.norm(weighted), np.linalg.norm(strained))
    assert w @ weighted**2 < w @ plain**2
    assert np.linalg.norm(strained - p) < np.linalg.norm(plain - p)
    np.testing.assert_allclose(rne.gravity_torque(replace(legs, preload=tense), q), strained, atol=1e-9)


@pytest.mark.parametrize(("change", "said"), [
    ({"effort_weights": {"left0": 0.0}}, "effort_weights of joint 'left0' is 0; it must be above 0"),
    ({"preload": {"left0": np.nan}}, "preload of joint 'left0' is nan; it must be finite"),
    ({"preload": {"lefty": 1.0}}, "no joint named 'lefty'"),
])  # fmt: skip
def test_weights_and_preload_are_checked(change, said):
    with pytest.raises(ModelError, match=said):
        replace(two_legs(), **change)


@pytest.mark.parametrize("name", ["two motors of one", "idle rod"])
def test_computed_torque_drives_them(name):
    mechanism = LOOSE[name]()
    law = ComputedTorque(mechanism, Gains.critically_damped(mechanism.n, 25.0))
    x, _ = moving(mechanism, 1)
    goal, state = x[mechanism.actuated], checked_state(mechanism, mechanism.neutral)
    plant = ArmPlant(mechanism, friction=False, stops=False, limit_effort=False)
    rest = np.zeros(mechanism.n)
    for _ in range(200):
        effort = law.law(state.q, state.qd, Reference(goal, rest, rest), posture=state.posture).total
        state = step(plant, state, effort, 2e-3)
    np.testing.assert_allclose(state.q, goal, atol=2e-3)


def test_measured_positions_that_contradict_each_other_are_followed():
    legs = two_legs()
    follower = Follower(legs)
    idle = Follower(rod_between_balls())
    idle.follow(idle.mechanism.neutral, np.ones(1))
    assert 0.1 < idle.smallest < 1.0
    noise = 1e-4 * np.random.default_rng(0).normal(size=12)
    follower.follow(legs.neutral + noise, np.zeros(12))
    assert np.abs(Closed(legs).residual(follower.posture)).max() < 1e-12
    assert np.abs(follower.posture - legs.neutral).max() < 4e-4
    with pytest.raises(AssemblyError):
        follower.follow(legs.neutral + 0.3 * np.eye(12)[11], np.zeros(12))


def test_motors_of_a_structure_without_freedom_hold_it():
    legs = two_legs()
    hip = legs.loops[0]
    end = (rne.forward_kinematics(legs.robot, legs.posture)["right5"] @ [0.0, 0.1, 0.1, 1.0])[:3]
    pinned = replace(hip, name="ground", a=replace(hip.a, link="base", position=end))
    stiff = replace(legs, loops=(hip, pinned))
    assert generic_rank(stiff).total == 12
    assert independent_joints(stiff) == ()
    tau = rne.inverse_dynamics(stiff, stiff.neutral, np.zeros(12), np.zeros(12))
    np.testing.assert_allclose(tau, 0.0, atol=1e-9)  # the ground holds everything
    np.testing.assert_allclose(rne.forward_dynamics(stiff, stiff.neutral, np.zeros(12), np.ones(12)), 0.0, atol=1e-9)
    assert mobility(stiff).freedoms == 0


def test_mobility_counts_idle_freedoms():
    machine = stewart_platform()
    ranks = generic_rank(machine)
    assert (machine.robot.n - ranks.total, ranks.loose, ranks.idle) == (12, 6, 6)
    found = mobility(rod_between_balls())
    assert (found.idle, found.missing_actuators, found.singular) == (1, 0, False)
    crooked = mobility(rod_between_balls(axisymmetric=False))
    assert (crooked.idle, crooked.missing_actuators) == (0, 1)
    assert mobility(five_bar(("left",))).idle == 0
