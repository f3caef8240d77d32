"""How a simulation becomes a `Log`, and how often it steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rne_dynamics.control.reference import Reference
from rne_dynamics.dynamics.composite.energy import kinetic_energy, moving_base_energies, potential_energy
from rne_dynamics.errors import SimulationError
from rne_dynamics.flexible.energy import (
    flexible_kinetic_energy,
    flexible_moving_base_energies,
    flexible_potential_energy,
)
from rne_dynamics.flexible.poses import tip_deflections
from rne_dynamics.flexible.stiffness import elastic_energy
from rne_dynamics.flexible.theory_range import reported_findings
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism, open_tree
from rne_dynamics.simulation.plant.base_trajectory import BaseTrajectory
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.state import State
from rne_dynamics.simulation.runs.log import Log


class Recorder:
    """Rows while a simulation runs, and the log that they make."""

    def __init__(self, plant: ArmPlant) -> None:
        self._plant = plant
        self._rows: dict[str, list[Array]] = {}
        self._time: list[float] = []

    def add(
        self, t: float, state: State, effort: Array, reference: Reference | None, terms: Mapping[str, Array]
    ) -> None:
        """One row: what `Log` holds of it."""
        self._time.append(t)
        row = {"q": state.q, "qd": state.qd, "effort": effort}
        if state.posture is not None:
            row["tree_q"] = state.posture
        if state.tree_qd is not None:
            row["tree_qd"] = state.tree_qd
        if state.delta is not None and state.deltad is not None:
            row.update(delta=state.delta, deltad=state.deltad)
        if reference is not None:
            row.update(reference_q=reference.q, reference_qd=reference.qd, reference_qdd=reference.qdd)
        row.update({f"torque_{name}": value for name, value in terms.items()})
        for name, value in row.items():
            self._rows.setdefault(name, []).append(value)

    def done(self) -> Log:
        """The log of all rows."""
        return log_of(self._plant, np.array(self._time), {name: np.array(rows) for name, rows in self._rows.items()})


def log_of(plant: ArmPlant, time: Array, arrays: dict[str, Any]) -> Log:
    """The log made of its arrays by name, terms as ``torque_<name>``; energies, tips and the base are found here."""
    robot = plant.robot
    terms = {name.removeprefix("torque_"): arrays.pop(name) for name in list(arrays) if name.startswith("torque_")}
    base = None if plant.base_motion is None else _BaseRows.of(plant.base_motion, time)
    if base is not None:
        arrays |= {"base_position": base.position, "base_rotation": base.rotation}
    if isinstance(robot, FlexibleArm):
        return _bent(robot, time, arrays, terms, base)
    tree, q, qd = open_tree(robot), arrays["q"], arrays["qd"]
    if isinstance(robot, Mechanism):
        q, qd = arrays["tree_q"], arrays["tree_qd"]
    if base is None:
        kinetic, potential = kinetic_energy(tree, q, qd), potential_energy(tree, q)
    else:
        kinetic, potential = moving_base_energies(tree, base.position, base.rotation, base.velocity, q, qd)
    return Log(
        joint_names=robot.joint_names,
        time=time,
        kinetic=kinetic,
        potential=potential,
        terms=terms,
        tree_names=tree.joint_names if "tree_q" in arrays else (),
        **arrays,
    )


class _BaseRows(NamedTuple):
    """A moving base at the times of a log: shapes (rows, 3), (rows, 3, 3), (rows, 6)."""

    position: Array
    rotation: Array
    velocity: Array

    @staticmethod
    def of(trajectory: BaseTrajectory, time: Array) -> _BaseRows:
        motions = [trajectory.motion(t) for t in time.tolist()]
        return _BaseRows(
            np.array([trajectory.position(t) for t in time.tolist()]),
            np.array([motion.rotation for motion in motions]),
            np.array([[*np.asarray(m.linear_velocity), *np.asarray(m.angular_velocity)] for m in motions]),
        )


def _bent(
    arm: FlexibleArm, time: Array, arrays: dict[str, Any], terms: dict[str, Array], base: _BaseRows | None
) -> Log:
    q, delta = arrays["q"], arrays["delta"]
    if base is None:
        kinetic = flexible_kinetic_energy(arm, q, delta, arrays["qd"], arrays["deltad"])
        potential = flexible_potential_energy(arm, q, delta)
    else:
        moving = np.hstack([base.velocity, np.zeros_like(base.velocity)])  # accelerations do not count
        z, zd = np.hstack([q, delta]), np.hstack([arrays["qd"], arrays["deltad"]])
        kinetic, potential = flexible_moving_base_energies(arm, base.position, base.rotation, moving, z, zd)
    findings = reported_findings(arm, q, delta, arrays["qd"], time, stacklevel=5)
    return Log(
        joint_names=arm.joint_names,
        time=time,
        kinetic=kinetic,
        potential=potential,
        terms=terms,
        mode_names=arm.mode_names,
        flexible_links=tuple(link.link for link in arm.flexible_links),
        tip=tip_deflections(arm, delta),
        findings=findings,
        elastic=elastic_energy(arm, delta),
        **arrays,
    )


def whole(period: float, dt: float) -> int:
    """How many steps of `dt` make a period; `SimulationError` where it is not a whole number."""
    for name, value in (("dt", dt), ("the control or record period", period)):
        if not (np.isfinite(value) and value > 0.0):
            raise SimulationError(f"{name} is {value} s; it must be finite and above 0")
    steps = round(period / dt)
    if steps < 1 or abs(steps * dt - period) > 1e-9 * period:
        raise SimulationError(f"a period of {period} s is not a whole multiple of the step of {dt} s; make it one")
    return steps


def count(seconds: float, period: float) -> int:
    """How many periods a simulation takes; `SimulationError` for a time that is not a number or negative."""
    if not (np.isfinite(seconds) and seconds >= 0.0):
        raise SimulationError(f"the time to simulate is {seconds} s; it must be finite and not negative")
    return max(round(seconds / period), 0)
