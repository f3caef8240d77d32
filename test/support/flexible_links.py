"""Flexible links in general position: clouds of particles that move with arbitrary modes, and oblique beams."""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np
from support.flexible_energy import Particles

import rne_dynamics as rne
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.beam import Beam, natural_modes
from rne_dynamics.model.flexible.beam_modes import modal_link
from rne_dynamics.model.flexible.beam_shapes import beam_shapes, energy_roots
from rne_dynamics.model.flexible.modal import Attachment, ModalLink
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink


def beam_frequencies(beam):
    """Natural frequencies of the beam alone, clamped, with its tip load, rad/s; shape (modes,).

    As its shapes render them, in the order y, z, torsion, ascending in each.
    """
    shapes = beam_shapes(beam)
    return np.concatenate([natural_modes(*energy_roots(beam, k, shapes[k])).omega for k in range(3)])


class CubicField(NamedTuple):
    """Shapes that grow with the powers of a linear function of place."""

    translation: np.ndarray
    rotation: np.ndarray
    shortening: np.ndarray

    def at(self, position):
        s = 0.5 + np.asarray(position) @ np.array([1.0, 0.3, -0.2])
        return Attachment(self.translation * s**2, self.rotation * s, self.shortening * s**3)


def cloud(robot, link, m, rng, *, stiffening):
    """A flexible link with m random modes, and its particles: 20 % of the link's mass."""
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
    coupling, hardening = (
        stiffening * np.mean([raw.transpose(order) for order in permutations(range(raw.ndim))], axis=0)
        for raw in (rng.normal(size=(m,) * 3), rng.normal(size=(m,) * 4))
    )
    modal = ModalLink(
        link, tuple(f"m{k}" for k in range(m)), rne.Inertia(mass.sum(), centre, about),
        first=np.einsum("n,nr,nks->krs", mass, h, particles.displacement),
        second=np.einsum("n,nkr,nls->klrs", mass, particles.displacement, particles.displacement),
        shortening=np.einsum("n,nr,nkls->klrs", mass, h, particles.shortening),
        stiffness=root @ root.T + 10.0 * np.eye(m), damping=damping @ damping.T, field=field, tip=body.com,
        coupling=coupling, hardening=hardening,
    )  # fmt: skip
    return modal, particles


def cloud_arm(robot, modes, rng, *, stiffening):
    """The robot with `modes` = {link: number of modes} flexible, and the particles of these links."""
    made = {link: cloud(robot, link, m, rng, stiffening=stiffening) for link, m in modes.items()}
    return FlexibleArm(robot, tuple(modal for modal, _ in made.values())), {k: p for k, (_, p) in made.items()}


def two_beams(shapes, *, stiffening, modes=(2, 2, 1), spread=1.0):
    """Two oblique beams, one on the other, with bodies at their tips and off the axis half way along the first."""
    section = {"mass_per_length": 0.8, "EI_y": 3.0, "EI_z": 2.0, "GJ": 1.5, "spread_y": 2e-3 * spread}
    section["spread_z"] = 0.5 * section["spread_y"]
    if shapes in ("polynomial", "finite_element"):
        section = {name: np.array([value, 0.6 * value, 0.5 * value]) for name, value in section.items()}
    beams = [
        Beam(
            name, 0.6, **section, axis=np.array([0.6, 0.2, 0.3]), normal=np.array([0.1, 1.0, 0.4]),
            origin=np.array([0.02, 0.01, -0.03]), modes=modes, shapes=shapes, damping=0.02, tip_mass=0.5,
            tip_inertia=(0.01, 0.02, 0.02), elements=5, stiffening=stiffening,
        )
        for name in ("lower", "upper")
    ]  # fmt: skip
    modal = [modal_link(beam) for beam in beams]
    body = rne.Inertia(0.4, np.array([0.02, 0.01, 0.03]), np.diag([2e-3, 3e-3, 4e-3]))
    carried = (TreeLink("hand", body), TreeLink("box", body))
    links = (TreeLink("base"), *(TreeLink(m.link, m.inertia + body) for m in modal), *carried)
    mount = beams[0].origin + 0.3 * beams[0].axis + 0.05 * beams[0].normal
    joints = (
        TreeJoint("shoulder", JointKind.REVOLUTE, "base", "lower", axis=np.array([0.0, 1.0, 1.0])),
        TreeJoint("elbow", JointKind.REVOLUTE, "lower", "upper", position=modal[0].tip, axis=np.array([1.0, 1.0, 0.0])),
        TreeJoint("mount", JointKind.PRISMATIC, "lower", "box", position=mount, axis=np.array([0.0, 1.0, 0.0])),
        TreeJoint("flange", JointKind.FIXED, "upper", "hand", position=modal[1].tip),
    )
    return FlexibleArm(rne.assemble(KinematicTree("beams", links, joints)), tuple(modal)), beams
