"""What lies between a control law and an arm with a mismatch: encoders, messages and drives."""

from __future__ import annotations

import numpy as np

from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.mismatch.mismatch import Mismatch

#: Ripples in one turn of a joint, or in 2π m.
RIPPLES = 24.0


class Encoders:
    """Measured states of one run."""

    def __init__(self, mismatch: Mismatch, n: int, period: float) -> None:
        self._noise, self._period = mismatch.stream(4), period
        self._off: Array = mismatch.stream(5).uniform(-1.0, 1.0, n)
        self._last: Array | None = None

    def measure(self, now: Mismatch, q: Array, qd: Array) -> tuple[Array, Array]:
        """Positions and velocities, (n,), as measured in one cycle."""
        shaken = self._noise.normal(size=(2, len(qd)))
        at = q + now.bias * self._off + now.noise * shaken[0]
        speed = qd + now.velocity_noise * shaken[1]
        if now.quantum > 0.0:
            at = now.quantum * np.round(at / now.quantum)
            speed = np.zeros_like(qd) if self._last is None else (at - self._last) / self._period
        self._last = at
        return at, speed


class Messages:
    """Efforts on their way to the drives; steps of the simulation are the clock."""

    def __init__(self, mismatch: Mismatch, held: Array, dt: float) -> None:
        self._random, self._dt = mismatch.stream(6), dt
        self._coming: list[tuple[int, Array]] = []
        self.effort = held

    def send(self, now: Mismatch, step: int, effort: Array) -> None:
        """Send an effort, (n,); SimulationError: a delay that is no whole number of steps."""
        lost, late = self._random.uniform(size=2)
        if lost < now.lost:
            return
        delay = round(now.delay / self._dt)
        if abs(delay * self._dt - now.delay) > 1e-9 * self._dt + 1e-9 * now.delay:
            raise SimulationError(f"mismatch: delay is {now.delay:g} s; it must be a whole number of steps of "
                                  f"{self._dt:g} s; change it, or dt")  # fmt: skip
        arrival = step + delay + round(late * now.jitter / self._dt)
        # those that arrive after it are older, and ignored
        self._coming = [(at, value) for at, value in self._coming if at < arrival]
        self._coming.append((arrival, effort))

    def at(self, step: int) -> Array:
        """The effort that the drives have at a step; shape (n,)."""
        while self._coming and self._coming[0][0] <= step:
            self.effort = self._coming.pop(0)[1]
        return self.effort


def driven(now: Mismatch, effort: Array, q: Array) -> Array:
    """The effort of motors at the positions q, (n,), that were commanded `effort`, within the limits; (n,)."""
    if now.dead_zone > 0.0:
        effort = np.sign(effort) * np.maximum(np.abs(effort) - now.dead_zone, 0.0)
    return effort * (1.0 + now.ripple * np.sin(RIPPLES * q)) if now.ripple > 0.0 else effort
