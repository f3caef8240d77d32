"""The parameter `law` of the controller node: a module of one's own, found by its name, and a law of the package."""

from __future__ import annotations

import numpy as np
import pytest
from support.own_law import write_law

import rne_dynamics as rne

from .peer import AT_ONCE

ROBOT = rne.load_urdf("planar2")
JOINTS = list(ROBOT.joint_names)
AT = np.array([0.3, -0.4])
NODE = "computed_torque_controller"


def test_a_law_brings_its_own_tolerances_and_parameters_which_are_checked_and_live(in_lockstep, tmp_path):
    write_law(tmp_path)
    with (tmp_path / "springs.py").open("a") as module:
        module.write("Springs.tolerances = rne.LawTolerances(goal=0.02)\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
        process, peer = in_lockstep(
            NODE, JOINTS, robot_description="planar2", law="springs", springs={"joint1": {"stiffness": 300.0}},
            prepared_laws=["pd_gravity"], pd_gravity={"joint1": {"p": 50.0, "d": 5.0}}, gains={"joint1": {"p": 900.0}},
            constraints={"joint2": {"goal": 0.005}}, limits={joint: {"holding_error": 0.0} for joint in JOINTS},
            **AT_ONCE,
        )
    peer.answer(AT)
    np.testing.assert_allclose(peer.stream(AT, 0.2)[-1], rne.gravity_torque(ROBOT, AT), atol=1e-6)
    assert [peer.get_double(NODE, f"constraints.{joint}.goal") for joint in JOINTS] == [0.02, 0.005]
    away = AT + np.array([0.001, 0.0])

    def feedback() -> np.ndarray:
        return peer.stream(away, 1.0)[-1] - rne.gravity_torque(ROBOT, away)

    np.testing.assert_allclose(feedback(), [-0.3, 0.0], atol=1e-6)
    assert peer.set_parameters(NODE, springs__joint1__stiffness=100.0).successful
    np.testing.assert_allclose(feedback(), [-0.1, 0.0], atol=1e-6)
    assert "springs.joint2.damping" in peer.set_parameters(NODE, springs__joint2__damping=-1.0).reason
    assert peer.set_parameters(NODE, law="pd_gravity").successful
    np.testing.assert_allclose(feedback()[0], -0.05, atol=1e-6)
    assert "gains of PdGravity are stable from" in peer.set_parameters(NODE, pd_gravity__joint1__d=5000.0).reason
    assert process.output().count("settings without effect: gains.*: the law is springs") == 1
