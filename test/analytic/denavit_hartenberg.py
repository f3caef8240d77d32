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


#: Corke and Armstrong-Hélouvry 1994, standard convention, as published (the pedestal of 0.672 m apart): d, a, alpha,
#: mass, mass centre, moments about it, rotor, gear
PUMA = (
    Link(0.0, 0.0, np.pi / 2, 0.0, (0, 0, 0), (0, 0.35, 0), 200e-6, -62.6111),
    Link(0.0, 0.4318, 0.0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539), 200e-6, 107.815),
    Link(0.15005, 0.0203, -np.pi / 2, 4.8, (-0.0203, -0.0141, 0.070), (0.066, 0.086, 0.0125), 200e-6, -53.7063),
    Link(0.4318, 0.0, np.pi / 2, 0.82, (0, 0.019, 0), (1.8e-3, 1.3e-3, 1.8e-3), 33e-6, 76.0364),
    Link(0.0, 0.0, -np.pi / 2, 0.34, (0, 0, 0), (0.3e-3, 0.4e-3, 0.3e-3), 33e-6, 71.923),
    Link(0.0, 0.0, 0.0, 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3), 33e-6, 76.686),
)


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
