"""Recording of a simulation into a `Log`; numbers of steps and periods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rne_dynamics.control.reference import Reference
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.base_trajectory import BaseRows
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.state import State
from rne_dynamics.simulation.runs.log import Log


class Recorder:
    """Collects the rows of a running simulation for its log."""

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
    """The log of arrays by name, terms as ``torque_<name>``; energies, tips and the base are computed here."""
    terms = {name.removeprefix("torque_"): arrays.pop(name) for name in list(arrays) if name.startswith("torque_")}
    base = None if plant.base_motion is None else BaseRows.of(plant.base_motion, time)
    if base is not None:
        arrays |= {"base_position": base.position, "base_rotation": base.rotation}
    arrays |= plant.coordinates.energies(time, arrays, base)
    return Log(joint_names=plant.robot.joint_names, time=time, terms=terms, **arrays)


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
