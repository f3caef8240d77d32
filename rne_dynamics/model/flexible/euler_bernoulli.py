"""Natural modes of a uniform Euler–Bernoulli beam, root clamped or on a hinge, its tip carrying a rigid body.

With ξ = x/L and b = βL, β⁴ = μ ω² / EI, a mode solves w'''' = b⁴ w with

* at the root w = 0, and w' = 0 (clamped) or w'' = 0 (hinge);
* at the tip w'' = b⁴ (J w' + S w) and w''' = −b⁴ (m w + S w'), where the tip carries a mass m μ L, whose centre lies
  beyond the tip, with the first moment S μ L² and the moment of inertia J μ L³ about the tip.

For the clamped beam and S = 0 the determinant of the four conditions is, but for a factor, the characteristic equation
1 + cos b cosh b − m b (sin b cosh b − cos b sinh b) − J b³ (sin b cosh b + cos b sinh b) + m J b⁴ (1 − cos b cosh b) =
0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from rne_dynamics.errors import ModelError
from rne_dynamics.model.inertia import Array


def root_between(function: Callable[[float], float], low: float, high: float) -> float:
    """The root of a continuous function between two arguments at which its signs differ, to round-off.

    By secants of the bracket's ends, the value of an end that stays halved (Illinois algorithm), and by bisection where
    three secants have not halved the bracket.
    """
    at_low, at_high = function(low), function(high)
    rises, secants, width = at_low < 0.0, 0, high - low
    while low < (middle := 0.5 * (low + high)) < high:
        if 2.0 * (high - low) <= width:
            secants, width = 0, high - low
        secants += 1
        if secants <= 3 and low < (secant := low - at_low * (high - low) / (at_high - at_low)) < high:
            middle = secant
        value = function(middle)
        if (value < 0.0) == rises:
            low, at_low, at_high = middle, value, 0.5 * at_high
        else:
            high, at_high, at_low = middle, value, 0.5 * at_low
    return low


Root = Literal["clamped", "hinged"]

#: Below this b the solutions are written with Krylov's functions, whose small values keep their digits; above it with
#: exponentials that fall from either end, for cosh and sinh would cancel.
_LOW = 2.5
#: The least b that is looked for: below it a beam acts as a massless spring on its tip load.
_LEAST = 2e-3


class Mode(NamedTuple):
    """One natural mode."""

    #: βL; the frequency is ω = b² √(EI / μ) / L².
    b: float
    #: Of the four solutions of `solutions`; shape (4,).
    coefficients: Array
    #: Which solutions.
    low: bool

    def evaluate(self, xi: Array, order: int) -> Array:
        """The mode's derivative of some order with respect to ξ = x/L; the shape of ξ."""
        return np.asarray(self.b**order * (self.coefficients @ solutions(self.b, np.asarray(xi), self.low)[order]))


def solutions(b: float, xi: Any, low: bool) -> Array:
    """Four independent solutions of w'''' = b⁴ w at ξ, and their first three derivatives over bᵒʳᵈᵉʳ; (4, 4, …).

    The second index is that of the solution: Krylov's functions of bξ where `low`, else e^(−bξ), e^(−b(1−ξ)), cos bξ
    and sin bξ.
    """
    z = b * xi
    if low:
        krylov = _krylov(z)
        # each function's derivative is the one before it in the round
        return np.array([[krylov[(k - order) % 4] for k in range(4)] for order in range(4)])
    falls, rises, c, s = np.exp(-z), np.exp(z - b), np.cos(z), np.sin(z)
    return np.array([[falls, rises, c, s], [-falls, rises, -s, c], [falls, rises, -c, -s], [-falls, rises, s, -c]])


def _krylov(z: Any) -> list[Any]:
    """(cosh + cos)/2, (sinh + sin)/2, (cosh − cos)/2, (sinh − sin)/2 by their series, Σ z^(4n+k) / (4n+k)!."""
    z4 = z**4
    functions = []
    for k in range(4):
        total = term = z**k / math.factorial(k)
        for n in range(1, 10):
            p = 4 * n + k
            term = term * z4 / (p * (p - 1) * (p - 2) * (p - 3))
            total = total + term
        functions.append(total)
    return functions


class Load(NamedTuple):
    """The tip load, relative to the beam's own inertia: m, S and J above."""

    mass: float = 0.0
    moment: float = 0.0
    inertia: float = 0.0


def modes(count: int, root: Root, load: Load) -> list[Mode]:
    """The first `count` natural modes with a strain energy, in ascending frequency; a hinge's rigid swing is left out.

    Every root is fenced in by counting: the number of modes below a frequency is that of the beam with its tip held
    still plus the number of negative eigenvalues of the tip's dynamic stiffness (Wittrick and Williams, Q. J. Mech.
    Appl. Math. 24, 1971). Bisection then brings it to round-off. `ModelError` for a tip (S² ≤ m J) so heavy that
    the first mode is not found in double precision.
    """
    found = []
    rigid = 1 if root == "hinged" else 0
    below = _LEAST
    for k in range(rigid + 1, rigid + 1 + count):
        if _count_below(below, root, load) != k - 1:
            raise ModelError(
                f"modes of a beam whose tip carries {load.mass:.3g} times its mass and {load.inertia:.3g} times its "
                "mass times length squared cannot be distinguished in double precision; the beam is massless next to "
                "it: check the tip's figures, or take polynomial or clamped_free shapes"
            )
        low, high = below, (k + 1) * math.pi
        while high - low > 0.05 * high or _count_below(low, root, load) != k - 1 or _count_below(high, root, load) != k:
            middle = 0.5 * (low + high) if low > 0.25 * high else math.sqrt(low * high)
            low, high = (low, middle) if _count_below(middle, root, load) >= k else (middle, high)
        found.append(_mode(low, high, root, load))
        below = high
    return found


def _mode(low: float, high: float, root: Root, load: Load) -> Mode:
    krylov = high < _LOW

    # Of Krylov's functions the root allows two, whatever b; below a heavy tip, where b is small, both are far below
    # the others, and round-off in the others' coefficients would count.
    free = [2, 3] if root == "clamped" else [1, 3]

    def determinant(b: float) -> float:
        conditions = _conditions(b, root, load, krylov)
        if not krylov:
            return float(np.linalg.det(conditions))
        (a, c), (d, e) = conditions[2:, free].tolist()
        return float(a * e - c * d)

    b = root_between(determinant, low, high)
    conditions = _conditions(b, root, load, krylov)
    if not krylov:
        return Mode(b, np.linalg.svd(conditions)[2][-1], krylov)
    size = np.abs(conditions[2:, free]).max(axis=0)
    coefficients = np.zeros(4)
    coefficients[free] = np.linalg.svd(conditions[2:, free] / size)[2][-1] / size
    return Mode(b, coefficients / np.abs(coefficients).max(), krylov)


def _at_root(b: float, root: Root, low: bool) -> Array:
    return solutions(b, 0.0, low)[[0, 1] if root == "clamped" else [0, 2]]


def _conditions(b: float, root: Root, load: Load, low: bool) -> Array:
    """The four conditions at the ends as rows over the four solutions; shape (4, 4)."""
    w, turn, moment, shear = solutions(b, 1.0, low)
    m, S, J = load.mass * b, load.moment * b**2, load.inertia * b**3
    return np.stack(
        [
            *_at_root(b, root, low),
            (moment - J * turn - S * w) / (1.0 + J + abs(S)),
            (shear + m * w + S * turn) / (1.0 + m + abs(S)),
        ]
    )


def _count_below(b: float, root: Root, load: Load) -> int:
    """Number of modes, the rigid swing included, with a βL below b."""
    low = b < _LOW
    w, turn, moment, shear = solutions(b, 1.0, low)
    unit = np.linalg.solve(np.stack([*_at_root(b, root, low), w, b * turn]), np.eye(4)[:, 2:])
    stiffness = np.stack([-(b**3) * shear, b**2 * moment]) @ unit - b**4 * np.array(
        [[load.mass, load.moment], [load.moment, load.inertia]]
    )
    # scaled to a diagonal of ones: signs stay, and a rotation of little stiffness is not lost next to a heavy tip
    scale = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(stiffness)), 1e-300))
    stiffness = 0.5 * (stiffness + stiffness.T) * np.outer(scale, scale)
    return _count_held(b, root) + int((np.linalg.eigvalsh(stiffness) < 0.0).sum())


def _count_held(b: float, root: Root) -> int:
    """Number of modes of the beam with its tip clamped with a βL below b.

    Their characteristic functions, cos b − 1/cosh b and tan b − tanh b, have one root in every (jπ, (j+1)π), j ≥ 1.
    """
    j = math.floor(b / math.pi)
    if j < 1:
        return 0
    if root == "clamped":
        passed = (math.cos(b) - 1.0 / math.cosh(min(b, 700.0)) > 0.0) == (j % 2 == 1)
    else:
        passed = (math.sin(b) - math.cos(b) * math.tanh(b) > 0.0) == (j % 2 == 0)
    return j - 1 + int(passed)
