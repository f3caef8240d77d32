"""The Cartesian law in the controller node: lists as parameters, a link that stays, live limits."""

from __future__ import annotations

import numpy as np
from std_srvs.srv import Trigger

import rne_dynamics as rne

from .peer import AT_ONCE

NODE = "computed_torque_controller"


def test_the_cartesian_law_drives_the_arm_with_numbers_of_its_tool(in_lockstep):
    robot = rne.load_urdf("puma560")
    joints, at = list(robot.joint_names), np.array([0.2, 0.6, -0.9, 0.3, 0.7, 0.2])
    _, arm = in_lockstep(
        NODE, joints, robot_description="puma560", law="cartesian_impedance", prepared_laws=["computed_torque"],
        cartesian_impedance={"link": "tool0", "stiffness": [500.0, 500.0, 500.0, 30.0, 30.0, 30.0]}, **AT_ONCE,
    )
    arm.answer(at)
    arm.stream(at, 0.2)
    away = at + np.array([0.02, 0.0, 0.01, 0.0, 0.0, 0.0])
    law = rne.CartesianImpedance(robot, "tool0", stiffness=(500.0,) * 3 + (30.0,) * 3)
    still = np.zeros(6)
    expected = law.law(away, still, rne.Reference(at, still, still)).total
    arm.lead(at, away, 0.002)
    got = arm.stream(away, 1.0)[-1]
    np.testing.assert_allclose(got, expected, atol=1e-6)
    assert "stays tool0" in arm.set_parameters(NODE, cartesian_impedance__link="link3").reason
    assert arm.set_parameters(NODE, cartesian_impedance__force_limit=5.0).successful
    limited = rne.CartesianImpedance(robot, "tool0", stiffness=(500.0,) * 3 + (30.0,) * 3, force_limit=5.0)
    expected = limited.law(away, still, rne.Reference(at, still, still)).total
    got = arm.stream(away, 1.0)[-1]
    np.testing.assert_allclose(got, expected, atol=1e-6)
    assert arm.call(Trigger, f"{NODE}/computed_torque", Trigger.Request()).success
    assert "force_limit" in arm.set_parameters(NODE, cartesian_impedance__force_limit=-5.0).reason
