"""The arms of the campaign, and the parameters of their controllers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from faults.drive_faults import felt_inertia
from faults.effort_checks import PromisedLimits

from rne_dynamics.description.share import share_file
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: The nodes whose reactions are checked.
COMPUTED_TORQUE, GRAVITY_COMPENSATION = "computed_torque_controller", "gravity_compensation"
GATE = "effort_gate"
#: Posture of the two-link arm at the start of every fault, rad: both motors are loaded there.
HOME = (0.3, 0.8)
#: Its effort limits, N·m: 25 % more than what holds the arm stretched out.
EFFORT = (60.0, 25.0)
#: Effort rate limit, in effort limits per second: 20 % of the limit in 10 ms.
RATE = 20.0
#: Depth of the soft walls before the position limits, rad.
MARGIN = 0.1
#: Times of a stop, s: short, for a short campaign.
STOP = {"brake_time": 0.08, "hold_time": 0.12, "ramp_time": 0.15}
#: Time by which a stop may exceed its times, s.
STOP_SLACK = 0.2
#: Position limit of the second joint of the two-link arm, rad, either way.
ELBOW_LIMIT = 2.6179938779914944
#: Age at which a joint state is stale, s.
STATE_TIMEOUT = 0.5
#: Damping of hand guiding and gravity compensation, 1/s times the inertia that each joint feels at home.
DAMPING = 5.0


@dataclass(frozen=True, eq=False)
class Arm:
    """An arm of the campaign.

    Parameters
    ----------
    name
        Unique, as in ``puma560``.
    read
        Reads its URDF.
    home, far
        Posture at the start of every fault, and displacement of the move that faults disturb, rad; (n,).
    tool, payload
        The link that is pushed, and a payload within its rating, kg.
    push
        A push on the tool within its capacity, N.
    effort
        Effort limits, if they are not the description's, N·m; (n,).
    seconds
        Duration of the move.
    """

    name: str
    read: Callable[[], str]
    home: tuple[float, ...]
    far: tuple[float, ...]
    tool: str
    payload: float
    push: float
    effort: tuple[float, ...] = ()
    seconds: float = 0.8
    margin: float = field(default=MARGIN)

    @cached_property
    def description(self) -> str:
        """Its URDF."""
        return self.read()

    @cached_property
    def robot(self) -> RobotModel:
        """The model of the controller."""
        return load_urdf(self.description)

    @cached_property
    def limits(self) -> Array:
        """Largest efforts, N·m; (n,)."""
        return np.array(self.effort) if self.effort else np.array(self.robot.effort_limit)

    @cached_property
    def damping(self) -> Array:
        """Damping of the arm where it floats, N·m·s/rad; (n,)."""
        damping: Array = DAMPING * felt_inertia(self.robot, np.array(self.home))
        return damping

    @property
    def promised(self) -> PromisedLimits:
        """Limits that every effort must keep."""
        return PromisedLimits(self.robot.joint_names, self.limits, RATE * self.limits)

    def parameters(self, node: str) -> dict[str, Any]:
        """Parameters of the controller, for every fault."""
        joints = self.robot.joint_names
        limits = {
            joint: {"effort": float(self.limits[j]), "effort_rate": RATE * float(self.limits[j])}
            for j, joint in enumerate(joints)
        }
        every: dict[str, Any] = {
            "autostart": False, "use_sim_time": True, "robot_description": self.description, "diagnostics_period": 0.5,
            "state_timeout": STATE_TIMEOUT,
        }
        if node == GATE:
            return every | {"limits": limits, "stop": {k: STOP[k] for k in ("hold_time", "ramp_time")}}
        damped = dict(zip(joints, self.damping.tolist(), strict=True))
        law: dict[str, Any] = (
            {"hand_guiding": {joint: {"damping": damped[joint]} for joint in joints}} if node == COMPUTED_TORQUE
            else {"gains": {joint: {"d": damped[joint]} for joint in joints}}
        )
        return every | {
            **law,
            "torque_divisor": 0,
            "start": {"ramp_time": 0.1},
            "startup_check": {"duration": 0.0},
            "stop": STOP,
            "limits": {joint: {**limits[joint], "position_margin": self.margin} for joint in joints},
        }


def description() -> str:
    """URDF of the two-link arm that ships, its first joint without limits so that its encoder may wrap around."""
    text = share_file("urdf/planar2.urdf").read_text(encoding="utf-8")
    return text.replace('<joint name="joint1" type="revolute">', '<joint name="joint1" type="continuous">')


def load_arm(shoulder_friction: float = 0.0) -> RobotModel:
    """The two-link arm, its first joint with Coulomb friction, N·m."""
    first, rest = description().split("</joint>", 1)
    return load_urdf(f'{first}<dynamics friction="{shoulder_friction}"/></joint>{rest}')


TWO_LINKS = Arm("two-links", description, HOME, (-0.5, 0.4), "tool0", 1.0, 30.0, EFFORT)
