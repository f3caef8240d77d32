"""Computed torque on hardware: ros2 launch rne_dynamics controller.launch.py urdf:=ARM.urdf config:=ARM.yaml.

A mechanism with closed loops comes from its model file: model:=MECHANISM.yaml in place of urdf.
"""

from launch.actions import OpaqueFunction

from launch import LaunchDescription
from rne_dynamics.ros.launching import actions, arguments


def generate_launch_description() -> LaunchDescription:
    """The controller; it waits for joint_states and answers on effort_controller/commands."""
    nodes = ["computed_torque_controller"]
    return LaunchDescription([*arguments(), OpaqueFunction(function=actions, args=[nodes])])
