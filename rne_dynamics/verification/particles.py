"""Flexible links as particles: positions of a beam's mass, and their displacement by the mode shapes.

The integrals of `ModalLink` are not used: only its shapes at points (`ModalLink.at`) and the beam's mass distribution.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rne_dynamics.errors import ModelError
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.beam_field import BeamField
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.flexible.ritz import Rule, gauss
from rne_dynamics.model.inertia import Array

#: Gauss points between two kinks: of smooth shapes along the whole beam, and of cubics on one element.
SMOOTH = 48
ELEMENT = 8


class Particles(NamedTuple):
    """Particles of a flexible link with m modes, in the link's axes."""

    #: kg; shape (N,).
    mass: Array
    #: Undeformed, m; shape (N, 3).
    position: Array
    #: Per unit of each amplitude; shape (N, m, 3).
    displacement: Array
    #: Additional displacement −½ Σ δ_k δ_l s_kl at amplitudes δ; shape (N, m, m, 3).
    shortening: Array


def arm_particles(arm: FlexibleArm) -> dict[str, Particles]:
    """The particles of every flexible link of an arm, by the link's name.

    Raises ModelError: a link that is not a beam: the positions of its mass are unknown.
    """
    particles = {}
    for link in arm.flexible_links:
        if not isinstance(link.field, BeamField):
            raise ModelError(
                f"flexible link {link.link!r} of arm {arm.name!r} is given by integrals over its modes, not as a beam: "
                "the positions of its mass are unknown, so it has no particles; describe it as a beam"
            )
        particles[link.link] = beam_particles(link.field.beam, link)
    return particles


def beam_particles(beam: Beam, link: ModalLink) -> Particles:
    """The particles of a beam: four at each Gauss point, with the mass and the second moments of the section.

    Bending translates a section, torsion turns it about the beam's axis (`Beam`: bending neglects the rotary inertia of
    sections). Shortening moves it along the axis.
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
        mass=np.tile(0.25 * mass, 4), position=(centres + offsets).reshape(-1, 3),
        displacement=(translation + turned).reshape(4 * count, m, 3), shortening=np.tile(drawn, (4, 1, 1, 1)),
    )


def breaks(beam: Beam) -> Array:
    """Positions where shapes or properties may have kinks."""
    if beam.shapes != "finite_element":
        return beam.ends
    return np.unique(np.concatenate([beam.ends, np.linspace(0.0, beam.length, beam.elements + 1)]))


def _rule(beam: Beam) -> Rule:
    return gauss(breaks(beam), ELEMENT if beam.shapes == "finite_element" else SMOOTH)
