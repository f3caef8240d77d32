"""Text of a URDF's <inertial> element."""

from __future__ import annotations

import numpy as np

from rne_dynamics.model.inertia import Array, Inertia

#: Numbers smaller than this part of the largest are round-off and written as 0.
_ROUND_OFF = 1e-15


def inertial_xml(body: Inertia, *, digits: int = 17, indent: str = "") -> str:
    """The element to paste into a <link>, for a body in that link's frame.

    Parameters
    ----------
    body
        In the link's frame; the inertia is written along its axes, so the element's rpy is zero.
    digits
        Significant digits, 3 to 17; 17 writes the shortest text that reads back as the same number.
    indent
        Before every line.

    Notes
    -----
    URDF's ixy, ixz and iyz are entries of the inertia matrix, the negative product integrals: signs stay.
    """

    def written(value: float) -> str:
        return number(float(f"{value:.{digits}g}"))

    tensor = _cleared(body.inertia, float(np.abs(body.inertia).max()))
    reach = float(np.sqrt(np.abs(body.about_origin).max() / body.mass)) if body.mass > 0.0 else 0.0
    com = " ".join(written(x) for x in _cleared(body.com, reach))
    moments = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
    values = " ".join(f'{name}="{written(tensor[i, j])}"' for name, i, j in moments)
    lines = (
        "<inertial>",
        f'  <origin xyz="{com}" rpy="0 0 0"/>',
        f'  <mass value="{written(body.mass)}"/>',
        f"  <inertia {values}/>",
        "</inertial>",
    )
    return "\n".join(indent + line for line in lines)


def number(value: float) -> str:
    """Shortest text that reads back as the same number."""
    x = float(value) + 0.0  # no −0
    return str(int(x)) if x.is_integer() and abs(x) < 1e15 else repr(x)


def _cleared(values: Array, size: float) -> Array:
    return np.where(np.abs(values) <= _ROUND_OFF * size, 0.0, values)
