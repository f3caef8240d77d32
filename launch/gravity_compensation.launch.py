"""Lead the arm by hand: ros2 launch rne_dynamics gravity_compensation.launch.py hardware:=franka.

The arguments are those of controller.launch.py.
"""

from launch import LaunchDescription
from rne_dynamics.ros.launch_actions import described


def generate_launch_description() -> LaunchDescription:
    """The nodes that `rne_dynamics.ros.launch_plan` lists for this file."""
    return described(__file__)
