"""Possible causes of efforts that disagree with the model: mounting and payload."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from rne_dynamics.control.startup.causes import Cause, Evidence, quantity
from rne_dynamics.control.startup.payload_estimate import FARTHEST_MASS, PayloadEstimate
from rne_dynamics.model.inertia import Array

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
    text = (
        f"the base is tilted by {angle:.0f} degrees{about} in its own axes: if it is meant to be so, set gravity to "
        f"[{vector_text(found)}]{_both(evidence, 'the mounting')}"
    )
    yield Cause("tilt", load.field @ found - np.where(evidence.seen, evidence.effort, 0.0), 5.0, text)


def nearest_on_sphere(H: Array, v: Array, radius: float) -> Array:
    """The x of length `radius` that minimises x·H x − 2 v·x; H (3, 3) symmetric, v (3,).

    At the minimum (H + λ I) x = v with λ not below minus the least eigenvalue; |x| falls as λ grows, so that λ is found
    by bisection (the trust-region problem with equality; Conn, Gould, Toint, Trust-Region Methods, 2000, section 7.3).
    """
    eigenvalues, Q = np.linalg.eigh(H)
    c = Q.T @ v
    least = float(eigenvalues[0])
    low, high = -least, float(np.linalg.norm(v)) / radius - least
    span = eigenvalues - least  # not negative, exact at the least
    for _ in range(200):
        middle = 0.5 * (low + high)
        shift = middle + least
        with np.errstate(divide="ignore", invalid="ignore"):
            length = float(np.linalg.norm(np.where(c == 0.0, 0.0, c / (span + shift))))
        if length > radius:
            low = middle
        else:
            high = middle
        if high - low <= 1e-15 * (abs(high) + least):
            break
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(c == 0.0, 0.0, c / (span + high + least))
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
    """What a payload is, and the parameters that would set it."""
    link, size = found.flange.link, float(np.linalg.norm(found.moment))
    unsure = f"± {quantity(found.plus_minus, 'kg')}"
    software = _both(evidence, "it")
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


def _both(evidence: Evidence, what: str) -> str:
    """What else needs the same fix."""
    return f", and set {what} in the arm's own software, which compensates gravity too" if evidence.compensated else ""


def vector_text(vector: Array) -> str:
    """Three numbers, two places each."""
    return ", ".join(f"{x + 0.0:.2f}" for x in np.round(vector, 2))
