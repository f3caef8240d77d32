"""A law of one's own in the controller node: one module, found by its name; its parameters are checked and live."""

from __future__ import annotations

import numpy as np
import pytest
from support.own_law import write_law

import rne_dynamics as rne

from .peer import AT_ONCE, START

ROBOT = rne.load_urdf("planar2")
JOINTS = list(ROBOT.joint_names)
AT = np.array([0.3, -0.4])
NODE = "computed_torque_controller"


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("laws")
    write_law(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=":")
        yield folder


def test_the_node_answers_with_the_law_and_its_parameters_are_live(own, in_lockstep):
    _, peer = in_lockstep(
        NODE, JOINTS, robot_description="planar2", law="springs", springs={"joint1": {"stiffness": 300.0}}, **AT_ONCE,
        limits={joint: {"holding_error": 0.0} for joint in JOINTS},
    )
    peer.answer(AT)
    effort = peer.stream(AT, 0.2)[-1]
    np.testing.assert_allclose(effort, rne.gravity_torque(ROBOT, AT), atol=1e-6)
    away = AT + np.array([0.001, 0.0])
    gravity = rne.gravity_torque(ROBOT, away)
    np.testing.assert_allclose(peer.stream(away, 0.3)[-1] - gravity, [-0.3, 0.0], atol=1e-6)
    assert peer.set_parameters(NODE, springs__joint1__stiffness=100.0).successful
    np.testing.assert_allclose(peer.stream(away, 0.3)[-1] - gravity, [-0.1, 0.0], atol=1e-6)
    refused = peer.set_parameters(NODE, springs__joint2__damping=-1.0)
    assert not refused.successful
    assert "springs.joint2.damping" in refused.reason


def test_an_unknown_law_is_refused_at_the_start(start):
    process = start(NODE, robot_description="planar2", law="spring")
    assert process.wait(START) != 0
    assert "no law named 'spring'" in process.output()
