"""Bodies made of several: sums of parts and less their holes (problems 4.10–4.21 of the textbook chapter)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rne_dynamics.errors import ModelError
from rne_dynamics.model.inertia import Array, Inertia, skew
from rne_dynamics.model.principal import check_physical

_FIX = "a hole must lie within the material, and be given with that material's density"


def composite(parts: Iterable[Inertia], holes: Iterable[Inertia] = ()) -> Inertia:
    """All parts in one frame as one body, less the holes, of the material that was there; `ModelError`: impossible.

    What overlaps counts twice, and a hole that reaches out of the material takes out what was not there.
    """
    whole: Inertia | None = None
    for part in parts:
        whole = part if whole is None else whole + part
    if whole is None:
        raise ModelError("a composite without parts; give at least one")
    for hole in holes:
        whole = without(whole, hole)
    return whole


def without(body: Inertia, hole: Inertia) -> Inertia:
    """The body less what a hole took out of it; both in the same frame. Errors as for `composite`."""
    mass = body.mass - hole.mass
    if mass <= 1e-12 * body.mass:
        raise ModelError(f"a hole of {hole.mass:g} kg in a body of {body.mass:g} kg; some mass must be left; {_FIX}")
    com = (body.first_moment - hole.first_moment) / mass
    total: Array = np.zeros((3, 3))
    for sign, part in ((1.0, body), (-1.0, hole)):
        c = skew(part.com - com)
        total += sign * (part.inertia - part.mass * c @ c)
    rest = Inertia(mass, com, 0.5 * (total + total.T))
    # round-off is as large as what was subtracted, not as what is left
    scale = np.abs(body.about(com)).max() / max(np.abs(rest.inertia).max(), np.finfo(float).tiny)
    return check_physical(rest, f"what a hole of {hole.mass:g} kg leaves", fix=_FIX, tolerance=1e-12 * scale + 1e-9)
