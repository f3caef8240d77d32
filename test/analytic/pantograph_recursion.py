"""Document 002's equations (1)–(18) as printed, vector by vector in the frames of table 1 and figures 2 and 3.

The first loop (velocities, accelerations, Fc and Nc of every link) is Luh, Walker and Paul's, as the paper has it from
Craig. What statics leaves open, F_z, N_x and N_y at the cuts N and D, is an argument, so that a test can show that no
torque depends on it.

Letters that the text leaves open, read from the equations themselves:
- K in (15), (16) is joint 3 on link 2: F_K = F_3 and N_K = N_3 are what the first mechanism asks of link 2;
- the index printed 01 in (17), (18) is C1 of the second (16): frame D as link 1 sees it, at θ_C1 = π + θ₂.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np

from rne_dynamics.model.mechanism import Mechanism

#: Angle of every frame about z against the one before it: constant, and factors of θ₁, θ₂, θ₃; equations (7) and (16).
ANGLES = {
    "1": (0.0, (1, 0, 0)), "2": (0.0, (0, 1, 0)), "3": (0.0, (0, 0, 1)), "L": (0.0, (0, -1, -1)), "M": (pi, (0, 1, 1)),
    "A": (0.0, (0, -1, 0)), "B": (pi, (0, 1, 0)),
}  # fmt: skip
BEFORE = {"1": "0", "2": "1", "3": "2", "L": "3", "M": "L", "A": "2", "B": "A"}
X, Z = np.eye(3)[[0, 2]]


@dataclass(frozen=True)
class Lengths:
    """L1 of links 2, 3, M, B and L2 of plates A and L, m."""

    L1: float
    L2: float

    @property
    def table_1(self) -> dict[str, tuple[float, float]]:
        """Denavit and Hartenberg's α and a of the frame before; d is 0 everywhere. A and B as in figure 3."""
        return {
            "1": (0.0, 0.0), "2": (pi / 2, -self.L2 / 2), "3": (0.0, self.L1), "L": (0.0, self.L1),
            "M": (0.0, self.L2), "A": (0.0, self.L1), "B": (0.0, self.L2),
        }  # fmt: skip


def about_z(angle: float) -> np.ndarray:
    c, s = cos(angle), sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def about_x(angle: float) -> np.ndarray:
    c, s = cos(angle), sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


@dataclass
class Recursion:
    """One state: `R` and `p` place a frame in the one before; Fc, Nc, s of every link are in its own frame."""

    lengths: Lengths
    q: np.ndarray
    R: dict[str, np.ndarray]
    p: dict[str, np.ndarray]
    s: dict[str, np.ndarray]
    Fc: dict[str, np.ndarray]
    Nc: dict[str, np.ndarray]

    @staticmethod
    def of(mechanism: Mechanism, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Recursion:
        """The first loop, from the waist outwards, for the links and joints of `mechanism` but bar C."""
        tree = mechanism.robot.tree
        lengths = Lengths(float(tree.joint("joint3").position[0]), float(tree.joint("jointB").position[0]))
        R, p, s, Fc, Nc = {}, {}, {}, {}, {}
        motion = {"0": (np.zeros(3), np.zeros(3), -mechanism.gravity)}
        for i, (constant, factors) in ANGLES.items():
            angle, rate, change = (constant * (k == 0) + np.dot(factors, x) for k, x in enumerate((q, qd, qdd)))
            tilt, a = lengths.table_1[i]
            R[i], p[i] = about_x(tilt) @ about_z(angle), a * X
            w, dw, dv = motion[BEFORE[i]]
            dv = R[i].T @ (dv + np.cross(dw, p[i]) + np.cross(w, np.cross(w, p[i])))
            w, dw = R[i].T @ w, R[i].T @ dw
            w, dw = w + rate * Z, dw + np.cross(w, rate * Z) + change * Z
            motion[i] = w, dw, dv
            body = tree.link(f"link{i}").inertia
            assert body is not None
            s[i] = body.com
            Fc[i] = body.mass * (dv + np.cross(dw, s[i]) + np.cross(w, np.cross(w, s[i])))
            Nc[i] = body.inertia @ dw + np.cross(w, body.inertia @ w)
        return Recursion(lengths, q, R, p, s, Fc, Nc)

    def Fi(self, i: str) -> float:
        """Third component of Nc + s × Fc, the paper's Fi_i(z)."""
        return float((self.Nc[i] + np.cross(self.s[i], self.Fc[i]))[2])

    def _down(self, i: str, F: np.ndarray, N: np.ndarray, R: np.ndarray, p: np.ndarray):
        """F_i, N_i from what acts at a frame beyond: R turns it into frame i, p is its place there."""
        F = R @ F
        return F + self.Fc[i], R @ N + self.Nc[i] + np.cross(self.s[i], self.Fc[i]) + np.cross(p, F)

    def torques(self, open_at_N: np.ndarray, open_at_D: np.ndarray, theta_NB: float, theta_K2: float) -> np.ndarray:
        """τ₁, τ₂, τ₃ by (1)–(18); `open_at_N` and `open_at_D` are F_z, N_x, N_y there."""
        L1, L2 = self.lengths.L1, self.lengths.L2
        a, b = self.q[1], self.q[1] + self.q[2]
        Fc, Fi = self.Fc, self.Fi
        F_Ny = -Fi("M") / L1  # (8)
        F_Nx = (
            Fi("L") - L2 * sin(b) * Fc["M"][0] + L2 * cos(b) * Fi("M") / L1 - L2 * cos(b) * Fc["M"][1]
        ) / (L2 * sin(b))  # (9)  # fmt: skip
        F_N, N_N = np.array([F_Nx, F_Ny, open_at_N[0]]), np.array([*open_at_N[1:], 0.0])
        F_M, N_M = self._down("M", F_N, N_N, np.eye(3), L1 * X)  # (1), (2)
        F_L, N_L = self._down("L", F_M, N_M, self.R["M"], self.p["M"])  # (3), (4)
        F_3, N_3 = self._down("3", F_L, N_L, self.R["L"], self.p["L"])  # (5), (6)
        assert max(abs(N_M[2]), abs(N_L[2])) < 1e-11 * max(1.0, float(np.abs(F_N).max()))
        # (11)–(14): the z components of N_B and N_A vanish, N lies at B's origin
        R_NB = about_z(theta_NB)
        F_Dy = -Fi("B") / L1
        F_Dx = (
            Fi("A")
            - L2 * sin(a) * (Fc["B"] - R_NB @ F_N)[0]
            - L2 * cos(a) * (F_Dy + (Fc["B"] - R_NB @ F_N)[1])
        ) / (L2 * sin(a))  # fmt: skip
        F_D, N_D = np.array([F_Dx, F_Dy, open_at_D[0]]), np.array([*open_at_D[1:], 0.0])
        F_B, N_B = self._down("B", F_D, N_D, np.eye(3), L1 * X)
        F_B, N_B = F_B - R_NB @ F_N, N_B - R_NB @ N_N
        F_A, N_A = self._down("A", F_B, N_B, self.R["B"], self.p["B"])
        R_K2 = about_z(theta_K2)
        F_2, N_2 = self._down("2", F_A, N_A, self.R["A"], self.p["A"])  # (15), (16)
        F_2, N_2 = F_2 + R_K2 @ F_3, N_2 + R_K2 @ N_3 + np.cross(L1 * X, R_K2 @ F_3)
        R_C1, p_C1 = about_x(pi / 2) @ about_z(pi + a), L2 / 2 * X
        _, N_1 = self._down("1", F_2, N_2, self.R["2"], self.p["2"])  # (17), (18)
        N_1 = N_1 - R_C1 @ N_D - np.cross(p_C1, R_C1 @ F_D)
        return np.array([N_1[2], N_2[2], N_3[2]])
