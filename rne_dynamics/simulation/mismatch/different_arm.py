"""An arm that differs from the model of its controller, step by step: drives, sensors, springs.

Links: M(q) q̈ + c + g = s. Motors: B θ̈ + friction(θ̇) = τ − s. Springs: s = k x + d (θ̇ − q̇), with the twist x = θ − q
less the backlash. The rotors' own turning with their links is left out, as gears above about 30 allow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dispatch import gravity_torque, mass_matrix
from rne_dynamics.dynamics.declared.arguments import Arm, bodies_wrenches
from rne_dynamics.dynamics.forward_dynamics import nasser_kernel
from rne_dynamics.errors import ArgumentError, SimulationError, no_inertia
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.body_inertia import rotor_inertia
from rne_dynamics.model.friction import faded, smooth_sign
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.plant.arrays import LOWER, NO_WRENCH
from rne_dynamics.simulation.plant.contact_law import Touch, touch_loads
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.surroundings import parts_of_step
from rne_dynamics.simulation.stepping.motion import add_stage
from rne_dynamics.simulation.stepping.stepping import StepMethod, chosen_method, unchecked_step

#: Ripples in one turn of a joint, or in 2π m.
RIPPLES = 24.0


class Encoders:
    """Measured states of one run."""

    def __init__(self, mismatch: Mismatch, n: int) -> None:
        self._noise, self._at = mismatch.stream(4), 0.0
        self._off: Array = mismatch.stream(5).uniform(-1.0, 1.0, n)
        self._last: Array | None = None

    def measure(self, now: Mismatch, t: float, q: Array, qd: Array) -> tuple[Array, Array]:
        """Positions and velocities, (n,), as measured at time t, s."""
        shaken = self._noise.normal(size=(2, len(qd)))
        at = q + now.bias * self._off + now.noise * shaken[0]
        speed = qd + now.velocity_noise * shaken[1]
        if now.quantum > 0.0:
            at = now.quantum * np.round(at / now.quantum)
            known = self._last is not None and t > self._at
            speed = (at - self._last) / (t - self._at) if known else np.zeros_like(qd)
        self._last, self._at = at, t
        return at, speed


class Messages:
    """Efforts on their way by steps `dt`, s; `held`, (n,), until the first. SimulationError: a delay by part of one."""

    def __init__(self, mismatch: Mismatch, held: Array, dt: float) -> None:
        for _, now in mismatch.phases:
            if abs(round(now.delay / dt) * dt - now.delay) > 1e-9 * dt + 1e-9 * now.delay:
                raise SimulationError(f"mismatch: delay is {now.delay:g} s; it must be a whole number of steps of "
                                      f"{dt:g} s; change it, or dt")  # fmt: skip
        self._random, self._dt = mismatch.stream(6), dt
        self._coming: list[tuple[int, Array]] = []
        self.effort = held

    def send(self, now: Mismatch, step: int, effort: Array) -> None:
        """Send an effort, (n,)."""
        lost, late = self._random.uniform(size=2)
        if lost < now.lost:
            return
        arrival = step + round(now.delay / self._dt) + round(late * now.jitter / self._dt)
        # those that arrive after it are older, and ignored
        self._coming = [(at, value) for at, value in self._coming if at < arrival]
        self._coming.append((arrival, effort))

    def at(self, step: int) -> Array:
        """The effort that the drives have at a step; shape (n,)."""
        while self._coming and self._coming[0][0] <= step:
            self.effort = self._coming.pop(0)[1]
        return self.effort


def driven(now: Mismatch, effort: Array, q: Array) -> Array:
    """The effort of motors at the positions q, (n,), that were commanded `effort`, within the limits; (n,)."""
    if now.dead_zone > 0.0:
        effort = np.sign(effort) * np.maximum(np.abs(effort) - now.dead_zone, 0.0)
    return effort * (1.0 + now.ripple * np.sin(RIPPLES * q)) if now.ripple > 0.0 else effort


#: Rows of a state: links, motors, and their velocities.
LINK, MOTOR, LINK_SPEED, MOTOR_SPEED = range(4)
#: Rows of the drives: rotor, spring, damper, backlash; then those of `JointFriction.rows`.
ROTOR, SPRING, DAMPER, GAP, FRICTION = range(5)
#: Speed below which a motor's Coulomb friction is smooth, rad/s or m/s.
SMOOTH = 1e-3
#: Longest step times the fastest rate.
_LONGEST = 0.5


@helper
def _put_rates(arm: Arm, touch: Touch | None, drive: Array, x: Array, effort: Array, spring: Array, out: Array) -> int:
    """Rates of a state, (4, n); −1, or the body that moves no inertia."""
    for j in range(x.shape[1]):
        twist, gap, speed = x[MOTOR, j] - x[LINK, j], drive[GAP, j], x[MOTOR_SPEED, j]
        free = twist - gap if twist > gap else (twist + gap if twist < -gap else 0.0)
        damping = drive[DAMPER, j] * (speed - x[LINK_SPEED, j]) if gap == 0.0 or free != 0.0 else 0.0
        spring[j] = drive[SPRING, j] * free + damping
        largest = drive[FRICTION + 1, j] if speed > 0.0 else drive[FRICTION + 2, j]
        rest = largest - faded(drive[FRICTION + 3, j], drive[FRICTION + 4, j], speed)
        rubbing = drive[FRICTION, j] * speed + rest * smooth_sign(speed / SMOOTH)
        out[LINK, j], out[MOTOR, j] = x[LINK_SPEED, j], speed
        out[MOTOR_SPEED, j] = (effort[j] - spring[j] - rubbing) / drive[ROTOR, j]
    if touch is not None:
        forces, felt = np.empty((touch.where.shape[0], 3)), np.empty((touch.where.shape[0], 2))
        given = (arm.topology, arm.parameters, touch, x[LINK], x[LINK_SPEED], 0.0, arm.wrenches, forces, felt)
        apart(touch_loads, given)
    fault: int = apart(nasser_kernel, (arm, x[LINK], x[LINK_SPEED], spring, out[LINK_SPEED]))
    return fault


@kernel
def elastic_steps(arm: Arm, touch: Touch | None, drive: Array, x: Array, effort: Array, dt: float, steps: int) -> int:
    """`steps` Runge–Kutta steps of `dt` of a state (4, n), in place; −1, or the body that moves no inertia."""
    n, flat = x.shape[1], x.reshape((x.size,))
    y, rate, total, spring = np.empty(x.size), np.empty(x.size), np.empty(x.size), np.zeros(n)
    for _ in range(steps):
        y[:] = flat
        total[:] = 0.0
        for stage in range(4):
            fault = _put_rates(arm, touch, drive, y.reshape((4, n)), effort, spring, rate.reshape((4, n)))
            if fault >= 0:
                return fault
            add_stage(stage, dt, flat, rate, y, total)
        flat[:] = y
    return -1


class ElasticJoints:
    """Motors and links with springs between; the links do not reach their stops."""

    def __init__(self, plant: ArmPlant, state: State, mismatch: Mismatch) -> None:
        self._drive = np.zeros((FRICTION + LOWER, plant.robot.n))
        self.use(plant)
        spring = np.full(plant.robot.n, mismatch.stiffness)
        if mismatch.spring_frequency > 0.0:
            spring = (2.0 * np.pi * mismatch.spring_frequency) ** 2 * np.diag(mass_matrix(self._links, state.q))
        damper = 2.0 * mismatch.spring_damping * np.sqrt(spring * self._drive[ROTOR])
        self._drive[SPRING], self._drive[DAMPER], self._drive[GAP] = spring, damper, mismatch.backlash
        held = gravity_torque(plant.robot.rigid, state.q)
        motor = state.q + held / spring + mismatch.backlash * np.sign(held)
        self._x = np.array([state.q, motor, state.qd, state.qd])
        self.state = state

    @property
    def motor(self) -> tuple[Array, Array]:
        """Positions and velocities of the motors."""
        return self._x[MOTOR].copy(), self._x[MOTOR_SPEED].copy()

    def use(self, plant: ArmPlant) -> None:
        """Go on as another arm on these springs; `ArgumentError`: no open one, mimics, a moving base, no rotors."""
        robot = plant.robot.open_tree
        if plant.robot.loops or robot.has_mimic or plant.base_motion is not None:
            raise ArgumentError(f"mismatch: joints are elastic, but robot {robot.name!r} is no open arm on a base at "
                                "rest without mimic joints; leave stiffness out")  # fmt: skip
        rotor = rotor_inertia(robot)
        if not (rotor > 0.0).all():
            name = robot.joint_names[int(np.argmin(rotor))]
            raise ArgumentError(f"mismatch: joints are elastic, but joint {name!r} of robot {robot.name!r} has no "
                                "rotor inertia; give it one (rotors of the model file)")
        self._plant = plant
        self._links = assemble(robot.tree.without_rotors(), base=robot.base, gravity=robot.gravity)
        self._drive[ROTOR], self._drive[FRICTION:] = rotor, plant.joints[: robot.n, :LOWER].T

    def put(self, state: State) -> None:
        """Go on from another state of the links, with the motors where they are, at rest."""
        self.state, self._x[LINK], self._x[LINK_SPEED], self._x[MOTOR_SPEED] = state, state.q, state.qd, 0.0

    def step(self, effort: Array, dt: float, loads: Array) -> None:
        """One step, in as many as the springs need; SimulationError: a link at its stop, or no finite motion."""
        x, robot, t, links = self._x, self._plant.robot, self.state.t + dt, self._links
        steps, (loads, touch) = self._steps(dt), self._plant.loads(loads)
        if touch is not None:
            steps = max(steps, parts_of_step(links, touch, x[LINK], x[LINK_SPEED], dt))
        arm = Arm(links.topology, links.parameters, links.base_at_rest, loads)
        fault = elastic_steps(arm, touch, self._drive, x, effort, dt / steps, steps)
        if fault >= 0:
            raise no_inertia(self._links.body_names[fault], robot.name)
        if not np.isfinite(x).all():
            raise SimulationError(f"at {t:g} s the motion is not finite; take a shorter dt or less stiffness")
        outside = (x[LINK] < robot.lower) | (x[LINK] > robot.upper)
        if self._plant.stops and outside.any():
            j = int(np.argmax(outside))
            raise SimulationError(f"at {t:g} s joint {robot.joint_names[j]!r} is at {x[LINK, j]:g}, outside its limits "
                                  f"[{robot.lower[j]:g}, {robot.upper[j]:g}], and elastic joints have no stops; lower "
                                  "the gains, or simulate without stops")  # fmt: skip
        self.state = replace(self.state, t=t, q=x[LINK].copy(), qd=x[LINK_SPEED].copy())

    def _steps(self, dt: float) -> int:
        """Number of steps in one of `dt`."""
        felt = 1.0 / np.diag(np.linalg.inv(mass_matrix(self._links, self._x[LINK])))
        rotor, spring = self._drive[ROTOR], self._drive[SPRING]
        swing = np.sqrt(spring * (1.0 / rotor + 1.0 / felt))
        rubbing = np.abs(self._drive[FRICTION + 1 : FRICTION + 3]).max(axis=0) / (SMOOTH * rotor)
        return max(1, int(np.ceil(dt * max(swing.max(), rubbing.max()) / _LONGEST)))


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
        #: The motors and links; the state is that of the links.
        self.body = ElasticJoints(arm, state, mismatch) if mismatch.elastic else RigidJoints(arm, state, method)
        self._messages = Messages(mismatch, gravity_torque(arm.robot.rigid, state.q), dt)
        self._encoders = Encoders(mismatch, arm.robot.n)

    def pass_to(self, t: float) -> None:
        """Let the script go on to a time since its start, s."""
        while self._coming and self._coming[0].at <= t + 1e-9 * self._dt:
            former, self.now = self.now, self._coming.pop(0)
            if self.now.plant is not former.plant:
                self.body.use(self.now.plant)

    def measured(self) -> tuple[Array, Array]:
        """Positions and velocities as the encoders measure them, (n,); once a cycle: each time with new noise."""
        state, now = self.body.state, self.now.mismatch
        return self._encoders.measure(
            now, state.t, *(self.body.motor if now.encoder == "motor" else (state.q, state.qd))
        )

    def send(self, step: int, effort: Array) -> None:
        """Send an effort, (n,), to the drives in a step."""
        self._messages.send(self.now.mismatch, step, effort)

    def drive(self, step: int) -> Array:
        """The motors' effort in a step; shape (n,)."""
        return driven(self.now.mismatch, self._messages.at(step), self.body.motor[0])

    def advance(self, effort: Array, loads: Array = NO_WRENCH) -> None:
        """One step under an effort of the motors and loads besides the script's, as `bodies_wrenches` gives them."""
        given = self.now.loads
        both = given + loads if len(loads) and len(given) else (loads if len(loads) else given)
        self.body.step(effort, self._dt, both)
