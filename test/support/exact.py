"""Reference with 60 decimal digits for the accuracy of doubles: elementary functions and rotations."""

from __future__ import annotations

from decimal import Decimal, getcontext

import numpy as np

getcontext().prec = 60
_LAST = Decimal(10) ** -70


def exact(values: object) -> np.ndarray:
    """The same doubles as decimals, digit for digit; an array of objects."""
    return np.vectorize(lambda x: Decimal(float(x)), otypes=[object])(np.asarray(values, dtype=np.float64))


def error(value: object, expected: np.ndarray) -> float:
    """Largest difference of doubles from decimals, over the largest of these; absolute where all are zero."""
    size = max(abs(x) for x in expected.ravel()) or Decimal(1)
    return float(max(abs(x) for x in (exact(value) - expected).ravel()) / size)


def cos_sin(x: Decimal) -> tuple[Decimal, Decimal]:
    """(cos x, sin x) by their series; |x| up to about 50."""
    sums, term, k = [Decimal(0)] * 4, Decimal(1), 0
    while abs(term) > _LAST or k < 4:
        sums[k % 4] += term
        k += 1
        term = term * x / k
    return sums[0] - sums[2], sums[1] - sums[3]


def cosh_sinh(x: Decimal) -> tuple[Decimal, Decimal]:
    """(cosh x, sinh x)."""
    e = x.exp()
    return (e + 1 / e) / 2, (e - 1 / e) / 2


def skew(v: np.ndarray) -> np.ndarray:
    """ṽ of three decimals."""
    zero = Decimal(0)
    return np.array([[zero, -v[2], v[1]], [v[2], zero, -v[0]], [-v[1], v[0], zero]], dtype=object)


def exponential(phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """exp φ̃ and ∫₀¹ exp(s φ̃) ds of three decimals, by their series."""
    K, one = skew(phi), exact(np.eye(3))
    R, V, term, k = one.copy(), one.copy(), one, 0
    while max(abs(x) for x in term.ravel()) > _LAST or k < 2:
        k += 1
        term = term @ K / k
        R, V = R + term, V + term / (k + 1)
    return R, V
