"""Streams of setpoints for tests: a motion within limits, sent with jitter and losses, and the references it gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.streaming.limits import StreamLimits
from rne_dynamics.control.streaming.setpoints import Setpoints
from rne_dynamics.model.inertia import Array

#: Time at which recordings begin, ns.
EPOCH = 1_000_000_000_000


def limits(n: int = 3, **changes: object) -> StreamLimits:
    """Plain limits of `n` joints."""
    plain: dict[str, object] = {
        "joints": tuple(f"j{k}" for k in range(n)), "lower": np.full(n, -2.5), "upper": np.full(n, 2.5),
        "velocity": np.full(n, 2.0),
    }
    return StreamLimits(**{**plain, **changes})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Sines:
    """A motion of joints that begins and, mirrored, ends at rest: two sines a joint, grown over a second."""

    amplitude: Array
    frequency: Array

    @staticmethod
    def random(n: int, seed: int, speed: float = 0.8) -> Sines:
        """Whose fastest joint moves at `speed` at most, rad/s."""
        rng = np.random.default_rng(seed)
        frequency = rng.uniform(0.5, 3.0, (2, n))
        return Sines(0.5 * speed / frequency * rng.uniform(0.7, 1.0, (2, n)), frequency)

    def at(self, t: float) -> tuple[Array, Array]:
        """Position and velocity at `t` s."""
        x = min(t, 1.0)
        grown, growing = x**3 * (10 - 15 * x + 6 * x**2), 30 * x**2 * (1 - x) ** 2
        wave = (self.amplitude * np.sin(self.frequency * t)).sum(axis=0)
        slope = (self.amplitude * self.frequency * np.cos(self.frequency * t)).sum(axis=0)
        return grown * wave, grown * slope + growing * wave


def arrivals(
    rate: float, seconds: float, seed: int, jitter: float = 0.3, loss: float = 0.05
) -> list[tuple[float, float]]:
    """When each message was sent and when it arrives, s: late or early by a fraction of the period, some lost."""
    rng = np.random.default_rng(seed)
    sent = np.arange(1, round(seconds * rate)) / rate
    come = sent + rng.uniform(-jitter, jitter, len(sent)) / rate
    kept = rng.random(len(sent)) >= loss
    return sorted(zip(come[kept].tolist(), sent[kept].tolist(), strict=True))


class Followed:
    """Setpoints, and a clock that asks for references."""

    def __init__(self, limits: StreamLimits, period: float = 1e-3) -> None:
        self.limits, self.period = limits, period
        n = len(limits.joints)
        self.setpoints = Setpoints(limits, Tolerances(limits.joints))
        self.rest = Reference(np.zeros(n), np.zeros(n), np.zeros(n))
        self.t = 0.0
        self.times: list[float] = []
        self.rows: list[Reference] = []

    @property
    def stamp(self) -> int:
        """Now, ns."""
        return EPOCH + round(self.t * 1e9)

    def send(
        self, q: Array | None, qd: Array | None = None, *, sent: float | None = None, stamped: float | None = None,
        **options: int,
    ) -> bool:
        """Send a setpoint now; whether a stream has begun."""
        nothing = np.full(len(self.limits.joints), np.nan)
        arguments = {"source": 0, "ahead": 0, "sequence": None, **options}
        began = self.setpoints.take(
            q=nothing if q is None else q, qd=nothing if qd is None else qd,
            stamp=0 if stamped is None else EPOCH + round(stamped * 1e9),
            at=self.stamp if sent is None else EPOCH + round(sent * 1e9), begin=lambda: self.rest, **arguments,
        )
        if began:
            self.setpoints.stream.begin(self.stamp, self.rest)
        return began

    def run(self, seconds: float, speed: float = 1.0) -> None:
        """Let time pass."""
        for _ in range(round(seconds / self.period)):
            self.t = round(self.t + self.period, 9)
            if self.setpoints.following:
                self.rest = self.setpoints.stream.advance(self.stamp, speed)
            self.times.append(self.t)
            self.rows.append(self.rest)

    def stream(
        self, motion: Sines, messages: list[tuple[float, float]], *, velocities: bool = True, positions: bool = True,
        stamps: bool = False, ahead: float = 0.0,
    ) -> None:
        """Send the messages of `arrivals` when they arrive, and let time pass meanwhile."""
        waiting: Iterator[tuple[float, float]] = iter(messages)
        begin = self.t
        following = next(waiting, None)
        while following is not None:
            self.run(self.period)
            while following is not None and begin + following[0] <= self.t:
                q, qd = motion.at(following[1] + ahead)
                self.send(
                    q if positions else None, qd if velocities else None, sent=begin + following[0],
                    stamped=begin + following[1] if stamps else None, ahead=round(ahead * 1e9),
                )
                following = next(waiting, None)

    def table(self) -> tuple[Array, Array, Array, Array]:
        """Times, positions, velocities, accelerations."""
        return (np.array(self.times), *(np.array(column) for column in zip(*self.rows, strict=True)))  # type: ignore[return-value]

    def check_limits(self) -> None:
        """No limit is passed by what was commanded, in any cycle."""
        _, q, qd, qdd = self.table()
        lower, upper, velocity, acceleration, jerk = self.limits.table
        assert (q >= lower - 1e-6).all()
        assert (q <= upper + 1e-6).all()
        assert (np.abs(qd) <= velocity * (1 + 1e-4)).all(), np.abs(qd).max(axis=0)
        assert (np.abs(qdd) <= acceleration * (1 + 1e-6)).all(), np.abs(qdd).max(axis=0)
        steps = np.diff(qdd, axis=0, prepend=0.0) / self.period
        assert (np.abs(steps) <= jerk * (1 + 1e-6)).all(), np.abs(steps).max(axis=0)
