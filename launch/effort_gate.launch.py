"""The effort gate before a driver: ros2 launch rne_dynamics effort_gate.launch.py urdf:=ARM.urdf config:=ARM.yaml.

efforts:=TOPIC is the driver's topic. Start the controller by another launch, with efforts:=effort_gate/commands, so
that its end does not end the gate.
"""

from launch.actions import OpaqueFunction

from launch import LaunchDescription
from rne_dynamics.ros.launching import actions, arguments


def generate_launch_description() -> LaunchDescription:
    """The gate; it waits for joint_states and for efforts on effort_gate/commands."""
    nodes = ["effort_gate"]
    return LaunchDescription([*arguments(), OpaqueFunction(function=actions, args=[nodes])])
