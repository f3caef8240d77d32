"""Flexible links of no particular shape: clouds of particles that move with arbitrary modes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import rne_dynamics as rne
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.modal import Attachment, ModalLink
from rne_dynamics.verification.particles import Particles


class CubicField(NamedTuple):
    """Shapes that grow with the powers of a linear function of place."""

    translation: np.ndarray
    rotation: np.ndarray
    shortening: np.ndarray

    def at(self, position):
        s = 0.5 + np.asarray(position) @ np.array([1.0, 0.3, -0.2])
        return Attachment(self.translation * s**2, self.rotation * s, self.shortening * s**3)


def cloud(robot, link, m, rng, *, stiffening):
    """A flexible link with m random modes, and its particles: a fifth of the link's mass."""
    body, count = robot.tree.link(link).inertia, 12
    bend = 0.2 * rng.normal(size=(m, m, 3))
    field = CubicField(
        0.3 * rng.normal(size=(m, 3)), 0.3 * rng.normal(size=(m, 3)), stiffening * (bend + bend.transpose(1, 0, 2))
    )
    points = body.com + 0.01 * rng.normal(size=(count, 3))
    mass = np.full(count, 0.2 * body.mass / count)
    shapes = [field.at(p) for p in points]
    particles = Particles(
        mass, points, np.array([s.translation for s in shapes]), np.array([s.shortening for s in shapes])
    )
    h = np.column_stack([np.ones(count), points])
    centre = points.mean(axis=0)
    about = sum(a * (r @ r * np.eye(3) - np.outer(r, r)) for a, r in zip(mass, points - centre, strict=True))
    root, damping = rng.normal(size=(2, m, m))
    modal = ModalLink(
        link, tuple(f"m{k}" for k in range(m)), rne.Inertia(mass.sum(), centre, about),
        first=np.einsum("n,nr,nks->krs", mass, h, particles.displacement),
        second=np.einsum("n,nkr,nls->klrs", mass, particles.displacement, particles.displacement),
        shortening=np.einsum("n,nr,nkls->klrs", mass, h, particles.shortening),
        stiffness=root @ root.T + 10.0 * np.eye(m), damping=damping @ damping.T, field=field, tip=body.com,
    )  # fmt: skip
    return modal, particles


def cloud_arm(robot, modes, rng, *, stiffening):
    """The robot with `modes` = {link: number of modes} flexible, and the particles of these links."""
    made = {link: cloud(robot, link, m, rng, stiffening=stiffening) for link, m in modes.items()}
    return FlexibleArm(robot, tuple(modal for modal, _ in made.values())), {k: p for k, (_, p) in made.items()}
