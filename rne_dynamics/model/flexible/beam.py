"""A slender beam: geometry, stiffness and mass of a flexible link, before mode shapes are chosen.

With integration along a beam, and the natural modes of Ritz's method from square roots of the energies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from rne_dynamics.errors import ModelError, refuse
from rne_dynamics.model.inertia import Array, Rebuilt, frozen_array, read_only, set_fields
from rne_dynamics.model.materials import Section


class Rule(NamedTuple):
    """Points and weights with ∫ f dx ≈ Σ wᵢ f(xᵢ); shapes (points,)."""

    x: Array
    w: Array


def ascending(arrays: Iterable[Array]) -> Array:
    """All numbers of the arrays, each once; `np.unique` would import masked arrays, 10 ms of a node's start."""
    return np.array(sorted({number for array in arrays for number in array.tolist()}))


def gauss(breaks: Array, order: int) -> Rule:
    """Gauss and Legendre's rule with `order` points in every interval between breaks, m, repeated ones counting once.

    Exact for what is a polynomial of degree 2 · order − 1 between breaks.
    """
    t, w = np.polynomial.legendre.leggauss(order)
    ends = ascending([breaks])
    half = 0.5 * np.diff(ends)[:, None]
    middle = 0.5 * (ends[1:] + ends[:-1])[:, None]
    return Rule((middle + half * t).ravel(), (half * w).ravel())


class NaturalModes(NamedTuple):
    """Natural modes of an undamped system with m coordinates."""

    #: rad/s, ascending; shape (m,).
    omega: Array
    #: Columns Φ with Φᵀ M Φ = 1; shape (m, m).
    modes: Array
    #: M Φ; shape (m, m).
    momenta: Array


def natural_modes(strain: Array, motion: Array) -> NaturalModes:
    """Natural modes where the energies are ½ |strain · δ|² and ½ |motion · δ̇|²; (rows, m) each, of full rank.

    Stiffness and inertia matrix are Bᵀ B and Aᵀ A of the two roots. With triangles B = Q R and A = Q' S the quotient S
    R⁻¹ is decomposed instead of the matrices, whose condition is its square: that keeps the low modes of a fine mesh.
    """
    if not strain.shape[1]:
        return NaturalModes(np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)))
    R: Array = np.asarray(np.linalg.qr(strain, mode="r"))
    S: Array = np.asarray(np.linalg.qr(motion, mode="r"))
    P, slowness, Wt = np.linalg.svd(_quotient(S, R))
    return NaturalModes(1.0 / slowness, _quotient((Wt.T / slowness).T[:, ::-1], R.T[::-1, ::-1])[:, ::-1].T, S.T @ P)


def _quotient(S: Array, R: Array) -> Array:
    """S R⁻¹ for an upper triangle R, column by column, in the digits of both."""
    X = np.empty_like(S)
    for k in range(len(R)):
        X[:, k] = (S[:, k] - X[:, :k] @ R[:k, k]) / R[k, k]
    return X


Shapes = Literal["clamped_free", "clamped_mass", "pinned", "polynomial", "finite_element"]
#: The shapes that a beam of varying section has.
TAPERED = ("polynomial", "finite_element")
#: More powers of x than this are too alike for double precision.
MOST_POWERS = 6
#: More elements than this add no digits.
MOST_ELEMENTS = 200


@dataclass(frozen=True, eq=False)
class Beam(Rebuilt):
    """A straight beam from `origin` along `axis` in the frame of its link, clamped to the link at its root.

    Its own axes are x along it, y along `normal`, z to the right hand. Quantities along it are given at equal distances
    from root to tip and vary linearly in between: one number for a uniform beam, two for a taper, and so on.

    Raises ModelError: numbers out of range, a property that a wanted mode needs and that is zero, shapes that a tapered
    beam has not.
    """

    #: The link's name.
    link: str
    #: m.
    length: float
    #: μ, kg/m; shape (stations,).
    mass_per_length: Array
    #: Bending stiffness for deflections along y and along z, N·m²; shape (stations,). E times the second moment of area
    #: ∫ y² dA, and ∫ z² dA.
    EI_y: Array = field(default_factory=lambda: np.zeros(1))
    EI_z: Array = field(default_factory=lambda: np.zeros(1))
    #: Torsional stiffness, N·m²; shape (stations,).
    GJ: Array = field(default_factory=lambda: np.zeros(1))
    #: ∫ ρ y² dA and ∫ ρ z² dA, the inertia of the section per length, kg·m; shape (stations,). Counted in torsion and
    #: in turns of the whole link; bending leaves it out (Euler and Bernoulli's beam).
    spread_y: Array = field(default_factory=lambda: np.zeros(1))
    spread_z: Array = field(default_factory=lambda: np.zeros(1))
    #: In the link's frame; shape (3,). `normal` is made square to `axis`.
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    normal: Array = field(default_factory=lambda: np.array([0.0, 1.0, 0.0]))
    origin: Array = field(default_factory=lambda: np.zeros(3))
    #: How many modes in bending along y, along z, and in torsion.
    modes: tuple[int, int, int] = (2, 0, 0)
    #: Which mode shapes: ``clamped_free`` and ``clamped_mass`` are the eigenfunctions of the uniform beam without and
    #: with its tip load; ``pinned`` those of the beam on a free hinge with its tip load, less their slope at the root
    #: times x (see `beam_shapes`); ``polynomial`` the powers (x/L)², (x/L)³ and so on; ``finite_element`` the
    #: eigenvectors of a finite-element model with its tip load. Tapered beams have the last two only.
    shapes: Shapes = "clamped_free"
    #: Ratio of critical damping of each of the beam's own modes as clamped, with its tip load; one number for all, or
    #: one for each in the order y, z, torsion, in each of them from the lowest frequency on.
    damping: float | tuple[float, ...] = 0.0
    #: The load at the beam's tip, for choosing ``clamped_mass``, ``pinned`` and ``finite_element`` shapes and for
    #: `damping`: kg, and kg·m² about the tip for turns about x (torsion), y (bending along z) and z (bending along y).
    #: It is not part of the link's mass.
    tip_mass: float = 0.0
    tip_inertia: tuple[float, float, float] = (0.0, 0.0, 0.0)
    #: How far beyond the tip the mass centre of `tip_mass` lies, m, along the beam. An offset across the beam, which
    #: would couple bending with torsion, is left out.
    tip_offset: float = 0.0
    #: Number of elements of ``finite_element`` shapes.
    elements: int = 20
    #: Whether the shortening of the bent beam and its true curvature count: spin then stiffens it, and a weight on it
    #: buckles it. False is the plain theory of document 003, for comparisons with it.
    stiffening: bool = True

    def __post_init__(self) -> None:
        where = f"flexible link {self.link!r}"
        for name in Section._fields:
            set_fields(self, **{name: _stations(getattr(self, name), f"{where}: {name}")})
        numbers = {"length": "m", "tip_mass": "kg", "tip_offset": "m"}
        set_fields(self, **{name: _number(getattr(self, name), f"{where}: {name}", numbers[name]) for name in numbers})
        vectors = {name: _vector(getattr(self, name), f"{where}: {name}")
                   for name in ("axis", "normal", "origin", "tip_inertia")}  # fmt: skip
        modes = tuple(self.modes) if isinstance(self.modes, Sequence) else ()
        refuse(
            ModelError,
            (not self.length > 0.0, f"{where}: length is {self.length} m; it must be finite and above 0"),
            (self.shapes not in get_args(Shapes),
             f"{where}: shapes is {self.shapes!r}; it must be one of {', '.join(get_args(Shapes))}"),
            (not isinstance(self.stiffening, (bool, np.bool_)),
             f"{where}: stiffening is {self.stiffening!r}; it must be True or False"),
            (len(modes) != 3 or not all(map(_is_count, modes)),
             f"{where}: modes is {self.modes!r}; it must be three whole numbers, not negative: modes in bending "
             "along y, along z, and in torsion"),
        )  # fmt: skip
        set_fields(self, modes=tuple(map(int, modes)))
        self._check_modes(where)
        self._check_tip_and_damping(where, vectors["tip_inertia"])
        set_fields(self, **_directions(where, vectors["axis"], vectors["normal"]), origin=vectors["origin"])

    def _check_modes(self, where: str) -> None:
        most, spread = max(self.modes), self.along("spread_y", self.ends) + self.along("spread_z", self.ends)
        least = max(1, most) if self.shapes == "finite_element" else 1
        refuse(
            ModelError,
            (not (self.mass_per_length > 0.0).all(),
             f"{where}: mass_per_length is {self.mass_per_length.tolist()} kg/m; it must be above 0 at every station"),
            *(
                (count and not (getattr(self, stiffness) > 0.0).all(),
                 f"{where}: {stiffness} is {getattr(self, stiffness).tolist()} N m^2, but {count} modes in {kind} are "
                 "wanted; give it above 0 at every station, or set their number to 0")
                for count, kind, stiffness in zip(
                    self.modes, ("bending along y", "bending along z", "torsion"), ("EI_y", "EI_z", "GJ"), strict=True
                )
            ),
            (self.modes[2] and not (spread > 0.0).all(),
             f"{where}: spread_y and spread_z are {self.spread_y.tolist()} and {self.spread_z.tolist()} kg m, so "
             f"the section has no inertia in torsion, but {self.modes[2]} modes in torsion are wanted; give the "
             "spreads, or set their number to 0"),
            (self.tapered and self.shapes not in TAPERED,
             f"{where}: shapes is {self.shapes!r}, which are those of a uniform beam, but its section varies along "
             f"it; take {' or '.join(TAPERED)}"),
            (self.shapes == "polynomial" and most > MOST_POWERS,
             f"{where}: {most} polynomial modes in one direction are wanted; more than {MOST_POWERS} are too alike "
             "for double precision: take finite_element or clamped_free shapes"),
            (not _is_count(self.elements) or not least <= self.elements <= MOST_ELEMENTS,
             f"{where}: elements is {self.elements!r}; it must be a whole number from {least} (the largest number "
             f"of modes in one direction) to {MOST_ELEMENTS}"),
        )  # fmt: skip

    def _check_tip_and_damping(self, where: str, tip_inertia: Array) -> None:
        inertia, total, given = tip_inertia.tolist(), sum(self.modes), _numbers(self.damping, f"{where}: damping")
        ratios = frozen_array(
            given if given.ndim else np.full(total, given), (total,),
            f"{where}: damping (one ratio for all modes, or one for each)",
        )  # fmt: skip
        least = self.tip_mass * self.tip_offset**2
        refuse(
            ModelError,
            (min(self.tip_mass, *inertia) < 0.0,
             f"{where}: tip_mass is {self.tip_mass} kg and tip_inertia {inertia} kg m^2; neither may be negative"),
            (min(inertia[1:]) < least * (1.0 - 1e-9),
             f"{where}: tip_inertia is {inertia} kg m^2 about the tip, but {self.tip_mass} kg at tip_offset "
             f"{self.tip_offset} m alone have {least:.6g} about y and z; add that to them"),
            ((ratios < 0.0).any(),
             f"{where}: damping is {ratios.tolist()}; a ratio of critical damping must not be negative"),
        )  # fmt: skip
        set_fields(self, tip_inertia=tuple(inertia), damping=tuple(given.tolist()) if given.ndim else float(given))

    @property
    def rotation(self) -> Array:
        """The beam's axes as columns in the link's frame; shape (3, 3)."""
        return np.column_stack([self.axis, self.normal, np.cross(self.axis, self.normal)])

    @property
    def tapered(self) -> bool:
        """Whether any property varies along the beam."""
        return any(np.ptp(getattr(self, name)) > 0.0 for name in Section._fields)

    @property
    def ends(self) -> Array:
        """Places where any property may have a kink, root and tip included, m; ascending."""
        counts = {len(getattr(self, name)) for name in Section._fields}
        return ascending(np.linspace(0.0, self.length, max(count, 2)) for count in sorted(counts))

    def along(self, name: str, x: Array) -> Array:
        """A property (``mass_per_length``, ``EI_y``, …) at distances x from the root, m; the shape of x."""
        values = getattr(self, name)
        return np.asarray(np.interp(x, np.linspace(0.0, self.length, len(values)), values))

    @property
    def damping_ratios(self) -> Array:
        """A damping ratio for every mode, in the order y, z, torsion; shape (modes,)."""
        return np.broadcast_to(np.asarray(self.damping, dtype=np.float64), (sum(self.modes),))


def _directions(where: str, axis: Array, normal: Array) -> dict[str, Array]:
    """Unit vectors along the beam, and square to it."""
    if not np.linalg.norm(axis) > 1e-12:
        raise ModelError(f"{where}: axis is {axis.tolist()}; it must not be zero")
    axis = axis / np.linalg.norm(axis)
    across = normal - (normal @ axis) * axis
    if not np.linalg.norm(across) > 1e-9 * np.linalg.norm(normal):
        raise ModelError(f"{where}: normal {normal.tolist()} must have a part across the axis {axis.tolist()}")
    across = across / np.linalg.norm(across)
    across = across - (across @ axis) * axis  # again: what a normal close to the axis has left is short of digits
    return {"axis": read_only(axis), "normal": read_only(across / np.linalg.norm(across))}


def _stations(value: Any, what: str) -> Array:
    array = np.atleast_1d(_numbers(value, what))
    refuse(
        ModelError,
        (array.ndim != 1 or not len(array),
         f"{what} has shape {array.shape}; it must be one number, or a list of them from root to tip"),
        ((array < 0.0).any(), f"{what} is {array.tolist()}; it must not be negative"),
    )  # fmt: skip
    return frozen_array(array, array.shape, what)


def _vector(value: Any, what: str) -> Array:
    return frozen_array(_numbers(value, what), (3,), what)


def _numbers(value: Any, what: str) -> Array:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {value!r}; it must be numbers") from None


def _number(value: Any, what: str, unit: str) -> float:
    array = _numbers(value, what)
    if array.ndim or not np.isfinite(array):
        raise ModelError(f"{what} is {value!r} {unit}; it must be one finite number")
    return float(array)


def _is_count(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0
