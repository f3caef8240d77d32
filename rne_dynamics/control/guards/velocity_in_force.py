"""Velocity limits in force: one that is lowered waits until the arm can have slowed down."""

from __future__ import annotations

import numpy as np

from rne_dynamics.model.inertia import Array

#: Time constant with which a limit falls, s. Overspeed dampers slow an arm down in a sixth of it, a path in its `RAMP`.
SLOWING = 0.15


class VelocityInForce:
    """Velocity limits, rad/s or m/s; shape (n,).

    Parameters
    ----------
    limit
        What they are.
    """

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
