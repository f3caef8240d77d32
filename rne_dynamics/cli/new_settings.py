"""Settings of `rne new`: limits of a description, gains and damping that are stable at a rate, a start posture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rne_dynamics.cli.demo_moves import start_posture
from rne_dynamics.control.damping_limits import checked_damping
from rne_dynamics.control.gains import advised_bandwidth
from rne_dynamics.control.guards.felt_inertia import joint_inertia
from rne_dynamics.dispatch import closed, gravity_torque
from rne_dynamics.errors import ModelError
from rne_dynamics.model.flexible.arm import AnyRobot
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.tree import JointKind

#: Tolerances of turning and of sliding joints, in motion and at the goal, rad and m.
_TURNING, _SLIDING = (0.1, 0.01), (0.02, 0.002)


@dataclass(frozen=True, eq=False)
class ArmSettings:
    """What the parameter file of one arm says.

    Parameters
    ----------
    name
        Of the robot.
    joints
        Names of the driven joints, length n.
    sliding
        Whether each is prismatic.
    lower, upper, velocity, effort
        The description's limits; infinite where it gives none, velocity and effort also for 0. rad or m, per second,
        N·m or N; shape (n,).
    bandwidth
        w of the gains p = w², d = 2 w, rad/s.
    damping
        Of gravity compensation and hand guiding, N·m·s/rad or N·s/m; shape (n,).
    inertia
        That each joint feels at the start while the others yield and are held, in the mean, kg·m² or kg; shape (n,).
    rate
        Joint states per second for which both are stable, Hz.
    start
        Posture inside the limits, rad or m; shape (n,).
    holding
        Efforts that hold it, N·m or N; shape (n,).
    friction
        Whether the description gives any.
    last_link
        For a payload.
    """

    name: str
    joints: tuple[str, ...]
    sliding: tuple[bool, ...]
    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    bandwidth: float
    damping: Array
    inertia: Array
    rate: float
    start: Array
    holding: Array
    friction: bool
    last_link: str

    def tolerances(self, j: int) -> tuple[float, float]:
        """Tolerances of a joint in motion and at the goal, rad or m."""
        return _SLIDING if self.sliding[j] else _TURNING

    @property
    def without_effort(self) -> tuple[str, ...]:
        """Joints whose effort limit the description does not give."""
        return self._without(self.effort)

    def _without(self, limit: Array) -> tuple[str, ...]:
        return tuple(name for name, value in zip(self.joints, limit, strict=True) if not np.isfinite(value))

    @property
    def notes(self) -> list[str]:
        """What the description lacks, and what else to know before the arm moves, a sentence each."""
        notes = []
        if self.without_effort:
            notes.append(
                f"fill in limits.JOINT.effort of {', '.join(self.without_effort)}: the description gives no effort "
                "limit (or 0), and controllers do not start without one"
            )
        if slow := self._without(self.velocity):
            notes.append(
                f"fill in limits.JOINT.velocity of {', '.join(slow)}: the description gives no velocity limit, so "
                "trajectories may be of any speed and setpoints are not followed"
            )
        if not self.friction:
            notes.append("the description gives no joint friction, so friction_compensation has no effect")
        notes += [
            f"joint {name!r} needs {abs(held):.3g} {'N' if slides else 'N m'} to hold the start posture, more than its "
            f"effort limit of {limit:.3g}: check the masses, or the limit"
            for name, held, limit, slides in zip(self.joints, self.holding, self.effort, self.sliding, strict=True)
            if abs(held) > limit
        ]
        return notes


def settings_of(whole: AnyRobot, rate: float) -> ArmSettings:
    """The settings of an arm whose joint states come at `rate` Hz or faster.

    Raises
    ------
    ModelError
        A robot without driven joints, or with planar or floating ones.
    ControlError
        A motion without inertia.
    """
    robot = closed(whole).rigid
    if robot.n == 0 or robot.nq != robot.n:
        raise ModelError(
            f"robot {robot.name!r} has no joint that can be driven, or a floating one; controllers drive turning and "
            "sliding joints on a fixed base"
        )
    kinds = {joint.name: joint.kind for joint in robot.tree.joints}
    start = start_posture(robot)
    friction = joint_friction(robot)
    return ArmSettings(
        name=robot.name, joints=robot.joint_names,
        sliding=tuple(kinds.get(name) is JointKind.PRISMATIC for name in robot.joint_names),
        lower=robot.lower, upper=robot.upper,
        velocity=np.where(robot.velocity_limit > 0.0, robot.velocity_limit, np.inf),
        effort=np.where(robot.effort_limit > 0.0, robot.effort_limit, np.inf),
        bandwidth=advised_bandwidth(rate),
        damping=checked_damping(robot, np.full(robot.n, -1.0), rate, "gains.{joint}.d").value,
        inertia=joint_inertia(robot, start).felt, rate=rate, start=start, holding=gravity_torque(robot, start),
        friction=any(column.any() for column in friction), last_link=robot.link_names[-1],
    )  # fmt: skip
