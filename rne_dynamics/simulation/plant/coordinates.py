"""The state of a simulated arm, and the coordinates in which each kind of robot is stepped."""
# ruff: noqa: D102  (the base class documents the methods)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.closed_chain.assembly import assemble, starting_velocity
from rne_dynamics.closed_chain.closing import DONE
from rne_dynamics.closed_chain.independence import generic_rank, refusal
from rne_dynamics.dispatch import forward_dynamics
from rne_dynamics.dynamics.composite.momentum import kinetic_energy, moving_base_energies, potential_energy
from rne_dynamics.errors import SimulationError
from rne_dynamics.flexible.energy import (
    flexible_kinetic_energy,
    flexible_moving_base_energies,
    flexible_potential_energy,
    tip_deflections,
)
from rne_dynamics.flexible.equations import flexible_forward_dynamics
from rne_dynamics.flexible.static import balance, elastic_energy
from rne_dynamics.flexible.theory_range import DIVERGED, deflections, divergence, reported_findings
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.friction import passive_viscous
from rne_dynamics.model.inertia import Array, read_only
from rne_dynamics.model.layout import FLOATING, KIND, POSITION_INDEX, VELOCITY_INDEX
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.arrays import (
    MOST_PARTS,
    NOT_CONVERGED,
    Flex,
    Loops,
    PlantArrays,
    normalize_quaternions,
)
from rne_dynamics.simulation.plant.base_motion import BaseRows


@dataclass(frozen=True, eq=False)
class State:
    """Time, positions and velocities.

    Parameters
    ----------
    t
        Simulated time, s.
    q
        Positions, rad or m; shape (nq,).
    qd
        Velocities; shape (n,).
    posture
        Of a mechanism, positions of all joints of its tree at `q`, shape (nq of the tree,), from which assembly
        starts, so that the loops stay on their branch. None for an open arm; where a mechanism's is None, assembly
        starts from the mechanism's own posture.
    tree_qd
        Of a mechanism, velocities of all joints of its tree, shape (n of the tree,); None for an open arm.
    in_tree
        Whether a mechanism's next step is taken in the coordinates of its tree: near singular postures, and always
        where its actuated joints are no coordinates; see `stepping.step`.
    delta, deltad
        Of an arm with flexible links the amplitudes of its modes and their rates, in the order of its `mode_names`;
        shape (modes,). None for a rigid one.
    """

    t: float
    q: Array
    qd: Array
    posture: Array | None = None
    delta: Array | None = None
    deltad: Array | None = None
    tree_qd: Array | None = None
    in_tree: bool = False


class Coordinates:
    """Coordinates z and velocities ż of one kind of robot; here the joints of an open arm.

    Attributes: `has_collocation`: whether it can be stepped by collocation, which is its default method then;
    `moves_when_braked`: whether anything moves while brakes hold all joints.
    """

    #: Of the velocities, with "joint" or "mode" in front.
    names: tuple[str, ...]
    #: Where each velocity has its position in z, −1 for floating joints; one for each name.
    positions: NDArray[np.int64]
    #: The robot, where it is one.
    mechanism: Mechanism | None = None
    #: Of a mechanism, viscous friction of its tree's joints, zero where they are actuated.
    passive_viscous: Array = np.zeros(0)
    has_collocation = moves_when_braked = False

    def __init__(self, robot: Any) -> None:
        self._robot = robot
        self.names = tuple(f"joint {name!r}" for name in robot.joint_names)
        self.positions = np.full(robot.n, -1, dtype=np.int64)
        kind, iq, iv = robot.body_model.topology[:, [KIND, POSITION_INDEX, VELOCITY_INDEX]].T
        placed = (kind != FLOATING) & (iv < robot.n)
        self.positions[iv[placed]] = iq[placed]

    def completed(self, plant: PlantArrays, posture: Array | None, collocation: bool) -> PlantArrays:
        """`plant` with its loops, to be assembled from `posture` on, or its flexible links, by `collocation` or not."""
        return plant

    def initial(
        self, t: float, q: Array, qd: Array, posture: Array | None, delta: ArrayLike | None, deltad: ArrayLike | None
    ) -> State:
        """The state with these positions (nq,) and velocities (n,); parameters and errors as for `checked_state`."""
        if delta is not None or deltad is not None:
            raise SimulationError(f"robot {self._robot.name!r} has no flexible links; leave out delta and deltad")
        return State(t, q, qd)

    def pack(self, state: State) -> tuple[Array, Array]:
        """Z and ż of a state, contiguous: kernels are compiled anew for other arrays."""
        return np.ascontiguousarray(state.q, np.float64), np.ascontiguousarray(state.qd, np.float64)

    def unpack(self, t: float, z: Array, zd: Array, plant: PlantArrays) -> State:
        """The state after a step of the kernels."""
        return State(t, z, zd)

    def located(self, t: float, z: Array, zd: Array, near: State) -> State:
        """The state at any z and ż, assembled from the one `near` it on."""
        normalize_quaternions(self._robot.topology, z)
        return State(t, z, zd)

    def explain_failure(self, state: State, effort: Array, dt: float, plant: PlantArrays) -> None:
        """Raise for a step from `state` whose motion was not determined; nothing where no reason is found."""
        forward_dynamics(self._robot, state.q, state.qd, effort)  # names the joint without inertia

    def explain_rates(self, t: float, z: Array, zd: Array, effort: Array, plant: PlantArrays, *, first: bool) -> None:
        """Raise for undetermined accelerations in adaptive integration, `first` ones or where no shorter step helps."""
        forward_dynamics(self._robot, z, zd, effort)

    def report_findings(self, states: Sequence[State], times: ArrayLike) -> None:
        """Warn, at the caller's caller, of states outside the range of the theory of bending."""

    def described(self, time: Array, arrays: dict[str, Any], base: BaseRows | None) -> dict[str, Any]:
        """Fields of `Log` besides the recorded rows (`arrays`): energies, names, tips."""
        return {"energies": partial(rigid_energies, self._robot, arrays["q"], arrays["qd"], base)}


def rigid_energies(tree: RobotModel, q: Array, qd: Array, base: BaseRows | None) -> tuple[Array, Array]:
    """Kinetic and potential energies of the rows q (rows, nq), qd (rows, n)."""
    if base is None:
        return kinetic_energy(tree, q, qd), potential_energy(tree, q)
    return moving_base_energies(tree, base.position, base.rotation, base.velocity, q, qd)


def finite_vector(what: str, value: ArrayLike, labels: Sequence[str], owner: str, *, broadcast: bool = False) -> Array:
    """`value` as a new array of a number for each label, or with `broadcast` for all; SimulationError names it."""
    array = np.array(value, dtype=np.float64)
    if broadcast and array.ndim == 0:
        array = np.full(len(labels), float(array))
    if array.shape != (len(labels),):
        raise SimulationError(f"{what} has shape {array.shape}; {owner} needs ({len(labels)},)")
    finite = np.isfinite(array)
    if not finite.all():
        k = int(np.argmin(finite))
        raise SimulationError(f"{what} of {labels[k]} is {array[k]}; it must be finite")
    return array


#: `MotionMap.smallest` below which mechanisms are stepped in their tree, and above which no longer.
ENTER, LEAVE = 0.2, 0.25


class ActuatedJoints(Coordinates):
    """Actuated joints of a mechanism, with viscous friction of its passive joints or without."""

    def __init__(self, mechanism: Mechanism, friction: bool) -> None:
        super().__init__(mechanism)
        self.mechanism = mechanism
        self.positions = np.arange(mechanism.n)
        self.moves_when_braked = generic_rank(mechanism).loose > 0
        self.passive_viscous = read_only(passive_viscous(mechanism) if friction else np.zeros(mechanism.open_tree.n))

    def completed(self, plant: PlantArrays, posture: Array | None, collocation: bool) -> PlantArrays:
        # the arrays that the kernels write to are new ones
        return plant._replace(loops=Loops.of(self._robot, self.passive_viscous, posture))

    def initial(
        self, t: float, q: Array, qd: Array, posture: Array | None, delta: ArrayLike | None, deltad: ArrayLike | None
    ) -> State:
        super().initial(t, q, qd, posture, delta, deltad)
        closed = assemble(self._robot, q, start=posture)
        rates, regular = starting_velocity(self._robot, closed, qd)
        return State(t, q, qd, closed, tree_qd=rates, in_tree=not regular)

    def unpack(self, t: float, z: Array, zd: Array, plant: PlantArrays) -> State:
        assert plant.loops is not None
        near = bool(plant.loops.distance[0] < ENTER)
        return State(t, z, zd, plant.loops.posture, tree_qd=plant.loops.T @ zd, in_tree=near)

    def located(self, t: float, z: Array, zd: Array, near: State) -> State:
        return self.initial(t, z, zd, near.posture, None, None)

    def explain_rates(self, t: float, z: Array, zd: Array, effort: Array, plant: PlantArrays, *, first: bool) -> None:
        assert plant.loops is not None
        status = int(plant.loops.status[0])
        if status != DONE:
            error = refusal(self._robot, status, z, plant.loops.posture)
            raise SimulationError(
                f"adaptive integration, which is in the actuated joints, ends at t = {t:.6g} s: {error}. `step` and "
                "`free_motion` with its own methods go through"
            ) from error

    def described(self, time: Array, arrays: dict[str, Any], base: BaseRows | None) -> dict[str, Any]:
        tree = self._robot.open_tree
        energies = partial(rigid_energies, tree, arrays["tree_q"], arrays["tree_qd"], base)
        return {"tree_names": tree.joint_names, "energies": energies}


class JointsAndModes(Coordinates):
    """Joints and modes of an arm with flexible links."""

    has_collocation = moves_when_braked = True

    def __init__(self, arm: FlexibleArm) -> None:
        self._arm = arm
        self.names = (
            *(f"joint {name!r}" for name in arm.joint_names),
            *(f"mode {name!r}" for name in arm.mode_names),
        )
        self.positions = np.arange(arm.nz)

    def completed(self, plant: PlantArrays, posture: Array | None, collocation: bool) -> PlantArrays:
        # the arrays that the kernels write to are new ones
        return plant._replace(flex=Flex.of(self._arm, collocation))

    def initial(
        self, t: float, q: Array, qd: Array, posture: Array | None, delta: ArrayLike | None, deltad: ArrayLike | None
    ) -> State:
        arm, still = self._arm, np.zeros(self._arm.n)
        bent = balance(arm, q, still, still).delta if delta is None else self._of_modes("delta", delta)
        return State(t, q, qd, None, bent, self._of_modes("deltad", 0.0 if deltad is None else deltad))

    def _of_modes(self, what: str, value: ArrayLike) -> Array:
        return finite_vector(what, value, self.names[self._arm.n :], f"arm {self._arm.name!r}", broadcast=True)

    def pack(self, state: State) -> tuple[Array, Array]:
        if state.delta is None or state.deltad is None:
            return super().pack(state)
        return np.concatenate([state.q, state.delta]), np.concatenate([state.qd, state.deltad])

    def unpack(self, t: float, z: Array, zd: Array, plant: PlantArrays) -> State:
        return self.located(t, z, zd, None)

    def located(self, t: float, z: Array, zd: Array, near: State | None) -> State:
        """`SimulationError` where a link is deflected by its own length or more."""
        n, arm = self._arm.n, self._arm
        if not deflections(arm, z[n:]).max() < DIVERGED:
            raise SimulationError(f"arm {arm.name!r}: {divergence(arm, z[n:])} (t = {t:.6g} s)")
        return State(t, z[:n].copy(), zd[:n].copy(), None, z[n:].copy(), zd[n:].copy())

    def explain_failure(self, state: State, effort: Array, dt: float, plant: PlantArrays) -> None:
        self._name_singular(*self.pack(state), effort)
        assert plant.flex is not None
        if plant.flex.status[0] == NOT_CONVERGED:
            raise SimulationError(
                f"the implicit equations of the step from t = {state.t:.6g} s do not converge, nor in parts of "
                f"{dt / MOST_PARTS:.3g} s; take a shorter step than {dt:g} s, or check stiffness, masses and gains"
            )

    def explain_rates(self, t: float, z: Array, zd: Array, effort: Array, plant: PlantArrays, *, first: bool) -> None:
        if first:  # later ones may be trial steps that are too long
            self._name_singular(z, zd, effort)

    def _name_singular(self, z: Array, zd: Array, effort: Array) -> None:
        """Raise where a joint or mode moves no inertia; names it."""
        n = self._arm.n
        flexible_forward_dynamics(self._arm, z[:n], z[n:], zd[:n], zd[n:], effort)

    def report_findings(self, states: Sequence[State], times: ArrayLike) -> None:
        q, delta, qd = (np.array([getattr(there, name) for there in states]) for name in ("q", "delta", "qd"))
        reported_findings(self._arm, q, delta, qd, times, stacklevel=4)

    def described(self, time: Array, arrays: dict[str, Any], base: BaseRows | None) -> dict[str, Any]:
        """Warns of bending beyond the theory as `reported_findings` does."""
        arm, q, delta, qd, deltad = self._arm, arrays["q"], arrays["delta"], arrays["qd"], arrays["deltad"]
        return {
            "energies": partial(_energies, arm, q, delta, qd, deltad, base),
            "mode_names": arm.mode_names,
            "flexible_links": tuple(link.link for link in arm.flexible_links),
            "tip": tip_deflections(arm, delta),
            "findings": reported_findings(arm, q, delta, qd, time, stacklevel=5),
            "elastic": elastic_energy(arm, delta),
        }


def _energies(
    arm: FlexibleArm, q: Array, delta: Array, qd: Array, deltad: Array, base: BaseRows | None
) -> tuple[Array, Array]:
    """Kinetic and potential energies of the rows."""
    if base is None:
        return flexible_kinetic_energy(arm, q, delta, qd, deltad), flexible_potential_energy(arm, q, delta)
    moving = np.hstack([base.velocity, np.zeros_like(base.velocity)])  # accelerations do not count
    z, zd = np.hstack([q, delta]), np.hstack([qd, deltad])
    return flexible_moving_base_energies(arm, base.position, base.rotation, moving, z, zd)


def coordinates_of(robot: Robot, friction: bool = True) -> Coordinates:
    """The coordinates in which a robot is simulated, with friction of passive joints or without."""
    if robot.kind == "flexible":
        return JointsAndModes(robot)
    if robot.kind == "mechanism":
        return ActuatedJoints(robot, friction)
    return Coordinates(robot)


def checked_state(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    t: float = 0.0,
    posture: Array | None = None,
    delta: ArrayLike | None = None,
    deltad: ArrayLike | None = None,
) -> State:
    """A state to start from, copied; `qd` is zero unless given, a mechanism's loops are assembled from `posture` on.

    Flexible links start bent as gravity bends them at rest, unless `delta` and `deltad` are given. `SimulationError`
    names joint or mode; `AssemblyError`, `ArgumentError`, `ModelError` as loops and equilibrium raise them.
    """
    owner, joints = f"robot {robot.name!r}", [f"joint {name!r}" for name in robot.joint_names]
    places = joints if robot.nq == robot.n else [f"number {k}" for k in range(robot.nq)]
    position = finite_vector("q", q, places, owner)
    velocity = finite_vector("qd", 0.0 if qd is None else qd, joints, owner, broadcast=True)
    return coordinates_of(robot).initial(float(t), position, velocity, posture, delta, deltad)
