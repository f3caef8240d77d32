"""The law of the controller node changes while it drives the arm: by parameter and by service."""

from __future__ import annotations

import numpy as np
import pytest
from std_srvs.srv import Trigger

import rne_dynamics as rne

from .peer import AT_ONCE

ROBOT = rne.load_urdf("planar2")
JOINTS = list(ROBOT.joint_names)
AT = np.array([0.3, -0.4])
AWAY = AT + np.array([0.02, 0.0])
NODE = "computed_torque_controller"


@pytest.fixture(scope="module")
def peer(in_lockstep):
    found = in_lockstep(
        NODE, JOINTS, robot_description="planar2", prepared_laws=["joint_impedance", "disturbance_observer"],
        joint_impedance={"joint1": {"stiffness": 30.0}, "joint2": {"stiffness": 10.0}}, **AT_ONCE,
    )[1]
    found.answer(AT)
    found.stream(AT, 0.2)
    return found


def feedback(peer):
    """What is sent besides gravity where the arm is away."""
    return peer.stream(AWAY, 1.0)[-1] - rne.gravity_torque(ROBOT, AWAY)


def call(peer, law):
    return peer.call(Trigger, f"{NODE}/{law}", Trigger.Request())


def test_services_and_the_parameter_change_the_law_and_tolerances_follow(peer):
    answer = call(peer, "joint_impedance")
    assert (answer.success, answer.message) == (True, "holding")
    np.testing.assert_allclose(feedback(peer), [-0.6, 0.0], atol=1e-6)
    far = AT + np.array([0.3, 0.0])  # computed torque would let its place follow
    peer.lead(AWAY, far)
    np.testing.assert_allclose(peer.stream(far, 1.0)[-1] - rne.gravity_torque(ROBOT, far), [-9.0, 0.0], atol=1e-6)
    peer.lead(far, AWAY)
    peer.stream(AWAY, 0.5)
    assert peer.set_parameters(NODE, joint_impedance__joint1__stiffness=60.0).successful
    at_once = peer.stream(AWAY, 0.01)[-1] - rne.gravity_torque(ROBOT, AWAY)
    assert -0.65 < at_once[0] < -0.6
    np.testing.assert_allclose(feedback(peer), [-1.2, 0.0], atol=1e-6)
    assert peer.set_parameters(NODE, law="computed_torque").successful
    stiff = rne.mass_matrix(ROBOT, AWAY) @ [-0.02 * 400.0, 0.0]
    np.testing.assert_allclose(feedback(peer), stiff, atol=1e-6)
    assert call(peer, "disturbance_observer").success
    observed = (400.0 + 8.0 * 40.0) / 400.0  # at rest nothing is integrated
    np.testing.assert_allclose(feedback(peer), observed * stiff, atol=1e-6)


def test_a_law_that_was_not_prepared_is_refused_with_what_to_do(peer):
    assert "prepared_laws" in peer.set_parameters(NODE, law="pd_gravity").reason
    assert "no law named 'springs'" in peer.set_parameters(NODE, law="springs").reason
    answer = call(peer, "cartesian_impedance")
    assert not answer.success
    assert "law 'cartesian_impedance' was not prepared" in answer.message
    fixed = peer.set_parameters(NODE, prepared_laws=["pd_gravity"])
    assert "stays" in fixed.reason
