"""The action ~/follow_joint_trajectory and ~/controller_state: real nodes, a real client, a simulated arm."""

from __future__ import annotations

import math
import signal
import time
from importlib.util import find_spec

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2's client library is not installed: pip install '.[ros]'")
if find_spec("control_msgs") is None:
    pytest.skip("control_msgs is not on PyPI; it comes with a ROS 2 installation", allow_module_level=True)

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointComponentTolerance, JointTolerance, JointTrajectoryControllerState
from hypothesis import given, settings
from hypothesis import strategies as st
from lifecycle_msgs.msg import Transition
from support.frozen import freeze, thaw
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.ros.messages.publishers import stamp_of
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.trajectory_message import duration_message
from rne_dynamics.ros.targets import FEEDBACK_PERIOD, read_goal

from .action_rig import ACTION, JOINTS, NODE, SECOND, Result, Rig, home
from .peer import PATIENCE


@pytest.fixture(scope="module")
def rig(start, make_peer):
    return Rig(start, make_peer(JOINTS))


@pytest.fixture(autouse=True)
def _home(request):
    if "rig" in request.fixturenames:
        rig = request.getfixturevalue("rig")
        if rig.controller in rig.processes:
            rig.go_home()


numbers = st.floats(width=64) | st.sampled_from([0.0, -1.0, 0.1])
tolerances = st.lists(st.builds(
    JointTolerance, name=st.sampled_from([*JOINTS, "elbow", ""]), position=numbers, velocity=numbers,
    acceleration=numbers | st.just(0.0),
), max_size=3)
durations = st.builds(Duration, sec=st.integers(-(2**31), 2**31 - 1), nanosec=st.integers(0, 2**32 - 1))


@settings(max_examples=300, derandomize=True)
@given(tolerances, tolerances, durations | st.just(Duration()))
def test_hostile_tolerances_are_refused_or_are_tolerances(path, goal, goal_time):
    message = FollowJointTrajectory.Goal(path_tolerance=path, goal_tolerance=goal, goal_time_tolerance=goal_time)
    message.trajectory.points = [JointTrajectoryPoint()]
    try:
        _, found = read_goal(message, Tolerances(tuple(JOINTS), path=0.1, goal=0.1, goal_time=0.5))
    except TrajectoryError:
        return
    for values in (found.path, found.path_velocity, found.goal, found.goal_velocity, found.goal_time):
        assert (np.asarray(values) > 0.0).all(), "above 0, or infinite for none"


def test_feedback_comes_while_the_goal_is_under_way(rig):
    begin = time.monotonic()
    goal = rig.goal(home(0.3, -0.4), 1.0)
    goal.result()
    most = (time.monotonic() - begin) / FEEDBACK_PERIOD + 1.0
    assert 1 < len(goal.feedback) <= most, "a busy computer is late with some"
    stamps = [stamp_of(f) for f in goal.feedback]
    assert (np.diff(stamps) > 0).all()
    for f in goal.feedback:
        assert f.joint_names == JOINTS
        for what in ("positions", "velocities"):
            desired, actual, error = (np.array(getattr(p, what)) for p in (f.desired, f.actual, f.error))
            np.testing.assert_allclose(error, desired - actual, atol=1e-15)
        assert np.abs(f.error.positions).max() < 0.01
        assert len(f.desired.accelerations) == 2
    assert np.ptp([f.actual.positions[0] for f in goal.feedback]) > 0.0
    rig.spin_for(0.3)
    assert stamp_of(goal.feedback[-1]) == stamps[-1], "none after the end"


def tolerance(joint: str = "joint1", **values: float) -> JointTolerance:
    return JointTolerance(name=joint, **values)


@pytest.mark.parametrize(("fields", "said"), [
    ({"names": ["joint1", "elbow"]}, "'elbow'"),
    ({"trajectory": JointTrajectory(joint_names=JOINTS)}, "no points"),
    ({"target": home(9.0, 0.0), "seconds": 0.2}, "'joint1'"),
    ({"target": [math.nan, 0.0]}, "nan"),
    ({"path_tolerance": [tolerance(position=-0.5)]}, "path_tolerance of joint 'joint1'"),
    ({"goal_tolerance": [tolerance(velocity=math.nan)]}, "nan"),
    ({"goal_tolerance": [tolerance("elbow", position=0.1)]}, "'elbow'"),
    ({"path_tolerance": [tolerance(), tolerance()]}, "twice"),
    ({"path_tolerance": [tolerance(acceleration=1.0)]}, "accelerations are not measured"),
    ({"goal_time_tolerance": duration_message(-0.5)}, "goal_time_tolerance"),
    ({"component_path_tolerance": [JointComponentTolerance()]}, "degrees of freedom"),
    ({"begin": 1}, "away from the joint states' time"),
])
def test_what_cannot_be_followed_is_rejected_with_its_reason_and_disturbs_nothing(rig, fields, said):
    running = rig.goal(home(0.2, 0.1), 0.6)
    assert said in rig.goal(**fields).rejected()
    assert running.result()[1] == Result.SUCCESSFUL


def test_the_path_tolerance_of_a_goal_goes_before_the_parameters(rig):
    tight = rig.goal(home(0.5, 0.0), 0.4, path_tolerance=[tolerance("joint1", position=1e-9)])
    code, text = tight.aborted()
    assert code == Result.PATH_TOLERANCE_VIOLATED
    assert "'joint1'" in text
    assert "allowed is 1e-09 (the request's path_tolerance)" in text


def test_the_newest_goal_has_the_arm(rig):
    first = rig.goal(home(0.5, 0.0), 2.0)
    rig.spin_until(rig.moving, "the motion")
    second = rig.goal(home(0.0, 0.3), 0.5)
    assert second.result()[1] == Result.SUCCESSFUL
    code, text = first.aborted()
    assert code == Result.INVALID_GOAL
    assert text.startswith("replaced")
    assert rig.at(home(0.0, 0.3))


def test_a_cancelled_goal_ends_when_the_arm_rests(rig):
    goal = rig.goal(home(1.0, 0.0), 1.5)
    rig.spin_until(lambda: abs(rig.state().velocity[0]) > 0.5, "the motion")
    assert goal.cancel() == 1
    assert not goal.over, "the arm still moves"
    status, _, text = goal.result()
    assert status == GoalStatus.STATUS_CANCELED
    assert text.startswith("cancelled")
    assert not rig.moving()
    assert not rig.at(home(1.0, 0.0), 0.1)
    assert goal.cancel() == 0, "it is over"


@pytest.mark.parametrize("service", ["cancel", "stop"])
def test_others_may_end_the_motion(rig, service):
    goal = rig.goal(home(0.5, 0.0), 1.5)
    rig.spin_until(rig.moving, "the motion")
    assert rig.call(service).success
    code, text = goal.aborted()
    assert code == Result.INVALID_GOAL
    assert f"~/{service} was called" in text
    if service == "stop":
        assert rig.goal().rejected()
        rig.go_home()


def test_deactivation_ends_the_goal_and_the_server_survives_a_clean_restart(rig):
    goal = rig.goal(home(0.5, 0.0), 2.0)
    rig.spin_until(rig.moving, "the motion")
    for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP):
        assert rig.peer.transition(NODE, transition)
    code, text = goal.aborted()
    assert code == Result.INVALID_GOAL
    assert "deactivated" in text
    assert "inactive" in rig.goal().rejected()
    for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        assert rig.peer.transition(NODE, transition)
    status = f"{rig.peer.caller.get_namespace()}/{ACTION}/_action/status"
    rig.spin_until(lambda: rig.peer.caller.count_publishers(status) == 1, "the end of the old server")
    rig.spin_until(rig.client.server_is_ready, "the action server")
    rig.go_home()


def test_the_state_of_the_controller_is_published(rig):
    recorder = TopicRecorder(rig.peer.node, JointTrajectoryControllerState, f"{NODE}/controller_state", 10_000)
    goal = rig.goal(home(0.4, 0.2), 0.6)
    goal.result()
    recorder.drain()
    messages = [recorder.decode(s) for s in recorder.samples]
    stamps = [stamp_of(m) for m in messages]
    assert np.diff(stamps).min() >= 5 * SECOND // 500, "every fifth state at most"
    for m in messages:
        assert m.joint_names == JOINTS
        assert m.speed_scaling_factor == 1.0
        np.testing.assert_allclose(
            np.array(m.error.positions), np.array(m.reference.positions) - m.feedback.positions, atol=1e-15
        )
        assert np.abs(m.error.positions).max() < 0.01
        assert len(m.output.effort) == 2
        assert len(m.reference.accelerations) == 2
    assert np.ptp([m.reference.positions[0] for m in messages]) > 0.3


def test_a_signal_to_the_process_still_answers_the_client(rig):
    """The controller is gone afterwards."""
    goal = rig.goal(home(0.5, 0.0), 2.0)
    rig.spin_until(rig.moving, "the motion")
    rig.controller.signal(signal.SIGINT)
    rig.processes.remove(rig.controller)
    code, text = goal.aborted()
    assert code == Result.INVALID_GOAL
    assert "deactivated" in text
    assert rig.controller.wait(PATIENCE) == 0


def test_lost_joint_states_end_the_goal(rig):
    """With the controller in real time: in simulated time none are lost where the simulator stops."""
    rig.start_controller(use_sim_time=False)
    rig.go_home()
    goal = rig.goal(home(0.5, 0.0), 4.0)
    rig.spin_until(rig.moving, "the motion")
    freeze(rig.simulator)
    try:
        code, text = goal.aborted()
    finally:
        thaw(rig.simulator)
    assert code == Result.INVALID_GOAL
    assert text.startswith("stopped")
    assert "joint state" in text
