"""Flexible links as particles: where the matter of a beam is, and how the mode shapes move each bit of it.

The integrals of `ModalLink` are left aside: what is asked of a link is its shapes at points (`ModalLink.at`) and of its
beam the mass along it.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from rne_dynamics.errors import ModelError
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.beam_field import BeamField
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.flexible.ritz import Rule, gauss
from rne_dynamics.model.inertia import Array

#: Points of Gauss's rule between two kinks: of smooth shapes all along the beam, and on one element's cubics.
_SMOOTH = 48
_ELEMENT = 8


class Particles(NamedTuple):
    """Particles of a flexible link with m modes, in the link's axes.

    Parameters
    ----------
    mass
        kg; shape (N,).
    position
        Undeformed, m; shape (N, 3).
    displacement
        Per unit of each amplitude; shape (N, m, 3).
    shortening
        At amplitudes δ a particle moves by another −½ Σ δ_k δ_l s_kl; shape (N, m, m, 3).
    """

    mass: Array
    position: Array
    displacement: Array
    shortening: Array


def arm_particles(arm: FlexibleArm) -> dict[str, Particles]:
    """The particles of every flexible link of an arm, by the link's name.

    Raises
    ------
    ModelError
        A link that is no beam: its integrals do not tell where its matter is.
    """
    particles = {}
    for link in arm.flexible_links:
        if not isinstance(link.field, BeamField):
            raise ModelError(
                f"flexible link {link.link!r} of arm {arm.name!r} is given by integrals over its modes, not as a beam; "
                "they do not tell where its matter is, so it has no particles"
            )
        particles[link.link] = beam_particles(link.field.beam, link)
    return particles


def beam_particles(beam: Beam, link: ModalLink) -> Particles:
    """The particles of a beam: sections at Gauss points, each of four particles that have its mass and its spreads.

    Bending moves the particles of a section alike, torsion turns them about the beam's axis (`Beam`: bending leaves the
    inertia of turning sections out). Shortening moves them along the axis only.
    """
    x, w = _rule(beam)
    axis, side, up = beam.rotation.T
    mass = beam.along("mass_per_length", x) * w
    # m/2 (2 a²) = spread: two particles at ±a √2 on either axis of the section
    along_y = np.sqrt(2.0 * beam.along("spread_y", x) / beam.along("mass_per_length", x))
    along_z = np.sqrt(2.0 * beam.along("spread_z", x) / beam.along("mass_per_length", x))
    offsets = np.stack([np.outer(s, d) for s, d in ((along_y, side), (-along_y, side), (along_z, up), (-along_z, up))])
    centres = beam.origin + np.outer(x, axis)
    shapes = [link.at(centre) for centre in centres]
    translation = np.array([shape.translation for shape in shapes])
    torsion = np.array([shape.rotation @ axis for shape in shapes])
    turned = torsion[None, :, :, None] * np.cross(axis, offsets)[:, :, None, :]
    drawn = np.array([np.multiply.outer(shape.shortening @ axis, axis) for shape in shapes])
    count, m = len(x), link.modes
    return Particles(
        mass=np.tile(0.25 * mass, 4),
        position=(centres + offsets).reshape(-1, 3),
        displacement=(translation + turned).reshape(4 * count, m, 3),
        shortening=np.tile(drawn, (4, 1, 1, 1)),
    )


def strain_stiffness(beam: Beam, link: ModalLink) -> Array:
    """K_kl (42) from the turns of the sections alone: ∫ EI θ'_k θ'_l dx and ∫ GJ θ'_k θ'_l dx; shape (m, m).

    The slope θ' is that of the polynomial through θ at the Gauss points between two kinks.
    """
    K = np.zeros((link.modes, link.modes))
    order, breaks = _SMOOTH if beam.shapes != "finite_element" else _ELEMENT, _breaks(beam)
    t, w = np.polynomial.legendre.leggauss(order)
    slope = np.polynomial.legendre.legder(np.eye(order))  # of the Legendre polynomials, column by column
    at_points = np.polynomial.legendre.legvander(t, order - 1)
    # through the points by the rule's own orthogonality, which is well conditioned
    fit = (np.arange(order) + 0.5)[:, None] * (at_points * w[:, None]).T
    derive = np.polynomial.legendre.legvander(t, order - 2) @ slope @ fit
    for a, b in itertools.pairwise(breaks):
        x = a + 0.5 * (b - a) * (t + 1.0)
        turns = np.array([link.at(beam.origin + s * beam.axis).rotation for s in x]) @ beam.rotation
        bent = np.einsum("ij,jkc->ikc", derive, turns) * (2.0 / (b - a))
        # turns about x, y and z: torsion, bending along z and along y
        stiffness = np.stack([beam.along(name, x) for name in ("GJ", "EI_z", "EI_y")], axis=-1)
        K += np.einsum("i,ic,ikc,ilc->kl", 0.5 * (b - a) * w, stiffness, bent, bent)
    return K


def _breaks(beam: Beam) -> Array:
    """Where shapes or properties may have kinks."""
    if beam.shapes != "finite_element":
        return beam.ends
    return np.unique(np.concatenate([beam.ends, np.linspace(0.0, beam.length, beam.elements + 1)]))


def _rule(beam: Beam) -> Rule:
    return gauss(_breaks(beam), _ELEMENT if beam.shapes == "finite_element" else _SMOOTH)
