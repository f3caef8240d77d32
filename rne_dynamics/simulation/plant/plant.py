"""What is simulated: a robot and which of its imperfections count."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.errors import SimulationError
from rne_dynamics.model.flexible.arm import AnyMachine, FlexibleArm, rigid
from rne_dynamics.model.friction import joint_friction, passive_viscous
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, POSITION_INDEX, VELOCITY_INDEX
from rne_dynamics.model.mechanism import Mechanism, open_tree
from rne_dynamics.model.rebuilt import Rebuilt
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.base_course import base_course
from rne_dynamics.simulation.plant.base_trajectory import BaseTrajectory
from rne_dynamics.simulation.plant.bending import Flex
from rne_dynamics.simulation.plant.loops import Loops

# columns of `ArmPlant.joints`
VISCOUS, FORWARD, BACKWARD, LOWER, UPPER, EFFORT = range(6)
JOINT_COLUMNS = 6


@dataclass(frozen=True, eq=False)
class ArmPlant(Rebuilt):
    """A robot as a simulated machine.

    Parameters
    ----------
    robot
        The model; trees, mimic joints and floating bases included. Of a mechanism the actuated joints are simulated,
        and the others follow from the loops, which therefore stay closed however long the simulation. Of an arm with
        flexible links joints and deflections are simulated; friction, stops and drives are those of its joints.
    friction
        Whether joints have their viscous and Coulomb friction. A mechanism's passive joints have viscous friction only:
        how hard a closed loop presses on a joint, and so where it sticks, is not in the model.
    stops
        Whether the position limits are hard, inelastic stops; not those of passive joints.
    limit_effort
        Whether efforts are cut at the effort limits, as a drive does.
    base_motion
        How the base moves; None for a base at rest. Gravity is along the world's axes then, and turned into the base's.

    Raises
    ------
    SimulationError
        A base motion for a floating base.
    """

    robot: AnyMachine
    friction: bool = True
    stops: bool = True
    limit_effort: bool = True
    base_motion: BaseTrajectory | None = None
    #: friction, stops and effort limit of each coordinate as the stepping kernels take them, shape (n, JOINT_COLUMNS);
    #: of an arm with flexible links followed by rows for its modes, which have none of these
    joints: Array = field(init=False, repr=False)
    #: where each velocity coordinate has its position in q, −1 for floating joints; shape (n,), or (n + modes,)
    positions: NDArray[np.int64] = field(init=False, repr=False)
    _passive_viscous: Array = field(init=False, repr=False)
    #: of a mechanism, `joints` for all joints of its tree, passive ones without stops, Coulomb friction and drives
    tree_joints: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        robot, n = rigid(self.robot), self.robot.n
        if self.base_motion is not None and self.tree.base == "floating":
            raise SimulationError(
                f"base_motion is given, but robot {robot.name!r} has a floating base, whose motion is simulated"
            )
        coordinates = self.robot.nz if isinstance(self.robot, FlexibleArm) else n
        joints = np.zeros((coordinates, JOINT_COLUMNS))
        joints[:, LOWER], joints[:, UPPER], joints[:, EFFORT] = -np.inf, np.inf, np.inf
        if self.friction:
            joints[:n, VISCOUS], joints[:n, FORWARD], joints[:n, BACKWARD] = joint_friction(robot)
        if self.stops:
            joints[:n, LOWER], joints[:n, UPPER] = robot.lower, robot.upper
        if self.limit_effort:
            joints[:n, EFFORT] = robot.effort_limit
        passive, tree_joints = np.zeros(0), np.zeros((0, JOINT_COLUMNS))
        if isinstance(robot, Mechanism):
            positions = np.arange(robot.n)
            passive = passive_viscous(robot) if self.friction else np.zeros(robot.robot.n)
            tree_joints = self._of_tree(robot, passive, joints)
        elif isinstance(self.robot, FlexibleArm):
            positions = np.arange(coordinates)
        else:
            positions = np.full(robot.n, -1, dtype=np.int64)
            for kind, iq, iv in robot.topology[:, [KIND, POSITION_INDEX, VELOCITY_INDEX]].tolist():
                if kind != FLOATING:
                    positions[iv] = iq
        for name, array in (
            ("joints", joints), ("positions", positions), ("_passive_viscous", passive), ("tree_joints", tree_joints)
        ):  # fmt: skip
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @staticmethod
    def _of_tree(mechanism: Mechanism, passive: Array, joints: Array) -> Array:
        rows = np.zeros((mechanism.robot.n, JOINT_COLUMNS))
        rows[:, LOWER], rows[:, UPPER], rows[:, EFFORT] = -np.inf, np.inf, np.inf
        rows[:, VISCOUS] = passive
        rows[mechanism.actuated] = joints
        return rows

    @property
    def tree(self) -> RobotModel:
        """The robot, a mechanism's tree with its loops cut, or the bodies of an arm with flexible links."""
        return self.robot.body_model if isinstance(self.robot, FlexibleArm) else open_tree(self.robot)

    def loops(self, posture: Array | None) -> Loops | None:
        """What the kernels need of a mechanism's loops, assembled from `posture` on; None for an open arm.

        The arrays that the kernels write to are new ones.
        """
        if not isinstance(self.robot, Mechanism):
            return None
        return Loops.of(self.robot, self._passive_viscous, posture)

    def flex(self, collocation: bool) -> Flex | None:
        """What the kernels need of flexible links, likewise; None where nothing bends."""
        return Flex.of(self.robot, collocation) if isinstance(self.robot, FlexibleArm) else None

    def base_moments(self, t: float, dt: float) -> Array:
        """The base's packed motion at the start, in the middle and at the end of a step; shape (3, 12)."""
        if self.base_motion is None:
            return np.tile(self.tree.base_at_rest, (3, 1))
        gravity = self.tree.gravity
        return np.array([self.base_motion.motion(t + part * dt).packed(gravity) for part in (0.0, 0.5, 1.0)])

    def base_over(self, t: float, dt: float) -> Array:
        """The base's motion in a step of `dt` from time `t` on, s, as the kernels take it: `base_course`."""
        if self.base_motion is None:
            return self.tree.base_at_rest
        return base_course(self.base_moments(t, dt), dt)

    def limited(self, effort: Array) -> Array:
        """The effort the drives give when asked for `effort`, N·m or N; shape (n,)."""
        limit = self.joints[: self.robot.n, EFFORT]
        given: Array = np.clip(effort, -limit, limit)
        return given
