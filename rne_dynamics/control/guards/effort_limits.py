"""Limits of each joint: effort, effort rate, velocity, position, soft walls before the stops; and velocity in force."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rne_dynamics.control.parameters import check_parameters, frozen_vector, joint_name, of_node, parameter
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array, read_only, set_fields

#: The slowest rate allowed, of the effort limit per second. From full effort to zero takes 0.2 s at most, so that a
#: stop ends in time.
SLOWEST_RATE = 5.0
#: Default effort rate of nodes: the effort limit in this time, s.
RATE_TIME = 0.01
#: Part of a margin over which a wall's damper grows to its full value.
DAMPER_RAMP = 0.2
#: Speed at a margin's edge that a wall stops within the margin: this times `stop_frequency` times the margin. Source:
#: x'' = −ω²x − 2ω min(x / (DAMPER_RAMP m), 1) x' integrated backwards from rest at x = m gives 2.518.
STOPPING = 2.5

# rows of `EffortLimits.table`
EFFORT, RATE, VELOCITY, LOWER, UPPER, MARGIN, FREQUENCY, DIRECTION, TABLE_ROWS = range(9)
#: Time constant with which a limit falls, s. Overspeed dampers slow an arm down in a sixth of it, a path in its `RAMP`.
SLOWING = 0.15


@dataclass(frozen=True, eq=False)
class EffortLimits:
    """Limits that `EffortLimiter` enforces; docs/limits.md has them with formulas and a picture.

    Parameters
    ----------
    effort
        Largest effort, N·m or N, finite, not negative; one number or shape (n,), as all that follow.
    rate
        Largest change of the effort, N·m/s or N/s, at least `SLOWEST_RATE` times the effort limit a second; infinite:
        none.
    velocity
        Speed from which on a damper brakes, rad/s or m/s, above 0; infinite: none.
    lower, upper
        Position limits, rad or m; infinite: none.
    margin
        Depth of the soft wall before a position limit, rad or m, not negative.
    stop_frequency
        ω of walls and dampers, 1/s: they are critically damped springs of ω² times the inertia. Keep it below
        10 % of the control rate.
    saturation
        What is cut where a joint's effort is beyond its limit. "joint": that joint's effort alone, so that no other
        joint gets weaker; the direction of the acceleration changes. "direction": the motion part of all joints by one
        factor, so that the acceleration keeps its direction, and all joints lose stiffness and damping with the one.
    joints
        Names, for messages; () where there are none.

    Raises
    ------
    ControlError
        A value out of range or NaN, limits the wrong way round, margins that overlap; names the joint.
    """

    effort: Array = field(metadata=of_node(
        "limits.{joint}.effort", 0.0, "Largest effort; 0 takes the description's.", "N m or N", 0.0, 1e6
    ))
    rate: Array = field(metadata=of_node(
        "limits.{joint}.effort_rate", 0.0, "Largest change of the effort; 0 takes the whole effort limit in "
        f"{RATE_TIME:g} s.", "N m/s or N/s", 0.0, 1e9,
    ))
    velocity: Array = field(metadata=of_node(
        "limits.{joint}.velocity", 0.0, "Largest speed of trajectories; faster motion is damped. 0 takes the "
        "description's.", "rad/s or m/s", 0.0, 1e4,
    ))
    lower: Array
    upper: Array
    margin: Array = field(metadata=of_node(
        "limits.{joint}.position_margin", 0.0, "Smallest distance of trajectories from the position limits, and depth "
        "of the soft walls before them.", "rad or m", 0.0, 10.0,
    ))
    stop_frequency: float = parameter(
        20.0, "Stiffness of the soft walls before the position limits: the natural frequency of a joint that presses "
        "against one.", "1/s", lower=0.1, upper=1000.0,
    )
    saturation: Literal["joint", "direction"] = parameter(
        "joint", "Effect of saturation on the other joints: none (joint), or the motion of all is scaled so that its "
        "direction stays (direction).", choices=("joint", "direction"),
    )
    joints: tuple[str, ...] = ()
    #: All vectors, the stop frequency and whether saturation keeps the direction (1 or 0); shape (TABLE_ROWS, n).
    table: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n = len(self.joints) or max(np.size(getattr(self, name)) for name in _VECTORS)
        names = self.joints or None
        set_fields(self, **{
            name: frozen_vector(getattr(self, name), n, what, lowest=lowest, finite=finite, names=names)
            for name, (what, lowest, finite) in _VECTORS.items()
        })
        check_parameters(self, "limits.")
        self._check_ranges()
        table = np.empty((TABLE_ROWS, n))
        table[:FREQUENCY] = [getattr(self, name) for name in _VECTORS]
        table[FREQUENCY], table[DIRECTION] = self.stop_frequency, self.saturation == "direction"
        set_fields(self, table=read_only(table))

    def _check_ranges(self) -> None:
        """Checks of limits against each other."""
        for bad, text in (
            (self.rate == 0.0, "effort rate of {joint} is 0: its effort could never change; infinite is no limit"),
            (self.rate < SLOWEST_RATE * self.effort,
             f"effort rate of {{joint}} is {{rate}} per s; with an effort limit of {{effort}} it must be at least "
             f"{SLOWEST_RATE:g} times that per s, so that a stop reaches zero in time"),
            (self.velocity == 0.0, "velocity limit of {joint} is 0; it must be above 0, infinite for none"),
            ((self.lower > self.upper) | (self.lower == np.inf) | (self.upper == -np.inf),
             "position limits of {joint} are [{lower}, {upper}]; the lower must not be above the upper"),
            (self.lower + self.margin > self.upper - self.margin,
             "position margin of {joint} is {margin}, more than half of its range [{lower}, {upper}]: the walls before "
             "its two stops overlap. Make the margin smaller"),
        ):  # fmt: skip
            if bad.any():
                j = int(np.argmax(bad))
                values = {name: f"{getattr(self, name)[j]:g}" for name in _VECTORS}
                raise ControlError(text.format(joint=joint_name(j, self.joints or None), **values))

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.effort)

    def fastest(self, qd: Array) -> str:
        """Which joint is fastest of its velocity limit at the velocity `qd`, (n,), for messages."""
        j = int(np.argmax(np.abs(qd) / self.velocity))
        return f"joint {self.joints[j]!r} moves at {qd[j]:.4g} per second; its limit is {self.velocity[j]:.4g}"

    @property
    def stopping_speed(self) -> Array:
        """Speed outwards at a margin's edge that a wall stops before the position limit, rad/s or m/s; shape (n,).

        Where the effort limit suffices: inertia · `stop_frequency` · twice that speed, in addition to gravity.
        """
        return STOPPING * self.stop_frequency * self.margin


#: The vectors, in the order of the table's rows: name in messages, lowest value, whether infinity is refused.
_VECTORS: dict[str, tuple[str, float, bool]] = {
    "effort": ("effort limit", 0.0, True),
    "rate": ("effort rate", 0.0, False),
    "velocity": ("velocity limit", 0.0, False),
    "lower": ("lower position limit", -np.inf, False),
    "upper": ("upper position limit", -np.inf, False),
    "margin": ("position margin", 0.0, True),
}


class VelocityInForce:
    """Velocity limits, rad/s or m/s; shape (n,). `limit`: what they are."""

    def __init__(self, limit: Array) -> None:
        self.limit = self.now = limit
        #: Whether some are lower than they are in force.
        self.slowing = False

    def change(self, limit: Array, speed: Array) -> None:
        """Other limits, for an arm with the velocity `speed`, (n,)."""
        self.now = np.maximum(limit, np.where(np.isfinite(self.now), self.now, 2.0 * np.abs(speed)))
        self.limit, self.slowing = limit, bool((self.now > limit).any())

    def advance(self, dt: float, speed: Array | float = 0.0) -> None:
        """Let `dt`, s, pass; a limit waits for a reference with the velocity `speed`, (n,), to keep it."""
        if self.slowing:
            self.now = np.maximum(self.limit, np.maximum((1.0 - dt / SLOWING) * self.now, np.abs(speed)))
            self.slowing = bool((self.now > self.limit).any())
