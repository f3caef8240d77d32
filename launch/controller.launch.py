"""Computed torque on hardware: ros2 launch rne_dynamics controller.launch.py hardware:=franka.

The description comes from the latched topic robot_description, where drivers publish it, unless urdf:= or model:= is
given. With hardware:= the effort gate is started too, and topics and parameters are those of the driver.
"""

from launch import LaunchDescription
from rne_dynamics.ros.launch_actions import described


def generate_launch_description() -> LaunchDescription:
    """The nodes that `rne_dynamics.ros.launch_plan` lists for this file."""
    return described(__file__)
