"""Report of limited efforts: joint, reason, and the share of each term of the law."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rne_dynamics.control.checks import joint_name
from rne_dynamics.control.guards.effort_limiter import EFFORT, RATE, STOP, VELOCITY, Limited
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.reference import TorqueTerms
from rne_dynamics.model.inertia import Array

#: Terms below this part of a joint's largest are left out.
NEGLIGIBLE = 0.01


def clamp_report(terms: TorqueTerms, limited: Limited, limits: EffortLimits, q: Array) -> str:
    """A sentence a joint that was limited, for logs and diagnostics; empty where none was. Not for the hot path.

    `terms`: commanded by the law, N·m or N. `limited`: result of the limiter. `limits`: in force. `q`: measured
    position, rad or m; shape (n,). Returns as in "joint 'elbow' asked for 130 (gravity 60, feedback 55, inertia 15) and
    got 87: its effort limit is 87".
    """
    return "; ".join(_sentence(int(j), terms, limited, limits, q) for j in np.flatnonzero(limited.flags))


def _sentence(j: int, terms: TorqueTerms, limited: Limited, limits: EffortLimits, q: Array) -> str:
    parts = {name: float(value[j]) for name, value in zip(terms._fields, terms, strict=True)}
    largest = max(map(abs, parts.values()))
    shares = ", ".join(
        f"{name} {parts[name]:.4g}"
        for name in sorted(parts, key=lambda name: -abs(parts[name]))
        if abs(parts[name]) > NEGLIGIBLE * largest
    )
    asked = sum(parts.values())
    return (
        f"{joint_name(j, limits.joints or None)} asked for {asked:.4g}{f' ({shares})' if shares else ''} and got "
        f"{limited.command[j]:.4g}: {', '.join(_reasons(j, asked, limited, limits, float(q[j])))}"
    )


def _reasons(j: int, asked: float, limited: Limited, limits: EffortLimits, q: float) -> Iterator[str]:
    flags = int(limited.flags[j])
    if flags & STOP:
        lower, upper, margin = limits.lower[j], limits.upper[j], limits.margin[j]
        side, limit, inside = ("upper", upper, upper - q) if q > upper - margin else ("lower", lower, q - lower)
        where = f"{inside:.3g} before" if inside >= 0.0 else f"{-inside:.3g} beyond"
        yield f"it is at {q:.4g}, {where} its {side} position limit {limit:g} (margin {margin:g})"
    if flags & VELOCITY:
        yield f"it is faster than its velocity limit {limits.velocity[j]:g}"
    if flags & EFFORT:
        limit = limits.effort[j]
        if limits.saturation == "joint" or abs(asked) > limit:
            yield f"its effort limit is {limit:g}"
        else:
            yield "all joints are scaled down with one at its effort limit"
    if flags & RATE:
        yield f"its effort may change by {limits.rate[j]:g} per s"
