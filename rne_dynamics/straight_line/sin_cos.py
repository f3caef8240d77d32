"""Sine and cosine of a vector of angles, accurate to about one unit in the last place.

Cody and Waite: n is the integer nearest to 2x/π and r = x − n π/2, with π/2 as the sum of three doubles. The first
product and difference are exact in a fused instruction. The rounding errors of the second product and difference, and
the third product, are the tail c, so that r + c has twice the digits despite cancellation. (The error of the difference
is that of Dekker's fast two-sum. It needs |first| ≥ |second|, or that both are multiples, of at most 2^53, of the same
number: `first` is a multiple of 2^-53, and `second` is below 2^-23.) On |r| ≤ π/4 the polynomials are those of Sun's
fdlibm (k_sin.c, k_cos.c, 1993), minimax to below 2^-58; c enters them to first order. n mod 4 selects sine or cosine
and the sign.
"""

from __future__ import annotations

from rne_dynamics.straight_line.lines import Lines

#: Larger angles would lose digits; the general kernels compute them.
LARGEST_ANGLE = 2.0**30

# π/2 as a sum of doubles: each is the nearest one to the remainder
_HALF_PI = (float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54"),
            float.fromhex("-0x1.f1976b7ed8fbcp-110"))  # fmt: skip
TWO_OVER_PI = 0.6366197723675814
# adding and subtracting it rounds to an integer, which is also in the lowest bits of the sum
_ROUNDER = 1.5 * 2.0**52
#: Polynomials in r²: sin r = r + r³ (…), cos r = 1 − r²/2 + r⁴ (…); constant terms first.
SIN = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
    -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
COS = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05, -2.75573143513906633035e-07,
    2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip


def sin_cos(lines: Lines, x: str) -> tuple[str, str]:
    """Write sine and cosine of x, C's without fused instructions; NaN if not finite, invalid beyond `LARGEST_ANGLE`."""
    if not lines.fused:
        return lines.intrinsic("sin", x), lines.intrinsic("cos", x)
    rounder = lines.splat(_ROUNDER)
    shifted = lines.intrinsic("fma", x, lines.splat(TWO_OVER_PI), rounder)
    n = lines.exact("fsub", shifted, rounder)
    minus_n = lines.let(f"fneg {lines.vector} {n}")
    first = lines.intrinsic("fma", minus_n, lines.splat(_HALF_PI[0]), x)
    second = lines.exact("fmul", n, lines.splat(_HALF_PI[1]))
    second_lost = lines.intrinsic("fma", minus_n, lines.splat(_HALF_PI[1]), second)
    r = lines.exact("fsub", first, second)
    lost = lines.exact("fsub", lines.exact("fsub", first, r), second)
    c = lines.intrinsic("fma", minus_n, lines.splat(_HALF_PI[2]), lines.exact("fadd", lost, second_lost))
    z = lines.exact("fmul", r, r)

    # sin (r + c) = r + (r³ S(z) + c)
    cubic = lines.intrinsic("fma", lines.exact("fmul", z, r), _polynomial(lines, z, SIN), c)
    sine = lines.exact("fadd", r, cubic)
    # cos (r + c) = w + ((1 − w) − z/2 + (z² C(z) − r c)) with w = 1 − z/2 rounded
    one, half = lines.splat(1.0), lines.splat(-0.5)
    w = lines.intrinsic("fma", z, half, one)
    rest = lines.intrinsic("fma", z, half, lines.exact("fsub", one, w))
    minus_r = lines.let(f"fneg {lines.vector} {r}")
    quartic = lines.intrinsic("fma", lines.exact("fmul", z, z), _polynomial(lines, z, COS), rest)
    cosine = lines.exact("fadd", w, lines.intrinsic("fma", minus_r, c, quartic))

    quadrant = lines.bits(shifted)
    odd = lines.integer("and", quadrant, lines.splat_integer(1))
    swapped = lines.let(f"icmp ne {lines.integers} {odd}, zeroinitializer")
    after = lines.integer("add", quadrant, lines.splat_integer(1))
    return (
        _signed(lines, lines.select(swapped, cosine, sine), quadrant),
        _signed(lines, lines.select(swapped, sine, cosine), after),
    )


def _polynomial(lines: Lines, z: str, coefficients: tuple[float, ...]) -> str:
    """Horner's scheme, constant term first."""
    value = lines.splat(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = lines.intrinsic("fma", value, z, lines.splat(coefficient))
    return value


def _signed(lines: Lines, x: str, quadrant: str) -> str:
    """−x in quadrants 2 and 3: bit 1 becomes the sign."""
    sign = lines.integer("shl", lines.integer("and", quadrant, lines.splat_integer(2)), lines.splat_integer(62))
    return lines.doubles(lines.integer("xor", lines.bits(x), sign))
