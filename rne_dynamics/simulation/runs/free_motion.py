"""Motion of an arm without a controller: in its joints' coordinates, and in maximal ones (`simulate_maximal`).

In these the state is the pose and twist of every body; nothing but the equations' joint rows keeps the bodies together.
Those rows hold for accelerations (index 1), so round-off and the integrator's error in them grow as the bodies drift
apart, linearly in velocity and with the square of time in position. Three options:

- ``"none"``: no correction, to measure the drift;
- ``"baumgarte"``: the joint rows also ask for −2α·(velocity error) − α²·(position error), which pulls the errors back
  at the rate α, but never to zero; a large α also fights the errors that the stages of a step are meant to have, and
  spoils its order;
- ``"projection"``: after each step the state is put back on the joints' manifold (`maximal_projection.consistent`).

The steps are classical fourth-order Runge–Kutta ones. `simulation.step` with its n joint coordinates is faster; this
one is there to check it, and to measure the cost of a formulation without joint coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches
from rne_dynamics.dynamics.free_bodies.state import (
    BodyStates,
    check_states,
    consistent,
    joint_coordinates,
    joint_motion,
    motion_errors,
)
from rne_dynamics.dynamics.free_bodies.system import MaximalSystem
from rne_dynamics.dynamics.kinematics.kinematics import quaternion_matrices, quaternion_product
from rne_dynamics.errors import SimulationError, refuse
from rne_dynamics.model import layout
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.base_motion import check_base_trajectory
from rne_dynamics.simulation.plant.coordinates import finite_vector
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.log import Log, Recorder, count, whole
from rne_dynamics.simulation.stepping.motion import AHEAD, TIMES, WEIGHTS
from rne_dynamics.simulation.stepping.stepping import StepMethod, states_at, step


def free_motion(
    plant: ArmPlant,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    *,
    seconds: float,
    dt: float = 1e-3,
    record_dt: float | None = None,
    effort: ArrayLike | None = None,
    delta: ArrayLike | None = None,
    deltad: ArrayLike | None = None,
    method: StepMethod | Literal["adaptive"] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Log:
    """Simulate the arm from a state, without effort or under a constant one.

    Parameters
    ----------
    plant, q, qd
        The arm and its start.
    seconds, dt, record_dt
        Duration, the step, and the time between rows of the log (a whole multiple of `dt`, `dt` by default), s.
    effort
        Constant effort, N·m or N; shape (n,).
    delta, deltad
        As for `simulate`.
    method
        See `step`; ``"adaptive"`` is `integrate`, for smooth motion only, and ignores `dt`.
    progress
        Called at every row with the simulated time, s.

    Raises
    ------
    SimulationError
        As for `simulate`, and as for `integrate`.
    """
    state = plant.start(q, qd, delta=delta, deltad=deltad)
    period = dt if record_dt is None else record_dt
    substeps = whole(period, dt)
    rows = count(seconds, period, substeps, plant.robot.nq + 2 * plant.robot.n)
    if plant.base_motion is not None:
        check_base_trajectory(plant.base_motion, 0.0, rows * period)
    push = np.zeros(plant.robot.n) if effort is None else np.asarray(effort, dtype=np.float64)
    log = Recorder(plant)
    if method == "adaptive":
        for k, there in enumerate(states_at(plant, state, push, period * np.arange(rows + 1))):
            log.add(k * period, there, plant.limited(push), None, {})
        return log.done()
    for k in range(rows + 1):
        t = k * (substeps * dt)
        log.add(t, state, plant.limited(push), None, {})
        for _ in range(substeps if k < rows else 0):
            state = step(plant, state, push, dt, method=method)
        if progress is not None:
            progress(t)
    return log.done()


Stabilization = Literal["none", "baumgarte", "projection"]

#: Efforts (n,) for time, q and qd as read off the bodies.
Effort = Callable[[float, Array, Array], ArrayLike]


def simulate_maximal(
    robot: RobotModel,
    start: BodyStates,
    seconds: float,
    dt: float,
    *,
    effort: Effort | ArrayLike | None = None,
    wrenches: Wrenches | None = None,
    stabilization: Stabilization = "projection",
    baumgarte_rate: float = 20.0,
    record_every: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Log:
    """Motion of the free bodies under their joints from `start`; no friction, no stops, the base at rest (or floating).

    `body_states` makes a start from joint coordinates, `consistent` from anything else. The last step of `dt` ends at
    or just after `seconds`. `effort` of the drives, N·m or N: constant (n,), or a function of time, q and qd; none by
    default. `baumgarte_rate`: α, 1/s; best around 0.05/dt. `record_every`: steps between rows of the log, at which
    `progress` gets the simulated time, s. `ArgumentError`; `SimulationError`; `SingularInertiaError` names a joint that
    moves no inertia.
    """
    refuse(
        SimulationError,
        (stabilization not in get_args(Stabilization),
         f"stabilization is {stabilization!r}; it must be one of {', '.join(map(repr, get_args(Stabilization)))}"),
        (not 0.0 < baumgarte_rate < np.inf,
         f"baumgarte_rate is {baumgarte_rate} 1/s; it must be finite and above 0"),
    )  # fmt: skip
    rate = float(baumgarte_rate) if stabilization == "baumgarte" else 0.0
    check_states(robot, start)
    loads = bodies_wrenches(robot, wrenches, ())[0]
    motion = _Motion(MaximalSystem.of(robot), _effort_function(robot, effort), loads, rate)
    period = dt * record_every
    count(seconds, period, whole(period, dt), robot.nq + robot.n + 6 * robot.bodies)  # refuses what is too long
    state, rows = start, [_row(motion, 0.0, start)]
    steps = int(np.ceil(seconds / dt - 1e-9))
    for k in range(steps):
        state = motion.step(k * dt, state, dt)
        if not np.isfinite(state.twist).all():
            raise SimulationError(
                f"robot {robot.name!r}: its motion is not finite any more at t = {(k + 1) * dt:.6g} s; "
                f"take a shorter step than {dt:g} s"
            )
        if stabilization == "projection":
            state = consistent(robot, state)
        state = replace(state, near=joint_coordinates(robot, state)[0])
        if (k + 1) % record_every == 0 or k + 1 == steps:
            rows.append(_row(motion, (k + 1) * dt, state))
            if progress is not None:
                progress((k + 1) * dt)
    time, q, qd, tau, kinetic, potential, position, velocity, reactions = map(np.array, zip(*rows, strict=True))
    return Log(
        robot.joint_names, time, q, qd, tau, lambda: (kinetic, potential), body_names=robot.body_names,
        reactions=reactions, position_error=position, velocity_error=velocity,
    )


@dataclass(frozen=True, eq=False)
class _Motion:
    """The equations of one simulation."""

    system: MaximalSystem
    effort: Callable[[float, BodyStates], Array]
    loads: Array
    rate: float

    def solution(self, t: float, state: BodyStates) -> Array:
        """Reactions and accelerations (4.41), as `MaximalSystem.solve` gives them."""
        system, robot = self.system, self.system.robot
        motion = joint_motion(robot, state)
        blocks = system.blocks_of_motion(robot.base_at_rest, motion, self.loads)
        joints = -blocks.drift
        if self.rate > 0.0:
            gap, slip = motion_errors(system, motion, state.near)
            joints += 2.0 * self.rate * slip + self.rate**2 * gap
        right = system.right_side(blocks.force, joints, self.effort(t, state))
        return system.solve(system.matrix(blocks.transfer), right, state.near)

    def rates(self, t: float, state: BodyStates) -> tuple[Array, Array, Array]:
        """Rates of positions, quaternions and the twists' components."""
        robot, acceleration = self.system.robot, self.solution(t, state)[self.system.motion]
        # a is that of the origin as a point, less gravity; the components in turning axes change by ω × v less
        R = quaternion_matrices(state.quaternion)
        acceleration[:, :3] += robot.gravity @ R - np.cross(state.twist[:, 3:], state.twist[:, :3])
        # ṗ = R v, and the quaternion's rate ½ q ∘ (ω, 0)
        turning = np.concatenate([0.5 * state.twist[:, 3:], np.zeros((robot.bodies, 1))], axis=1)
        position: Array = (R @ state.twist[:, :3, None])[:, :, 0]
        return position, quaternion_product(state.quaternion, turning), acceleration

    def step(self, t: float, state: BodyStates, dt: float) -> BodyStates:
        """One Runge–Kutta step."""
        sums = [np.zeros_like(state.position), np.zeros_like(state.quaternion), np.zeros_like(state.twist)]
        stage = state
        for delay, ahead, weight in zip(TIMES, AHEAD, WEIGHTS, strict=True):
            rates = self.rates(t + delay * dt, stage)
            sums = [total + weight * rate for total, rate in zip(sums, rates, strict=True)]
            stage = _moved(state, rates, ahead * dt)
        end = _moved(state, sums, dt / 6.0)
        return replace(end, quaternion=end.quaternion / np.linalg.norm(end.quaternion, axis=1, keepdims=True))


def _moved(state: BodyStates, rates: list[Array] | tuple[Array, ...], h: float) -> BodyStates:
    position, quaternion, twist = rates
    return BodyStates(
        state.position + h * position, state.quaternion + h * quaternion, state.twist + h * twist, state.near
    )


def _row(motion: _Motion, t: float, state: BodyStates) -> tuple[float | Array, ...]:
    """Time, positions, velocities, efforts, energies, errors and reactions."""
    system, robot = motion.system, motion.system.robot
    q, qd = joint_coordinates(robot, state)
    kinetic = 0.5 * np.einsum("bi,bij,bj", state.twist, system.inertia, state.twist) + 0.5 * system.rotor @ qd**2
    moment = robot.parameters[:, layout.MOMENT : layout.MOMENT + 3, None]
    weight = robot.parameters[:, layout.MASS] @ state.position
    weight = weight + (quaternion_matrices(state.quaternion) @ moment)[:, :, 0].sum(axis=0)
    potential = -(weight + robot.root_inertia.first_moment) @ robot.gravity
    position, velocity = motion_errors(system, joint_motion(robot, state), state.near)
    largest = [np.abs(error).max(initial=0.0) for error in (position, velocity)]
    reactions = motion.solution(t, state)[motion.system.force]
    return t, q, qd, motion.effort(t, state), kinetic, potential, *largest, reactions


def _effort_function(robot: RobotModel, effort: Effort | ArrayLike | None) -> Callable[[float, BodyStates], Array]:
    given = np.zeros(robot.n) if effort is None else effort
    law: Effort = given if callable(given) else lambda t, q, qd: given
    joints, owner = [f"joint {name!r}" for name in robot.joint_names], f"robot {robot.name!r}"
    return lambda t, state: finite_vector("the effort", law(t, *joint_coordinates(robot, state)), joints, owner)
