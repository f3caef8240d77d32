"""The parameters of the simulator."""

from __future__ import annotations

from typing import get_args

from rne_dynamics.ros.messages.effort_message import FLOATS, NAMED
from rne_dynamics.ros.parameters.schema import Parameter
from rne_dynamics.ros.topic_based import COMMANDS, DRIVE_FREQUENCY, JOINT_STATE, STATES
from rne_dynamics.simulation.runs.simulator import TimeoutReaction

SCHEMA: tuple[Parameter, ...] = (
    Parameter("rate", 1000.0, "Joint states per second.", "Hz", 1.0, 10000.0, read_only=True),
    Parameter("substeps", 1, "Integration steps between two joint states.", "", 1, 1000, read_only=True),
    Parameter("method", "auto", "Integrator; auto: gauss for flexible links, else rk4.",
              choices=("auto", "rk4", "gauss", "semi_implicit"), read_only=True),
    Parameter("friction", True, "Simulate joint friction.", read_only=True),
    Parameter("stops", True, "Simulate position stops.", read_only=True),
    Parameter("limit_effort", True, "Saturate efforts at the description's limits.", read_only=True),
    Parameter("command_timeout", 0.2, "Age at which a command no longer drives the arm; 0 for never.", "s", 0.0, 60.0,
              read_only=True),
    Parameter("on_command_timeout", "zero_effort", "Reaction to that: no effort (zero_effort), or brakes hold the "
              "joints until the next command (brake).", choices=get_args(TimeoutReaction), read_only=True),
    Parameter("lockstep", False, "Wait with each step until all controllers and gates in simulated time (see "
              "publish_clock) have processed the last joint state and its effort has come, so that a pause of any "
              "process slows the simulation down and changes nothing else. With controllers in real time: wait for an "
              "effort, from the first one on.", read_only=True),
    Parameter("lockstep_timeout", 10.0, "Longest wait for an answer; then the simulation goes on without waiting until "
              "that sender is received again.", "s", 0.01, 3600.0, read_only=True),
    Parameter("deflections_divisor", 10, "Of an arm with flexible links: joint states between two messages on "
              "~/deflections; 0 publishes none.", "", 0, 1_000_000, read_only=True),
    Parameter("base_motion.file", "", "File with the motion of the base, .csv with the columns time, x, y, z, qx, qy, "
              "qz, qw or .npz with time, position, quaternion; what a sensor on it measures is published on "
              "base_imu. Empty for a base at rest.", read_only=True),
    Parameter("base_motion.smoothing", 0.0, "Frequency above which motion in that file counts as noise; 0 for none.",
              "Hz", 0.0, 1000.0, read_only=True),
    Parameter("base_motion.topic", "", "Instead of a file, a topic of sensor_msgs/Imu, measured at the root link, by "
              "which the base moves. Empty for none.", read_only=True),
    Parameter("publish_clock", False, "Publish /clock.", read_only=True),
    Parameter("command_message", FLOATS, "Type of the commands. Efforts on effort_controller/commands: in the order of "
              f"joints ({FLOATS}) or by name, with a stamp ({NAMED}). {JOINT_STATE}: positions, velocities or efforts "
              f"by name on {COMMANDS}, joint states on {STATES}, as topic-based hardware of ros2_control.",
              choices=(FLOATS, NAMED, JOINT_STATE), read_only=True),
    DRIVE_FREQUENCY,
    Parameter("limits.{joint}.effort", 0.0, "Effort at which the drive saturates; 0 takes the description's, none if "
              "that is 0 too.", "N m or N", 0.0, 1e6, read_only=True),
    Parameter("initial_position.{joint}", 0.0, "Position at the start, clipped to the position limits. Default of a "
              "mechanism: the posture of its model file.", "rad or m", -1000.0, 1000.0, read_only=True),
)
