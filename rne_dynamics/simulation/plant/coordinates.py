"""The coordinates in which a robot is simulated: its states, failures and energies. Here those of an open arm."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.dispatch import forward_dynamics
from rne_dynamics.dynamics.composite.momentum import kinetic_energy, moving_base_energies, potential_energy
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, POSITION_INDEX, VELOCITY_INDEX
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.arrays import PlantArrays
from rne_dynamics.simulation.plant.base_trajectory import BaseRows
from rne_dynamics.simulation.plant.configuration_rate import normalize_quaternions
from rne_dynamics.simulation.plant.state import State


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
        for kind, iq, iv in robot.body_model.topology[:, [KIND, POSITION_INDEX, VELOCITY_INDEX]].tolist():
            if kind != FLOATING and iv < robot.n:
                self.positions[iv] = iq

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
