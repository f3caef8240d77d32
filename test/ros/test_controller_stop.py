"""How the controller ends: the arm is held, let down and released, whatever ends it."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState

import rne_dynamics as rne

from .conftest import SEES_AGAIN, START

ROBOT = rne.load_urdf("puma560")
Q = [0.1, 0.2, -0.3, 0.1, 0.2, 0.3]
HELD = rne.gravity_torque(ROBOT, np.array(Q))
NODE = "computed_torque_controller"
STOP = {"brake_time": 0.1, "hold_time": 0.2, "ramp_time": 0.6}
#: A state time-out that a busy machine's pauses do not reach, where a test is not about it, s.
PATIENT = 1.0


def stream(peer, seconds: float, q=Q, until=lambda: False) -> np.ndarray:
    """Publish states at 500 Hz for a time; the efforts that came."""
    efforts = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not until():
        peer.state(q)
        time.sleep(0.002)
        efforts += peer.efforts()
    return np.array(efforts)


def assert_soft_end(efforts: np.ndarray) -> None:
    """Gravity held, then faded without a jump, then zeros."""
    assert (efforts[-1] == 0.0).all()
    elbow = np.abs(efforts[:, 1])
    assert elbow[0] == pytest.approx(abs(HELD[1]), rel=1e-9)
    fading = elbow[elbow < 0.99 * elbow[0]]
    assert len(fading) > 20, "a ramp, not a drop"
    assert np.abs(np.diff(elbow)).max() < 0.2 * elbow[0]


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM]])
def test_signals_let_the_arm_down(start, make_peer, signals):
    process = start(NODE, robot_description="puma560", stop=STOP, state_timeout=PATIENT, **SEES_AGAIN)
    peer = make_peer(ROBOT.joint_names)
    peer.connect(process)
    np.testing.assert_allclose(peer.answer(Q), HELD, atol=1e-9)
    for number in signals:
        process.signal(number)
        time.sleep(0.01)
    efforts = stream(peer, 10.0, until=lambda: process.exit_code is not None)
    assert process.exit_code == 0, process.output()
    efforts = np.concatenate([efforts, np.array(peer.efforts()).reshape(-1, 6)])
    assert_soft_end(efforts)
    assert "released" in process.output()
    assert "Traceback" not in process.output()


def test_a_signal_while_states_are_missing_still_ends_it(start, make_peer):
    process = start(NODE, robot_description="puma560", stop=STOP, state_timeout=0.1, **SEES_AGAIN)
    peer = make_peer(ROBOT.joint_names)
    peer.connect(process)
    peer.answer(Q)
    process.signal(signal.SIGTERM)
    assert process.wait(10.0) == 0
    efforts = np.array(peer.efforts())
    assert (np.abs(efforts) <= np.abs(HELD) + 1e-9).all()
    assert (efforts[-1] == 0.0).all()


def test_it_does_not_react_before_the_first_state_nor_need_one_to_stop(start, make_peer):
    process = start(NODE, robot_description="puma560", stop=STOP)
    peer = make_peer(ROBOT.joint_names)
    peer.connect(process)
    peer.efforts()
    time.sleep(0.4)
    assert peer.efforts() == []
    process.signal(signal.SIGINT)
    assert process.wait(10.0) == 0
    assert all(e == [0.0] * 6 for e in peer.efforts())


def test_deactivate_activate_and_a_clean_restart_elsewhere(start, make_peer):
    process = start(NODE, robot_description="puma560", stop=STOP, state_timeout=PATIENT, **SEES_AGAIN)
    peer = make_peer(ROBOT.joint_names)
    peer.connect(process)
    np.testing.assert_allclose(peer.answer(Q), HELD, atol=1e-9)

    client = peer.client(ChangeState, f"{NODE}/change_state")
    assert peer.lifecycle_state(NODE) == "active"
    peer.answer(Q)  # the question may have taken longer than the state time-out: the arm is to be held again
    peer.efforts()
    future = client.call_async(ChangeState.Request(transition=Transition(id=Transition.TRANSITION_DEACTIVATE)))
    efforts = stream(peer, 5.0, until=lambda: peer.executor.spin_once(0.0) or future.done())
    assert future.result().success
    assert_soft_end(np.concatenate([efforts, np.array(peer.efforts()).reshape(-1, 6)]))
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
    assert process.wait(10.0) == 0


def test_autostart_off_waits_for_the_transitions(start, make_peer):
    process = start(NODE, robot_description="puma560", autostart=False)
    peer = make_peer(ROBOT.joint_names)
    assert peer.lifecycle_state(NODE) == "unconfigured"
    assert peer.transition(NODE, Transition.TRANSITION_CONFIGURE)
    assert peer.lifecycle_state(NODE) == "inactive"
    peer.connect(process)
    peer.silence(Q)
    assert peer.transition(NODE, Transition.TRANSITION_ACTIVATE)
    np.testing.assert_allclose(peer.answer(Q), HELD, atol=1e-9)


@pytest.mark.parametrize(("parameters", "said"), [
    ({"robot_description": "puma561"}, "puma560"),
    ({"robot_description": "puma560", "joints": ["joint1", "elbow"]}, "elbow"),
    ({"robot_description": "puma560", "joints": ["joint1", "joint1"]}, "twice"),
    ({"robot_description": "puma560", "state_timeout": float("nan")}, "state_timeout"),
    ({"robot_description": "puma560", "state_timeout": -1.0}, "state_timeout"),
    ({"robot_description": "puma560", "gains": {"joint1": {"p": "high"}}}, "gains.joint1.p"),
    ({"robot_description": "scara", "hand_guiding": {"joint4": {"damping": 50}}}, "hand_guiding.joint4.damping is 50"),
    ({"robot_description": "scara", "gains": {"joint4": {"d": 900.0}}}, "gains are not stable at 250"),
    ({"robot_description": "puma560", "payload": {"mass": 2.0}}, "payload.link"),
    ({"robot_description": "puma560", "command_interfaces": ["position"]}, "effort"),
])
def test_a_start_that_cannot_be_right_is_refused_in_one_line(start, parameters, said):
    process = start(NODE, **parameters)
    assert process.wait(START) == 1
    assert said in process.output()
    assert "Traceback" not in process.output()


def test_a_robot_without_effort_limits_is_refused(start, tmp_path):
    urdf = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
    process = start(NODE, robot_description=urdf)
    assert process.wait(START) == 1
    assert "limits.j.effort" in process.output()
