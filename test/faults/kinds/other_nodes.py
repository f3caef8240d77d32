"""Faults of other nodes on the topic of the efforts: a second controller, and a driver that has unsubscribed."""

from __future__ import annotations

from faults.fault import Faults
from faults.rig import HELD, Rig
from std_msgs.msg import Float64MultiArray

from rne_dynamics.ros.messages.publishers import EFFORT_TOPIC
from rne_dynamics.ros.messages.topic_wait import OFFERED

FAULTS = Faults("other node")
fault = FAULTS.fault


@fault("the diagnostics warn and name the topic; the arm is held")
def second_controller(rig: Rig) -> None:
    """Another node publishes efforts on the same topic."""
    other = rig.node.create_publisher(Float64MultiArray, EFFORT_TOPIC, OFFERED)
    try:
        rig.run(0.2)
        rig.wait(lambda: _warns(rig, "2 nodes publish efforts on"), "a warning of it", 8.0)
        rig.undisturbed()
    finally:
        rig.node.destroy_publisher(other)
    rig.wait(lambda: not rig.controller.warns, "the end of the warning", 8.0)


@fault("the diagnostics warn and name the topic; when it subscribes again the arm is held without a jump")
def listener_gone(rig: Rig) -> None:
    """The driver unsubscribes from efforts; its brakes hold the arm until it subscribes again."""
    rig.driver.stop_listening()
    rig.run(0.5)
    rig.wait(lambda: _warns(rig, "no node subscribes to the efforts on"), "a warning of it", 8.0)
    rig.driver.start_listening()
    rig.run(0.5)
    rig.stays(0.3, HELD)


def _warns(rig: Rig, text: str) -> bool:
    """Whether the diagnostics warn with this text and the topic."""
    return rig.controller.warns and text in rig.controller.message and EFFORT_TOPIC in rig.controller.message
