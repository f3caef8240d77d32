"""Samples drawn at random, from a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import EFFORT
from rne_dynamics.simulation.rollouts.samples import Samples


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
        """`samples`, varied; the same for the same seed.

        Each kind has its own random stream: varying one kind more does not change the others.

        `samples`: what to vary; `seed`: not negative; `lower`, `upper`, `positions`: stops, shape (n,), and
        `ArmPlant.positions`.
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
