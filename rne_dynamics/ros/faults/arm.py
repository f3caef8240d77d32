"""The arm of the campaign, and how its controller is set up."""

from __future__ import annotations

from typing import Any

import numpy as np

from rne_dynamics.description.share import share_file
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.ros.faults.judge import Promise

#: Where every fault finds it, rad: both motors carry weight there.
HOME = (0.3, 0.8)
#: Largest efforts, N·m, a quarter more than what holds the arm stretched out.
EFFORT = (60.0, 25.0)
#: Largest change of the efforts, N·m/s: in the 10 ms that count at most a fifth of the largest effort.
EFFORT_RATE = (1200.0, 500.0)
#: Distance from the position limits at which walls begin, rad.
MARGIN = 0.1
#: Times of a stop, s: short, so that the campaign is.
STOP = {"brake_time": 0.08, "hold_time": 0.12, "ramp_time": 0.15}
#: Position limit of the second joint, rad, either way.
ELBOW_LIMIT = 2.6179938779914944
#: Age at which a joint state is stale, s; longer than pauses of a busy machine, shorter than patience.
STATE_TIMEOUT = 0.5


def description() -> str:
    """URDF of the two-link arm that ships, its first joint without limits so that its encoder may wrap around."""
    text = share_file("urdf/planar2.urdf").read_text(encoding="utf-8")
    return text.replace('<joint name="joint1" type="revolute">', '<joint name="joint1" type="continuous">')


def load_arm(shoulder_friction: float = 0.0) -> RobotModel:
    """The arm, its first joint with Coulomb friction, N·m."""
    first, rest = description().split("</joint>", 1)
    return load_urdf(f'{first}<dynamics friction="{shoulder_friction}"/></joint>{rest}')


def promise(robot: RobotModel) -> Promise:
    """What every effort keeps."""
    return Promise(robot.joint_names, np.array(EFFORT), np.array(EFFORT_RATE))


def parameters(robot: RobotModel) -> dict[str, Any]:
    """The controller's, for every fault."""
    joints = robot.joint_names
    return {
        "autostart": False,
        "use_sim_time": True,
        "robot_description": description(),
        "diagnostics_period": 0.5,
        "torque_divisor": 0,
        "state_timeout": STATE_TIMEOUT,
        "start": {"ramp_time": 0.1},
        "startup_check": {"duration": 0.0},
        "stop": STOP,
        "limits": {
            joint: {"effort": EFFORT[j], "effort_rate": EFFORT_RATE[j], "position_margin": MARGIN}
            for j, joint in enumerate(joints)
        },
    }
