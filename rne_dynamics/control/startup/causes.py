"""Possible causes of efforts that disagree with the model: joints that report wrongly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.startup.gravity_load import GravityLoad
from rne_dynamics.control.startup.payload_estimate import PayloadEstimate
from rne_dynamics.model.inertia import Array

#: A measured ratio this close (as a fraction) to a round one is taken for it.
NEAR = 0.15
#: N·m reported as mN·m.
MILLI = 1000.0


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was seen while the arm held still.

    Parameters
    ----------
    joints, units
        Names and effort units.
    q, effort
        Mean position and effort; shape (n,). An effort not reported is NaN.
    seen
        Where efforts were reported; shape (n,).
    load
        The model's gravity there.
    allowed
        Largest difference that is no disagreement: tolerance and Coulomb friction; shape (n,).
    noise
        Difference that says nothing, for weighing; above 0; shape (n,).
    compensated
        Whether the hardware is said to compensate gravity.
    estimates
        The payload at each link that could have one.
    """

    joints: tuple[str, ...]
    units: tuple[str, ...]
    q: Array
    effort: Array
    seen: NDArray[np.bool_]
    load: GravityLoad
    allowed: Array
    noise: Array
    compensated: bool = False
    estimates: tuple[PayloadEstimate, ...] = ()

    @property
    def residual(self) -> Array:
        """Reported minus modelled, 0 where nothing was reported; shape (n,)."""
        return np.where(self.seen, self.effort - self.load.torque, 0.0)

    def beyond(self, residual: Array) -> NDArray[np.bool_]:
        """Where a difference, shape (n,), is more than allowed."""
        return np.abs(residual) > self.allowed

    def misfit(self, residual: Array) -> float:
        """Sum of squares in units of noise; of a difference of shape (n,)."""
        return float(np.square(np.where(self.seen, residual, 0.0) / self.noise).sum())


class Cause(NamedTuple):
    """One thing that could be wrong, and what it would leave unexplained.

    Parameters
    ----------
    kind
        For telling causes apart: "sign", "scale", "payload", "tilt", "order", …
    residual
        The difference left; shape (n,).
    price
        What the freedom of the fit costs, in the unit of `Evidence.misfit`.
    text
        What it is, and the fix.
    joints
        The joints it is about; empty for the whole arm.
    """

    kind: str
    residual: Array
    price: float
    text: str
    joints: tuple[str, ...] = ()


def quantity(value: float, unit: str) -> str:
    """A number with its unit, three digits."""
    return f"{value:.3g} {unit}"


def nothing_reported(evidence: Evidence) -> Iterator[Cause]:
    """The efforts are without gravity, although the hardware is not set to compensate it."""
    if evidence.compensated:
        return
    text = (
        "the efforts are near zero although gravity pulls: the driver compensates gravity itself and reports what is "
        "on top (add gravity to hardware_compensates), or the motors do not hold the arm (brakes closed, another "
        "control mode, a support)"
    )
    yield Cause("no gravity", np.where(evidence.seen, evidence.effort, 0.0), 0.5, text)


def whole_arm(evidence: Evidence) -> Iterator[Cause]:
    """One factor between all reported and all modelled efforts."""
    e, g = np.where(evidence.seen, evidence.effort, 0.0), np.where(evidence.seen, evidence.load.torque, 0.0)
    weight = 1.0 / evidence.noise**2
    power = float((weight * g * g).sum())
    if power == 0.0:
        return
    factor = float((weight * e * g).sum()) / power
    several = np.count_nonzero(np.abs(g) > 3.0 * evidence.noise) > 1
    yield Cause(
        "signs", e + g, 0.5 if several else 2.0,
        "every joint reports with the opposite sign: change the sign of every effort_scale, if the driver takes its "
        "commands that way too; otherwise fix what it reports"
    )  # fmt: skip
    if abs(factor / MILLI - 1.0) < NEAR:
        yield Cause(
            "unit", e / MILLI - g, 0.5,
            "the driver counts in mN m: set every effort_scale to 1000 times its value"
        )  # fmt: skip
    if several and abs(factor) > 0.05:
        yield Cause(
            "factor", e / factor - g, 6.0,
            f"every joint reports {factor:.3g} times the modelled effort: another unit (motor current?) or masses that "
            f"are all off; if it is the unit, multiply every effort_scale by {factor:.3g}",
        )  # fmt: skip


def opposite_signs(evidence: Evidence) -> Iterator[Cause]:
    """Some joints report the opposite sign: each for which that fits better."""
    e, g = evidence.effort, evidence.load.torque
    better = evidence.seen & (np.abs(e + g) < np.abs(e - g)) & evidence.beyond(evidence.residual)
    count = int(np.count_nonzero(better))
    if not count or count == np.count_nonzero(evidence.seen):
        return
    names = tuple(evidence.joints[j] for j in np.flatnonzero(better))
    verb, scales = ("reports", "") if count == 1 else ("report", "s")
    parameters = " and ".join(f"effort_scale.{name}" for name in names)
    text = (
        f"{listed(names)} {verb} with the opposite sign: change the sign of {parameters}, if the driver takes the "
        f"command{scales} that way too; otherwise fix what it reports"
    )
    yield Cause("sign", np.where(better, e + g, evidence.residual), 1.0 * count, text, names)


def one_joint(evidence: Evidence) -> Iterator[Cause]:
    """One joint alone is off, by a factor or by an offset: one posture cannot decide which."""
    for j in np.flatnonzero(evidence.seen & evidence.beyond(evidence.residual)).tolist():
        name, unit, scale = evidence.joints[j], evidence.units[j], f"effort_scale.{evidence.joints[j]}"
        e, g = float(evidence.effort[j]), float(evidence.load.torque[j])
        residual = np.array(evidence.residual)
        residual[j] = 0.0
        ratio = e / g if abs(g) > 2.0 * evidence.noise[j] else np.nan
        facts = f"joint {name!r} alone is off by {quantity(e - g, unit)}"
        if abs(ratio / MILLI - 1.0) < NEAR:
            text, kind = f"joint {name!r} counts in m{unit}: set {scale} to 1000 times its value", "unit"
        elif abs(ratio) < NEAR:
            text, kind = (
                f"joint {name!r} reports almost nothing ({ratio:.2g} times the modelled effort): its brake, a stop or "
                "a support carries it, its effort is not measured, or the driver compensates its gravity"
            ), "no effort"
        elif np.isnan(ratio):
            text, kind = (
                f"{facts} while the model has next to no gravity there: an offset of its sensor, another unit, a "
                "stop or a cable that pulls, or a hand on the arm"
            ), "offset"
        else:
            text, kind = (
                f"{facts}, {ratio:.3g} times the modelled effort: a wrong scale (set {scale} to {ratio:.3g} times its "
                "value), an offset of its sensor, or more friction than modelled; one posture cannot decide which"
            ), "scale"
        yield Cause(kind, residual, 3.0 if kind == "scale" else 2.5, text, (name,))


def swapped(evidence: Evidence, gravity_at: Callable[[Array], Array] | None) -> Iterator[Cause]:
    """Two joints changed places, in their efforts alone or in their positions too.

    `gravity_at` gives g(q); without it (closed loops) only efforts are exchanged.
    """
    places = np.flatnonzero(evidence.seen).tolist()
    off = evidence.beyond(evidence.residual)
    for a, b in combinations(places, 2):
        order = np.arange(len(evidence.joints))
        order[[a, b]] = b, a
        names = (evidence.joints[a], evidence.joints[b])
        both = f"{listed(names)} are exchanged"
        if off[a] or off[b]:
            yield Cause(
                "order", evidence.effort[order] - evidence.load.torque, 2.0,
                f"{both} in the efforts: fix the driver's names or the order of joints", names,
            )  # fmt: skip
        if gravity_at is not None:
            yield Cause(
                "order", evidence.effort[order] - gravity_at(evidence.q[order]), 2.5,
                f"{both}, positions and efforts: fix the driver's names or the order of joints", names,
            )  # fmt: skip


def listed(names: tuple[str, ...]) -> str:
    """Joint names in a sentence."""
    quoted = [repr(name) for name in names]
    if len(quoted) == 1:
        return f"joint {quoted[0]}"
    return f"joints {', '.join(quoted[:-1])} and {quoted[-1]}"
