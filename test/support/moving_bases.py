"""Base motions in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.model.inertia import Array

#: m and rad, rad/s, rad
AMPLITUDE = np.array([0.4, 0.3, 0.8, 0.25, 0.12, 0.1])
FREQUENCY = np.array([0.7, 0.5, 0.9, 0.8, 1.1, 0.4])
PHASE = np.array([0.3, 1.0, 2.0, 0.5, -0.4, 1.7])


class Known(BaseMotion):
    """Checked and packed once for each gravity."""

    def packed(self, gravity: Array) -> Array:
        kept: dict[bytes, Array] = self.__dict__.setdefault("kept", {})
        key = gravity.tobytes()
        if key not in kept:
            kept[key] = super().packed(gravity)
        return kept[key]


class Swell:
    """A ship: oscillations of x y z and of roll, pitch, yaw (about x, then y, then z of the world)."""

    @staticmethod
    def _coordinates(t: float) -> tuple[Array, Array, Array]:
        a, w = AMPLITUDE, FREQUENCY
        s = w * t + PHASE
        return a * np.sin(s), a * w * np.cos(s), -a * w * w * np.sin(s)

    def position(self, t: float) -> Array:
        return self._coordinates(t)[0][:3]

    @staticmethod
    @lru_cache(maxsize=20_000)  # all tests begin at 0 and ask at the same times
    def motion(t: float) -> BaseMotion:
        x, dx, ddx = Swell._coordinates(t)
        (r, p, y), (dr, dp, dy), (ddr, ddp, ddy) = x[3:], dx[3:], ddx[3:]
        (cr, sr), (cp, sp), (cy, sy) = ((np.cos(a), np.sin(a)) for a in (r, p, y))
        R = (
            np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1.0]])
            @ np.array([[cp, 0, sp], [0, 1.0, 0], [-sp, 0, cp]])
            @ np.array([[1.0, 0, 0], [0, cr, -sr], [0, sr, cr]])
        )
        w = np.array([dr - dy * sp, dp * cr + dy * cp * sr, -dp * sr + dy * cp * cr])
        dw = np.array([
            ddr - ddy * sp - dy * dp * cp,
            ddp * cr - dp * dr * sr + ddy * cp * sr - dy * dp * sp * sr + dy * dr * cp * cr,
            -ddp * sr - dp * dr * cr + ddy * cp * cr - dy * dp * sp * cr - dy * dr * cp * sr,
        ])
        return Known(R.T @ ddx[:3], w, dw, R.T @ dx[:3], R)


@dataclass(frozen=True)
class Turntable:
    """A base that turns about its z axis, which is the world's: angle, rate and acceleration c₀ + c₁ t + c₂ sin 3t."""

    c: tuple[float, float, float] = (0.2, 1.5, 0.3)

    def angle(self, t: float) -> tuple[float, float]:
        """Angle and its rate."""
        return self.c[0] + self.c[1] * t + self.c[2] * np.sin(3.0 * t), self.c[1] + 3.0 * self.c[2] * np.cos(3.0 * t)

    def position(self, t: float) -> Array:
        return np.zeros(3)

    def motion(self, t: float) -> BaseMotion:
        angle, rate = self.angle(t)
        c, s = np.cos(angle), np.sin(angle)
        return BaseMotion(
            angular_velocity=(0.0, 0.0, rate),
            angular_acceleration=(0.0, 0.0, -9.0 * self.c[2] * np.sin(3.0 * t)),
            rotation=np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]),
        )


@dataclass(frozen=True)
class Lift:
    """A base that accelerates evenly from rest and does not turn."""

    acceleration: Array

    def position(self, t: float) -> Array:
        return 0.5 * t * t * self.acceleration

    def motion(self, t: float) -> BaseMotion:
        return BaseMotion(self.acceleration, linear_velocity=t * self.acceleration)


def quaternion(R: Array) -> Array:
    """x y z w of a rotation matrix with a trace above −1."""
    w = 0.5 * np.sqrt(1.0 + np.trace(R))
    return np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 4.0 * w * w]) / (4.0 * w)
