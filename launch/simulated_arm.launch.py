"""A simulated arm under computed torque: ros2 launch rne_dynamics simulated_arm.launch.py urdf:=puma560.

All nodes follow the simulator's time, which it publishes on /clock: while it is paused nothing times out. A mechanism
with closed loops comes from its model file: model:=pantograph in place of urdf.
"""

from launch.actions import OpaqueFunction

from launch import LaunchDescription
from rne_dynamics.ros.launching import actions, arguments

DEFAULT = "puma560"


def generate_launch_description() -> LaunchDescription:
    """Simulator and controller; robot_state_publisher and RViz where installed."""
    nodes = ["simulator", "computed_torque_controller"]
    return LaunchDescription([*arguments(DEFAULT), OpaqueFunction(function=actions, args=[nodes, DEFAULT, True])])
