"""A simulated arm with faults of drives, brakes and stops, and a hand that guides a joint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.arrays import BACKWARD, FORWARD, LOWER, UPPER
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator
from rne_dynamics.simulation.stepping.stepping import unchecked_step

#: Bandwidth of a hand that guides a joint, 1/s.
GRIP = 40.0
#: Efforts that act on the joints besides the motors', N·m or N, shape (n,), from the state.
Push = Callable[[State], Array]


@dataclass
class DriveFaults:
    """Faults of the drives of an arm with n joints; may be changed while the simulation runs.

    Parameters
    ----------
    scale
        Effort of a motor over its command: 1 healthy, −1 reversed; shape (n,).
    order
        Joint j is moved by the motor that is commanded as joint ``order[j]``; shape (n,).
    off
        Drives that are off: no effort, and none reported; shape (n,).
    drag
        Friction of brakes that are not fully released, N·m or N; shape (n,).
    brakes
        Whether the brakes hold all joints.
    """

    scale: Array
    order: NDArray[np.int64]
    off: NDArray[np.bool_]
    drag: Array
    brakes: bool = False

    @classmethod
    def none(cls, n: int) -> DriveFaults:
        """No faults."""
        return cls(np.ones(n), np.arange(n), np.zeros(n, dtype=bool), np.zeros(n))


class FaultySimulator(Simulator):
    """A `Simulator` of an open arm with drives that can fail, as set by `faults`.

    Parameters
    ----------
    plant, q, options
        As for `Simulator`.
    stop_stiffness
        Position stops that yield instead of hard ones, N·m/rad or N/m; 0 for a hard one; shape (n,). They are damped
        critically for the inertia that the joint feels at the start.

    Raises
    ------
    SimulationError
        As for `Simulator`; a plant that is no open arm; a stiffness that is negative or not finite.
    """

    def __init__(self, plant: ArmPlant, q: ArrayLike, *, stop_stiffness: ArrayLike | None = None, **options: object):
        robot, n = plant.robot, plant.robot.n
        if robot.kind != "arm":
            raise SimulationError(f"drive faults need an open arm; {robot.name!r} is a {type(robot).__name__}")
        super().__init__(plant, q, **options)  # type: ignore[arg-type]  # the base's own options
        stiffness = np.zeros(n) if stop_stiffness is None else np.array(stop_stiffness, dtype=np.float64)
        if stiffness.shape != (n,) or not np.isfinite(stiffness).all() or (stiffness < 0.0).any():
            raise SimulationError(f"stop_stiffness is {stiffness}; it must be {n} finite numbers, none below 0")
        self.robot, self.faults = robot, DriveFaults.none(n)
        #: External efforts at the joints, besides `wrenches`.
        self.push: Push | None = None
        self._stiffness = stiffness
        self._damping = 2.0 * np.sqrt(stiffness * felt_inertia(robot, self.state.q))
        self._soft = stiffness > 0.0

    def change_robot(self, robot: RobotModel) -> None:
        """Continue with another arm in the same state: a payload has been picked up, or lost."""
        self.robot, self.plant = robot, replace(self.plant, robot=robot)

    @property
    def braked(self) -> bool:
        """As the base, and while the fault `brakes` is set."""
        return super().braked or self.faults.brakes

    @property
    def applied_effort(self) -> Array:
        """The effort that the drives report, N·m or N; shape (n,): the commands, zero for those that are off."""
        effort = super().applied_effort
        effort[self.faults.off] = 0.0
        return effort

    @property
    def given_effort(self) -> Array:
        """The motors' true effort at the joints, N·m or N; shape (n,)."""
        return self._given(super().applied_effort)

    def _given(self, effort: Array) -> Array:
        faults = self.faults
        given: Array = np.where(faults.off, 0.0, faults.scale * effort[faults.order])
        return given

    def _transmitted(self, now: State, effort: Array) -> Array:
        """Efforts at the joints in a step from `now` on under those of the motors, N·m or N; shape (n,)."""
        return effort

    def _stepped(self, now: State, effort: Array, loads: Array) -> State:
        total = self._transmitted(now, self._given(effort))
        rows = self.plant.joints.copy()
        if self._soft.any():
            beyond = now.q - np.clip(now.q, self.robot.lower, self.robot.upper)
            total -= np.where(self._soft & (beyond != 0.0), self._stiffness * beyond + self._damping * now.qd, 0.0)
            rows[self._soft, LOWER], rows[self._soft, UPPER] = -np.inf, np.inf
        if self.push is not None:
            total += self.push(now)
        rows[:, FORWARD] += self.faults.drag
        rows[:, BACKWARD] += self.faults.drag
        return unchecked_step(self.plant, now, total, self.dt, self.method, loads, rows)


class Hand:
    """A person who guides one joint to another position, stiffly, and holds it there.

    Parameters
    ----------
    simulator
        The arm.
    joint
        Its number.
    by
        Displacement from its present position, rad or m.
    seconds
        Duration of the motion.
    """

    def __init__(self, simulator: FaultySimulator, joint: int, by: float, seconds: float) -> None:
        state = simulator.state
        self._joint, self._begin, self._from, self._by, self._seconds = joint, state.t, state.q[joint], by, seconds
        self._inertia = felt_inertia(simulator.robot, state.q)[joint]

    def __call__(self, state: State) -> Array:
        """Its push at `state`."""
        j, push = self._joint, np.zeros(len(state.qd))
        done = min((state.t - self._begin) / self._seconds, 1.0)
        place, speed = self._from + self._by * done, self._by / self._seconds if done < 1.0 else 0.0
        error, rate = place - state.q[j], speed - state.qd[j]
        push[j] = self._inertia * (GRIP**2 * error + 2.0 * GRIP * rate)
        return push


def felt_inertia(robot: RobotModel, q: Array) -> Array:
    """The inertia that each joint feels alone, the others free: 1/(M⁻¹)ⱼⱼ, kg·m² or kg; shape (n,)."""
    inertia: Array = 1.0 / np.diag(np.linalg.inv(mass_matrix(robot, q)))
    return inertia
