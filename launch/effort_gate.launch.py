"""The effort gate before a driver: ros2 launch rne_dynamics effort_gate.launch.py hardware:=franka.

Start the controller by a launch of its own, with gate:=running, so that its end does not end the gate.
"""

from launch import LaunchDescription
from rne_dynamics.ros.launch_actions import described


def generate_launch_description() -> LaunchDescription:
    """The nodes that `rne_dynamics.ros.launch_plan` lists for this file."""
    return described(__file__)
