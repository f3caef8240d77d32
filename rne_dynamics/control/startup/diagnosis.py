"""Ranking of the causes that explain the reported efforts, and its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from rne_dynamics.control.startup.causes import (
    Cause,
    Evidence,
    nothing_reported,
    one_joint,
    opposite_signs,
    payload,
    payload_text,
    quantity,
    swapped,
    tilted,
    whole_arm,
)
from rne_dynamics.control.startup.payload_estimate import PayloadEstimate
from rne_dynamics.model.inertia import Array

#: How much worse (in `Evidence.misfit`) a cause may fit than the best one and still be named as well.
ALSO = 8.0
#: How many other causes, and how many joints, a message names at most.
MOST_OTHERS, MOST_JOINTS = 2, 3
#: A payload that could be this heavy without being seen is not given in kg: the posture shows none.
HEAVIEST = 10.0
#: Causes of which the first says what the second would say more vaguely.
_COVERS = {("sign", "scale"), ("unit", "scale"), ("signs", "factor"), ("unit", "factor")}


class Diagnosis(NamedTuple):
    """Causes that explain a disagreement, likeliest first; empty where no single one does."""

    causes: tuple[Cause, ...]
    text: str


def diagnose(evidence: Evidence, gravity_at: Callable[[Array], Array] | None) -> Diagnosis:
    """Name what leaves no joint beyond what is allowed: smallest misfit plus price first, then nearly as good ones."""
    suspects = chain(
        nothing_reported(evidence), whole_arm(evidence), opposite_signs(evidence), one_joint(evidence),
        swapped(evidence, gravity_at), tilted(evidence), payload(evidence),
    )
    fitting = [
        (evidence.misfit(cause.residual) + cause.price, cause)
        for cause in suspects
        if not evidence.beyond(np.where(evidence.seen, cause.residual, 0.0)).any()
    ]
    if not fitting:
        return Diagnosis((), _unexplained(evidence))
    fitting.sort(key=lambda pair: pair[0])
    best = fitting[0][0]
    causes: list[Cause] = []
    for score, cause in fitting:
        said = any(other.joints == cause.joints and (
            other.kind == cause.kind or (other.kind, cause.kind) in _COVERS
        ) for other in causes)
        if score <= best + ALSO and not said and len(causes) <= MOST_OTHERS:
            causes.append(cause)
    return Diagnosis(tuple(causes), f"Likeliest: {causes[0].text}.{_possible(causes[1:])}")


def diagnose_pattern(
    evidence: Evidence, payloads: list[PayloadEstimate], gravity_at: Callable[[Array], Array] | None
) -> Diagnosis:
    """Name what could be wrong where no joint alone disagrees, but one of `payloads` explains the pattern of all."""
    best = min(payloads, key=lambda found: evidence.misfit(found.residual))
    own = Cause("payload", best.residual, 0.0, payload_text(evidence, best))
    all_causes = diagnose(evidence, gravity_at).causes
    others = [cause for cause in all_causes if cause.kind != "payload"]
    causes = tuple(own if cause.kind == "payload" else cause for cause in all_causes)
    named = any(cause is own for cause in causes)
    return Diagnosis(causes if named else (own, *causes), f"{own.text}.{_possible(others)}")


def _possible(others: list[Cause]) -> str:
    """Causes that a posture does not distinguish from the likeliest one."""
    return f" This posture does not rule out: {'; or '.join(cause.text for cause in others)}." if others else ""


def worst_joints(evidence: Evidence) -> str:
    """The joints that differ most, reported and modelled."""
    residual = np.abs(evidence.residual)
    worst = sorted(np.flatnonzero(evidence.beyond(residual)).tolist(), key=lambda j: -residual[j] / evidence.allowed[j])
    said = [
        f"joint {evidence.joints[j]!r} reports {quantity(evidence.effort[j], evidence.units[j])}, the model has "
        f"{quantity(evidence.load.torque[j], evidence.units[j])} (allowed difference "
        f"{quantity(evidence.allowed[j], evidence.units[j])})"
        for j in worst[:MOST_JOINTS]
    ]
    more = f"; and {len(worst) - MOST_JOINTS} more" if len(worst) > MOST_JOINTS else ""
    return "; ".join(said) + more


def _unexplained(evidence: Evidence) -> str:
    loaded = evidence.seen & (np.abs(evidence.load.torque) > evidence.allowed)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (evidence.effort / evidence.load.torque)[loaded]
    if len(ratios) > 1 and (ratios > 0.0).all():
        return (
            "No single cause explains it. All signs are right and the factors differ from joint to joint "
            f"({ratios.min():.3g} to {ratios.max():.3g}): motor currents rather than torques, or another arm's model?"
        )
    return (
        "No single sign, scale, payload, tilt or exchange of two joints explains it: look for several of them at once, "
        "for joint zeros that are off, for cables and supports, and for another arm's model."
    )


def not_seen(evidence: Evidence) -> str:
    """Joints that the check could not test, in brackets."""
    missing = [name for name, seen in zip(evidence.joints, evidence.seen, strict=True) if not seen]
    light = [
        name
        for name, load, allowed, seen in zip(
            evidence.joints, evidence.load.torque, evidence.allowed, evidence.seen, strict=True
        )
        if seen and abs(load) <= allowed
    ]
    notes = ""
    if light:
        notes += f" (gravity on {', '.join(light)} is within the tolerance here: their sign and scale were not tested)"
    if missing:
        notes += f" (no effort reported by {', '.join(missing)})"
    for seen in evidence.estimates:
        if seen.significant:
            continue
        most = abs(seen.mass) + seen.plus_minus
        notes += (
            f" (unknown payload at link {seen.flange.link!r}: {seen.weight_text})"
            if most < HEAVIEST else f" (a payload at link {seen.flange.link!r} would not be seen in this posture)"
        )  # fmt: skip
    return notes


@dataclass(frozen=True, eq=False)
class LoadVerdict:
    """Result of the check. Motion is allowed if `agrees`; it is known to be safe only if `checked` too."""

    #: Nothing contradicts the model. True as well where no effort is reported; False where the arm did not keep still.
    agrees: bool
    #: Every joint reported its effort and kept still.
    checked: bool
    #: One to three sentences: which joints, what explains them, what to do.
    text: str
    #: What explains a disagreement, likeliest first.
    causes: tuple[Cause, ...] = ()
