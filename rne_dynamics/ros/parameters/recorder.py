"""Parameters of the node `recorder`."""

from __future__ import annotations

from rne_dynamics.ros.parameters.schema import Parameter

#: Topics of an arm; ``*`` stands for one part of a name.
TOPICS = (
    "joint_states", "*/commands", "*/torque/*", "*/reference", "*/controller_state", "*/joint_trajectory", "*/setpoint",
    "*/deflections", "*/state", "robot_description", "/diagnostics",
)  # fmt: skip

SCHEMA: tuple[Parameter, ...] = (
    Parameter("output", "", "An .mcap, or a folder in which one is named by the date; empty for the present folder. A "
              "file that exists is refused.", read_only=True),
    Parameter("topics", TOPICS, "Names of topics, absolute or in the node's namespace; * stands for one part of a "
              "name.", read_only=True),
    Parameter("file_size", 1000.0, "Size after which another file is begun.", "MB", 1.0, 1e6, read_only=True),
    Parameter("total_size", 20000.0, "Size of all files of this recording after which it ends.", "MB", 1.0, 1e9,
              read_only=True),
    Parameter("flush_period", 0.5, "Longest time that messages are in memory only, and are lost if the process is "
              "killed.", "s", 0.05, 60.0, read_only=True),
)  # fmt: skip
