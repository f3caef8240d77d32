"""Possible causes of efforts that disagree with the model: joints that report wrongly, mounting, payload."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.supervision.payload_estimate import FARTHEST_MASS, GravityLoad, PayloadEstimate
from rne_dynamics.model.inertia import Array

#: A measured ratio this close (as a fraction) to a round one is taken for it.
NEAR = 0.15
#: N·m reported as mN·m.
MILLI = 1000.0


@dataclass(frozen=True, eq=False)
class Evidence:
    """Measured and modelled efforts of an arm at rest."""

    #: Names and effort units.
    joints: tuple[str, ...]
    units: tuple[str, ...]
    #: Mean position and effort; shape (n,). An effort not reported is NaN.
    q: Array
    effort: Array
    #: Where efforts were reported; shape (n,).
    seen: NDArray[np.bool_]
    #: The model's gravity there.
    load: GravityLoad
    #: Largest difference that is no disagreement: tolerance and Coulomb friction; shape (n,).
    allowed: Array
    #: Difference that says nothing, for weighing; above 0; shape (n,).
    noise: Array
    #: Whether the hardware is said to compensate gravity.
    compensated: bool = False
    #: The payload at each link that could have one.
    estimates: tuple[PayloadEstimate, ...] = ()

    @property
    def residual(self) -> Array:
        """Reported minus modelled, 0 where nothing was reported; shape (n,)."""
        return np.where(self.seen, self.effort - self.load.torque, 0.0)

    def beyond(self, residual: Array) -> NDArray[np.bool_]:
        """Joints whose difference, shape (n,), is more than allowed."""
        return np.abs(residual) > self.allowed

    def misfit(self, residual: Array) -> float:
        """Sum of squares in units of noise; of a difference of shape (n,)."""
        return float(np.square(np.where(self.seen, residual, 0.0) / self.noise).sum())


class Cause(NamedTuple):
    """One thing that could be wrong, and what it would leave unexplained."""

    #: For telling causes apart: "sign", "scale", "payload", "tilt", "order", …
    kind: str
    #: The difference left; shape (n,).
    residual: Array
    #: What the freedom of the fit costs, in the unit of `Evidence.misfit`.
    price: float
    #: What it is, and the fix.
    text: str
    #: The joints it is about; empty for the whole arm.
    joints: tuple[str, ...] = ()


def nothing_reported(evidence: Evidence) -> Iterator[Cause]:
    """The efforts are without gravity, although the hardware is not set to compensate it."""
    if evidence.compensated:
        return
    yield Cause(
        "no gravity", np.where(evidence.seen, evidence.effort, 0.0), 0.5,
        "the efforts are near zero although gravity pulls: the driver compensates gravity itself and reports what is "
        "on top (add gravity to hardware_compensates), or the motors do not hold the arm (brakes closed, another "
        "control mode, a support)",
    )  # fmt: skip


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
    yield Cause(
        "sign", np.where(better, e + g, evidence.residual), 1.0 * count,
        f"{listed(names)} {verb} with the opposite sign: change the sign of {parameters}, if the driver takes the "
        f"command{scales} that way too; otherwise fix what it reports", names,
    )  # fmt: skip


def one_joint(evidence: Evidence) -> Iterator[Cause]:
    """One joint alone is off, by a factor or by an offset: one posture cannot decide which."""
    for j in np.flatnonzero(evidence.seen & evidence.beyond(evidence.residual)).tolist():
        name, unit, scale = evidence.joints[j], evidence.units[j], f"effort_scale.{evidence.joints[j]}"
        e, g = float(evidence.effort[j]), float(evidence.load.torque[j])
        residual = np.array(evidence.residual)
        residual[j] = 0.0
        ratio = e / g if abs(g) > 2.0 * evidence.noise[j] else np.nan
        facts = f"joint {name!r} alone is off by {e - g:.3g} {unit}"
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
    """Two joints changed places, in their efforts alone or in their positions too; that by g(q), where there is one."""
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


# -- possible causes of efforts that disagree with the model: mounting and payload -------------------------------------


#: Typical first moment of a payload about the flange, kg·m: a larger one is less likely.
TYPICAL_MOMENT = 0.2
#: Least mass of a payload that is named, kg.
LIGHTEST = 0.05
#: Least tilt that is named, degrees.
LEAST_TILT = 1.0
#: How strongly a tilt that the posture does not show is drawn to none, in units of misfit per (m/s²)².
_PULL = 1e-3


def tilted(evidence: Evidence) -> Iterator[Cause]:
    """Tilted base: gravity of the same size in another direction."""
    load, gravity = evidence.load, evidence.load.gravity
    size = float(np.linalg.norm(gravity))
    if load.field is None or size == 0.0 or np.count_nonzero(evidence.seen) < 2:
        return
    rows = np.where(evidence.seen, 1.0 / evidence.noise, 0.0)
    A = rows[:, None] * load.field
    b = rows * np.where(evidence.seen, evidence.effort, 0.0)
    found = nearest_on_sphere(A.T @ A, A.T @ b + _PULL * gravity, size)
    angle = math.degrees(math.acos(float(np.clip(found @ gravity / size**2, -1.0, 1.0))))
    if angle < LEAST_TILT:
        return
    axis = np.cross(found, gravity)  # turning the base one way turns gravity in its axes the other way
    length = float(np.linalg.norm(axis))
    about = f" about ({vector_text(axis / length)})" if length > 1e-9 * size**2 else ""
    yield Cause(
        "tilt", load.field @ found - np.where(evidence.seen, evidence.effort, 0.0), 5.0,
        f"the base is tilted by {angle:.0f} degrees{about} in its own axes: if it is meant to be so, set gravity to "
        f"[{vector_text(found)}]{_both(evidence, 'the mounting')}",
    )  # fmt: skip


def nearest_on_sphere(H: Array, v: Array, radius: float) -> Array:
    """The x of length `radius` that minimises x·H x − 2 v·x; H (3, 3) symmetric, v (3,)."""
    # At the minimum (H + λ I) x = v with λ not below minus the least eigenvalue; |x| falls as λ grows: bisection (the
    # trust-region problem with equality; Conn, Gould, Toint, Trust-Region Methods, 2000, section 7.3).
    eigenvalues, Q = np.linalg.eigh(H)
    c, span = Q.T @ v, eigenvalues - eigenvalues[0]  # the span is not negative, exact at the least

    def at(shift: float) -> Array:
        """x along the eigenvectors with λ so much above its least."""
        return np.asarray(np.divide(c, span + shift, np.zeros(3), where=c != 0.0))

    low, high = 0.0, float(np.linalg.norm(v)) / radius
    for _ in range(200):
        middle = 0.5 * (low + high)
        if np.linalg.norm(at(middle)) > radius:
            low = middle
        else:
            high = middle
    x = at(high)
    rest = radius**2 - float(x @ x)
    if rest > 0.0:  # nothing of v along the least eigenvector ("hard case"): either way serves
        x[0] = math.copysign(math.sqrt(x[0] ** 2 + rest), c[0])
    return np.asarray(Q @ x)


def payload(evidence: Evidence) -> Iterator[Cause]:
    """A mass at an end of the arm that the model does not have, or one it has and the arm has not."""
    for found in evidence.estimates:
        if abs(found.mass) < LIGHTEST or found.mass < -1.05 * found.flange.mass:
            continue
        if float(np.linalg.norm(found.moment)) > FARTHEST_MASS * abs(found.mass):
            continue
        price = 3.0 + float(np.square(found.moment / TYPICAL_MOMENT).sum())
        yield Cause("payload", found.residual, price, payload_text(evidence, found))


def payload_text(evidence: Evidence, found: PayloadEstimate) -> str:
    """Description of a payload, and the parameters that would set it."""
    link, size = found.flange.link, float(np.linalg.norm(found.moment))
    unsure = f"± {found.plus_minus:.3g} kg"
    software = _both(evidence, "it")
    if abs(found.mass) <= found.plus_minus:
        return (
            f"a first moment of {size:.3g} kg m about the origin of link {link!r} that the model does not "
            f"have; this posture does not show its mass ({found.weight_text}): weigh the payload and set "
            f"payload.link, payload.mass and payload.com, or start in a posture in which the arm reaches out{software}"
        )
    aside = f"its mass centre about {size / abs(found.mass):.2f} m off the link's origin across gravity"
    if found.mass < 0.0:
        return (
            f"{abs(found.mass):.2g} kg less at link {link!r} ({unsure}) than modelled, {aside}: the model has a "
            f"payload or a tool that is not on the arm; correct payload.* or the description{software}"
        )
    x, y, z = (round(float(value), 3) + 0.0 for value in found.moment / found.mass)
    return (
        f"{found.mass:.2g} kg more at link {link!r} ({unsure}) than modelled, {aside}: set payload.link: {link}, "
        f"payload.mass: {found.mass:.3g}, payload.com: [{x:g}, {y:g}, {z:g}] (added to a payload that is set already; "
        f"along gravity this posture does not show the mass centre), or take it off{software}"
    )


def _both(evidence: Evidence, what: str) -> str:
    """The same fix in the arm's own software, if that compensates gravity."""
    return f", and set {what} in the arm's own software, which compensates gravity too" if evidence.compensated else ""


def vector_text(vector: Array) -> str:
    """Three numbers, two places each."""
    return ", ".join(f"{x + 0.0:.2f}" for x in np.round(vector, 2))
