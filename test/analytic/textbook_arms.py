"""The arms of the textbook's problems in closed form, derived by hand from their geometry.

The figures are missing from the scan; the frames are those of the shipped URDFs, frame i at joint i on link i, which
are the layouts the problems describe. Every arm gives, for its links 1 to 3 and a state (q, qd):

- `rotations(q)`: R_0i, frame i seen from frame 0;
- `mass_centres(q)`: mass centre of link i in frame 0;
- `velocities(q, qd)`: velocity of that mass centre in frame 0, in the basis of **frame i**;
- `spins(q, qd)`: angular velocity of link i, in the basis of frame i.

`c` are the mass centres in the links' own frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, sin

import numpy as np

from rne_dynamics.model.robot import RobotModel

LINKS = ("link1", "link2", "link3")


def Rz(angle: float) -> np.ndarray:
    c, s = cos(angle), sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@dataclass(frozen=True)
class Puma:
    """Shoulder about z₀ (θ₁), inner arm about the horizontal z₂ (θ₂), outer arm about the parallel z₃ (θ₃).

    Frame 1 is frame 0 turned by θ₁ at height h. x₂ = (c₂, 0, s₂), y₂ = (−s₂, 0, c₂), z₂ = (0, −1, 0) in frame 1, with
    its origin; frame 3 sits at x = a of frame 2, turned by θ₃ about z₂.
    """

    c: tuple[np.ndarray, ...]
    h: float = 0.672
    a: float = 0.4318
    name: str = "puma560"

    def rotations(self, q):
        R1 = Rz(q[0])
        upright = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
        return R1, R1 @ upright @ Rz(q[1]), R1 @ upright @ Rz(q[1] + q[2])

    def mass_centres(self, q):
        R1, R2, R3 = self.rotations(q)
        shoulder = np.array([0.0, 0.0, self.h])
        elbow = shoulder + self.a * R2[:, 0]
        return shoulder + R1 @ self.c[0], shoulder + R2 @ self.c[1], elbow + R3 @ self.c[2]

    def velocities(self, q, qd):
        (x1, y1, _), (x2, y2, z2), (x3, y3, z3) = self.c
        w1, w2, w23 = qd[0], qd[1], qd[1] + qd[2]
        s2, c2, s3, c3 = sin(q[1]), cos(q[1]), sin(q[2]), cos(q[2])
        s23, c23 = sin(q[1] + q[2]), cos(q[1] + q[2])
        v1 = [-w1 * y1, w1 * x1, 0.0]
        v2 = [w1 * c2 * z2 - w2 * y2, w2 * x2 - w1 * s2 * z2, w1 * (s2 * y2 - c2 * x2)]
        v3 = [
            w2 * self.a * s3 + w1 * c23 * z3 - w23 * y3,
            w2 * self.a * c3 + w23 * x3 - w1 * s23 * z3,
            -w1 * self.a * c2 + w1 * (s23 * y3 - c23 * x3),
        ]
        return np.array(v1), np.array(v2), np.array(v3)

    def spins(self, q, qd):
        return (
            np.array([0.0, 0.0, qd[0]]),
            np.array([qd[0] * sin(q[1]), qd[0] * cos(q[1]), qd[1]]),
            np.array([qd[0] * sin(q[1] + q[2]), qd[0] * cos(q[1] + q[2]), qd[1] + qd[2]]),
        )


@dataclass(frozen=True)
class Scara:
    """Two parallel vertical axes (θ₁, θ₂) and a quill that comes down by d₃; frame 3 is parallel to frame 2."""

    c: tuple[np.ndarray, ...]
    heights: tuple[float, float] = (0.387, 0.05)
    l1: float = 0.325
    l2: float = 0.275
    name: str = "scara"

    def rotations(self, q):
        return Rz(q[0]), Rz(q[0] + q[1]), Rz(q[0] + q[1])

    def mass_centres(self, q):
        R1, R2, _ = self.rotations(q)
        first = np.array([0.0, 0.0, self.heights[0]])
        second = first + R1 @ [self.l1, 0.0, self.heights[1]]
        third = second + R2 @ [self.l2, 0.0, -q[2]]
        return first + R1 @ self.c[0], second + R2 @ self.c[1], third + R2 @ self.c[2]

    def velocities(self, q, qd):
        (x1, y1, _), (x2, y2, _), (x3, y3, _) = self.c
        w1, w12 = qd[0], qd[0] + qd[1]
        across, along = w1 * self.l1 * cos(q[1]), w1 * self.l1 * sin(q[1])  # the elbow's velocity in frame 2
        return (
            np.array([-w1 * y1, w1 * x1, 0.0]),
            np.array([along - w12 * y2, across + w12 * x2, 0.0]),
            np.array([along - w12 * y3, across + w12 * (self.l2 + x3), -qd[2]]),
        )

    def spins(self, q, qd):
        turn = np.array([0.0, 0.0, qd[0] + qd[1]])
        return np.array([0.0, 0.0, qd[0]]), turn, turn


KINDS = {"puma560": Puma, "scara": Scara}


def closed_form(robot: RobotModel):
    """The closed form of a shipped arm with the mass centres that `robot` has (its links may have been changed)."""
    return KINDS[robot.name](tuple(robot.tree.link(name).inertia.com for name in LINKS))
