"""The record of a simulation, and what makes it row by row; numbers of steps and periods."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.control.control_law import Reference
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.base_motion import BaseRows
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.surroundings import touch_forces

#: Limits of one simulation: steps, and bytes of its log.
MOST_STEPS, LARGEST_LOG = 1e8, 4e9
_ENTRIES = tuple(f"{row}{column}" for row in "xyz" for column in "xyz")


@dataclass(frozen=True, eq=False)
class Log:
    """Record of a simulation, one row a control cycle.

    Parameters
    ----------
    joint_names
        Length n.
    time
        s; shape (rows,).
    q, qd
        State at that time, before the cycle's effort acts; shapes (rows, nq), (rows, n).
    effort
        Effort that acted from then on, after the limits, N·m or N; shape (rows, n).
    energies
        Computes `kinetic` and `potential`, at the first access to one of them.
    reference_q, reference_qd, reference_qdd
        Desired motion; shape (rows, n); `None` in free motion.
    terms
        The control law's torque term by term, before the limits; each of shape (rows, n).
    tree_names, tree_q, tree_qd
        Of a mechanism, all joints of its tree, passive ones included: names, positions (rows, nq of the tree) and
        velocities (rows, n of the tree); empty and None for an open arm.
    mode_names, delta, deltad
        Of an arm with flexible links, their modes, the modes' amplitudes and rates (rows, modes); empty and None for a
        rigid one.
    flexible_links, tip
        Its flexible links, and the displacement, m, and small rotation, rad, of each one's end against a stiff
        link's, in the link's frame; shape (rows, links, 6).
    elastic
        The part of `potential` that is in bent links, J; shape (rows,).
    base_position, base_rotation
        Of a moving base, the root link's origin and axes ``R_WB`` in the world; shapes (rows, 3), (rows, 3, 3).
    body_names, reactions
        Of a simulation in maximal coordinates, the joint of every body, and the (force, moment) that the body gets
        through it, at its frame's origin in its axes, N and N·m; shape (rows, bodies, 6).
    position_error, velocity_error
        Largest violation of any joint there, m or rad, and per s; shape (rows,).
    touching, contact
        Of an arm with surroundings, its touching points by link, and the force on each in the root link's axes, on a
        floating base in the world's, N; shape (rows, points, 3).
    findings
        Times and links outside the range of the theory of bending; empty where there are none.
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    qd: Array
    effort: Array
    energies: Callable[[], tuple[Array, Array]] = field(repr=False)
    reference_q: Array | None = None
    reference_qd: Array | None = None
    reference_qdd: Array | None = None
    terms: Mapping[str, Array] = field(default_factory=dict)
    tree_names: tuple[str, ...] = ()
    tree_q: Array | None = None
    tree_qd: Array | None = None
    mode_names: tuple[str, ...] = ()
    delta: Array | None = None
    deltad: Array | None = None
    flexible_links: tuple[str, ...] = ()
    tip: Array | None = None
    elastic: Array | None = None
    base_position: Array | None = None
    base_rotation: Array | None = None
    body_names: tuple[str, ...] = ()
    reactions: Array | None = None
    position_error: Array | None = None
    velocity_error: Array | None = None
    touching: tuple[str, ...] = ()
    contact: Array | None = None
    findings: tuple[str, ...] = ()

    @cached_property
    def _energies(self) -> tuple[Array, Array]:
        return self.energies()

    @property
    def kinetic(self) -> Array:
        """Kinetic energy, J; shape (rows,). On a moving base, of the moving links in the world.

        The root link is part of a moving base and not counted, also in `potential`.
        """
        return self._energies[0]

    @property
    def potential(self) -> Array:
        """Potential energy of gravity and, in flexible links, of their bending, J; shape (rows,)."""
        return self._energies[1]

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy together, J; shape (rows,)."""
        return self.kinetic + self.potential

    @property
    def error(self) -> Array:
        """Desired less actual position, rad or m; shape (rows, n); zero in free motion."""
        return np.zeros_like(self.qd) if self.reference_q is None else self.reference_q - self.q

    @property
    def rms_error(self) -> Array:
        """Root mean square of the error of each joint; shape (n,)."""
        return np.asarray(np.sqrt(np.mean(self.error**2, axis=0)))

    @property
    def largest_error(self) -> Array:
        """Largest absolute error of each joint; shape (n,)."""
        return np.asarray(np.abs(self.error).max(axis=0))

    @property
    def largest_effort(self) -> Array:
        """Largest absolute effort of each joint; shape (n,)."""
        return np.asarray(np.abs(self.effort).max(axis=0))

    def columns(self) -> dict[str, Array]:
        """Every number with its name: ``q/<joint>``, ``qd/<joint>``, ``effort/<joint>``, …; each of shape (rows,)."""
        names = self.joint_names
        places = names if self.q.shape[1] == len(names) else tuple(map(str, range(self.q.shape[1])))
        table = {"time": self.time}
        for what, rows, labels in (
            ("q", self.q, places),
            ("qd", self.qd, names),
            ("reference_q", self.reference_q, names),
            ("reference_qd", self.reference_qd, names),
            ("reference_qdd", self.reference_qdd, names),
            ("effort", self.effort, names),
            *((f"torque_{name}", rows, names) for name, rows in self.terms.items()),
            ("tree_q", self.tree_q, self.tree_names),
            ("tree_qd", self.tree_qd, self.tree_names),
            ("delta", self.delta, self.mode_names),
            ("deltad", self.deltad, self.mode_names),
            ("base_position", self.base_position, ("x", "y", "z")),
            ("base_rotation", None if self.base_rotation is None else self.base_rotation.reshape(-1, 9), _ENTRIES),
            *(
                (f"tip/{link}", self.tip[:, k], ("x", "y", "z", "turn_x", "turn_y", "turn_z"))
                for k, link in enumerate(self.flexible_links)
                if self.tip is not None
            ),
            *(
                (f"reaction/{joint}", self.reactions[:, k], ("fx", "fy", "fz", "mx", "my", "mz"))
                for k, joint in enumerate(self.body_names)
                if self.reactions is not None
            ),
            *(
                (f"contact/{point}", self.contact[:, k], ("x", "y", "z"))
                for k, point in enumerate(self.touching)
                if self.contact is not None
            ),
        ):
            if rows is not None:
                table.update({f"{what}/{label}": rows[:, j] for j, label in enumerate(labels)})
        table["kinetic_energy"], table["potential_energy"] = self.kinetic, self.potential
        for name, values in (
            ("elastic_energy", self.elastic), ("position_error", self.position_error),
            ("velocity_error", self.velocity_error),
        ):  # fmt: skip
            if values is not None:
                table[name] = values
        return table

    def save_csv(self, path: str | Path) -> None:
        """One line a row under a header of `columns`' names; numbers in full precision."""
        table = self.columns()
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))

    def save_npz(self, path: str | Path) -> None:
        """The arrays under their own names (`numpy.load` reads them); terms as ``torque_<name>``."""
        arrays: dict[str, Any] = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        arrays.update(kinetic=self.kinetic, potential=self.potential)
        names = ("tree_names", "mode_names", "flexible_links", "body_names", "touching")
        arrays.update({name: np.array(getattr(self, name)) for name in names if getattr(self, name)})
        arrays.update({f"torque_{name}": rows for name, rows in self.terms.items()})
        with Path(path).open("wb") as file:  # an open file keeps numpy from adding a suffix of its own
            np.savez_compressed(file, joint_names=np.array(self.joint_names), **arrays)


class Recorder:
    """Collects the rows of a running simulation for its log."""

    def __init__(self, plant: ArmPlant) -> None:
        self._plant = plant
        self._rows: dict[str, list[Array | float]] = {}

    def add(
        self, t: float, state: State, effort: Array, reference: Reference | None, terms: Mapping[str, Array]
    ) -> None:
        """One row: what `Log` holds of it."""
        row = {
            "time": t, "q": state.q, "qd": state.qd, "effort": effort, "tree_q": state.posture,
            "tree_qd": state.tree_qd, "delta": state.delta, "deltad": state.deltad,
            **{f"reference_{name}": getattr(reference, name, None) for name in ("q", "qd", "qdd")},
            **{f"torque_{name}": value for name, value in terms.items()},
        }  # fmt: skip
        for name, value in row.items():
            if value is not None:
                self._rows.setdefault(name, []).append(value)

    def done(self) -> Log:
        """The log of all rows."""
        arrays = {name: np.array(rows) for name, rows in self._rows.items()}
        return log_of(self._plant, arrays.pop("time"), arrays)


def log_of(plant: ArmPlant, time: Array, arrays: dict[str, Any]) -> Log:
    """The log of arrays by name, terms as ``torque_<name>``; tips and the base are computed here."""
    terms = {name.removeprefix("torque_"): arrays.pop(name) for name in list(arrays) if name.startswith("torque_")}
    base = None if plant.base_motion is None else BaseRows.of(plant.base_motion, time)
    if base is not None:
        arrays |= {"base_position": base.position, "base_rotation": base.rotation}
    arrays |= plant.coordinates.described(time, arrays, base)
    if plant.touch is not None:
        q, qd = (arrays.get(f"tree_{name}", arrays[name]) for name in ("q", "qd"))
        arrays |= {"touching": plant.touching, "contact": touch_forces(plant.tree, plant.touch, q, qd)}
    return Log(joint_names=plant.robot.joint_names, time=time, terms=terms, **arrays)


def whole(period: float, dt: float) -> int:
    """Number of steps of `dt` in a period; `SimulationError` where it is not a whole number."""
    for name, value in (("dt", dt), ("the control or record period", period)):
        if not (np.isfinite(value) and value > 0.0):
            raise SimulationError(f"{name} is {value} s; it must be finite and above 0")
    steps = round(period / dt)
    if steps < 1 or abs(steps * dt - period) > 1e-9 * period:
        raise SimulationError(f"a period of {period} s is not a whole multiple of the step of {dt} s; make it one")
    return steps


def count(seconds: float, period: float, substeps: int, numbers: int) -> int:
    """Number of periods of a simulation, of so many `substeps`, with so many `numbers` in a row of its log.

    `SimulationError`: a time, s, that is not finite or negative, or needs more than `MOST_STEPS` or `LARGEST_LOG`.
    """
    if not (np.isfinite(seconds) and seconds >= 0.0):
        raise SimulationError(f"the time to simulate is {seconds} s; it must be finite and not negative")
    periods = seconds / period
    steps, size = periods * substeps, 8.0 * periods * numbers
    if steps > MOST_STEPS or size > LARGEST_LOG:
        longest = seconds * min(MOST_STEPS / steps, LARGEST_LOG / size)
        raise SimulationError(
            f"the time to simulate is {seconds:g} s: {steps:.3g} steps, and {size / 1e9:.3g} GB of log; at most "
            f"{MOST_STEPS:.3g} steps and {LARGEST_LOG / 1e9:g} GB are allowed, {longest:.4g} s here. Simulate less at "
            "once, with longer steps, or record less often"
        )
    return round(periods)
