"""Sines and cosines of all angles at once in C, in a loop that compilers can turn into vector instructions.

n is the integer nearest to 2x/π and r = x − n π/2, with π/2 as the sum of three numbers (Cody and Waite), of which the
first two have so few digits that their products with n are exact. The polynomials of r are fdlibm's for doubles, those
of Moshier's Cephes (sinf.c) for floats. Errors are below two round-offs of 1. Large angles are left to libm.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rne_dynamics.c_export.statements import Precision
from rne_dynamics.straight_line.lines import COS, SIN, TWO_OVER_PI

#: Name of the function in C.
SINES = "sines_and_cosines"
#: Largest angle that is not left to libm; n fits in 16 bits.
LARGEST_ANGLE = 1e4
#: By type: π/2, and the polynomials as of `SIN` and `COS`.
_TABLES: Mapping[str, tuple[tuple[float, ...], ...]] = MappingProxyType(
    {
        "double": ((1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21), SIN, COS),
        "float": (
            (1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8),
            (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
            (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
        ),
    }
)


def sines(precision: Precision) -> str:
    """The function ``sines_and_cosines(x, count, sine, cosine)``."""
    half_pi, sin, cos = _TABLES[precision.type]
    numbers = {
        "first": half_pi[0], "second": half_pi[1], "third": half_pi[2], "largest": LARGEST_ANGLE,
        "two_over_pi": TWO_OVER_PI, "half": 0.5, "zero": 0.0, "one": 1.0,
    }  # fmt: skip
    return _TEXT.format(
        name=SINES, type=precision.type, s=precision.suffix, sin=_horner(sin, precision), cos=_horner(cos, precision),
        **{name: precision.constant(value) for name, value in numbers.items()},
    )  # fmt: skip


def _horner(coefficients: tuple[float, ...], precision: Precision) -> str:
    text = precision.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        text = f"{precision.constant(coefficient)}\n            + z * ({text})"
    return text


_TEXT = """
/* Sines and cosines of angles; NaN of what is not finite. */
static void {name}(const {type} *x, int count, {type} *sine, {type} *cosine)
{{
    int k, large = 0;
    for (k = 0; k < count; k++)
        large |= !(fabs{s}(x[k]) < {largest});
    if (large) {{
        for (k = 0; k < count; k++) {{
            sine[k] = sin{s}(x[k]);
            cosine[k] = cos{s}(x[k]);
        }}
        return;
    }}
    for (k = 0; k < count; k++) {{
        /* x = n pi / 2 + r; pi / 2 is the sum of three numbers, so that r has all its digits */
        const int n = (int)(x[k] * {two_over_pi} + (x[k] < {zero} ? -{half} : {half}));
        const {type} turns = ({type})n;
        const {type} near = (x[k] - turns * {first}) - turns * {second};
        const {type} r = near - turns * {third};
        const {type} z = r * r;
        const {type} sin_r = r + z * r * ({sin});
        const {type} cos_r = {one} - ({half} * z - z * z * ({cos}));
        const {type} s = n & 1 ? cos_r : sin_r;
        const {type} c = n & 1 ? sin_r : cos_r;
        sine[k] = n & 2 ? -s : s;
        cosine[k] = (n + 1) & 2 ? -c : c;
    }}
}}
"""
