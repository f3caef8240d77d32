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
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectoryPoint

from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.ros.messages.publishers import stamp_of
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.trajectory_message import duration_message
from rne_dynamics.ros.targets import FEEDBACK_PERIOD, read_goal

from .action_rig import ACTION, HOME, JOINTS, NODE, SECOND, Goal, Result, Rig, home
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


def test_a_goal_leads_the_arm_and_says_so(rig):
    target = home(0.3, -0.4)
    goal = rig.goal(target, 0.8)
    status, code, text = goal.result()
    assert (status, code) == (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL)
    assert "goal reached" in text
    assert rig.at(target)


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


def test_joints_of_several_degrees_of_freedom_are_refused(rig):
    message = FollowJointTrajectory.Goal(trajectory=rig.trajectory(HOME))
    message.multi_dof_trajectory.points = [MultiDOFJointTrajectoryPoint()]
    assert "degrees of freedom" in Goal(rig, message).rejected()


def test_a_start_in_the_past_joins_the_trajectory_or_is_too_old(rig):
    now = stamp_of(rig.state())
    assert "ended already" in rig.goal(HOME, 0.5, begin=now - 2 * SECOND).rejected()
    trajectory = rig.trajectory(home(0.2, 0.0), 0.5, begin=now - SECOND)
    late = rig.trajectory(home(0.3, 0.0), 1.8).points[0]
    trajectory.points.append(late)
    assert Goal(rig, FollowJointTrajectory.Goal(trajectory=trajectory)).result()[1] == Result.SUCCESSFUL
    assert rig.at(home(0.3, 0.0)), "the first point had passed, the second was to come"


def test_efforts_of_zero_and_a_first_point_a_little_away_are_taken(rig):
    trajectory = rig.trajectory(home(0.01, -0.01), 0.0)
    trajectory.points += [rig.trajectory(home(0.2, 0.1), 0.8).points[0]]
    for point in trajectory.points:
        point.effort = [0.0, 0.0]
    assert Goal(rig, FollowJointTrajectory.Goal(trajectory=trajectory)).result()[1] == Result.SUCCESSFUL


def test_a_velocity_at_the_end_is_taken_where_the_parameter_allows_it(rig):
    trajectory = rig.trajectory(home(0.2, 0.0), 0.6)
    trajectory.points[0].velocities = [0.2, 0.0]
    goal = FollowJointTrajectory.Goal(trajectory=trajectory)
    assert "allow_nonzero_velocity_at_trajectory_end" in Goal(rig, goal).rejected()
    assert rig.peer.set_parameters(NODE, allow_nonzero_velocity_at_trajectory_end=True).successful
    try:
        assert Goal(rig, goal).result()[1] == Result.SUCCESSFUL
        assert rig.at(home(0.2 + 0.5 * 0.3 * 0.2, 0.0)), "at rest behind the last point"
    finally:
        assert rig.peer.set_parameters(NODE, allow_nonzero_velocity_at_trajectory_end=False).successful


def test_joints_in_another_order_are_read_by_name(rig):
    assert rig.goal(home(0.1, -0.3)[::-1], names=JOINTS[::-1]).result()[1] == Result.SUCCESSFUL
    assert rig.at(home(0.1, -0.3))


def test_a_start_in_the_future_is_waited_for(rig):
    begin = stamp_of(rig.state()) + SECOND // 2
    goal = rig.goal(home(0.2, 0.0), 0.3, begin=begin)
    while stamp_of(rig.state()) < begin - SECOND // 20:
        assert rig.at(HOME)
        rig.spin()
    assert goal.result()[1] == Result.SUCCESSFUL
    assert stamp_of(rig.state()) > begin + 3 * SECOND // 10


def test_some_joints_may_be_left_out(rig):
    assert rig.goal([0.6], names=["joint2"]).result()[1] == Result.SUCCESSFUL
    assert rig.at([HOME[0], 0.6])


def test_the_path_tolerance_of_a_goal_goes_before_the_parameters(rig):
    tight = rig.goal(home(0.5, 0.0), 0.4, path_tolerance=[tolerance("joint1", position=1e-9)])
    code, text = tight.aborted()
    assert code == Result.PATH_TOLERANCE_VIOLATED
    assert "'joint1'" in text
    assert "allowed is 1e-09 (the request's path_tolerance)" in text


def test_zero_is_the_default_and_minus_one_is_off(rig):
    assert rig.peer.set_parameters(NODE, constraints__joint2__trajectory=1e-9).successful
    try:
        for given in ([], [tolerance("joint2")]):
            code, text = rig.goal(home(0.0, 0.5), 0.4, path_tolerance=given).aborted()
            assert code == Result.PATH_TOLERANCE_VIOLATED
            assert "(constraints.joint2.trajectory)" in text
        off = rig.goal(HOME, 0.4, path_tolerance=[tolerance("joint2", position=-1.0)])
        assert off.result()[1] == Result.SUCCESSFUL
    finally:
        assert rig.peer.set_parameters(NODE, constraints__joint2__trajectory=0.0).successful


def test_a_missed_goal_waits_for_its_time_and_names_the_joint(rig):
    begin = time.monotonic()
    goal = rig.goal(home(0.0, 0.5), 0.3, goal_tolerance=[tolerance("joint2", position=1e-15)],
                    goal_time_tolerance=duration_message(0.4))
    code, text = goal.aborted()
    assert code == Result.GOAL_TOLERANCE_VIOLATED
    assert "'joint2'" in text
    assert "1e-15 (the request's goal_tolerance), 0.4 s after the end (the request's goal_time_tolerance)" in text
    assert time.monotonic() - begin > 0.3 + 0.4
    assert rig.at(home(0.0, 0.5)), "the arm is held there"


def test_the_newest_goal_has_the_arm(rig):
    first = rig.goal(home(0.5, 0.0), 2.0)
    rig.spin_until(rig.moving, "the motion")
    second = rig.goal(home(0.0, 0.3), 0.5)
    assert second.result()[1] == Result.SUCCESSFUL
    code, text = first.aborted()
    assert code == Result.INVALID_GOAL
    assert text.startswith("replaced")
    assert rig.at(home(0.0, 0.3))


def test_a_trajectory_on_the_topic_has_the_arm_too(rig):
    goal = rig.goal(home(0.5, 0.0), 2.0)
    rig.spin_until(rig.moving, "the motion")
    rig.trajectories.publish(rig.trajectory(HOME, 0.5))
    code, text = goal.aborted()
    assert code == Result.INVALID_GOAL
    assert text.startswith("replaced")
    rig.spin_until(lambda: rig.at(HOME), "the end of what came on the topic")


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


def test_a_goal_that_waits_for_its_start_can_be_cancelled(rig):
    goal = rig.goal(home(0.5, 0.0), begin=stamp_of(rig.state()) + 5 * SECOND)
    assert goal.cancel() == 1
    assert goal.result()[0] == GoalStatus.STATUS_CANCELED
    assert rig.at(HOME)


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
