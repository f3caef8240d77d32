"""A simulated arm under computed torque: ros2 launch rne_dynamics simulated_arm.launch.py urdf:=puma560.

Simulated time waits for the controller, and all nodes follow it on /clock; lockstep:=false is real time. A mechanism
with closed loops comes from its model file: model:=pantograph in place of urdf. With hardware:= the simulator stands in
for that driver, with its topics, its parameters and the effort gate.
"""

from launch import LaunchDescription
from rne_dynamics.ros.launch_actions import described


def generate_launch_description() -> LaunchDescription:
    """The nodes that `rne_dynamics.ros.launch_plan` lists for this file."""
    return described(__file__)
