"""Faults of the content of joint states: values, names, senders."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from faults.falsify import Change, every, moved, silence, value
from faults.fault import Faults
from faults.rig import Rig
from faults.robots import ROBOTS
from sensor_msgs.msg import JointState

from rne_dynamics.ros.messages.topic_wait import OFFERED

FAULTS = Faults("joint states")
fault = FAULTS.fault

#: Duration of a fault that should have no effect, s.
WHILE = 0.4
#: Number of joint states that a busy computer may delay so much that they are refused.
FEW = 20
#: Way of a slow joint, rad, and its time, s; and the time in which a stop brakes it, s.
SLOW_WAY, SLOW_TIME, BRAKED = 0.1, 1.5, 0.3
IGNORED = "those states are refused and counted; the arm is held with the others"
LOST = "refused; the stream counts as lost: stopped by dead reckoning, released, fault"


def ignored(name: str, injected: str, change: Change, problem: str, nth: int = 4) -> None:
    """Add a fault: each `nth` joint state is changed, and refused for the reason `problem`."""

    def inject(rig: Rig) -> None:
        rig.driver.falsify = every(change, nth)
        rig.run(WHILE)
        rig.undisturbed()
        rig.refused(problem)

    FAULTS.add(name, injected, IGNORED, inject)


def lost(name: str, injected: str, change: Change, problem: str) -> None:
    """Add a fault: every joint state is changed from now on, and refused for the reason `problem`."""

    def inject(rig: Rig) -> None:
        rig.driver.falsify = every(change)
        rig.await_release()
        rig.refused(problem)

    FAULTS.add(name, injected, LOST, inject)


def _one_joint(message: JointState) -> None:
    message.name, message.position = message.name[:1], message.position[:1]
    message.velocity, message.effort = message.velocity[:1], message.effort[:1]


def _rename(message: JointState) -> None:
    message.name = [message.name[0], "elbow"]


def _double(message: JointState) -> None:
    message.name = [*message.name, message.name[0]]
    message.position = [*message.position, message.position[0] + 0.5]
    message.velocity = [*message.velocity, 0.0]


def _one_position(message: JointState) -> None:
    message.position = message.position[:1]


def _swap(message: JointState) -> None:
    message.position = message.position[::-1]


def _freeze(joint: str, place: float) -> Change:
    """A position that does not change, and no velocity."""
    def change(message: JointState) -> None:
        j = message.name.index(joint)
        message.position[j], message.velocity[j] = place, 0.0

    return change


def _to_degrees(message: JointState) -> None:
    message.position = [math.degrees(x) for x in message.position]


ignored("nan-position", "Every fourth joint state has a NaN position", value("position", 1, math.nan), "not finite")
ignored("infinite-velocity", "Every fourth joint state has an infinite velocity",
        value("velocity", 0, math.inf), "not finite")


@fault("none: control does not need them")
def nan_reported_effort(rig: Rig) -> None:
    """The reported efforts are NaN."""
    rig.driver.falsify = every(value("effort", 0, math.nan))
    rig.run(WHILE)
    rig.undisturbed()
lost("nan-for-ever", "From now on every position is NaN", value("position", 0, math.nan), "not finite")


@fault("the motion goes on and reaches its goal")
def nan_in_motion(rig: Rig) -> None:
    """Every tenth state has a NaN while the arm moves."""
    goal = rig.move()
    rig.driver.falsify = every(value("position", 0, math.nan), nth=10)
    rig.arrive(goal)
    rig.refused("not finite")


@fault("braked by dead reckoning, released, fault")
def nan_for_ever_in_motion(rig: Rig) -> None:
    """Every position becomes NaN while the arm moves."""
    rig.move()
    rig.driver.falsify = every(value("position", 0, math.nan))
    rig.await_release()
ignored("joint-missing", "Every fourth joint state lacks a joint", _one_joint, "joint missing")
lost("joint-renamed", "A joint has another name from now on", _rename, "joint missing")
ignored("joint-named-twice", "Every fourth joint state names a joint twice, with two positions", _double, "named twice")


@fault("none: joints are read by name")
def strange_joints_and_order(rig: Rig) -> None:
    """Joint states with further joints, whose values are not finite, in a changing order."""
    def mix(message: JointState) -> None:
        message.name = ["wheel", *message.name[::-1], "finger"]
        message.position = [math.nan, *message.position[::-1], math.inf]
        message.velocity = [math.nan, *message.velocity[::-1], math.nan]
        message.effort = [math.nan, *message.effort[::-1], math.nan]

    rig.driver.falsify = every(mix, nth=2)
    goal = rig.move()
    rig.arrive(goal)
    rig.check(rig.count("refused joint states", 0) < FEW, "states were refused")


@fault("velocities are estimated; the motion reaches its goal")
def velocity_missing(rig: Rig) -> None:
    """No velocities from now on, in motion."""
    def strip(message: JointState) -> None:
        message.velocity = []

    rig.driver.falsify = every(strip)
    rig.run(0.1)
    goal = rig.move()
    rig.arrive(goal)
ignored("uneven-lists", "Every fourth joint state has fewer positions than names", _one_position, "uneven lists")


@fault("they contain no known joint; the stream counts as lost: stopped by dead reckoning, released, fault")
def empty_messages(rig: Rig) -> None:
    """Joint states become empty."""
    rig.driver.falsify = lambda message: (JointState(header=message.header),)
    rig.await_release()


@fault("messages without joints of the arm are ignored")
def gripper_on_the_topic(rig: Rig) -> None:
    """A gripper publishes on the same topic."""
    gripper = rig.node.create_publisher(JointState, "joint_states", OFFERED)

    def also(message: JointState) -> Iterable[JointState]:
        finger = JointState(header=message.header, name=["finger"], position=[math.nan], velocity=[0.0])
        rig.driver.publish(gripper, finger)
        return (message,)

    try:
        rig.wait(gripper.get_subscription_count, "a listener of joint_states")
        rig.driver.falsify = also
        rig.run(WHILE)
        rig.undisturbed()
        rig.check(rig.count("refused joint states", 0) < FEW, "states were refused")
    finally:
        rig.node.destroy_publisher(gripper)


@fault("its states are refused, since the first one came alone before; the arm is held")
def second_publisher(rig: Rig) -> None:
    """A second node publishes other positions of the same joints."""
    rig.run(1.2)
    second = rig.node.create_publisher(JointState, "joint_states", OFFERED)

    def also(message: JointState) -> Iterable[JointState]:
        rig.driver.publish(second, rig.driver.report(rig.driver.q + 0.3))
        return (message,)

    try:
        rig.wait(second.get_subscription_count, "a listener of joint_states")
        rig.driver.falsify = also
        rig.run(WHILE)
        rig.check("fault" not in rig.passed, "the arm was released")
        rig.held()
        rig.refused("two senders")
    finally:
        rig.driver.falsify = silence
        rig.node.destroy_publisher(second)
ignored("position-spike", "A joint's position is 1 rad off in one state of fifty",
        moved(1, 1.0), "position jump", nth=50)
lost("position-jump", "A joint's position jumps by 1 rad and stays there", moved(0, 1.0), "position jump")


@fault("none: positions are unwrapped")
def encoder_wrap(rig: Rig) -> None:
    """A continuous joint's encoder wraps by a turn and back."""
    rig.driver.falsify = every(moved(0, -2.0 * math.pi), nth=2)
    goal = rig.move()
    rig.arrive(goal)


@fault("stopped at once: that joint is braked by dead reckoning and stays below 1.2 times its velocity limit; fault",
       arms=ROBOTS)
def slow_joint_freezes(rig: Rig) -> None:
    """The position of a joint freezes in slow motion, its velocity becomes zero; each joint in turn."""
    limit = np.array(rig.robot.velocity_limit)
    for j, name in enumerate(rig.robot.joint_names):
        rig.rest()
        rig.driver.restart()
        rig.mark()
        rig.activate()
        to = np.array(rig.arm.home)
        to[j] += math.copysign(SLOW_WAY, rig.arm.far[j])
        rig.check(rig.send(rig.trajectory(to, SLOW_TIME)), "the slow motion is refused")
        rig.reach("tracking")
        rig.run(0.5 * SLOW_TIME)
        place, first = float(rig.driver.q[j]), len(rig.driver.speeds)
        rig.driver.falsify = every(_freeze(name, place))
        rig.until(lambda: rig.controller.state not in ("tracking", "holding"), f"the stop of frozen {name!r}")
        rig.run(BRAKED)
        fastest = float((np.abs(np.array(rig.driver.speeds[first:])) / limit).max())
        rig.check(fastest < 1.2, f"joint {name!r} froze, and a joint came to {fastest:.2f} times its velocity limit")
        rig.reach("fault", seconds=5.0)
        rig.silent()


lost("joints-exchanged", "The positions of two joints are exchanged from now on", _swap, "position jump")
lost("degrees", "Positions are in degrees from now on", _to_degrees, "position jump")
ignored("absurd-velocity", "Every fourth state reports 1e6 rad/s", value("velocity", 1, 1e6), "too fast")
ignored("absurd-position", "Every fourth state reports a position of 1e300 rad",
        value("position", 1, 1e300), "out of range")
