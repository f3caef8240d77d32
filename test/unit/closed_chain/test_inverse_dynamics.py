from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.differences import rate
from support.errors import relative_error
from support.mechanisms import MECHANISMS, crank_and_rocker_in_space, five_bar, four_bar, ladder, states

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.coordinates import motion_map
from rne_dynamics.closed_chain.inverse_dynamics import (
    closed_bias_torque,
    closed_forward_dynamics,
    closed_gravity_torque,
    closed_inverse,
    closed_inverse_dynamics,
    closed_kinetic_energy,
    closed_mass_matrix,
)
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics
from rne_dynamics.errors import ArgumentError, ModelError, SingularInertiaError, SingularPostureError
from rne_dynamics.model.mechanism import LoopKind


@pytest.mark.parametrize("name", MECHANISMS)
def test_cut_forces_free_the_passive_joints_and_virtual_work_agrees(name):
    mechanism = MECHANISMS[name]()
    q, qd, qdd = states(mechanism, 8)
    answer = closed_inverse(mechanism, q, qd, qdd)
    size = np.abs(answer.torque).max()
    assert np.abs(answer.passive_torque).max() < 1e-12 * size
    T = motion_map(mechanism, answer.q).T
    open_tau = inverse_dynamics(mechanism.robot, answer.q, answer.qd, answer.qdd)
    assert relative_error(answer.torque, np.einsum("bij,bi->bj", T, open_tau)) < 1e-11
    np.testing.assert_array_equal(answer.torque, closed_inverse_dynamics(mechanism, q, qd, qdd))


@pytest.mark.parametrize("name", MECHANISMS)
def test_power_is_the_rate_of_energy(name):
    mechanism = MECHANISMS[name]()
    (q,), (qd,), (qdd,) = states(mechanism, 1, seed=3)

    def energy(t: float) -> float:
        at, fast = q + t * qd + 0.5 * t * t * qdd, qd + t * qdd
        return closed_kinetic_energy(mechanism, at, fast) + rne.potential_energy(mechanism, at)

    power = closed_inverse_dynamics(mechanism, q, qd, qdd) @ qd
    assert relative_error(power, rate(energy), scale=float(np.abs(power))) < 1e-9


def test_gravity_and_bias_are_inverse_dynamics():
    mechanism = ladder(2)
    q, qd, qdd = states(mechanism, 3)
    rest = np.zeros(2)
    assert (
        relative_error(closed_gravity_torque(mechanism, q), closed_inverse_dynamics(mechanism, q, rest, rest)) < 1e-12
    )
    bias = closed_bias_torque(mechanism, q, qd)
    assert relative_error(bias, closed_inverse_dynamics(mechanism, q, qd, rest)) < 1e-12
    M = closed_mass_matrix(mechanism, q)
    assert relative_error(closed_mass_matrix(mechanism, q, method="columns"), M) < 1e-10
    whole = np.einsum("bij,bj->bi", M, qdd) + bias
    assert relative_error(whole, closed_inverse_dynamics(mechanism, q, qd, qdd)) < 1e-12


def test_cut_elsewhere_the_reactions_are_the_same():
    """With nothing redundant the reactions are unique: the crank's own bearing carries the same wherever it is cut."""
    q, qd, qdd = states(four_bar(), 5)
    plane = [four_bar(cut, LoopKind.PLANAR_PIN) for cut in ("coupler", "rocker", "crank")]
    reactions = [closed_inverse(m, q, qd, qdd).reactions["crank"] for m in plane]
    for other in reactions[1:]:
        assert relative_error(other[:, [0, 1, 5]], reactions[0][:, [0, 1, 5]]) < 1e-12


def test_force_at_the_cut_is_what_a_joint_there_would_carry():
    """The rocker's bearing as a joint of the tree, and as the cut: the same force, by action and reaction."""
    q, qd, qdd = states(four_bar(), 4)
    tree = closed_inverse(four_bar("coupler", LoopKind.PLANAR_PIN), q, qd, qdd).reactions["rocker"]
    cut = closed_inverse(four_bar("rocker", LoopKind.PLANAR_PIN), q, qd, qdd)
    angle = cut.q.sum(axis=1) + np.pi  # of the rocker against the ground
    force = cut.cut_force("knee")
    c, s = np.cos(angle), np.sin(angle)
    turned = np.stack([c * force[:, 0] + s * force[:, 1], -s * force[:, 0] + c * force[:, 1]], axis=1)
    assert relative_error(turned, tree[:, :2]) < 1e-12
    with pytest.raises(ModelError, match="no loop named 'nee'; did you mean 'knee'"):
        cut.cut_force("nee")


def test_reactions_leave_passive_bearings_without_moment_and_hold_the_weight():
    mechanism = MECHANISMS["delta"]()
    answer = closed_inverse(mechanism, mechanism.neutral, np.zeros(3), np.zeros(3))
    for name in mechanism.passive_names:
        assert np.abs(answer.reactions.actuated(name)).max() < 1e-13
    np.testing.assert_allclose(answer.reactions.base[:3], [0.0, 0.0, 9.81 * mechanism.mass], atol=1e-12)
    shoulder = answer.reactions.actuated("shoulder1")
    assert np.linalg.norm(shoulder) == pytest.approx(abs(answer.torque[1]), rel=1e-12)


@pytest.mark.parametrize("name", ["four_bar", "delta", "space_linkage"])
def test_wrenches_do_their_virtual_work(name):
    mechanism = MECHANISMS[name]()
    q, qd, qdd = states(mechanism, 3)
    link = mechanism.robot.link_names[-1]
    push = np.array([3.0, -2.0, 5.0, 0.3, 0.7, -0.4])
    loaded = closed_inverse(mechanism, q, qd, qdd, wrenches={link: push})
    J = rne.jacobian(mechanism.robot, loaded.q, link)  # in world axes
    poses = rne.forward_kinematics(mechanism.robot, loaded.q)
    R = poses.rotation[:, mechanism.robot.link_names.index(link)]
    world = np.concatenate([np.einsum("bij,j->bi", R, push[3 * k : 3 * k + 3]) for k in range(2)], axis=1)
    T = motion_map(mechanism, loaded.q).T
    work = np.einsum("bij,bki,bk->bj", T, J, world)
    free = closed_inverse_dynamics(mechanism, q, qd, qdd)
    assert relative_error(free - loaded.torque, work) < 1e-10
    # the reactions include the load: the base holds less by it
    rest = closed_inverse(mechanism, q, qd, qdd).reactions.base - loaded.reactions.base
    assert relative_error(rest[:, :3], world[:, :3]) < 1e-11


def test_a_payload_is_carried_by_the_link_of_the_tree():
    mechanism, load = ladder(2), rne.Payload("top1", 2.0, com=(0.1, 0.05, 0.02))
    laden = mechanism.with_payload(load)
    np.testing.assert_array_equal(laden.robot.parameters, rne.with_payload(mechanism.robot, load).parameters)
    q = states(mechanism, 2)[0]
    np.testing.assert_array_equal(assemble(laden, q), assemble(mechanism, q))


def test_over_actuated_efforts_are_the_least_that_give_the_motion():
    one = four_bar("coupler")
    two = replace(one, joint_names=("crank", "rocker"))
    q, qd, qdd = states(one, 4)
    single = closed_inverse(one, q, qd, qdd)
    columns = [0, 2]
    motion = single.q[:, columns], single.qd[:, columns], single.qdd[:, columns]
    both = closed_inverse(two, *motion)
    assert np.abs(both.passive_torque).max() < 1e-12
    # the same power, and along the only motion there is
    direction = motion_map(one, single.q).T[:, columns, 0]
    assert relative_error(np.einsum("bi,bi->b", both.torque, direction), single.torque[:, 0]) < 1e-11
    across = both.torque[:, 0] * direction[:, 1] - both.torque[:, 1] * direction[:, 0]
    assert np.abs(across).max() < 1e-11
    back = closed_forward_dynamics(two, motion[0], motion[1], both.torque, method="constraint_forces")
    assert relative_error(back, motion[2]) < 1e-10
    with pytest.raises(
        ArgumentError, match=r"qd is no motion of mechanism 'four_bar': its 2 actuated joints .* 1 free"
    ):
        closed_inverse(two, motion[0], motion[1] + [0.0, 0.1], motion[2])
    with pytest.raises(ArgumentError, match="qdd is no motion"):
        closed_inverse(two, motion[0], motion[1], motion[2] + [0.0, 0.1])
    with pytest.raises(ModelError, match="more actuated joints"):
        closed_mass_matrix(two, motion[0])


def test_under_actuated_is_refused():
    with pytest.raises(SingularPostureError, match="do not hold the passive ones"):
        closed_inverse_dynamics(five_bar(("left",)), [1.9], [0.0], [0.0])


@pytest.mark.parametrize(("call", "said"), [
    (lambda m: closed_forward_dynamics(m, [0.8], [0.0], [0.0], method="nasser"),
     "method is 'nasser'; it must be one of 'walker_orin', 'constraint_forces'"),
    (lambda m: closed_mass_matrix(m, [0.8], method="rows"), "method is 'rows'; it must be 'composite' or 'columns'"),
    (lambda m: closed_forward_dynamics(m, np.zeros((2, 1)), np.zeros((3, 1)), [0.0]),
     r"leading dimensions do not broadcast: q \(2, 1\), qd \(3, 1\)"),
])  # fmt: skip
def test_what_cannot_be_asked_is_refused(call, said):
    with pytest.raises(ArgumentError, match=said):
        call(four_bar())


def test_a_mechanism_without_inertia_is_refused():
    weightless = crank_and_rocker_in_space()
    tree = weightless.robot.tree
    bare = replace(tree, links=tuple(replace(link, inertia=None) for link in tree.links),
                   joints=tuple(replace(joint, rotor_inertia=0.0) for joint in tree.joints))  # fmt: skip
    with pytest.raises(SingularInertiaError, match="joint 'crank'"):
        closed_forward_dynamics(replace(weightless, robot=rne.assemble(bare)), [0.4], [0.0], [0.0])
