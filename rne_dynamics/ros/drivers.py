"""The topics of known drivers, by the name of their file in config/hardware; docs/hardware.md has the sources."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Driver:
    """Topics of one driver, relative to the namespace of the nodes.

    Parameters
    ----------
    joint_states
        Where it publishes sensor_msgs/JointState at its full rate.
    efforts
        Where its effort controller takes std_msgs/Float64MultiArray.
    drives
        Where it reports whether its drives act, std_msgs/Bool; empty if it has no such topic.
    """

    joint_states: str = "joint_states"
    efforts: str = "effort_controller/commands"
    drives: str = ""


#: A driver without remappings, like our simulator.
PLAIN = Driver()
DRIVERS: dict[str, Driver] = {
    "franka": Driver(joint_states="franka/joint_states", efforts="forward_effort_controller/commands"),
    "kinova_gen3": PLAIN,
    "kuka_lbr": PLAIN,
    "ros2_control": PLAIN,
    "ur": Driver(
        efforts="forward_effort_controller/commands", drives="io_and_status_controller/robot_program_running"
    ),
}
