"""A true arm that is not the controller's model, for the whole campaign: option --foreign.

Links are heavier and lighter, joints have more friction, motors turn behind elastic gears with play, and efforts act
late. What a fault changes of the arm is changed besides.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
from faults.drive_faults import FaultySimulator
from faults.law_promise import compliance
from numpy.typing import ArrayLike
from support.elastic_gears import Gears, Motors

from rne_dynamics.control.control_law import ControlLaw
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import TreeLink
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant

#: Largest deviation of a link's mass, as a part of it, and the seed of all of them. The arms have 25 % more effort than
#: their model needs, so they could not hold much more.
MASS, SEED = 0.2, 31
#: Friction in multiples of the model's.
FRICTION = 2.0
#: Lowest frequency on the gears with motors held, Hz; rotors as a part of the joints' inertia, as small for the same
#: reason; play, rad or m.
FREQUENCY, ROTOR, PLAY = 25.0, 0.1, 3e-4
#: From a command until its effort acts, s.
DELAY = 0.002
#: Longest step, s: short against the swinging of the lightest link on its gear.
STEP = 2.5e-4


def deviating(robot: RobotModel) -> RobotModel:
    """The robot with other masses."""
    rng = np.random.default_rng(SEED)
    links = tuple(_scaled(link, 1.0 + MASS * float(rng.uniform(-1.0, 1.0))) for link in robot.tree.links)
    return assemble(replace(robot.tree, links=links), base=robot.base, gravity=robot.gravity)


def _scaled(link: TreeLink, factor: float) -> TreeLink:
    body = link.inertia
    return link if body is None else replace(
        link, inertia=Inertia(factor * body.mass, body.com, factor * body.inertia)
    )


def drift(robot: RobotModel, q: Array, damping: Array) -> Array:
    """Speed to which the weight that the model lacks drives a floating arm at `q`, (n,), rad/s; damping (n,)."""
    speed: Array = np.abs(gravity_torque(deviating(robot), q) - gravity_torque(robot, q)) / damping
    return speed


def sag(law: ControlLaw, q: Array) -> float:
    """How far the arm may hang from where a law holds it at `q`, (n,), rad."""
    give, robot = compliance(law, q), law.robot.open_tree
    heavy = np.abs(give @ (gravity_torque(deviating(robot), q) - gravity_torque(robot, q)))
    stuck = (FRICTION - 1.0) * np.abs(np.diag(give)) * joint_friction(robot).coulomb_forward
    return float((heavy + stuck).max())


class ForeignSimulator(FaultySimulator):
    """An arm with elastic gears whose drives act late.

    Parameters
    ----------
    plant, q, dt, stop_stiffness, options
        As for `FaultySimulator`: of the model from which it deviates; its step is `dt` or a part of that.
    """

    def __init__(
        self, plant: ArmPlant, q: ArrayLike, *, dt: float, stop_stiffness: ArrayLike | None = None, **options: object
    ) -> None:
        model, self.parts = plant.tree, int(np.ceil(dt / STEP - 1e-9))
        super().__init__(
            replace(plant, robot=deviating(model), friction=False), q, dt=dt / self.parts,
            stop_stiffness=stop_stiffness, **options,
        )
        inertia, friction = mass_matrix(self.robot, self.state.q), joint_friction(model)
        viscous, dry = FRICTION * friction.viscous, FRICTION * friction.coulomb_forward
        self._gears = Gears.swinging(inertia, FREQUENCY, ROTOR, PLAY, viscous, dry)
        self._commands: deque[tuple[float, Array]] = deque()
        self._motors = self._at_rest()

    def change_robot(self, robot: RobotModel) -> None:
        """As the base, for the model from which the arm deviates."""
        super().change_robot(deviating(robot))

    def command(self, effort: ArrayLike) -> None:
        """As the base, after the delay."""
        self._commands.append((self.state.t + DELAY, np.array(effort, dtype=np.float64)))

    def advance(self, steps: int = 1, wrenches: object = None) -> State:
        """As the base; a step is as long as the one that was asked for."""
        for _ in range(steps * self.parts):
            while self._commands and self._commands[0][0] <= self.state.t + 1e-9:
                super().command(self._commands.popleft()[1])
            super().advance(1, wrenches)  # type: ignore[arg-type]  # handed on
        return self.state

    def _at_rest(self) -> Motors:
        return Motors(self._gears, self.state.q, gravity_torque(self.robot, self.state.q))

    def _held(self, now: State, loads: Array) -> State:
        self._motors = self._at_rest()
        return super()._held(now, loads)

    def _transmitted(self, now: State, effort: Array) -> Array:
        middle = now.q + 0.5 * self.dt * now.qd  # a spring that lags by half a step would feed energy in
        return self._motors.turn(self.dt, effort, middle, now.qd)
