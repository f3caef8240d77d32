"""Lead the arm by hand: ros2 launch rne_dynamics gravity_compensation.launch.py urdf:=/path/arm.urdf.

A mechanism with closed loops comes from its model file: model:=MECHANISM.yaml in place of urdf.
"""

from launch.actions import OpaqueFunction

from launch import LaunchDescription
from rne_dynamics.ros.launching import actions, arguments


def generate_launch_description() -> LaunchDescription:
    """Gravity compensation; it waits for joint_states and answers on effort_controller/commands."""
    nodes = ["gravity_compensation"]
    return LaunchDescription([*arguments(), OpaqueFunction(function=actions, args=[nodes])])
