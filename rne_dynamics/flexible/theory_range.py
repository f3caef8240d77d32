"""Range of validity of the bending theory: checks of deflections and speeds, and their messages.

The plain theory of document 003 takes a deflection d (as a part of the length) to first order: a beam gets longer by
0.6 d², 0.6 % of its length at 10 %. With stiffening the error of the tip under a load is 0.28 d⁴, 0.03 % at 18 %. Both
are measured against the elastica (`test/analytic/test_large_bending.py`). Beyond 18 % the inertia matrix may lose its
definiteness, for the kinetic energy leaves the square of the shortening out.

Without stiffening a link that turns loses stiffness in the plane of its turn, all of it where the spin is its first
frequency; at a third of that its frequency is 5 % too low.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.kinematics.jacobian import jacobian
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics
from rne_dynamics.model.flexible.arm import FlexibleArm, clamped_frequencies, loads
from rne_dynamics.model.flexible.beam_modes import BeamField
from rne_dynamics.model.inertia import Array

#: Largest deflection of a link's end, as a part of its length, without and with stiffening.
PLAIN, STIFFENED = 0.1, 0.18
#: Largest spin of a link without stiffening, as a part of its first frequency.
SPIN = 1.0 / 3.0
#: From here on a deflection, as a part of the length, is no bending but a computation that diverges.
DIVERGED = 1.0


class BendingRangeWarning(UserWarning):
    """A simulation bent or turned a flexible link so far that the theory of its bending does not hold."""


class _End(NamedTuple):
    """The end of a flexible link: its modes among all, its displacement by them over the length, the link's axis."""

    modes: slice
    moved: Array
    axis: Array
    stiffened: bool


@lru_cache(maxsize=16)
def _ends(arm: FlexibleArm) -> tuple[_End, ...]:
    found = []
    for link in arm.flexible_links:
        there = link.at(link.tip)
        line = link.tip if not isinstance(link.field, BeamField) else link.field.beam.length * link.field.beam.axis
        length = float(np.linalg.norm(line)) or 1.0
        # where no mode bends a link nothing shortens it
        full = bool(link.shortening.any() or there.shortening.any() or not there.translation.any())
        found.append(_End(arm.mode_slice(link.link), there.translation / length, line / length, full))
    return tuple(found)


def deflections(arm: FlexibleArm, delta: Array) -> Array:
    """Displacement of every link's end to first order, as a part of its length, for δ (…, modes); shape (…, links)."""
    moved = [delta[..., end.modes] @ end.moved for end in _ends(arm)]
    return np.asarray(np.sqrt(np.stack([(part * part).sum(axis=-1) for part in moved], axis=-1)))


def largest_deflection(arm: FlexibleArm, link: str) -> float:
    """Largest deflection of a flexible link's end, as a part of its length: `STIFFENED` or `PLAIN`."""
    return STIFFENED if _ends(arm)[arm.flexible_links.index(arm.flexible_link(link))].stiffened else PLAIN


def range_findings(
    arm: FlexibleArm, q: Array, delta: Array, qd: Array, times: ArrayLike | None = None
) -> tuple[str, ...]:
    """Violations of the theory's range in some states, one sentence for each link and cause.

    q, δ and q̇ are (rows, n), (rows, modes) and (rows, n), `times` (rows,), s, are for the messages.
    """
    found = []
    at = None if times is None else np.asarray(times, dtype=np.float64)
    for k, (link, part) in enumerate(zip(arm.flexible_links, deflections(arm, delta).T, strict=True)):
        full = _ends(arm)[k].stiffened
        worst, limit = int(np.argmax(part)), largest_deflection(arm, link.link)
        if part[worst] > limit:
            turn_on = "" if full else ", or let it have its stiffening (stiffening: true)"
            found.append(
                f"the end of flexible link {link.link!r} is deflected by {part[worst]:.3g} of its length"
                f"{_when(at, worst)}; the theory {'with' if full else 'without'} stiffening holds up to {limit:g}: "
                f"move more gently, make the link stiffer{turn_on}"
            )
        if not full:
            found += _spin(arm, k, q, qd, at)
    return tuple(found)


def reported_findings(
    arm: FlexibleArm, q: Array, delta: Array, qd: Array, times: ArrayLike | None = None, *, stacklevel: int = 3
) -> tuple[str, ...]:
    """`range_findings`, each of them a `BendingRangeWarning` too, at the caller `stacklevel` calls up."""
    findings = range_findings(arm, q, delta, qd, times)
    for finding in findings:
        warnings.warn(f"arm {arm.name!r}: {finding}", BendingRangeWarning, stacklevel=stacklevel)
    return findings


def divergence(arm: FlexibleArm, delta: Array) -> str:
    """The message for a link that is deflected by its length or more, for δ (modes,)."""
    part = deflections(arm, delta)
    k = int(np.argmax(part))
    fix = "move more gently, or make the link stiffer"
    if not _ends(arm)[k].stiffened:
        fix += "; without stiffening a link that turns as fast as it vibrates diverges (stiffening: true)"
    return (
        f"the deflection of flexible link {arm.flexible_links[k].link!r} diverges: it has come to {part[k]:.3g} of the "
        f"link's length, far beyond the theory of small bending; {fix}"
    )


def _spin(arm: FlexibleArm, k: int, q: Array, qd: Array, at: Array | None) -> list[str]:
    """Whether a link without stiffening turns, across its own axis, near its first frequency."""
    link = arm.flexible_links[k]
    axis = forward_kinematics(arm.robot, q).rotation[:, arm.robot.link_names.index(link.link)] @ _ends(arm)[k].axis
    turn = np.einsum("bij,bj->bi", jacobian(arm.robot, q, link.link)[:, 3:], qd)
    rate = np.linalg.norm(np.cross(axis, turn), axis=-1)
    first = float(clamped_frequencies(link, loads(arm.robot, link.link))[0])
    worst = int(np.argmax(rate))
    if rate[worst] <= SPIN * first:
        return []
    return [
        f"flexible link {link.link!r} turns at {rate[worst]:.3g} rad/s{_when(at, worst)}, and its first frequency is "
        f"{first:.3g} rad/s; without stiffening that holds up to a third of it: let the link have its stiffening "
        "(stiffening: true)"
    ]


def _when(at: Array | None, row: int) -> str:
    return "" if at is None else f" at t = {at[row]:.4g} s"
