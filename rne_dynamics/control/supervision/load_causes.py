"""Possible causes of efforts that disagree with the model: joints that report wrongly, payload."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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

    #: For telling causes apart: "sign", "scale", "unit", "payload", …
    kind: str
    #: The difference left; shape (n,).
    residual: Array
    #: What the freedom of the fit costs, in the unit of `Evidence.misfit`.
    price: float
    #: What it is, and the fix.
    text: str
    #: The joints it is about; empty for the whole arm.
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
        if abs(ratio / MILLI - 1.0) < NEAR:
            yield Cause("unit", residual, 2.5, f"joint {name!r} counts in m{unit}: set {scale} to 1000 times its value",
                        (name,))
            continue
        times = "" if np.isnan(ratio) else f", {ratio:.3g} times the modelled effort"
        yield Cause(
            "scale", residual, 3.0,
            f"joint {name!r} alone is off by {quantity(e - g, unit)}{times}: a wrong {scale}, an offset of its sensor, "
            "a brake, stop, cable or hand that carries it, or more friction than modelled; one posture cannot decide "
            "which",
            (name,),
        )


def listed(names: tuple[str, ...]) -> str:
    """Joint names in a sentence."""
    quoted = [repr(name) for name in names]
    if len(quoted) == 1:
        return f"joint {quoted[0]}"
    return f"joints {', '.join(quoted[:-1])} and {quoted[-1]}"


# -- possible causes of efforts that disagree with the model: payload ----------------------------------------------


#: Typical first moment of a payload about the flange, kg·m: a larger one is less likely.
TYPICAL_MOMENT = 0.2
#: Least mass of a payload that is named, kg.
LIGHTEST = 0.05


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
    unsure = f"± {quantity(found.plus_minus, 'kg')}"
    software = ", and set it in the arm's own software, which compensates gravity too" if evidence.compensated else ""
    if abs(found.mass) <= found.plus_minus:
        return (
            f"a first moment of {quantity(size, 'kg m')} about the origin of link {link!r} that the model does not "
            f"have; this posture does not show its mass ({found.weight_text}): weigh the payload and set "
            f"payload.link, payload.mass and payload.com, or start in a posture in which the arm reaches out{software}"
        )
    aside = f"its mass centre about {size / abs(found.mass):.2f} m off the link's origin across gravity"
    if found.mass < 0.0:
        return (
            f"{abs(found.mass):.2g} kg less at link {link!r} ({unsure}) than modelled, {aside}: the model has a "
            f"payload or a tool that is not on the arm; correct payload.* or the description{software}"
        )
    x, y, z = (round(float(value), 3) + 0.0 for value in found.com)
    return (
        f"{found.mass:.2g} kg more at link {link!r} ({unsure}) than modelled, {aside}: set payload.link: {link}, "
        f"payload.mass: {found.mass:.3g}, payload.com: [{x:g}, {y:g}, {z:g}] (added to a payload that is set already; "
        f"along gravity this posture does not show the mass centre), or take it off{software}"
    )
