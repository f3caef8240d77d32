"""Newton-Euler of a serial arm in standard Denavit-Hartenberg parameters, straight from Luh, Walker and Paul 1980.

Independent of the package on purpose: another convention, other frames, inertias about the mass centre in link axes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Link:
    """One revolute link: d, a (m), alpha (rad), mass (kg), mass centre in frame i (m), diagonal inertia (kg·m²)."""

    d: float
    a: float
    alpha: float
    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float]
    rotor: float = 0.0
    gear: float = 1.0


def inverse_dynamics(links: tuple[Link, ...], q, qd, qdd, gravity: float = 9.81) -> np.ndarray:
    """Joint torques, rotors as the joints feel them included; gravity along −z of the base."""
    n = len(links)
    z = np.array([0.0, 0.0, 1.0])
    w, wd, a = np.zeros(3), np.zeros(3), np.array([0.0, 0.0, gravity])
    rotations, steps, forces, moments = [], [], [], []
    for link, angle, rate, acceleration in zip(links, q, qd, qdd, strict=True):
        R = _rotation(angle, link.alpha)
        step = np.array([link.a, link.d * np.sin(link.alpha), link.d * np.cos(link.alpha)])
        wd = R.T @ (wd + z * acceleration + np.cross(w, z * rate))
        w = R.T @ (w + z * rate)
        a = R.T @ a + np.cross(wd, step) + np.cross(w, np.cross(w, step))
        com, inertia = np.array(link.com), np.diag(link.inertia)
        rotations.append(R)
        steps.append(step)
        forces.append(link.mass * (a + np.cross(wd, com) + np.cross(w, np.cross(w, com))))
        moments.append(inertia @ wd + np.cross(w, inertia @ w))
    tau = np.array([link.gear**2 * link.rotor for link in links]) * np.asarray(qdd)
    f, m, outward = np.zeros(3), np.zeros(3), np.eye(3)
    for i in reversed(range(n)):
        f, m = outward @ f, outward @ m
        m = m + np.cross(steps[i], f) + np.cross(steps[i] + np.array(links[i].com), forces[i]) + moments[i]
        f = f + forces[i]
        tau[i] += m @ (rotations[i].T @ z)
        outward = rotations[i]
    return tau


def _rotation(angle: float, alpha: float) -> np.ndarray:
    c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(alpha), np.sin(alpha)
    return np.array([[c, -s * ca, s * sa], [s, c * ca, -c * sa], [0.0, sa, ca]])
