"""From a beam to a flexible link: the integrals of document 003 over its mode shapes.

Euler and Bernoulli's beam: bending moves a section without turning it, as far as its inertia goes; torsion turns it
about the axis, so that a point (y, z) of it moves by θ (0, −z, y). The undeformed beam's inertia holds the section's
spread. Everything is integrated by Gauss's rule between the places where shapes or properties have kinks: to round-off
for the analytic shapes, exactly for polynomials and finite elements.

The mode shapes of a beam as a function of place, in the frame of its link.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from rne_dynamics.model.flexible.beam import Beam, Rule, ascending, gauss, natural_modes
from rne_dynamics.model.flexible.beam_shapes import ShapeFunctions, beam_shapes, energy_roots
from rne_dynamics.model.flexible.modal import Attachment, ModalLink, drawn_in
from rne_dynamics.model.flexible.nodal_mesh import Motion
from rne_dynamics.model.inertia import Array, Inertia, Rebuilt, frozen_array, set_fields


@dataclass(frozen=True, eq=False)
class BeamField(Rebuilt):
    """Displacement and turn of points of a link whose beam bends and twists.

    Sections stay plane and the same: a point moves as if it sat on a rigid arm fixed to the axis at its own distance
    from the root. What lies before the root does not move, what lies beyond the tip moves with the tip.
    """

    #: The beam.
    beam: Beam
    #: its shapes in bending along y, along z, and in torsion
    shapes: tuple[ShapeFunctions, ShapeFunctions, ShapeFunctions] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        set_fields(self, shapes=beam_shapes(self.beam))

    @property
    def breaks(self) -> Array:
        """Between these all shapes and properties are smooth, m."""
        return ascending([self.beam.ends, *(shapes.breaks for shapes in self.shapes)])

    def deflection(self, x: Array) -> Motion:
        """The motion of the axis by each mode at distances x in [0, L] from the root, m; shape (points,)."""
        y, z, _ = self.shapes
        translation = np.zeros((len(x), sum(self.beam.modes), 3))
        translation[:, : y.count, 1] = y.evaluate(x, 0)
        translation[:, y.count : y.count + z.count, 2] = z.evaluate(x, 0)
        return Motion(translation, self.turns(x))

    def turns(self, x: Array, order: int = 0) -> Array:
        """Turns of the axis by each mode, or a derivative of them with respect to x; shape (points, m, 3).

        They are w_y' about z, −w_z' about y and θ about x.
        """
        y, z, twist = self.shapes
        out = np.zeros((len(x), sum(self.beam.modes), 3))
        out[:, : y.count, 2] = y.evaluate(x, order + 1)
        out[:, y.count : y.count + z.count, 1] = -z.evaluate(x, order + 1)
        out[:, y.count + z.count :, 0] = twist.evaluate(x, order)
        return out

    def at(self, position: Array) -> Attachment:
        """The shapes at a point of the link's frame, m; shape (3,).

        With stiffening, turns count to the second order: those of the axis before the point, and at a point next to the
        axis or beyond the tip that of its section.
        """
        beam = self.beam
        R = beam.rotation
        where = frozen_array(position, (3,), f"flexible link {beam.link!r}: position")
        place = R.T @ (where - beam.origin)
        m = sum(beam.modes)
        if place[0] <= 0.0:
            return Attachment(np.zeros((m, 3)), np.zeros((m, 3)), np.zeros((m, m, 3)))
        eta = min(float(place[0]), beam.length)
        offset = np.array([place[0] - eta, place[1], place[2]])
        found = self.deflection(np.array([eta]))
        rotation = found.rotation[0]
        translation = found.translation[0] + np.cross(rotation, offset)
        shortening = np.zeros((m, m, 3))
        if beam.stiffening:
            breaks = self.breaks
            rule = gauss(np.append(breaks[breaks < eta], eta), max(shapes.points for shapes in self.shapes))
            along = drawn_in(self.turns(rule.x), np.array([1.0, 0.0, 0.0]))
            shortening = np.einsum("p,pkli->kli", rule.w, along) + drawn_in(rotation[None], offset)[0]
        return Attachment(translation @ R.T, rotation @ R.T, shortening @ R.T)


def modal_link(beam: Beam) -> ModalLink:
    """The flexible link that a beam makes, with modes named y1, y2, …, z1, …, torsion1, ….

    Raises ModelError: a tip so heavy that its mode shapes cannot be distinguished.
    """
    field = BeamField(beam)
    shapes = field.shapes
    rule = gauss(field.breaks, max(s.points for s in shapes))
    first, second, shortening = _integrals(field, rule)
    coupling, hardening = _higher_strain(field)
    m = sum(beam.modes)
    stiffness, damping = np.zeros((m, m)), np.zeros((m, m))
    start = 0
    for direction, s in enumerate(shapes):
        block = slice(start, start + s.count)
        strain, motion = energy_roots(beam, direction, s)
        stiffness[block, block] = strain.T @ strain
        own = natural_modes(strain, motion)
        # D = M Φ diag(2ζω) Φᵀ M, so that ΦᵀDΦ is diagonal in the beam's own modes
        damping[block, block] = (own.momenta * (2.0 * beam.damping_ratios[block] * own.omega)) @ own.momenta.T
        start += s.count
    # from the beam's axes at its root to the link's frame
    R, T = beam.rotation, np.zeros((4, 4))
    T[0, 0], T[1:, 0], T[1:, 1:] = 1.0, beam.origin, R
    kinds = zip(("y", "z", "torsion"), beam.modes, strict=True)
    return ModalLink(
        link=beam.link,
        mode_names=tuple(f"{kind}{k + 1}" for kind, count in kinds for k in range(count)),
        inertia=_undeformed(beam, rule).moved(R, beam.origin),
        first=T @ first @ R.T,
        second=R @ second @ R.T,
        shortening=T @ shortening @ R.T,
        stiffness=0.5 * (stiffness + stiffness.T),
        damping=0.5 * (damping + damping.T),
        field=field,
        tip=beam.origin + beam.length * beam.axis,
        coupling=coupling,
        hardening=hardening,
    )


def _integrals(field: BeamField, rule: Rule) -> tuple[Array, Array, Array]:
    """C_ik (28), C_ikl (25) and the integrals of the shortening, in the beam's own axes from its root."""
    beam = field.beam
    dm = rule.w * beam.along("mass_per_length", rule.x)
    spread_y, spread_z = (rule.w * beam.along(name, rule.x) for name in ("spread_y", "spread_z"))
    moved = field.deflection(rule.x)
    twist = moved.rotation[:, :, 0]
    m = twist.shape[1]

    first = np.zeros((m, 4, 3))
    first[:, 0] = np.einsum("p,pki->ki", dm, moved.translation)
    first[:, 1] = np.einsum("p,pki->ki", dm * rule.x, moved.translation)
    # ∫ y φ dm and ∫ z φ dm with φ = θ (0, −z, y)
    first[:, 2, 2] += spread_y @ twist
    first[:, 3, 1] -= spread_z @ twist

    second = np.einsum("p,pki,plj->klij", dm, moved.translation, moved.translation)
    second[:, :, 1, 1] += np.einsum("p,pk,pl->kl", spread_z, twist, twist)
    second[:, :, 2, 2] += np.einsum("p,pk,pl->kl", spread_y, twist, twist)

    shortening = np.zeros((m, m, 4, 3))
    if beam.stiffening:
        # ∫ x^p ∫₀ˣ s_kl ds dm = ∫ s_kl (∫ₛᴸ x^p dm) ds: what lies beyond s is drawn in by the turn at s. Along the axis
        # only: what twist and bending together move across it is larger than the inertia that twist has in `second`,
        # so that J would not stay definite without its square.
        drawn = drawn_in(moved.rotation, np.array([1.0, 0.0, 0.0]))[..., 0]
        for row, weight in enumerate(_beyond(beam, rule.x)):
            shortening[:, :, row, 0] = np.einsum("p,pkl->kl", rule.w * weight, drawn)
    return first, second, shortening


def _higher_strain(field: BeamField) -> tuple[Array, Array]:
    """B_klm and H_klmn of `ModalLink`, from the strain energy of third and fourth order; zero without stiffening.

    A section turned by θ = (φ, −z′, y′) has the curvatures θ′ − ½ θ × θ′ to second order: bending in both planes
    twists. To third order, without torsion and with the tangent (√(1 − y′² − z′²), y′, z′), bending is y″ + ½ y′ g and
    z″ + ½ z′ g with g = y′y″ + z′z″, in one plane the exact y″ / √(1 − y′²). That adds the energy
    ½ ∫ g (EI_y y′y″ + EI_z z′z″) dx. What a twist adds to that order is left out.
    """
    beam = field.beam
    m = sum(beam.modes)
    if not beam.stiffening:
        return np.zeros((m, m, m)), np.zeros((m, m, m, m))
    rule = gauss(field.breaks, 2 * max(s.points for s in field.shapes))
    turn, bent = field.turns(rule.x), field.turns(rule.x, 1)
    # turns about x, y and z: torsion, bending along z and along y
    stiffness = rule.w[:, None] * np.stack([beam.along(name, rule.x) for name in ("GJ", "EI_z", "EI_y")], axis=-1)
    across = np.cross(turn[:, :, None], bent[:, None, :])
    cubic = -0.5 * np.einsum("pi,pki,plmi->klm", stiffness, bent, across)
    # sorted, they have the same sum in every order, also where they cancel: a round beam has no coupling but round-off
    turned = np.sort([cubic.transpose(order) for order in permutations(range(3))], axis=0)
    coupling = 0.5 * turned.sum(axis=0)

    products = np.einsum("pki,pli->pkli", turn, bent)[..., 1:]
    products = 0.5 * (products + products.transpose(0, 2, 1, 3))
    quartic = np.einsum("pkl,pmni,pi->klmn", products.sum(axis=-1), products, stiffness[:, 1:], optimize=True)
    quartic = quartic + quartic.transpose(2, 3, 0, 1)
    return coupling, (quartic + quartic.transpose(0, 2, 1, 3) + quartic.transpose(0, 3, 2, 1)) / 3.0


def _beyond(beam: Beam, x: Array) -> Array:
    """Mass and first moment about the root of what lies beyond each x, all before the tip, kg and kg·m; (2, len(x))."""
    at = ascending([beam.ends, x])
    places = np.array([at[:-1], 0.5 * (at[:-1] + at[1:]), at[1:]])
    densities = beam.along("mass_per_length", places) * [np.ones_like(places), places]
    # between two of `at` these are linear and quadratic, and Simpson's rule is exact
    parts = np.diff(at) / 6.0 * (densities[:, 0] + 4.0 * densities[:, 1] + densities[:, 2])
    return np.cumsum(parts[:, ::-1], axis=1)[:, ::-1][:, np.searchsorted(at, x)]


def _undeformed(beam: Beam, rule: Rule) -> Inertia:
    """The straight beam in its own axes from its root."""
    dm = rule.w * beam.along("mass_per_length", rule.x)
    spread_y, spread_z = (float(rule.w @ beam.along(name, rule.x)) for name in ("spread_y", "spread_z"))
    mass = float(dm.sum())
    com = float(dm @ rule.x) / mass
    along = float(dm @ (rule.x - com) ** 2)
    return Inertia(
        mass, np.array([com, 0.0, 0.0]), np.diag([spread_y + spread_z, along + spread_z, along + spread_y])
    )
