"""How the controller ends: the arm is held and released, whatever ends it."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState

import rne_dynamics as rne

from .peer import SEES_AGAIN, START

ROBOT = rne.load_urdf("puma560")
Q = [0.1, 0.2, -0.3, 0.1, 0.2, 0.3]
HELD = rne.gravity_torque(ROBOT, np.array(Q))
NODE = "computed_torque_controller"
STOP = {"brake_time": 0.1, "hold_time": 0.2, "ramp_time": 0.6}


def assert_soft_end(efforts: np.ndarray) -> None:
    """Gravity held, then faded without a jump, then zeros."""
    assert (efforts[-1] == 0.0).all()
    elbow = np.abs(efforts[:, 1])
    assert elbow[0] == pytest.approx(abs(HELD[1]), rel=1e-9)
    fading = elbow[elbow < 0.99 * elbow[0]]
    assert len(fading) > 20, "a ramp, not a drop"
    assert np.abs(np.diff(elbow)).max() < 0.2 * elbow[0]


@pytest.mark.slow
def test_it_does_not_react_before_the_first_state_nor_need_one_to_stop(in_lockstep):
    process, peer = in_lockstep(NODE, ROBOT.joint_names, robot_description="puma560", stop=STOP)
    peer.pass_time(1.0)
    assert peer.efforts() == []
    assert peer.lifecycle_state(NODE) == "active"  # its loop speaks earlier, and a signal would then end the start
    process.signal(signal.SIGINT)
    assert peer.end(process) == 0
    assert all(e == [0.0] * 6 for e in peer.efforts())


def test_deactivate_activate_and_a_clean_restart_elsewhere(in_lockstep):
    process, peer = in_lockstep(NODE, ROBOT.joint_names, robot_description="puma560", stop=STOP, **SEES_AGAIN)
    np.testing.assert_allclose(peer.answer(Q), HELD, atol=1e-9)

    client = peer.client(ChangeState, f"{NODE}/change_state")
    assert peer.lifecycle_state(NODE) == "active"
    future = client.call_async(ChangeState.Request(transition=Transition(id=Transition.TRANSITION_DEACTIVATE)))
    efforts = peer.stream(Q, 60.0, until=lambda: peer.executor.spin_once(0.0) or future.done())
    assert future.result().success
    assert_soft_end(np.array(efforts))
    assert peer.lifecycle_state(NODE) == "inactive"
    peer.silence(Q)

    assert peer.transition(NODE, Transition.TRANSITION_ACTIVATE)
    elsewhere = [0.0, -0.3, 0.2, 0.0, 0.5, 0.0]
    np.testing.assert_allclose(
        peer.answer(elsewhere), rne.gravity_torque(ROBOT, np.array(elsewhere)), atol=1e-9,
        err_msg="no pull to the old place",
    )
    assert peer.transition(NODE, Transition.TRANSITION_DEACTIVATE)
    assert peer.transition(NODE, Transition.TRANSITION_CLEANUP)
    assert peer.lifecycle_state(NODE) == "unconfigured"
    assert peer.transition(NODE, Transition.TRANSITION_CONFIGURE)
    assert peer.transition(NODE, Transition.TRANSITION_ACTIVATE)
    peer.connect(process)
    np.testing.assert_allclose(peer.answer(Q), HELD, atol=1e-9)
    assert peer.transition(NODE, Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert peer.end(process) == 0


def test_autostart_off_waits_for_the_transitions_and_a_signal_without_states_ends_it(in_lockstep):
    process, peer = in_lockstep(
        NODE, ROBOT.joint_names, connect=False, robot_description="puma560", stop=STOP, autostart=False, **SEES_AGAIN
    )
    assert peer.lifecycle_state(NODE) == "unconfigured"
    assert peer.transition(NODE, Transition.TRANSITION_CONFIGURE)
    assert peer.lifecycle_state(NODE) == "inactive"
    peer.connect(process)
    peer.silence(Q)
    assert peer.transition(NODE, Transition.TRANSITION_ACTIVATE)
    np.testing.assert_allclose(peer.answer(Q), HELD, atol=1e-9)
    process.signal(signal.SIGTERM)
    assert peer.end(process) == 0
    efforts = np.array(peer.efforts())
    assert (np.abs(efforts) <= np.abs(HELD) + 1e-9).all()
    assert (efforts[-1] == 0.0).all()
    assert "released" in process.output()
    assert "Traceback" not in process.output()


def test_a_start_that_cannot_be_right_is_refused_in_one_line(start):
    unlimited = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
    processes = {
        "puma560": start(NODE, robot_description="puma561"),
        "gains are not stable at 250": start(NODE, robot_description="scara", gains={"joint4": {"d": 900.0}}),
        "limits.j.effort": start(NODE, robot_description=unlimited),
    }
    for said, process in processes.items():
        assert process.wait(START) == 1
        assert said in process.output()
        assert "Traceback" not in process.output()
