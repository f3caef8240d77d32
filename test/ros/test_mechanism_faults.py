"""What a mechanism's nodes refuse, and what they do where its loops cannot close."""

from __future__ import annotations

import math
import signal

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assembled
from rne_dynamics.description.share import share_file
from rne_dynamics.errors import ModelError, ParameterError
from rne_dynamics.ros.node.robot import load_robot
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import AT_ONCE, START

FIVE_BAR = rne.load_model("five_bar")
JOINTS = list(FIVE_BAR.joint_names)
HOME = FIVE_BAR.neutral.tolist()


@pytest.mark.parametrize(("model", "description", "joints", "error", "said"), [
    ("pantograph", "puma560", (), ParameterError, "give one of them"),
    ("", "pantograph", (), ParameterError, "parameter model"),
    ("pantograph", "", ("joint1", "jointA"), ModelError, "actuated joint"),
    ("pantograph", "", ("joint1", "joint1"), ParameterError, "twice"),
    ("no_such_model.yaml", "", (), rne.RneDynamicsError, "no_such_model"),
])
def test_what_the_parameters_cannot_mean_is_refused(model, description, joints, error, said):
    with pytest.raises(error, match=said):
        load_robot(model, description, joints, ())


def test_joints_left_out_are_locked_where_the_posture_has_them():
    found = load_robot("pantograph", "", ("joint2", "joint3"), ())
    robot = found.robot
    assert found.locked == {"joint1": 0.0}
    assert robot.joint_names == ("joint2", "joint3")
    whole = assembled(rne.load_model("pantograph"))
    q = np.array([-1.0, 0.2])
    np.testing.assert_allclose(rne.gravity_torque(robot, q), rne.gravity_torque(whole, [0.0, *q])[1:], rtol=1e-9)


def test_a_model_file_without_loops_and_a_urdf_are_open_arms(tmp_path):
    file = tmp_path / "arm.yaml"
    file.write_text("urdf: scara\npayload: {link: tool0, mass: 1.0}\n")
    assert load_robot(str(file), "", (), ()).robot.n == 4
    by_model, by_description = (load_robot(*names, (), ()).robot for names in (("scara", ""), ("", "scara")))
    assert by_model.joint_names == by_description.joint_names


#: The same linkage with forearms that do not reach each other when both cranks point outwards; as text, for once.
SHORT = share_file("urdf/five_bar.yaml").read_text().replace("five_bar.urdf\n", "five_bar\n").replace("[0.3,", "[0.25,")


@pytest.mark.parametrize(("node", "model", "said"), [
    ("computed_torque_controller", SHORT, "cannot close"),
])
def test_positions_where_the_loops_cannot_close_let_the_arm_down(in_lockstep, node, model, said):
    machine = assembled(rne.load_model(model))
    process, peer = in_lockstep(
        node, JOINTS, connect=False, model=model, stop={"brake_time": 0.1, "hold_time": 0.1, "ramp_time": 0.2},
        **AT_ONCE,
    )
    wait_until(lambda: "ready: " in process.output(), START, "the node", [process])
    peer.connect(process)
    np.testing.assert_allclose(peer.answer(HOME), rne.gravity_torque(machine, HOME), atol=1e-9)
    efforts = peer.lead(HOME, [math.pi, 0.0], 0.04)
    peer.await_release(node)
    assert said in process.output()
    efforts = np.array(efforts + peer.efforts())
    assert np.isfinite(efforts).all()
    assert (np.abs(efforts) <= machine.effort_limit).all()
    assert (efforts[-1] == 0.0).all()
    peer.silence(HOME)
    peer.recover(node)
    np.testing.assert_allclose(peer.answer(HOME), rne.gravity_torque(machine, HOME), atol=1e-9)
    process.signal(signal.SIGINT)
    assert peer.end(process) == 0
