"""Controller and simulator together: trajectories, the move command, parameters at run time."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rne_dynamics as rne
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.ros.messages.publishers import stamp_of
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.messages.trajectory_message import duration_message
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import AT_ONCE, FOLLOWING, IN_STEP, PATIENCE, START

ROBOT = rne.load_urdf("scara")
JOINTS = list(ROBOT.joint_names)
NODE = "computed_torque_controller"
#: Without friction an error dies away as (1 + ω t) exp(−ω t), ω = 50 /s, so that it falls below any tolerance. (With
#: it, a joint sticks wherever |e| < |M⁻¹| f / p: up to 0.9, 2.2, 1.1 and 4.8e-3 on the four joints of this arm.)
ARRIVED = 1e-6


class Rig:
    """Simulator and controller under test."""

    def __init__(self, start, peer) -> None:
        self.peer = peer
        # neither is given the description of the other: the controller reads the topic
        self.simulator = start("simulator", robot_description="scara", rate=250.0, joints=JOINTS, friction=False,
                               **IN_STEP)
        self.controller = start(
            NODE, gains={j: {"p": 2500, "d": 100.0} for j in JOINTS}, stop={"brake_time": 0.1}, friction_compensation=0,
            **FOLLOWING, **AT_ONCE,
        )
        self.processes = [self.simulator, self.controller]
        self.states = TopicRecorder(peer.node, JointState, "joint_states")
        self.trajectories = peer.node.create_publisher(JointTrajectory, f"{NODE}/joint_trajectory", OFFERED)
        peer.commands.drain()
        wait_until(lambda: self.trajectories.get_subscription_count() and peer.efforts(), START, "efforts",
                   self.processes)
        self.said = 0

    def now(self) -> JointState:
        self.states.drain()
        self.states.samples.clear()
        wait_until(lambda: self.states.latest() is not None, PATIENCE, "a joint state", self.processes)
        return self.states.latest()

    def q(self) -> np.ndarray:
        return np.array(self.now().position)

    def send(self, points, names=None, begin: int = 0) -> None:
        """Each point: time, positions, and perhaps velocities, accelerations, effort."""
        message = JointTrajectory(joint_names=names or JOINTS)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(begin, 1_000_000_000)
        for t, *columns in points:
            point = JointTrajectoryPoint(time_from_start=duration_message(t))
            for label, values in zip(("positions", "velocities", "accelerations", "effort"), columns, strict=False):
                setattr(point, label, [float(v) for v in values])
            message.points.append(point)
        self.trajectories.publish(message)

    def move(self, goal, seconds: float = 0.5) -> None:
        zero = [0.0] * 4
        self.send([(seconds, goal, zero, zero)])
        self.arrive(goal)

    def arrive(self, goal) -> None:
        wait_until(lambda: self.rests_at(goal), PATIENCE, f"arrival at {goal}", self.processes)

    def rests_at(self, goal) -> bool:
        """Whether it is there, and not only passing."""
        state = self.now()
        return max(np.abs(state.position - goal).max(), np.abs(state.velocity).max()) < ARRIVED

    def refusal(self) -> str:
        """What the controller has said about the last trajectory."""
        lines = [line for line in self.controller.output().splitlines() if "trajectory refused" in line]
        return lines[-1] if len(lines) > self.said else ""


@pytest.fixture(scope="module")
def rig(start, make_peer):
    return Rig(start, make_peer(JOINTS))


HOME = np.array([0.0, 0.0, 0.05, 0.0])


@pytest.fixture(autouse=True)
def _home(rig):
    if not rig.rests_at(HOME):
        rig.move(HOME)
    rig.said = rig.controller.output().count("trajectory refused")


def test_it_follows_a_quintic_at_the_stamps_of_the_states(rig):
    goal = np.array([0.4, -0.3, 0.12, 0.5])
    q0 = rig.q()
    begin = stamp_of(rig.now()) + 1_000_000_000
    zero = [0.0] * 4
    rig.states.samples.clear()
    rig.send([(0.0, q0, zero, zero), (0.8, goal, zero, zero)], begin=begin)
    wait_until(lambda: rig.states.latest() and stamp_of(rig.states.latest()) > begin + 1_000_000_000, PATIENCE,
               "the end", rig.processes)
    reference = Quintic(q0, goal, 0.8)
    messages = [rig.states.decode(s) for s in rig.states.samples]
    error = np.array([
        np.array(m.position) - reference.sample((stamp_of(m) - begin) * 1e-9).q for m in messages
        if begin <= stamp_of(m)
    ])
    # An effort held for the period h answers h/2 late on average: at most jerk h / (2 p) = 4.7e-5 for the quintic's
    # 60 Δq / T³ (3.2e-5 was measured). Three times that allows for every reply coming a period late.
    assert np.sqrt(np.mean(error**2, axis=0)).max() < 1.5e-4, "one joint moves prismatically"
    rig.arrive(goal)


def test_joints_in_another_order_and_points_with_positions_only(rig):
    order = [2, 0, 3, 1]
    goal = np.array([0.2, 0.1, 0.1, -0.2])
    rig.send([(0.5, goal[order])], names=[JOINTS[k] for k in order])
    rig.arrive(goal)


def test_of_some_joints_the_others_hold(rig):
    rig.states.samples.clear()
    rig.send([(0.5, [0.2, 0.1])], names=[JOINTS[3], JOINTS[0]])
    rig.arrive(np.array([0.1, HOME[1], HOME[2], 0.2]))
    way = np.array([rig.states.decode(sample).position for sample in rig.states.samples])
    assert np.abs(way - HOME)[:, [1, 2]].max() < 1e-3, "on the way too, however late replies are"


def test_several_points_with_velocities(rig):
    rig.send([(0.3, [0.1, 0.1, 0.06, 0.1], [0.3, 0.3, 0.02, 0.3]), (0.6, [0.2, 0.2, 0.07, 0.2], [0.0] * 4)])
    rig.arrive(np.array([0.2, 0.2, 0.07, 0.2]))


GOAL = [0.2, 0.2, 0.1, 0.2]


@pytest.mark.parametrize(("points", "names", "begin", "said"), [
    ([(1.0, GOAL)], ["joint1", "joint2", "joint3", "wrist"], 0, "unknown joints: 'wrist'"),
    ([(1.0, GOAL)], ["joint1", "joint2", "joint3", "joint3"], 0, "'joint3' more than once"),
    ([(1.0, [0.2, float("nan"), 0.1, 0.2])], None, 0, "finite"),
    ([(1.0, GOAL), (1.0, GOAL)], None, 0, "increase"),
    ([(1.0, GOAL), (0.5, GOAL)], None, 0, "increase"),
    ([(1.0, [9.0, 0.0, 0.1, 0.0])], None, 0, "joint1"),
    ([(1.0, [0.0, 0.0, 0.5, 0.0])], None, 0, "joint3"),
    ([(0.15, [1.5, 0.0, 0.05, 0.0])], None, 0, "more time"),  # sooner it would be a setpoint
    ([(0.0, [1.0, 0.0, 0.05, 0.0]), (1.0, GOAL)], None, 0, "starts at"),
    ([(1.0, GOAL, [], [], [1.0] * 4)], None, 0, "efforts"),
    ([(1.0, GOAL, [0.1] * 3)], None, 0, "velocities"),
    ([(1.0, GOAL, [0.0] * 4), (2.0, GOAL)], None, 0, "velocities"),
    ([(1.0, GOAL)], None, 1_000_000_000, "joint states' time"),
])
def test_trajectories_are_refused_whole(rig, points, names, begin, said):
    before = rig.q()
    rig.send(points, names, begin)
    wait_until(rig.refusal, PATIENCE, "a refusal", rig.processes)
    assert said in rig.refusal()
    np.testing.assert_allclose(rig.q(), before, atol=2 * ARRIVED)  # it may still settle at home


def test_a_trajectory_that_is_over_is_refused(rig):
    rig.send([(0.5, GOAL)], begin=stamp_of(rig.now()) - 10_000_000_000)
    wait_until(rig.refusal, PATIENCE, "a refusal", rig.processes)
    assert "ended already" in rig.refusal()


def test_an_empty_trajectory_brings_the_arm_to_rest_on_the_way(rig):
    zero = [0.0] * 4
    rig.send([(2.0, [1.0, 0.0, 0.05, 0.0], zero, zero)])
    wait_until(lambda: rig.q()[0] > 0.15, PATIENCE, "the way", rig.processes)
    rig.send([])
    # slow enough that this is the tail of the error, not the moment in which it overshoots
    wait_until(lambda: np.abs(rig.now().velocity).max() < 1e-6, PATIENCE, "rest", rig.processes)
    stopped = rig.q()
    assert stopped[0] < 0.9
    time.sleep(0.3)
    np.testing.assert_allclose(rig.q(), stopped, atol=ARRIVED)


def test_a_trajectory_replaces_the_one_in_motion(rig):
    zero = [0.0] * 4
    rig.send([(3.0, [1.0, 0.0, 0.05, 0.0], zero, zero)])
    wait_until(lambda: rig.q()[0] > 0.1, PATIENCE, "the way", rig.processes)
    rig.states.samples.clear()
    rig.send([(0.8, [0.0, 0.3, 0.05, 0.0], zero, zero)])
    rig.arrive(np.array([0.0, 0.3, 0.05, 0.0]))
    way = np.array([rig.states.decode(sample).position for sample in rig.states.samples])
    assert way[:, 0].max() < 0.9, "the first goal was given up"


def test_the_move_command_takes_the_arm_there_and_says_so(rig, start):
    process = start("move", ["joint1=0.3", "joint3=0.1", "--duration", "0.6"])
    assert process.wait(START) == 0, process.output()
    assert "arrived" in process.output()
    rig.arrive(np.array([0.3, 0.0, 0.1, 0.0]))


@pytest.mark.parametrize(("arguments", "said"), [
    (["joint1=99"], "outside its limits"),
    pytest.param(["elbow=1"], "elbow", marks=pytest.mark.slow),
    pytest.param(["1", "2"], "4 joints", marks=pytest.mark.slow),
    pytest.param([], "0 values", marks=pytest.mark.slow),
    (["-0.5", "0", "0.1", "0", "--controller", "nobody", "--timeout", "0.5"], "does not listen"),
])
def test_the_move_command_that_cannot_be_done_fails_with_a_reason(rig, start, arguments, said):
    process = start("move", arguments)
    assert process.wait(START) == 1
    assert said in process.output()
    assert "Traceback" not in process.output()


def test_parameters_change_as_a_whole_or_not_at_all(rig):
    peer = rig.peer
    before = peer.get_double(NODE, "gains.joint1.p")
    for values, said in (
        ({"gains__joint1__p": 900.0, "gains__joint1__d": float("nan")}, "nan"),
        ({"gains__joint1__p": 900.0, "gains__joint1__d": -1.0}, "gains.joint1.d"),
        ({"gains__joint1__p": 900.0, "gains__joint1__i": "much"}, "number"),
        ({"gains__joint1__p": 900.0, "payload__mass": 1.0}, "payload.link"),
        ({"gains__joint1__p": 900.0, "payload__link": "no_link", "payload__mass": 1.0}, "no_link"),
        ({"gains__joint1__p": 900.0, "joints": "joint1"}, "read-only"),
    ):
        result = peer.set_parameters(NODE, **values)
        assert not result.successful
        assert said in result.reason
        assert peer.get_double(NODE, "gains.joint1.p") == before
    assert peer.set_parameters(NODE, gains__joint1__p=900, gains__joint1__d=60.0).successful, "integers will do"
    assert peer.get_double(NODE, "gains.joint1.p") == 900.0, "as doubles"
    assert peer.set_parameters(NODE, gains__joint1__p=2500.0, gains__joint1__d=100.0).successful


def test_a_payload_set_at_run_time_enters_the_gravity_term(rig):
    peer = rig.peer
    terms = TopicRecorder(peer.node, JointState, f"{NODE}/torque/gravity")

    def lift() -> float:
        terms.drain()
        terms.samples.clear()
        wait_until(lambda: terms.latest() is not None, PATIENCE, "the gravity term", rig.processes)
        return terms.latest().effort[2]

    before = lift()
    try:
        assert peer.set_parameters(NODE, payload__link="tool0", payload__mass=1.0).successful
        wait_until(  # it fades
            lambda: abs(lift() - before) == pytest.approx(9.81, rel=1e-9), PATIENCE, "the payload", rig.processes
        )
    finally:
        assert peer.set_parameters(NODE, payload__link="", payload__mass=0.0).successful
