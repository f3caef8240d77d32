"""Mode shapes known at some points of a link only, as a finite-element program gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rne_dynamics.errors import ModelError
from rne_dynamics.model.flexible.modal import Attachment
from rne_dynamics.model.inertia import Array, frozen_array
from rne_dynamics.model.rebuilt import Rebuilt

#: How many points a message names.
_MOST_NAMED = 8


@dataclass(frozen=True, eq=False)
class TableField(Rebuilt):
    """Displacement and turn of P points of a link with m modes.

    Parameters
    ----------
    link
        The link's name, for messages.
    points
        In the link's frame, m; shape (P, 3).
    translations, rotations
        Displacement and small turn per unit of amplitude, in the link's axes; shapes (P, m, 3).
    shortenings
        S_kl of `Attachment`; shape (P, m, m, 3).
    tolerance
        How far from a point its shapes still hold, m. Points must be farther than that from each other.

    Raises
    ------
    ModelError
        Wrong shapes, numbers that are not finite, no points, points too near to each other.
    """

    link: str
    points: Array
    translations: Array
    rotations: Array
    shortenings: Array
    tolerance: float

    def __post_init__(self) -> None:
        where = f"flexible link {self.link!r}"
        P, m = len(self.points), np.shape(self.translations)[1]
        for name, shape in (
            ("points", (P, 3)), ("translations", (P, m, 3)), ("rotations", (P, m, 3)), ("shortenings", (P, m, m, 3)),
        ):  # fmt: skip
            object.__setattr__(self, name, frozen_array(getattr(self, name), shape, f"{where}: {name}"))
        turned = self.shortenings.transpose(0, 2, 1, 3)
        if np.abs(self.shortenings - turned).max(initial=0.0) > 1e-9 * np.abs(turned).max(initial=0.0):
            raise ModelError(f"{where}: shortenings are not symmetric; exchange two modes and they must stay")
        if not P:
            raise ModelError(f"{where}: points is empty; give at least the tip and every place where a joint sits")
        if not (np.isfinite(self.tolerance) and self.tolerance > 0.0):
            raise ModelError(f"{where}: tolerance is {self.tolerance} m; it must be finite and above 0")
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
            known = ", ".join(str(point.tolist()) for point in self.points[:_MOST_NAMED])
            more = f" and {len(self.points) - _MOST_NAMED} more" if len(self.points) > _MOST_NAMED else ""
            raise ModelError(
                f"flexible link {self.link!r}: its mode shapes are not known at {place.tolist()} m; they are at {known}"
                f"{more}. The nearest, {self.points[k].tolist()}, is {apart[k]:.3g} m away, more than the tolerance of "
                f"{self.tolerance:g} m; add the point to the file with modal integrals, or move what sits there"
            )
        return Attachment(self.translations[k], self.rotations[k], self.shortenings[k])
