"""Move the arm once: ros2 launch rne_dynamics move.launch.py hardware:=franka to:="fr3_joint7=0.1".

The goal is in rad or m. The launch ends when the arm has arrived.
"""

from launch import LaunchDescription
from rne_dynamics.ros.launching.actions import described


def generate_launch_description() -> LaunchDescription:
    """The nodes that `rne_dynamics.ros.launching.plan` lists for this file."""
    return described(__file__)
