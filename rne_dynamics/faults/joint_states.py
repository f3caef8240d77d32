"""Faults of the content of joint states: values, names, senders."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sensor_msgs.msg import JointState

from rne_dynamics.faults.falsify import every, moved, silence, value
from rne_dynamics.faults.fault import Faults
from rne_dynamics.faults.rig import Rig
from rne_dynamics.ros.qos import OFFERED

FAULTS = Faults("joint states")
fault = FAULTS.fault

#: Duration of a fault that should have no effect, s.
WHILE = 0.4
#: Number of joint states that a busy computer may delay so much that they are refused.
FEW = 20
IGNORED = "those states are refused and counted; the arm is held with the others"
LOST = "refused; the stream counts as lost: stopped by dead reckoning, released, fault"


@fault(IGNORED)
def nan_position(rig: Rig) -> None:
    """Every fourth joint state has a NaN position."""
    rig.driver.falsify = every(value("position", 1, math.nan), nth=4)
    rig.run(WHILE)
    rig.undisturbed()
    rig.refused("not finite")


@fault(IGNORED)
def infinite_velocity(rig: Rig) -> None:
    """Every fourth joint state has an infinite velocity."""
    rig.driver.falsify = every(value("velocity", 0, math.inf), nth=4)
    rig.run(WHILE)
    rig.undisturbed()
    rig.refused("not finite")


@fault("none: control does not need them")
def nan_reported_effort(rig: Rig) -> None:
    """The reported efforts are NaN."""
    rig.driver.falsify = every(value("effort", 0, math.nan))
    rig.run(WHILE)
    rig.undisturbed()


@fault(LOST)
def nan_for_ever(rig: Rig) -> None:
    """From now on every position is NaN."""
    rig.driver.falsify = every(value("position", 0, math.nan))
    rig.await_release()
    rig.refused("not finite")


@fault("the motion goes on and reaches its goal")
def nan_in_motion(rig: Rig) -> None:
    """Every tenth state has a NaN while the arm moves."""
    goal = rig.move()
    rig.driver.falsify = every(value("position", 0, math.nan), nth=10)
    rig.arrive(goal)
    rig.refused("not finite")


@fault("braked along the path by dead reckoning, released, fault")
def nan_for_ever_in_motion(rig: Rig) -> None:
    """Every position becomes NaN while the arm moves."""
    rig.move()
    rig.driver.falsify = every(value("position", 0, math.nan))
    rig.await_release()


@fault(IGNORED)
def joint_missing(rig: Rig) -> None:
    """Every fourth joint state lacks a joint."""
    def shorten(message: JointState) -> None:
        message.name, message.position = message.name[:1], message.position[:1]
        message.velocity, message.effort = message.velocity[:1], message.effort[:1]

    rig.driver.falsify = every(shorten, nth=4)
    rig.run(WHILE)
    rig.undisturbed()
    rig.refused("joint missing")


@fault(LOST)
def joint_renamed(rig: Rig) -> None:
    """A joint has another name from now on."""
    def rename(message: JointState) -> None:
        message.name = [message.name[0], "elbow"]

    rig.driver.falsify = every(rename)
    rig.await_release()
    rig.refused("joint missing")


@fault(IGNORED)
def joint_named_twice(rig: Rig) -> None:
    """Every fourth joint state names a joint twice, with two positions."""
    def double(message: JointState) -> None:
        message.name = [*message.name, message.name[0]]
        message.position = [*message.position, message.position[0] + 0.5]
        message.velocity = [*message.velocity, 0.0]

    rig.driver.falsify = every(double, nth=4)
    rig.run(WHILE)
    rig.undisturbed()
    rig.refused("named twice")


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


@fault(IGNORED)
def uneven_lists(rig: Rig) -> None:
    """Every fourth joint state has fewer positions than names."""
    def shorten(message: JointState) -> None:
        message.position = message.position[:1]

    rig.driver.falsify = every(shorten, nth=4)
    rig.run(WHILE)
    rig.undisturbed()
    rig.refused("uneven lists")


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


@fault(IGNORED)
def position_spike(rig: Rig) -> None:
    """A joint's position is 1 rad off in one state of fifty."""
    rig.driver.falsify = every(moved(1, 1.0), nth=50)
    rig.run(WHILE)
    rig.undisturbed()
    rig.refused("position jump")


@fault(LOST)
def position_jump(rig: Rig) -> None:
    """A joint's position jumps by 1 rad and stays there."""
    rig.driver.falsify = every(moved(0, 1.0))
    rig.await_release()
    rig.refused("position jump")


@fault("none: positions are unwrapped")
def encoder_wrap(rig: Rig) -> None:
    """A continuous joint's encoder wraps by a turn and back."""
    rig.driver.falsify = every(moved(0, -2.0 * math.pi), nth=2)
    goal = rig.move()
    rig.arrive(goal)


@fault(LOST)
def joints_exchanged(rig: Rig) -> None:
    """The positions of two joints are exchanged from now on."""
    def swap(message: JointState) -> None:
        message.position = message.position[::-1]

    rig.driver.falsify = every(swap)
    rig.await_release()
    rig.refused("position jump")


@fault(LOST)
def degrees(rig: Rig) -> None:
    """Positions are in degrees from now on."""
    def convert(message: JointState) -> None:
        message.position = [math.degrees(x) for x in message.position]

    rig.driver.falsify = every(convert)
    rig.await_release()
    rig.refused("position jump")


@fault(IGNORED)
def absurd_velocity(rig: Rig) -> None:
    """Every fourth state reports 1e6 rad/s."""
    rig.driver.falsify = every(value("velocity", 1, 1e6), nth=4)
    rig.run(WHILE)
    rig.undisturbed()
    rig.refused("too fast")


@fault(IGNORED)
def absurd_position(rig: Rig) -> None:
    """Every fourth state reports a position of 1e300 rad."""
    rig.driver.falsify = every(value("position", 1, 1e300), nth=4)
    rig.run(WHILE)
    rig.undisturbed()
    rig.refused("out of range")
