"""PID feedback of the tracking laws."""

from __future__ import annotations

import numpy as np

from rne_dynamics.compiling.jit import in_place_kernel
from rne_dynamics.control.checks import measured
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.reference import Reference
from rne_dynamics.model.inertia import Array


@in_place_kernel
def feedback_kernel(
    p: Array,
    i: Array,
    d: Array,
    q: Array,
    qd: Array,
    reference_q: Array,
    reference_qd: Array,
    integral: Array,
    answer: Array,
) -> None:
    """Kp e + Kd ė + Ki ∫e into `answer`; each of shape (n,)."""
    for j in range(answer.shape[0]):
        answer[j] = p[j] * (reference_q[j] - q[j]) + d[j] * (reference_qd[j] - qd[j]) + i[j] * integral[j]


def feedback(gains: Gains, q: Array, qd: Array, reference: Reference, integral: Array | None) -> Array:
    """Kp e + Kd ė + Ki ∫e with e = reference − measured; shape (n,)."""
    n = gains.n
    answer = np.empty(n)
    feedback_kernel(
        gains.p, gains.i, gains.d, q, qd,
        measured(reference.q, n, "reference.q"), measured(reference.qd, n, "reference.qd"),
        np.zeros(n) if integral is None else measured(integral, n, "integral"), answer,
    )  # fmt: skip
    return answer
