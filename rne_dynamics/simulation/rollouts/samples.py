"""Differences between the rollouts of a Monte-Carlo run, one row a sample, given or drawn at random from a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.friction import SCALED
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import INERTIA, MASS, MOMENT, ROTOR
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.arrays import BACKWARD, EFFORT, FORWARD, LOWER, PlantRows
from rne_dynamics.simulation.rollouts.closed_loop import LawRows

#: The model that is changed: the simulated arm, the controller's, or both.
Of = Literal["plant", "model", "both"]
_UPPER = np.triu_indices(3)


@dataclass(frozen=True, eq=False)
class Samples:
    """Starts, plants and controllers of many rollouts. Made by `Rollout.samples`; every change gives new samples.

    Changes to masses, friction and so on add up and recompile nothing. Numbers are checked sample by sample in the
    run, so that one invalid sample does not stop the others.

    Raises ArgumentError: all methods, for an array whose shape is not one sample's or S times that; ModelError: an
    unknown link.
    """

    #: The simulated arm and the controller's model without changes.
    robot: RobotModel
    model: RobotModel
    #: Number of samples S.
    count: int
    #: Where each starts; shapes (S, nq), (S, n).
    q: Array
    qd: Array
    #: Arms and controllers for the compiled loop, with S rows, or with one for all.
    plants: PlantRows
    laws: LawRows

    def with_start(self, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> Samples:
        """Positions (S, nq) and velocities (S, n) to start from, or one for all."""
        return replace(
            self,
            q=self.q if q is None else self._rows(q, (self.robot.nq,), "q"),
            qd=self.qd if qd is None else self._rows(qd, (self.robot.n,), "qd"),
        )

    def with_mass_scaled(self, factors: ArrayLike | Mapping[str, ArrayLike], *, of: Of = "plant") -> Samples:
        """Links heavier or lighter by a factor, their inertia with them, their centres of mass where they were.

        `factors` is of all links, shape (S,), of each, (S, links) in the order of `link_names`, or a mapping from
        links' names to (S,).
        """
        names = self.robot.link_names
        rows = np.ones((self.count, len(names)))
        if isinstance(factors, Mapping):
            for name, factor in factors.items():
                self.robot.link(name)
                rows[:, names.index(name)] = self._rows(factor, (), f"the mass factor of {name!r}")
        else:
            rows = self._rows_or_columns(factors, len(names), "the mass factors")

        def scale(parameters: Array, robot: RobotModel) -> None:
            for k, (body, mass, moment, inertia) in enumerate(zip(*robot.link_inertias, strict=True)):
                if body >= 0:
                    more = rows[:, k] - 1.0
                    _add(parameters[:, body], more * mass, np.multiply.outer(more, moment),
                         np.multiply.outer(more, inertia))  # fmt: skip

        return self._changed(of, "parameters", scale)

    def with_payload(
        self,
        link: str,
        mass: ArrayLike,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = 0.0,
        *,
        of: Of = "plant",
    ) -> Samples:
        """A load fixed to a link, as `with_payload` of a model.

        Mass (S,), kg; centre of mass (S, 3) in the link's frame, m; inertia about it (S, 3, 3), kg·m². Each may be one
        for all.
        """
        m, c = self._rows(mass, (), "the payload's mass"), self._rows(com, (3,), "the payload's com")
        about = self._rows(np.zeros((3, 3)) if np.ndim(inertia) == 0 else inertia, (3, 3), "the payload's inertia")

        def load(parameters: Array, robot: RobotModel) -> None:
            frame = robot.link(link)
            if frame.body >= 0:  # on the base it moves nothing
                centre = c @ frame.rotation.T + frame.position
                square = np.einsum("si,si->s", centre, centre)[:, None, None] * np.eye(3)
                origin = frame.rotation @ about @ frame.rotation.T + m[:, None, None] * (
                    square - centre[:, :, None] * centre[:, None, :]
                )
                _add(parameters[:, frame.body], m, m[:, None] * centre, origin)

        return self._changed(of, "parameters", load)

    def with_rotors_scaled(self, factors: ArrayLike, *, of: Of = "plant") -> Samples:
        """Reflected rotor inertias times a factor: of all joints, (S,), or of each body's, (S, bodies)."""

        def scale(parameters: Array, robot: RobotModel) -> None:
            parameters[:, :, ROTOR] *= self._rows_or_columns(factors, robot.bodies, "the rotor factors")

        return self._changed(of, "parameters", scale)

    def with_friction_scaled(self, factors: ArrayLike, *, of: Of = "plant") -> Samples:
        """All friction times a factor: of all joints, (S,), or of each, (S, n).

        The model's friction is what the controller compensates.
        """
        rows = self._rows_or_columns(factors, self.robot.n, "the friction factors")
        samples, owners = self, dict(self._owners(of))
        if "plants" in owners:
            joints = self._all(self.plants.joints)
            joints[:, :, :SCALED] *= rows[:, :, None]
            samples = samples._with("plants", joints=joints)
        if "laws" in owners:
            friction = self._all(self.laws.friction)
            friction[:, :SCALED] *= rows[:, None, :]
            samples = samples._with("laws", friction=friction)
        return samples

    def with_effort_limit(self, limit: ArrayLike) -> Samples:
        """Effort limits of the drives, (S, n), N·m or N; infinite for none."""
        joints = self._all(self.plants.joints)
        joints[:, :, EFFORT] = self._rows(limit, (self.robot.n,), "the effort limit")
        return self._with("plants", joints=joints)

    def with_gravity(self, gravity: ArrayLike, *, of: Of = "plant") -> Samples:
        """Gravity in the base's axes, (S, 3), m/s²: another place, or a tilted base."""
        rows = self._rows(gravity, (3,), "gravity")

        def turn(base: Array, _: RobotModel) -> None:
            base[:, 6:9] = -rows

        return self._changed(of, "base", turn)

    def with_gains(
        self,
        p: ArrayLike | None = None,
        i: ArrayLike | None = None,
        d: ArrayLike | None = None,
        i_clamp: ArrayLike | None = None,
    ) -> Samples:
        """Gains of the controller, each (S, n), in the units of its law; those left out stay."""
        gains = self._all(self.laws.gains)
        for row, (name, value) in enumerate((("p", p), ("i", i), ("d", d), ("i_clamp", i_clamp))):
            if value is not None:
                gains[:, row] = self._rows(value, (self.robot.n,), f"gain {name}")
        return self._with("laws", gains=gains)

    def _owners(self, of: Of) -> list[tuple[str, RobotModel]]:
        """The fields and robots that a change is for."""
        if of not in ("plant", "model", "both"):
            raise ArgumentError(f"of is {of!r}; it must be 'plant', 'model' or 'both'")
        return [("plants", self.robot)] * (of != "model") + [("laws", self.model)] * (of != "plant")

    def _changed(self, of: Of, field: str, change: Callable[[Array, RobotModel], None]) -> Samples:
        """With an array of arms, models or both changed in place, one row a sample."""
        samples = self
        for owner, robot in self._owners(of):
            rows = self._all(getattr(getattr(samples, owner), field))
            change(rows, robot)
            samples = samples._with(owner, **{field: rows})
        return samples

    def _with(self, owner: str, **arrays: Array) -> Samples:
        """With other arrays in the field `owner`."""
        return replace(self, **{owner: getattr(self, owner)._replace(**arrays)})

    def _all(self, rows: Array) -> Array:
        """One row a sample, to be changed."""
        return _spread(rows, (self.count, *rows.shape[1:]))

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
    return _spread(array, (count, *shape))


def _spread(array: Array, shape: tuple[int, ...]) -> Array:
    # in rows, which a copy of a broadcast array is not
    return np.array(np.broadcast_to(array, shape), order="C")


def _add(rows: Array, mass: Array, moment: Array, inertia: Array) -> None:
    """Add to one body's parameters of every sample, (S, COLUMNS)."""
    rows[:, MASS] += mass
    rows[:, MOMENT : MOMENT + 3] += moment
    rows[:, INERTIA : INERTIA + 6] += inertia[:, _UPPER[0], _UPPER[1]]


def _sizes(friction: Array) -> Array:
    """Of rows of friction, (S, 5, n), what must not be negative: of both directions one may be."""
    both = friction[:, [FORWARD]] + friction[:, [BACKWARD]]
    return np.concatenate((both, np.delete(friction, [FORWARD, BACKWARD], axis=1)), axis=1)


def faults(samples: Samples, positions: NDArray[np.int64], stops: bool) -> dict[int, str]:
    """Samples that cannot be run, with the reason."""
    found: dict[int, str] = {}
    robot, plants, laws, S = samples.robot, samples.plants, samples.laws, samples.count

    def refuse(bad: NDArray[np.bool_], why: str) -> None:
        if not bad.any():
            return
        rows = bad.reshape(len(bad), -1).any(axis=1)
        for s in np.flatnonzero(np.broadcast_to(rows, S)).tolist():
            found.setdefault(s, why)

    limits = plants.joints[:, :, EFFORT:]
    friction = np.moveaxis(plants.joints[:, :, :LOWER], 2, 1)
    for what, array in (
        ("q", samples.q), ("qd", samples.qd), ("the plant's inertia", plants.parameters),
        ("the plant's gravity", plants.base), ("the plant's friction", friction),
        ("the model's inertia", laws.parameters), ("the model's gravity", laws.base),
        ("the model's friction", laws.friction), ("a gain", laws.gains[:, :3]),
    ):  # fmt: skip
        refuse(~np.isfinite(array), f"{what} is not finite")
    for whose, parameters in (("plant", plants.parameters), ("model", laws.parameters)):
        refuse(~(parameters[:, :, MASS] >= 0.0), f"a mass of the {whose} is negative")
        refuse(~(parameters[:, :, ROTOR] >= 0.0), f"a rotor inertia of the {whose} is negative")
    for what, array in (
        ("friction of the plant", _sizes(friction)), ("friction of the model", _sizes(laws.friction)),
        ("gain", laws.gains),
        ("effort limit", limits),
    ):  # fmt: skip
        refuse(~(array >= 0.0), f"a {what} is negative or not a number")
    if stops:
        for j in np.flatnonzero(positions >= 0).tolist():
            at = samples.q[:, positions[j]]
            refuse(
                (at < robot.lower[j]) | (at > robot.upper[j]),
                f"joint {robot.joint_names[j]!r} starts outside its limits [{robot.lower[j]:g}, {robot.upper[j]:g}]",
            )
    return found


@dataclass(frozen=True)
class Variation:
    """Ranges of deviations from the model, each drawn uniformly and independently.

    Raises ArgumentError: a number that is not finite, negative, or, where it is a part of something, 1 or more.
    """

    #: Of every link with its inertia, as a part of it: 0.05 is 5 % to either side.
    mass: float = 0.0
    #: Of every joint likewise; the controller's friction compensation knows the nominal friction.
    friction: float = 0.0
    rotor: float = 0.0
    effort_limit: float = 0.0
    gains: float = 0.0
    #: Of every joint's start position, rad or m to either side, within the stops.
    start: float = 0.0
    #: The base about its x and then its y axis, rad to either side; the controller assumes an upright base.
    tilt: float = 0.0
    #: A link and the largest mass of a point there that the controller ignores, kg; from none on.
    payload: tuple[str, float] | None = None

    def __post_init__(self) -> None:
        for name in (*PARTS, *WIDTHS):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0.0):
                raise ArgumentError(f"the variation of {name} is {value}; it must be finite and not negative")
            if name in PARTS and value >= 1.0:
                raise ArgumentError(f"the variation of {name} is {value:g} of it; it must be below 1 (100 %)")
        if self.payload is not None and not (np.isfinite(self.payload[1]) and self.payload[1] >= 0.0):
            raise ArgumentError(f"the payload's largest mass is {self.payload[1]} kg; it must be finite, not negative")

    def drawn(self, samples: Samples, seed: int, lower: Array, upper: Array, positions: NDArray[np.int64]) -> Samples:
        """`samples` varied by a seed; each kind has its own stream: varying one does not change the others.

        `lower`, `upper`, `positions`: stops, (n,), and `ArmPlant.positions`.
        """
        if seed < 0:
            raise ArgumentError(f"the seed is {seed}; it must not be negative")
        S, n = samples.count, samples.robot.n
        streams = {name: np.random.default_rng([seed, k]) for k, name in enumerate((*PARTS, *WIDTHS, "payload"))}

        def around_one(name: str, width: int) -> Array:
            part: float = getattr(self, name)
            return 1.0 + part * streams[name].uniform(-1.0, 1.0, (S, width))

        samples = samples.with_mass_scaled(around_one("mass", len(samples.robot.link_names)))
        samples = samples.with_friction_scaled(around_one("friction", n))
        samples = samples.with_rotors_scaled(around_one("rotor", samples.robot.bodies))
        limit = samples.plants.joints[:, :, EFFORT]
        samples = samples.with_effort_limit(np.where(np.isfinite(limit), limit * around_one("effort_limit", n), limit))
        p, i, d = (samples.laws.gains[:, row] * around_one("gains", n) for row in range(3))
        samples = samples.with_gains(p, i, d)
        q, moves = np.array(samples.q), positions >= 0
        q[:, positions[moves]] = np.clip(
            q[:, positions[moves]] + self.start * streams["start"].uniform(-1.0, 1.0, (S, n))[:, moves],
            lower[moves], upper[moves],
        )  # fmt: skip
        samples = samples.with_start(q)
        if self.tilt > 0.0:
            samples = samples.with_gravity(_tilted(-samples.plants.base[0, 6:9], self.tilt, streams["tilt"], S))
        if self.payload is not None:
            link, most = self.payload
            samples = samples.with_payload(link, streams["payload"].uniform(0.0, most, S))
        return samples


#: Kinds with relative and with absolute ranges.
PARTS = ("mass", "friction", "rotor", "effort_limit", "gains")
WIDTHS = ("start", "tilt")


def _tilted(gravity: Array, width: float, stream: np.random.Generator, count: int) -> Array:
    """Gravity in the axes of bases turned about x and then y; shape (count, 3)."""
    x, y, z = gravity
    angles = stream.uniform(-width, width, (2, count))
    (ca, cb), (sa, sb) = np.cos(angles), np.sin(angles)
    turned_y, turned_z = ca * y + sa * z, ca * z - sa * y
    return np.column_stack([cb * x - sb * turned_z, turned_y, sb * x + cb * turned_z])
