"""Closed mechanisms by Lagrange's equations with multipliers, dense and slow, for checking `closed_chain`.

Nothing is shared with it: inertia and bias come from the Lagrangian engine on the open tree, poses from the
description's own frames in complex arithmetic. There every residual is an analytic function of the joints, so first
derivatives by a complex step and second ones by Cauchy's integral are exact to round-off.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

import rne_dynamics as rne
from rne_dynamics.model.mechanism import Loop, Mechanism
from rne_dynamics.model.tree import JointKind, rotation_about

#: Singular values below this part of the largest one count as zero: redundant constraints leave such.
RANK = 1e-9
_POINTS = 32
_TURNS = (JointKind.REVOLUTE, JointKind.CONTINUOUS)


def link_poses(robot: rne.RobotModel, q: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """R (…, 3, 3) and p (…, 3) of every link in the world; q (…, n) may be complex."""
    tree = robot.tree
    poses = {tree.root: (np.eye(3), np.zeros(3))}
    for joint in tree.depth_first:
        R, p = poses[joint.parent]
        p, R = p + R @ joint.position, R @ joint.rotation
        if joint.kind is not JointKind.FIXED:
            led = tree.leader(joint)
            x = (led.multiplier * q[..., robot.joint_index(led.joint)] + led.offset)[..., None]
            if joint.kind in _TURNS:
                along, across, turned = _rodrigues(tuple(joint.axis))
                R = R @ (along + np.cos(x)[..., None] * across + np.sin(x)[..., None] * turned)
            else:
                assert joint.kind is JointKind.PRISMATIC
                p = p + x * (R @ joint.axis)
        poses[joint.child] = R, p
    return poses


@cache
def _rodrigues(axis: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What stays, and the factors of cosine and sine, of a turn: rotation_about takes real angles only."""
    half, straight = (rotation_about(np.array(axis), angle) for angle in (np.pi / 2, np.pi))
    along = (np.eye(3) + straight) / 2
    return along, np.eye(3) - along, (half - half.T) / 2


def loop_residual(loop: Loop, poses) -> np.ndarray:
    """One number for each blocked direction, zero where the loop is closed; shape (…, blocked)."""
    (R, p), (S, s) = poses[loop.a.link], poses[loop.b.link]
    A, B = R @ loop.a.rotation, S @ loop.b.rotation
    gap = s + S @ loop.b.position - p - R @ loop.a.position
    a, b = [A[..., k] for k in range(3)], [B[..., k] for k in range(3)]
    turns = tuple(loop.blocked[3:])
    residual = [_dot(a[k], gap) for k in range(3) if loop.blocked[k]]
    if all(turns):  # half of the sines between the axes
        pairs = ((2, 1), (0, 2), (1, 0))
        residual += [(_dot(a[i], b[j]) - _dot(a[j], b[i])) / 2 for i, j in pairs]
    elif turns.count(True) == 2:  # the free axis of B stays square to the other two of A
        free = turns.index(False)
        residual += [_dot(a[k], b[free]) for k in range(3) if k != free]
    elif turns.count(True) == 1:
        k = turns.index(True)
        residual.append(_dot(a[(k + 2) % 3], b[(k + 1) % 3]))
    return np.stack(np.broadcast_arrays(*residual), axis=-1)


def _dot(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.asarray((u * v).sum(axis=-1))


@dataclass
class Closed:
    """One mechanism by multipliers; joint vectors `x` are the tree's, `q` the actuated ones."""

    mechanism: Mechanism

    def residual(self, x: np.ndarray) -> np.ndarray:
        poses = link_poses(self.mechanism.robot, x)
        return np.concatenate([loop_residual(loop, poses) for loop in self.mechanism.loops], axis=-1)

    def K(self, x: np.ndarray) -> np.ndarray:
        h = 1e-30
        return self.residual(x + 1j * h * np.eye(len(x))).imag.T / h

    def drift(self, x: np.ndarray, xd: np.ndarray) -> np.ndarray:
        """d²r/dt² along x + t ẋ."""
        radius = 0.5 / max(np.abs(xd).max(), 1e-6)
        circle = np.exp(2j * np.pi * np.arange(_POINTS) / _POINTS)
        values = self.residual(x + radius * circle[:, None] * xd)
        return (2.0 / radius**2) * (values * circle[:, None] ** -2).mean(axis=0).real

    def close(self, q: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        """All joints for given actuated ones, by damped Gauss–Newton from `start`."""
        m = self.mechanism
        x = np.array(m.posture if start is None else start, dtype=float)
        way = q - x[m.actuated]
        base = x[m.actuated].copy()
        for part in np.linspace(0.0, 1.0, 21):  # by small steps, so that the branch is kept; the last one in full
            x[m.actuated] = base + part * way
            for _ in range(30):
                r = self.residual(x)
                if np.abs(r).max() < (1e-14 if part == 1.0 else 1e-6):
                    break
                x[m.passive] -= np.linalg.lstsq(self.K(x)[:, m.passive], r, rcond=RANK)[0]
        assert np.abs(self.residual(x)).max() < 1e-12, f"{m.name} does not close at {q}"
        return x

    def T(self, x: np.ndarray) -> np.ndarray:
        """∂ẋ/∂q̇."""
        m, K = self.mechanism, self.K(x)
        T = np.zeros((len(x), m.n))
        T[m.actuated] = np.eye(m.n)
        T[m.passive] = np.linalg.lstsq(K[:, m.passive], -K[:, m.actuated], rcond=RANK)[0]
        return T

    def acceleration(self, x: np.ndarray, xd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Accelerations of all joints from those of the actuated ones."""
        m, K = self.mechanism, self.K(x)
        xdd = np.zeros(len(x))
        xdd[m.actuated] = qdd
        rest = -self.drift(x, xd) - K[:, m.actuated] @ qdd
        xdd[m.passive] = np.linalg.lstsq(K[:, m.passive], rest, rcond=RANK)[0]
        return xdd

    def forward(self, x: np.ndarray, xd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Accelerations of all joints: [W Kᵀ; K 0] (ẍ, −λ) = (P + V, −drift)."""
        terms = rne.lagrange_terms(self.mechanism.robot, x, xd)
        P = np.zeros(len(x))
        P[self.mechanism.actuated] = tau
        return solve_kkt(terms.W, self.K(x), P + terms.V, self.drift(x, xd))

    def inverse(self, x: np.ndarray, xd: np.ndarray, xdd: np.ndarray) -> np.ndarray:
        """Torques of the actuated joints: Sᵀ τ + Kᵀ λ = W ẍ − V."""
        m = self.mechanism
        terms = rne.lagrange_terms(m.robot, x, xd)
        return torques(m, self.K(x), terms.W @ xdd - terms.V)


def solve_kkt(M: np.ndarray, K: np.ndarray, forces: np.ndarray, drift: np.ndarray) -> np.ndarray:
    """Accelerations under K ẍ = −drift; K may have dependent rows."""
    rows = _independent(K)
    K, drift = rows @ K, rows @ drift
    n, c = len(M), len(K)
    system = np.block([[M, K.T], [K, np.zeros((c, c))]])
    return np.linalg.solve(system, np.concatenate([forces, -drift]))[:n]


def torques(mechanism: Mechanism, K: np.ndarray, efforts: np.ndarray) -> np.ndarray:
    """What the actuated joints must give where `efforts` is what the open tree would need at every joint.

    Of all answers the least. Constraint forces do no work: only motions that keep the loops closed count.
    """
    _, sigma, V = np.linalg.svd(K)
    free = V[np.count_nonzero(sigma > RANK * sigma[0]) :]
    tau: np.ndarray = np.linalg.lstsq(free[:, mechanism.actuated], free @ efforts, rcond=RANK)[0]
    return tau


def _independent(K: np.ndarray) -> np.ndarray:
    """Combines K's rows to as many as are independent."""
    U, sigma, _ = np.linalg.svd(K, full_matrices=False)
    return U[:, sigma > RANK * sigma[0]].T
