"""Coordinates of an arm with flexible links: z = [q, δ], its joints and the deflections of its links."""
# ruff: noqa: D102  (the base class documents the methods)

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

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
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import PlantArrays
from rne_dynamics.simulation.plant.base_trajectory import BaseRows
from rne_dynamics.simulation.plant.bending import MOST_PARTS, NOT_CONVERGED, Flex
from rne_dynamics.simulation.plant.coordinates import Coordinates, finite_vector
from rne_dynamics.simulation.plant.state import State


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
        rate = self._of_modes("deltad", 0.0 if deltad is None else deltad)
        return State(t, q, qd, None, bent, rate)

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
