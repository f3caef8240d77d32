"""What could make reported efforts differ from the model's: gravity that acts otherwise (mounting, payload)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from rne_dynamics.control.startup.causes import Cause, Evidence
from rne_dynamics.model.inertia import Array

#: Typical first moment of a payload about the flange, kg·m: what the fit takes where the posture does not show it.
TYPICAL_MOMENT = 0.2
#: Largest distance of a payload's mass centre from the flange that is believed, m, and least mass, kg.
FARTHEST, LIGHTEST = 0.5, 0.05
#: Least tilt that is named, degrees.
LEAST_TILT = 1.0
#: How strongly a tilt that the posture does not show is drawn to none, in units of misfit per (m/s²)².
_PULL = 1e-3


def tilted(evidence: Evidence) -> Iterator[Cause]:
    """The base stands otherwise: gravity of the same size in another direction."""
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
        f"the base is tilted by {angle:.0f} degrees{about} in its own axes: if it is meant to stand so, set gravity to "
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
    rows = np.where(evidence.seen, 1.0 / evidence.noise, 0.0)
    for flange in evidence.load.flanges:
        # the last three rows draw the first moment to zero; what lies along gravity no posture shows
        A = np.vstack((rows[:, None] * flange.columns, np.eye(4)[1:] / TYPICAL_MOMENT))
        b = np.concatenate((rows * evidence.residual, np.zeros(3)))
        solution = np.linalg.lstsq(A, b, rcond=None)[0]
        mass, moment = float(solution[0]), solution[1:]
        if abs(mass) < LIGHTEST or mass < -1.05 * flange.mass:
            continue
        aside = float(np.linalg.norm(moment)) / abs(mass)
        if aside > FARTHEST:
            continue
        residual = evidence.residual - np.where(evidence.seen, flange.columns @ solution, 0.0)
        price = 3.0 + float(np.square(moment / TYPICAL_MOMENT).sum())
        more = "more" if mass > 0.0 else "less"
        text = (
            f"{abs(mass):.2g} kg {more} at link {flange.link!r} than modelled, its mass centre about {aside:.2f} m off "
            "the link's origin across gravity: set payload.mass and payload.com, or take it off"
            f"{_both(evidence, 'it')}"
        )
        yield Cause("payload", residual, price, text)


def _both(evidence: Evidence, what: str) -> str:
    """Where the mend belongs besides here."""
    return f", and set {what} in the arm's own software, which compensates gravity too" if evidence.compensated else ""


def vector_text(vector: Array) -> str:
    """Three numbers, two places each."""
    return ", ".join(f"{x + 0.0:.2f}" for x in np.round(vector, 2))
