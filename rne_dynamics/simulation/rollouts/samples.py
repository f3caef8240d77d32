"""Differences between the rollouts of a Monte-Carlo run, one row a sample, given or drawn at random from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.friction import SCALED
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import INERTIA, MASS, MOMENT, ROTOR
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.arrays import BACKWARD, EFFORT, FORWARD, LOWER, PlantRows

_UPPER = np.triu_indices(3)


@dataclass(frozen=True, eq=False)
class Samples:
    """Starts, arms and gains of many rollouts. Made by `Rollout.samples`; every change gives new samples.

    Changes to masses, friction and so on add up and recompile nothing; the controller does not know them. Numbers are
    checked sample by sample in the run, so that one invalid sample does not stop the others.

    Raises ArgumentError: all methods, for an array whose shape is not one sample's or S times that; ModelError: an
    unknown link.
    """

    #: The simulated arm without changes.
    robot: RobotModel
    #: Number of samples S.
    count: int
    #: Where each starts; shapes (S, nq), (S, n).
    q: Array
    qd: Array
    #: Arms for the compiled loop, with S rows, or with one for all.
    plants: PlantRows
    #: p, i, d and i_clamp of the controllers; shape (S or 1, 4, n).
    gains: Array

    def with_start(self, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> Samples:
        """Positions (S, nq) and velocities (S, n) to start from, or one for all."""
        return replace(
            self,
            q=self.q if q is None else self._rows(q, (self.robot.nq,), "q"),
            qd=self.qd if qd is None else self._rows(qd, (self.robot.n,), "qd"),
        )

    def with_mass_scaled(self, factors: ArrayLike | Mapping[str, ArrayLike]) -> Samples:
        """Links heavier or lighter by a factor, their inertia with them, their centres of mass where they were.

        `factors` is of all links, shape (S,), of each, (S, links) in the order of `link_names`, or a mapping from
        links' names to (S,).
        """
        if isinstance(factors, Mapping):
            rows = np.ones((self.count, len(self.robot.link_names)))
            for name, factor in factors.items():
                rows[:, self.robot.link_index(name)] = self._rows(factor, (), f"the mass factor of {name!r}")
        else:
            rows = self._rows_or_columns(factors, len(self.robot.link_names), "the mass factors")
        parameters = self._all(self.plants.parameters)
        for more, body, mass, moment, inertia in zip(rows.T - 1.0, *self.robot.link_inertias, strict=True):
            if body >= 0:
                _add(parameters[:, body], more * mass, np.multiply.outer(more, moment),
                     np.multiply.outer(more, inertia))  # fmt: skip
        return replace(self, plants=self.plants._replace(parameters=parameters))

    def with_payload(
        self, link: str, mass: ArrayLike, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike = ((0.0,) * 3,) * 3
    ) -> Samples:
        """A load fixed to a link, as `with_payload` of a model.

        Mass (S,), kg; centre of mass (S, 3) in the link's frame, m; inertia about it (S, 3, 3), kg·m². Each may be one
        for all.
        """
        m, c = self._rows(mass, (), "the payload's mass"), self._rows(com, (3,), "the payload's com")
        about = self._rows(inertia, (3, 3), "the payload's inertia")
        frame, parameters = self.robot.link(link), self._all(self.plants.parameters)
        if frame.body >= 0:  # on the base it moves nothing
            centre = c @ frame.rotation.T + frame.position
            square = np.einsum("si,si->s", centre, centre)[:, None, None] * np.eye(3)
            origin = frame.rotation @ about @ frame.rotation.T + m[:, None, None] * (
                square - centre[:, :, None] * centre[:, None, :]
            )
            _add(parameters[:, frame.body], m, m[:, None] * centre, origin)
        return replace(self, plants=self.plants._replace(parameters=parameters))

    def with_rotors_scaled(self, factors: ArrayLike) -> Samples:
        """Reflected rotor inertias times a factor: of all joints, (S,), or of each body's, (S, bodies)."""
        parameters = self._all(self.plants.parameters)
        parameters[:, :, ROTOR] *= self._rows_or_columns(factors, self.robot.bodies, "the rotor factors")
        return replace(self, plants=self.plants._replace(parameters=parameters))

    def with_friction_scaled(self, factors: ArrayLike) -> Samples:
        """All friction times a factor: of all joints, (S,), or of each, (S, n)."""
        joints = self._all(self.plants.joints)
        joints[:, :, :SCALED] *= self._rows_or_columns(factors, self.robot.n, "the friction factors")[:, :, None]
        return replace(self, plants=self.plants._replace(joints=joints))

    def with_effort_limit(self, limit: ArrayLike) -> Samples:
        """Effort limits of the drives, (S, n), N·m or N; infinite for none."""
        joints = self._all(self.plants.joints)
        joints[:, :, EFFORT] = self._rows(limit, (self.robot.n,), "the effort limit")
        return replace(self, plants=self.plants._replace(joints=joints))

    def with_gravity(self, gravity: ArrayLike) -> Samples:
        """Gravity in the base's axes, (S, 3), m/s²: another place, or a tilted base."""
        base = self._all(self.plants.base)
        base[:, 6:9] = -self._rows(gravity, (3,), "gravity")
        return replace(self, plants=self.plants._replace(base=base))

    def with_gains(
        self,
        p: ArrayLike | None = None,
        i: ArrayLike | None = None,
        d: ArrayLike | None = None,
        i_clamp: ArrayLike | None = None,
    ) -> Samples:
        """Gains of the controller, each (S, n), in the units of its law; those left out stay."""
        gains = self._all(self.gains)
        for row, (name, value) in enumerate((("p", p), ("i", i), ("d", d), ("i_clamp", i_clamp))):
            if value is not None:
                gains[:, row] = self._rows(value, (self.robot.n,), f"gain {name}")
        return replace(self, gains=gains)

    def _all(self, rows: Array) -> Array:
        """One row a sample, to be changed."""
        return np.repeat(rows, self.count // len(rows), axis=0)

    def _rows(self, value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
        return rows_of(value, self.count, shape, what)

    def _rows_or_columns(self, value: ArrayLike, width: int, what: str) -> Array:
        """Shape (S, width) from one number, (S,) or (S, width)."""
        if np.ndim(value) < 2:
            return np.repeat(self._rows(value, (), what)[:, None], width, axis=1)
        return self._rows(value, (width,), what)


def rows_of(value: ArrayLike, count: int, shape: tuple[int, ...], what: str) -> Array:
    """A new array (count, *shape) from one like it or from one sample's; `ArgumentError` for another shape."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} is not an array of numbers") from None
    if array.shape not in ((count, *shape), shape):
        raise ArgumentError(
            f"{what} has shape {array.shape}; for {count} samples it must be {(count, *shape)}, or {shape} for all"
        )
    # in rows, which a copy of a broadcast array is not
    return np.array(np.broadcast_to(array, (count, *shape)), order="C")


def _add(rows: Array, mass: Array, moment: Array, inertia: Array) -> None:
    """Add to one body's parameters of every sample, (S, COLUMNS)."""
    rows[:, MASS] += mass
    rows[:, MOMENT : MOMENT + 3] += moment
    rows[:, INERTIA : INERTIA + 6] += inertia[:, _UPPER[0], _UPPER[1]]


def faults(samples: Samples, positions: NDArray[np.int64], stops: bool) -> dict[int, str]:
    """Samples that cannot be run, with the reason."""
    robot, (*_, parameters, base, joints) = samples.robot, samples.plants
    friction, both = joints[:, :, :LOWER], joints[:, :, FORWARD] + joints[:, :, BACKWARD]  # of both one may be negative
    sizes = np.concatenate((both[:, :, None], np.delete(friction, [FORWARD, BACKWARD], axis=2)), axis=2)
    checks = [
        *((~np.isfinite(array), f"{what} is not finite") for what, array in (
            ("q", samples.q), ("qd", samples.qd), ("the inertia", parameters), ("gravity", base),
            ("friction", friction), ("a gain", samples.gains[:, :3]),
        )),
        *((~(array >= 0.0), f"{what} is negative or not a number") for what, array in (
            ("a mass", parameters[:, :, MASS]), ("a rotor inertia", parameters[:, :, ROTOR]), ("friction", sizes),
            ("a gain", samples.gains), ("an effort limit", joints[:, :, EFFORT:]),
        )),
    ]  # fmt: skip
    for j in np.flatnonzero(positions >= 0).tolist() if stops else ():
        at, low, high = samples.q[:, positions[j]], robot.lower[j], robot.upper[j]
        outside = f"joint {robot.joint_names[j]!r} starts outside its limits [{low:g}, {high:g}]"
        checks.append(((at < low) | (at > high), outside))
    found: dict[int, str] = {}
    for bad, why in checks:
        rows = np.broadcast_to(bad.reshape(len(bad), -1).any(axis=1), samples.count)
        found = {**dict.fromkeys(np.flatnonzero(rows).tolist(), why), **found}
    return found
