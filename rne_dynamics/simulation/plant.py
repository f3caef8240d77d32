"""What is simulated: a robot and which of its imperfections count."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.model.friction import joint_friction, passive_viscous
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, POSITION_INDEX, VELOCITY_INDEX
from rne_dynamics.model.mechanism import Machine, Mechanism, open_tree
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.loops import Loops

# columns of `ArmPlant.joints`
VISCOUS, FORWARD, BACKWARD, LOWER, UPPER, EFFORT = range(6)
JOINT_COLUMNS = 6


@dataclass(frozen=True, eq=False)
class ArmPlant:
    """A robot as a simulated machine.

    Parameters
    ----------
    robot
        The model; trees, mimic joints and floating bases included. Of a mechanism the actuated joints are simulated,
        and the others follow from the loops, which therefore stay closed however long the simulation.
    friction
        Whether joints have their viscous and Coulomb friction. A mechanism's passive joints have viscous friction only:
        how hard a closed loop presses on a joint, and so where it sticks, is not in the model.
    stops
        Whether the position limits are hard, inelastic stops; not those of passive joints.
    limit_effort
        Whether efforts are cut at the effort limits, as a drive does.
    """

    robot: Machine
    friction: bool = True
    stops: bool = True
    limit_effort: bool = True
    #: friction, stops and effort limit of each coordinate as the stepping kernels take them; shape (n, JOINT_COLUMNS)
    joints: Array = field(init=False, repr=False)
    #: where each velocity coordinate has its position in q, −1 for floating joints; shape (n,)
    positions: NDArray[np.int64] = field(init=False, repr=False)
    _passive_viscous: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        robot = self.robot
        joints = np.zeros((robot.n, JOINT_COLUMNS))
        joints[:, LOWER], joints[:, UPPER], joints[:, EFFORT] = -np.inf, np.inf, np.inf
        if self.friction:
            joints[:, VISCOUS], joints[:, FORWARD], joints[:, BACKWARD] = joint_friction(robot)
        if self.stops:
            joints[:, LOWER], joints[:, UPPER] = robot.lower, robot.upper
        if self.limit_effort:
            joints[:, EFFORT] = robot.effort_limit
        passive = np.zeros(0)
        if isinstance(robot, Mechanism):
            positions = np.arange(robot.n)
            passive = passive_viscous(robot) if self.friction else np.zeros(robot.robot.n)
        else:
            positions = np.full(robot.n, -1, dtype=np.int64)
            for kind, iq, iv in robot.topology[:, [KIND, POSITION_INDEX, VELOCITY_INDEX]].tolist():
                if kind != FLOATING:
                    positions[iv] = iq
        for name, array in (("joints", joints), ("positions", positions), ("_passive_viscous", passive)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def tree(self) -> RobotModel:
        """The robot, or a mechanism's tree with its loops cut."""
        return open_tree(self.robot)

    def loops(self, posture: Array | None) -> Loops | None:
        """What the kernels need of a mechanism's loops, assembled from `posture` on; None for an open arm.

        The arrays that the kernels write to are new ones.
        """
        if not isinstance(self.robot, Mechanism):
            return None
        return Loops.of(self.robot, self._passive_viscous, posture)

    def limited(self, effort: Array) -> Array:
        """The effort the drives give when asked for `effort`, N·m or N; shape (n,)."""
        limit = self.joints[:, EFFORT]
        given: Array = np.clip(effort, -limit, limit)
        return given
