"""A flexible link as the equations of motion take it: integrals over its mode shapes, and the shapes where it matters.

Document 003 gives its integrals with a factor ½ and its traces with a factor 2; here both are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.errors import ModelError, refuse
from rne_dynamics.model.inertia import Array, Inertia, Rebuilt, frozen_array, set_fields


class Attachment(NamedTuple):
    """Motion of one point of a link by its modes, per unit of amplitude, in the link's axes."""

    #: Displacement and small turn, the columns of M_ik (7); shapes (m, 3).
    translation: Array
    rotation: Array
    #: S_kl: at amplitudes δ the point moves by another −½ Σ δ_k δ_l S_kl, for a bent beam is as long as a straight one;
    #: shape (m, m, 3), symmetric in k and l. Zero where stiffening is left out.
    shortening: Array


class Field(Protocol):
    """The mode shapes of a link as a function of place."""

    def at(self, position: Array) -> Attachment:
        """The shapes at a point given in the link's frame, m; shape (3,). `ModelError` where they are not known."""


@dataclass(frozen=True, eq=False)
class ModalLink(Rebuilt):
    """A flexible link with m modes.

    Raises ModelError: wrong shapes, numbers that are not finite, or matrices that are not as said above.
    """

    #: The link's name. Its frame sits at its root, which moves as a rigid body.
    link: str
    #: Names of the modes within the link (``y1``, ``z1``, ``torsion1``); length m.
    mode_names: tuple[str, ...]
    #: Of the undeformed elastic part in the link's frame. It must be part of the link's own inertia.
    inertia: Inertia
    #: C_ik (28): ∫ [1 x y z]ᵀ φ_kᵀ dm; shape (m, 4, 3). The top row is ε_ik (52).
    first: Array
    #: C_ikl (25): ∫ φ_k φ_lᵀ dm; shape (m, m, 3, 3), with second[k, l] = second[l, k]ᵀ.
    second: Array
    #: ∫ [1 x y z]ᵀ s_klᵀ dm with the shortening s_kl of `Attachment`; shape (m, m, 4, 3); zero without stiffening.
    shortening: Array
    #: K_ikl (42); shape (m, m), symmetric, positive definite.
    stiffness: Array
    #: The generalised forces −damping · δ̇ of the material; shape (m, m), symmetric, not negative.
    damping: Array
    #: The shapes as a function of place.
    field: Field
    #: The end of the link, in its frame, whose deflection is reported, m; shape (3,).
    tip: Array
    #: B_klm: the quadratic elastic force on mode k is Σ B_klm δ_l δ_m, for bending in both planes twists a beam; shape
    #: (m, m, m), the same for every order of its indices. Zero without stiffening; not given is zero.
    coupling: Array = dataclass_field(default_factory=lambda: np.zeros(0))
    #: H_klmn: the cubic elastic force on mode k is Σ H_klmn δ_l δ_m δ_n, for a bent beam's curvature grows faster than
    #: w″; shape (m, m, m, m), symmetric likewise. Zero without stiffening; not given is zero.
    hardening: Array = dataclass_field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        m, where = len(self.mode_names), f"flexible link {self.link!r}"
        for name, shape in (
            ("first", (m, 4, 3)), ("second", (m, m, 3, 3)), ("shortening", (m, m, 4, 3)), ("stiffness", (m, m)),
            ("damping", (m, m)), ("tip", (3,)), ("coupling", (m,) * 3), ("hardening", (m,) * 4),
        ):  # fmt: skip
            left_out = name in ("coupling", "hardening") and not np.size(getattr(self, name))
            given = np.zeros(shape) if left_out else getattr(self, name)
            set_fields(self, **{name: frozen_array(given, shape, f"{where}: {name}")})
        if len(set(self.mode_names)) != m:
            raise ModelError(f"{where}: mode names are {', '.join(self.mode_names)}; every name must be there once")
        # The energy is that of the square of a curvature with terms of first and second order: its third order is at
        # most as large as the root of second times fourth, and may cancel, as for round beams.
        cubic = np.sqrt(np.abs(self.stiffness).max(initial=0.0) * np.abs(self.hardening).max(initial=0.0))
        for name, array, turned in (
            ("second", self.second, np.transpose(self.second, (1, 0, 3, 2))),
            ("shortening", self.shortening, np.transpose(self.shortening, (1, 0, 2, 3))),
            ("stiffness", self.stiffness, self.stiffness.T),
            ("damping", self.damping, self.damping.T),
            ("coupling", self.coupling, np.transpose(self.coupling, (1, 0, 2))),
            ("coupling", self.coupling, np.transpose(self.coupling, (1, 2, 0))),
            ("hardening", self.hardening, np.transpose(self.hardening, (1, 0, 2, 3))),
            ("hardening", self.hardening, np.transpose(self.hardening, (1, 2, 3, 0))),
        ):
            size = np.abs(array).max(initial=cubic if name == "coupling" else 0.0)
            if m and np.abs(array - turned).max() > 1e-9 * size:
                raise ModelError(f"{where}: {name} is not symmetric in its modes; exchange k and l and it must stay")
        stiff, damped = (np.linalg.eigvalsh(matrix) if m else np.ones(1) for matrix in (self.stiffness, self.damping))
        refuse(
            ModelError,
            (not stiff[0] > 0.0,
             f"{where}: stiffness has the eigenvalue {stiff[0]:.6g}; it must be positive definite: every bending must "
             "store energy"),
            (damped[0] < -1e-9 * np.abs(damped).max(),
             f"{where}: damping has the eigenvalue {damped[0]:.6g}; it must be not negative: damping only takes energy "
             "out"),
        )  # fmt: skip

    @property
    def modes(self) -> int:
        """Number of modes, m."""
        return len(self.mode_names)

    def at(self, position: ArrayLike) -> Attachment:
        """The mode shapes at a point of the link's frame, m; shape (3,)."""
        return self.field.at(np.asarray(position, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class TableField(Rebuilt):
    """Displacement and turn of P points of a link with m modes.

    Raises ModelError: wrong shapes, numbers that are not finite, no points, points too near to each other.
    """

    #: The link's name, for messages.
    link: str
    #: In the link's frame, m; shape (P, 3).
    points: Array
    #: Displacement and small turn per unit of amplitude, in the link's axes; shapes (P, m, 3).
    translations: Array
    rotations: Array
    #: S_kl of `Attachment`; shape (P, m, m, 3).
    shortenings: Array
    #: How far from a point its shapes still hold, m. Points must be farther than that from each other.
    tolerance: float

    def __post_init__(self) -> None:
        where = f"flexible link {self.link!r}"
        P, m = len(self.points), np.shape(self.translations)[1]
        for name, shape in (
            ("points", (P, 3)), ("translations", (P, m, 3)), ("rotations", (P, m, 3)), ("shortenings", (P, m, m, 3)),
        ):  # fmt: skip
            set_fields(self, **{name: frozen_array(getattr(self, name), shape, f"{where}: {name}")})
        turned = self.shortenings.transpose(0, 2, 1, 3)
        refuse(
            ModelError,
            (np.abs(self.shortenings - turned).max(initial=0.0) > 1e-9 * np.abs(turned).max(initial=0.0),
             f"{where}: shortenings are not symmetric; exchange two modes and they must stay"),
            (not P, f"{where}: points is empty; give at least the tip and every place where a joint sits"),
            (not (np.isfinite(self.tolerance) and self.tolerance > 0.0),
             f"{where}: tolerance is {self.tolerance} m; it must be finite and above 0"),
        )  # fmt: skip
        for k in range(P - 1):
            apart = np.linalg.norm(self.points[k + 1 :] - self.points[k], axis=1)
            if apart.min() <= self.tolerance:
                other = k + 1 + int(apart.argmin())
                raise ModelError(
                    f"{where}: points {k} and {other}, {self.points[k].tolist()} and {self.points[other].tolist()}, "
                    f"are {apart.min():.3g} m apart, within the tolerance of {self.tolerance:g} m; leave one out or "
                    "give a smaller tolerance"
                )

    def at(self, position: Array) -> Attachment:
        """The shapes at the nearest point, `ModelError` where none is within the tolerance; shape (3,), m."""
        place = frozen_array(position, (3,), f"flexible link {self.link!r}: position")
        apart = np.linalg.norm(self.points - place, axis=1)
        k = int(apart.argmin())
        if apart[k] > self.tolerance:
            raise ModelError(
                f"flexible link {self.link!r}: its mode shapes are not known at {place.tolist()} m. The nearest of "
                f"{len(self.points)} points, {self.points[k].tolist()}, is {apart[k]:.3g} m away, more than the "
                f"tolerance of {self.tolerance:g} m; add the point to the file with modal integrals, or move what sits "
                "there"
            )
        return Attachment(self.translations[k], self.rotations[k], self.shortenings[k])


def drawn_in(rotation: Array, line: Array) -> Array:
    """S_kl of `Attachment` for a line (3,) that turns by Σ δ_k θ_k: −½ Σ δ_k δ_l S_kl is ½ θ × (θ × line).

    Shape (points, m, m, 3), for turns θ_k of shape (points, m, 3).
    """
    across = np.einsum("pk,pli->pkli", rotation @ line, rotation)
    square = np.einsum("pki,pli->pkl", rotation, rotation)
    return np.asarray(np.multiply.outer(square, line) - 0.5 * (across + across.transpose(0, 2, 1, 3)))


def modal_damping(stiffness: Array, mass: Array, ratios: ArrayLike, where: str) -> Array:
    """Damping matrix (m, m) with ratios of critical damping, one or (m,), of the undamped modes, ascending.

    `ModelError`, which begins with `where`: a ratio below 0.
    """
    from scipy.linalg import eigh

    given = np.asarray(ratios, dtype=np.float64)
    if not (given >= 0.0).all():
        raise ModelError(
            f"{where}: damping_ratio is {given.tolist()}; a ratio of critical damping must not be negative"
        )
    squares, modes = eigh(stiffness, mass)
    momenta = mass @ modes
    damping = (momenta * (2.0 * given * np.sqrt(np.maximum(squares, 0.0)))) @ momenta.T
    return np.asarray(0.5 * (damping + damping.T))
