"""An arm with a mismatch: drives, joints, encoders, messages, and a script, stepped from Python."""

from __future__ import annotations

from typing import NamedTuple

from rne_dynamics.dispatch import gravity_torque
from rne_dynamics.dynamics.declared.arguments import bodies_wrenches
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.mismatch.elastic import ElasticJoints
from rne_dynamics.simulation.mismatch.hardware import Encoders, Messages, driven
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.plant.arrays import NO_WRENCH
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.state import State
from rne_dynamics.simulation.stepping.stepping import StepMethod, chosen_method, unchecked_step


class RigidJoints:
    """Motors fixed to their links; those with springs between are `ElasticJoints`."""

    def __init__(self, plant: ArmPlant, state: State, method: StepMethod | None) -> None:
        self.plant, self.state, self._method = plant, state, chosen_method(plant, method)

    @property
    def motor(self) -> tuple[Array, Array]:
        """The state of the joints."""
        return self.state.q, self.state.qd

    def use(self, plant: ArmPlant) -> None:
        """Go on as another arm."""
        self.plant = plant

    def put(self, state: State) -> None:
        """Go on from another state."""
        self.state = state

    def step(self, effort: Array, dt: float, loads: Array) -> None:
        """One step."""
        self.state = unchecked_step(self.plant, self.state, effort, dt, self._method, loads)


class Phase(NamedTuple):
    """Part of a script: from when on, s, what holds, the arm, and its pushes at the bodies, (bodies, 6) or (0, 6)."""

    at: float
    mismatch: Mismatch
    plant: ArmPlant
    loads: Array


def phases_of(plant: ArmPlant, mismatch: Mismatch) -> tuple[Phase, ...]:
    """The phases of a mismatch's script, in order; raises as `Mismatch.robot`, ModelError: a push on no link."""
    found: list[Phase] = []
    for at, now in mismatch.phases:
        known = [phase.plant for phase in found if phase.mismatch.robot_fields == now.robot_fields]
        arm = known[0] if known else ArmPlant(
            now.robot(plant.robot), plant.friction, plant.stops, plant.limit_effort, plant.base_motion,
            plant.surroundings,
        )  # fmt: skip
        loads = bodies_wrenches(arm.tree, now.wrenches, ())[0] if now.push else NO_WRENCH
        found.append(Phase(at, now, arm, loads))
    return tuple(found)


class DifferentArm:
    """An arm with `phases_of` a mismatch, in steps of `dt`; its drives hold its weight until the first effort."""

    def __init__(
        self, phases: tuple[Phase, ...], mismatch: Mismatch, state: State, dt: float, method: StepMethod | None
    ) -> None:
        self.now, self._coming, self._dt = phases[0], list(phases[1:]), dt
        arm = self.now.plant
        self._body: ElasticJoints | RigidJoints = RigidJoints(arm, state, method)
        if mismatch.elastic:
            self._body = ElasticJoints(arm, state, mismatch)
        self._messages = Messages(mismatch, gravity_torque(arm.robot.rigid, state.q), dt)
        self._encoders = Encoders(mismatch, arm.robot.n)

    @property
    def state(self) -> State:
        """Of the links."""
        return self._body.state

    def pass_to(self, t: float) -> None:
        """Let the script go on to a time since its start, s."""
        while self._coming and self._coming[0].at <= t + 1e-9 * self._dt:
            former, self.now = self.now, self._coming.pop(0)
            if self.now.plant is not former.plant:
                self._body.use(self.now.plant)

    def measured(self) -> tuple[Array, Array]:
        """Positions and velocities as the encoders measure them, (n,); once a cycle: each time with new noise."""
        state, now = self.state, self.now.mismatch
        return self._encoders.measure(
            now, state.t, *(self._body.motor if now.encoder == "motor" else (state.q, state.qd))
        )

    def send(self, step: int, effort: Array) -> None:
        """Send an effort, (n,), to the drives in a step."""
        self._messages.send(self.now.mismatch, step, effort)

    def drive(self, step: int) -> Array:
        """The motors' effort in a step; shape (n,)."""
        return driven(self.now.mismatch, self._messages.at(step), self._body.motor[0])

    def advance(self, effort: Array, loads: Array = NO_WRENCH) -> None:
        """One step under an effort of the motors and loads besides the script's, as `bodies_wrenches` gives them."""
        given = self.now.loads
        both = given + loads if len(loads) and len(given) else (loads if len(loads) else given)
        self._body.step(effort, self._dt, both)

    def put(self, state: State) -> None:
        """Put the arm, whose brakes are on, at another state."""
        self._body.put(state)
