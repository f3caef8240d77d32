"""A slender beam: what a flexible link is made of, before any mode shapes are chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from rne_dynamics.errors import ModelError
from rne_dynamics.model.inertia import Array, frozen_array

Shapes = Literal["clamped_free", "clamped_mass", "pinned", "polynomial", "finite_element"]


@dataclass(frozen=True, eq=False)
class Beam:
    """A straight beam from `origin` along `axis` in the frame of its link, clamped to the link at its root.

    Its own axes are x along it, y along `normal`, z to the right hand. Quantities along it are given at equal distances
    from root to tip and vary linearly in between: one number for a uniform beam, two for a taper, and so on.

    Parameters
    ----------
    link
        The link's name.
    length
        m.
    mass_per_length
        μ, kg/m; shape (stations,).
    EI_y, EI_z
        Bending stiffness for deflections along y and along z, N·m²; shape (stations,). E times the second moment of area
        ∫ y² dA, and ∫ z² dA.
    GJ
        Torsional stiffness, N·m²; shape (stations,).
    spread_y, spread_z
        ∫ ρ y² dA and ∫ ρ z² dA, the inertia of the section per length, kg·m; shape (stations,). Counted in torsion and
        in turns of the whole link; bending leaves it out (Euler and Bernoulli's beam).
    axis, normal, origin
        In the link's frame; shape (3,). `normal` is made square to `axis`.
    modes
        How many modes in bending along y, along z, and in torsion.
    shapes
        Which mode shapes.
    damping
        Ratio of critical damping of each of the beam's own modes as clamped; one number for all, or one for each in the
        order y, z, torsion.
    tip_mass, tip_inertia
        What ``clamped_mass``, ``pinned`` and ``finite_element`` shapes shall reckon with at the tip: kg, and kg·m² about
        the tip for turns about y and z (bending along z, along y) and x (torsion), in the order x, y, z.
    elements
        Number of elements of ``finite_element`` shapes.
    stiffening
        Whether the shortening of the bent beam counts: spin then stiffens it, and a weight on it buckles it.

    Raises
    ------
    ModelError
        Numbers out of range, a property that a wanted mode needs and that is zero, shapes that a tapered beam has not.
    """

    link: str
    length: float
    mass_per_length: Array
    EI_y: Array = field(default_factory=lambda: np.zeros(1))
    EI_z: Array = field(default_factory=lambda: np.zeros(1))
    GJ: Array = field(default_factory=lambda: np.zeros(1))
    spread_y: Array = field(default_factory=lambda: np.zeros(1))
    spread_z: Array = field(default_factory=lambda: np.zeros(1))
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    normal: Array = field(default_factory=lambda: np.array([0.0, 1.0, 0.0]))
    origin: Array = field(default_factory=lambda: np.zeros(3))
    modes: tuple[int, int, int] = (2, 0, 0)
    shapes: Shapes = "clamped_free"
    damping: float | tuple[float, ...] = 0.0
    tip_mass: float = 0.0
    tip_inertia: tuple[float, float, float] = (0.0, 0.0, 0.0)
    elements: int = 20
    stiffening: bool = False

    def __post_init__(self) -> None:
        where = f"flexible link {self.link!r}"
        for name in ("mass_per_length", "EI_y", "EI_z", "GJ", "spread_y", "spread_z"):
            value = np.atleast_1d(np.asarray(getattr(self, name), dtype=np.float64))
            value = frozen_array(value, (len(value),), f"{where}: {name}")
            if (value < 0.0).any() or not len(value):
                raise ModelError(f"{where}: {name} is {value.tolist()}; it must not be negative")
            object.__setattr__(self, name, value)
        if not (np.isfinite(self.length) and self.length > 0.0):
            raise ModelError(f"{where}: length is {self.length} m; it must be finite and above 0")
        if self.shapes not in get_args(Shapes):
            raise ModelError(f"{where}: shapes is {self.shapes!r}; it must be one of {', '.join(get_args(Shapes))}")
        axis = frozen_array(self.axis, (3,), f"{where}: axis")
        normal = frozen_array(self.normal, (3,), f"{where}: normal")
        if not np.linalg.norm(axis) > 1e-12:
            raise ModelError(f"{where}: axis is {axis.tolist()}; it must not be zero")
        axis = axis / np.linalg.norm(axis)
        normal = normal - (normal @ axis) * axis
        if not np.linalg.norm(normal) > 1e-9:
            raise ModelError(f"{where}: normal {self.normal.tolist()} lies along the axis; name a direction across it")
        object.__setattr__(self, "axis", frozen_array(axis, (3,), where))
        object.__setattr__(self, "normal", frozen_array(normal / np.linalg.norm(normal), (3,), where))
        object.__setattr__(self, "origin", frozen_array(self.origin, (3,), f"{where}: origin"))

    @property
    def rotation(self) -> Array:
        """The beam's axes as columns in the link's frame; shape (3, 3)."""
        return np.column_stack([self.axis, self.normal, np.cross(self.axis, self.normal)])
