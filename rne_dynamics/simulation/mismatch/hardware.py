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

    def __init__(self, mismatch: Mismatch, n: int) -> None:
        self._noise, self._at = mismatch.stream(4), 0.0
        self._off: Array = mismatch.stream(5).uniform(-1.0, 1.0, n)
        self._last: Array | None = None

    def measure(self, now: Mismatch, t: float, q: Array, qd: Array) -> tuple[Array, Array]:
        """Positions and velocities, (n,), as measured at time t, s."""
        shaken = self._noise.normal(size=(2, len(qd)))
        at = q + now.bias * self._off + now.noise * shaken[0]
        speed = qd + now.velocity_noise * shaken[1]
        if now.quantum > 0.0:
            at = now.quantum * np.round(at / now.quantum)
            known = self._last is not None and t > self._at
            speed = (at - self._last) / (t - self._at) if known else np.zeros_like(qd)
        self._last, self._at = at, t
        return at, speed


class Messages:
    """Efforts on their way by steps `dt`, s; `held`, (n,), until the first. SimulationError: a delay by part of one."""

    def __init__(self, mismatch: Mismatch, held: Array, dt: float) -> None:
        for _, now in mismatch.phases:
            if abs(round(now.delay / dt) * dt - now.delay) > 1e-9 * dt + 1e-9 * now.delay:
                raise SimulationError(f"mismatch: delay is {now.delay:g} s; it must be a whole number of steps of "
                                      f"{dt:g} s; change it, or dt")  # fmt: skip
        self._random, self._dt = mismatch.stream(6), dt
        self._coming: list[tuple[int, Array]] = []
        self.effort = held

    def send(self, now: Mismatch, step: int, effort: Array) -> None:
        """Send an effort, (n,)."""
        lost, late = self._random.uniform(size=2)
        if lost < now.lost:
            return
        arrival = step + round(now.delay / self._dt) + round(late * now.jitter / self._dt)
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
