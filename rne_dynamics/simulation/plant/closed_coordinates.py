"""Coordinates of a mechanism: its actuated joints, the others following from the loops."""
# ruff: noqa: D102  (the base class documents the methods)

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.assembly import assemble, starting_velocity
from rne_dynamics.closed_chain.independence import generic_rank
from rne_dynamics.model.friction import passive_viscous
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.simulation.plant.arrays import PlantArrays
from rne_dynamics.simulation.plant.base_trajectory import BaseRows
from rne_dynamics.simulation.plant.coordinates import Coordinates, rigid_energies
from rne_dynamics.simulation.plant.loops import Loops, refuse_posture
from rne_dynamics.simulation.plant.state import State

#: `MotionMap.smallest` below which mechanisms are stepped in their tree, and above which no longer.
ENTER, LEAVE = 0.2, 0.25


class ActuatedJoints(Coordinates):
    """Actuated joints of a mechanism, with viscous friction of its passive joints or without."""

    def __init__(self, mechanism: Mechanism, friction: bool) -> None:
        super().__init__(mechanism)
        self.mechanism = self._mechanism = mechanism
        self.positions = np.arange(mechanism.n)
        self.moves_when_braked = generic_rank(mechanism).loose > 0
        self.passive_viscous = passive_viscous(mechanism) if friction else np.zeros(mechanism.open_tree.n)
        self.passive_viscous.flags.writeable = False

    def completed(self, plant: PlantArrays, posture: Array | None, collocation: bool) -> PlantArrays:
        # the arrays that the kernels write to are new ones
        return plant._replace(loops=Loops.of(self._mechanism, self.passive_viscous, posture))

    def initial(
        self, t: float, q: Array, qd: Array, posture: Array | None, delta: ArrayLike | None, deltad: ArrayLike | None
    ) -> State:
        super().initial(t, q, qd, posture, delta, deltad)
        closed = assemble(self._mechanism, q, start=posture)
        rates, regular = starting_velocity(self._mechanism, closed, qd)
        return State(t, q, qd, closed, tree_qd=rates, in_tree=not regular)

    def unpack(self, t: float, z: Array, zd: Array, plant: PlantArrays) -> State:
        assert plant.loops is not None
        near = bool(plant.loops.distance[0] < ENTER)
        return State(t, z, zd, plant.loops.posture, tree_qd=plant.loops.T @ zd, in_tree=near)

    def located(self, t: float, z: Array, zd: Array, near: State) -> State:
        return self.initial(t, z, zd, near.posture, None, None)

    def explain_rates(self, t: float, z: Array, zd: Array, effort: Array, plant: PlantArrays, *, first: bool) -> None:
        assert plant.loops is not None
        refuse_posture(self._mechanism, plant.loops, t)

    def described(self, time: Array, arrays: dict[str, Any], base: BaseRows | None) -> dict[str, Any]:
        tree = self._mechanism.open_tree
        energies = partial(rigid_energies, tree, arrays["tree_q"], arrays["tree_qd"], base)
        return {"tree_names": tree.joint_names, "energies": energies}
