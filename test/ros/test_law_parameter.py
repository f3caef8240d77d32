"""The parameter `law` of the controller node: a law of the package, with its parameters and its tolerances."""

from __future__ import annotations

import numpy as np

import rne_dynamics as rne

from .peer import AT_ONCE

ROBOT = rne.load_urdf("planar2")
JOINTS = list(ROBOT.joint_names)
AT = np.array([0.3, -0.4])
NODE = "computed_torque_controller"


def test_a_law_of_the_package_brings_its_own_tolerances(in_lockstep):
    process, peer = in_lockstep(
        NODE, JOINTS, robot_description="planar2", law="pd_gravity", pd_gravity={"joint1": {"p": 50.0, "d": 5.0}},
        gains={"joint1": {"p": 900.0}}, constraints={"joint2": {"goal": 0.005}},
        limits={joint: {"holding_error": 0.0} for joint in JOINTS}, **AT_ONCE,
    )
    peer.answer(AT)
    np.testing.assert_allclose(peer.stream(AT, 0.2)[-1], rne.gravity_torque(ROBOT, AT), atol=1e-6)
    away = AT + np.array([0.001, 0.0])
    np.testing.assert_allclose(peer.stream(away, 0.3)[-1][0] - rne.gravity_torque(ROBOT, away)[0], -0.05, atol=1e-6)
    assert [peer.get_double(NODE, f"constraints.{joint}.goal") for joint in JOINTS] == [0.02, 0.005]
    refused = peer.set_parameters(NODE, pd_gravity__joint1__d=5000.0)
    assert "gains of PdGravity are stable from" in refused.reason
    assert process.exit_code is None
    assert process.output().count("settings without effect: gains.*: the law is pd_gravity") == 1
