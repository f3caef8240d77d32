"""What every tracking law does with the error."""

from __future__ import annotations

from rne_dynamics.control.checks import measured
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.reference import Reference
from rne_dynamics.model.inertia import Array


def feedback(gains: Gains, q: Array, qd: Array, reference: Reference, integral: Array | None) -> Array:
    """Kp e + Kd ė + Ki ∫e with e = reference − measured; shape (n,)."""
    n = gains.n
    answer: Array = gains.p * (measured(reference.q, n, "reference.q") - q)
    answer += gains.d * (measured(reference.qd, n, "reference.qd") - qd)
    if integral is not None:
        answer += gains.i * measured(integral, n, "integral")
    return answer
