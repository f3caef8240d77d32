"""The simulated plant: a robot and which of its imperfections count."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.errors import SimulationError, refuse
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array, Rebuilt, set_fields
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.arrays import (
    EFFORT,
    JOINT_COLUMNS,
    LOWER,
    NO_CODE,
    NO_WRENCH,
    UPPER,
    PlantArrays,
)
from rne_dynamics.simulation.plant.base_motion import BaseTrajectory
from rne_dynamics.simulation.plant.contact_law import Touch
from rne_dynamics.simulation.plant.coordinates import Coordinates, State, checked_state, coordinates_of
from rne_dynamics.simulation.plant.surroundings import Surroundings, parts_of_step, touch_forces


@dataclass(frozen=True, eq=False)
class ArmPlant(Rebuilt):
    """A simulated robot.

    Parameters
    ----------
    robot
        The model; trees, mimic joints and floating bases included. Of a mechanism the actuated joints are simulated;
        the others follow from the loops, which stay closed in simulations of any length. Of an arm with flexible links
        joints and deflections are simulated; friction, stops and drives are those of its joints.
    friction
        Whether joints have their friction; at rest they stick, whatever their threshold. A mechanism's passive joints
        have viscous friction only: the force of a closed loop on a joint's bearing, which decides where it sticks, is
        not in the model.
    stops
        Whether the position limits are hard, inelastic stops; not those of passive joints.
    limit_effort
        Whether efforts are cut at the effort limits, as a drive does.
    base_motion
        Motion of the base; None for a base at rest. With it gravity is given in the world's axes.
    surroundings
        Springy bodies that its links touch; None for none. They move with a moving base.

    Raises
    ------
    SimulationError
        A base motion for a floating base; surroundings of flexible links.
    ModelError, ArgumentError
        A link that touches and is unknown, or fixed to the base.
    """

    robot: Robot
    friction: bool = True
    stops: bool = True
    limit_effort: bool = True
    base_motion: BaseTrajectory | None = None
    surroundings: Surroundings | None = None
    #: in which the robot is simulated
    coordinates: Coordinates = field(init=False, repr=False)
    #: friction, stops and effort limit of each coordinate as the stepping kernels take them, shape (n, JOINT_COLUMNS);
    #: of an arm with flexible links followed by rows for its modes, which have none of these
    joints: Array = field(init=False, repr=False)
    #: where each velocity coordinate has its position in q, −1 for floating joints; shape (n,), or (n + modes,)
    positions: NDArray[np.int64] = field(init=False, repr=False)
    #: what links touch, as the stepping kernels take it; None for nothing
    touch: Touch | None = field(init=False, repr=False)
    _at_rest: PlantArrays = field(init=False, repr=False)

    def __post_init__(self) -> None:
        coordinates, n = coordinates_of(self.robot, self.friction), self.robot.n
        robot, tree, positions = self.robot, self.robot.body_model, coordinates.positions
        refuse(
            SimulationError,
            (self.base_motion is not None and robot.base == "floating",
             f"base_motion is given, but robot {robot.name!r} has a floating base, whose motion is simulated"),
            (self.surroundings is not None and robot.kind == "flexible",
             f"surroundings are given, but robot {robot.name!r} has flexible links, which touch nothing; give an open "
             "arm or a mechanism"),
        )  # fmt: skip
        touch = None if self.surroundings is None else self.surroundings.touch(tree)
        joints = free_joints(len(positions))
        if self.friction:
            joints[:n, :LOWER] = joint_friction(robot).rows.T
        if self.stops:
            joints[:n, LOWER], joints[:n, UPPER] = robot.lower, robot.upper
        if self.limit_effort:
            joints[:n, EFFORT] = robot.effort_limit
        joints.flags.writeable = positions.flags.writeable = False
        at_rest = PlantArrays(
            tree.topology, tree.parameters, tree.has_mimic, tree.base_at_rest, joints, positions, NO_WRENCH, None, None,
            NO_CODE, touch,
        )
        set_fields(self, coordinates=coordinates, joints=joints, positions=positions, _at_rest=at_rest, touch=touch)

    @property
    def tree(self) -> RobotModel:
        """The robot, a mechanism's tree with its loops cut, or the bodies of an arm with flexible links."""
        return self.robot.body_model

    def arrays(
        self, state: State, base: Array, loads: Array, joints: Array | None = None, *, collocation: bool = False
    ) -> PlantArrays:
        """Arguments of the kernels for a step from a state, by `collocation` of flexible links or not.

        `base`: `base_over` the step, or `base_at` one time; `loads` at the bodies, as `bodies_wrenches` gives them;
        `joints` instead of the plant's own.
        """
        arrays = self._at_rest
        if joints is not None or self.base_motion is not None or len(loads):
            arrays = arrays._replace(base=base, joints=self.joints if joints is None else joints, wrenches=loads)
        if self.touch is not None:
            wrenches, touch = self.loads(loads)
            arrays = arrays._replace(wrenches=wrenches, touch=touch)
        return self.coordinates.completed(arrays, state.posture, collocation)

    def loads(self, held: Array) -> tuple[Array, Touch | None]:
        """`PlantArrays.wrenches` and `touch` with loads that are held over a step, as `bodies_wrenches` gives them."""
        if self.touch is None:
            return held, self.touch
        return np.zeros((self.tree.bodies, 6)), self.touch._replace(loads=held) if len(held) else self.touch

    def base_over(self, t: float, dt: float) -> Array:
        """The base's motion in a step of `dt` from time `t` on, s, as the kernels take it; (12,) or (36,)."""
        if self.base_motion is None:
            return self.tree.base_at_rest
        first, half, last = (self.base_at(t + part * dt) for part in (0.0, 0.5, 1.0))
        return np.concatenate([
            first, (4.0 * half - 3.0 * first - last) / dt, 2.0 * (first - 2.0 * half + last) / (dt * dt)
        ])  # fmt: skip

    def base_at(self, t: float) -> Array:
        """Motion of the base at time `t`, s, as the kernels take it; shape (12,)."""
        if self.base_motion is None:
            return self.tree.base_at_rest
        return self.base_motion.motion(t).packed(self.tree.gravity)

    def parts_of_step(self, state: State, dt: float) -> int:
        """Number of parts in which a step of `dt` resolves what links may touch; `SimulationError`: too many."""
        return 1 if self.touch is None else parts_of_step(self.tree, self.touch, *self._tree_state(state), dt)

    @property
    def touching(self) -> tuple[str, ...]:
        """The touching points by their links; further ones of a link have a number too."""
        links = [] if self.surroundings is None else [point.link for point in self.surroundings.points(self.tree)]
        before = [links[:k].count(link) for k, link in enumerate(links)]
        return tuple(link if not k else f"{link}/{k + 1}" for link, k in zip(links, before, strict=True))

    def touch_forces(self, state: State) -> Array:
        """Force on each touching point, N, in the root link's axes or of a floating base the world's; (points, 3)."""
        if self.touch is None:
            return np.zeros((0, 3))
        return touch_forces(self.tree, self.touch, *self._tree_state(state))

    def _tree_state(self, state: State) -> tuple[Array, Array]:
        if not self.robot.loops:
            return state.q, state.qd
        posture = self.tree.neutral if state.posture is None else state.posture
        return posture, np.zeros(self.tree.n) if state.tree_qd is None else state.tree_qd

    def start(self, q: ArrayLike, qd: ArrayLike | None = None, **more: Any) -> State:
        """As `checked_state`, `more` for it; `SimulationError` where a joint starts beyond a stop, with the fix."""
        robot, state = self.robot, checked_state(self.robot, q, qd, **more)
        for j, iq in enumerate(self.positions[: robot.n].tolist() if self.stops else ()):
            if iq >= 0 and not robot.lower[j] <= state.q[iq] <= robot.upper[j]:
                raise SimulationError(
                    f"joint {robot.joint_names[j]!r} starts at {state.q[iq]:g}, outside its limits "
                    f"[{robot.lower[j]:g}, {robot.upper[j]:g}]; start inside them, or simulate without stops"
                )
        return state

    def limited(self, effort: Array) -> Array:
        """The effort of the drives when commanded `effort`, N·m or N; shape (n,)."""
        limit = self.joints[: self.robot.n, EFFORT]
        return np.asarray(np.clip(effort, -limit, limit))


def free_joints(n: int) -> Array:
    """Rows of n joints without friction, stops and effort limits; shape (n, JOINT_COLUMNS)."""
    joints = np.zeros((n, JOINT_COLUMNS))
    joints[:, LOWER], joints[:, UPPER], joints[:, EFFORT] = -np.inf, np.inf, np.inf
    return joints
