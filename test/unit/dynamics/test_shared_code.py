"""Machine code that models with other payloads share computes what the general kernels do."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.dynamics.declared import specialised
from rne_dynamics.errors import ArgumentError

FUNCTIONS = {
    "inverse_dynamics": 3, "forward_dynamics": 3, "mass_matrix": 1, "bias_torque": 2, "gravity_torque": 1,
    "regressor": 3,
}  # fmt: skip
ROBOTS = {"arm": "scara", "long arm": "panda"}


def pair(kind):
    """A robot by general kernels, and by shared code."""
    robot = rne.load_urdf(ROBOTS[kind]).with_own_code(False)
    return robot, robot.with_shared_code()


def answers(robot, rows, **options):
    """Of all functions, for one state and for several."""
    rng = np.random.default_rng(2)
    q = rne.random_configuration(robot, rng, rows)
    more = rng.normal(size=(2, rows, robot.n))
    found = []
    for name, count in FUNCTIONS.items():
        states = (q, *more)[:count]
        given = options if name in ("inverse_dynamics", "forward_dynamics") else {}
        function = getattr(rne, name)
        found += [function(robot, *(x[0] for x in states), **given), function(robot, *states, **given)]
    return found


def agree(general, shared):
    for a, b in zip(general, shared, strict=True):
        np.testing.assert_allclose(b, a, rtol=0.0, atol=1e-12 * np.abs(a).max())


@pytest.mark.parametrize("kind", ["arm", pytest.param("long arm", marks=pytest.mark.slow)])
def test_payloads_share_the_code(kind):
    general, shared = pair(kind)
    agree(answers(general, 5), answers(shared, 5))
    made = len(specialised._shared)
    link = general.link_names[-1]
    for mass in (0.3, 2.0):
        payload = rne.Payload(link, mass, (0.1, 0.0, 0.05), 0.01 * mass * np.eye(3))
        other = pickle.loads(pickle.dumps(shared.with_payload(payload)))  # as a controller sends it to its loop
        agree(answers(general.with_payload(payload), 5), answers(other, 5))
    assert len(specialised._shared) == made
    assert made > 0


def test_links_that_do_not_move_have_no_velocity():
    for robot in pair("arm"):
        link = robot.link_names[0]
        for rows in ((), (1,), (5,)):
            q = np.full((*rows, robot.n), 0.3)
            for J in (rne.jacobian(robot, q, link), rne.jacobian_rate(robot, q, q, link)):
                np.testing.assert_array_equal(J, np.zeros((*rows, 6, robot.n)))


def with_tool_at(place):
    """An arm whose tool is fixed at a place of its hand."""
    tree = rne.load_urdf("puma560").tree
    tool = rne.TreeJoint("tool", rne.JointKind.FIXED, tree.links[-1].name, "tool", position=np.array(place))
    return rne.assemble(replace(tree, links=(*tree.links, rne.TreeLink("tool")), joints=(*tree.joints, tool)))


def test_each_tool_has_its_own_place():
    """Arms that differ by a fixed frame alone had the poses and Jacobians of the first one."""
    for way in (with_tool_at((0.0, 0.0, 0.0)), with_tool_at((0.0, 0.2, 0.3))):
        general, shared = way.with_own_code(False), way.with_shared_code()
        q, qd = np.random.default_rng(6).normal(size=(2, 3, way.n))
        for tool, other in (
            (rne.jacobian(general, q, "tool"), rne.jacobian(shared, q, "tool")),
            (rne.jacobian_rate(general, q, qd, "tool"), rne.jacobian_rate(shared, q, qd, "tool")),
            (rne.forward_kinematics(general, q)["tool"], rne.forward_kinematics(shared, q)["tool"]),
        ):
            np.testing.assert_allclose(other, tool, rtol=0.0, atol=1e-12)


def test_moving_bases_and_loads():
    general, shared = pair("arm")
    options = {
        "base_motion": rne.BaseMotion(angular_velocity=(0.3, -0.2, 0.5), linear_acceleration=(1.0, 2.0, -0.5)),
        "wrenches": {general.link_names[-1]: np.arange(6.0)},
    }
    payload = rne.Payload(general.link_names[-1], 1.0, (0.1, 0.0, 0.05), 0.01 * np.eye(3))
    answers(shared, 4, **options)
    made = len(specialised._shared)
    agree(answers(general.with_payload(payload), 4, **options), answers(shared.with_payload(payload), 4, **options))
    assert len(specialised._shared) == made


def test_what_is_not_one_state_of_finite_numbers_is_refused_as_ever():
    _, shared = pair("arm")
    for bad in (np.full(4, np.nan), np.zeros(5), "q"):
        with pytest.raises(ArgumentError):
            rne.mass_matrix(shared, bad)
    np.testing.assert_array_equal(rne.gravity_torque(shared, [0.0] * 4), rne.gravity_torque(shared, np.zeros(4)))


def test_another_gravity_is_not_taken_for_the_same():
    general, shared = pair("arm")
    moon = shared.with_gravity((0.0, 0.0, -1.62))
    assert not moon.shares_code
    agree(answers(general.with_gravity((0.0, 0.0, -1.62)), 3), answers(moon.with_shared_code(), 3))
    agree(answers(general, 3), answers(shared, 3))
