"""Report of `rne inertia` on a body, as plain values and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rne_dynamics.advice import rne
from rne_dynamics.cli.table_layout import print_table
from rne_dynamics.description.inertial import inertial_xml
from rne_dynamics.description.urdf_tree import rotation_rpy
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.principal import (
    equivalent_box,
    principal_axes,
    symmetry_planes,
    triangle_margin,
)

#: URDFs have about six digits; moments and products closer than this are equal, or zero.
_DIGITS = 1e-5


def describe(
    name: str, body: Inertia, about: tuple[Sequence[float], Sequence[float]] | None = None, digits: int = 17
) -> dict[str, Any]:
    """Report on a body with mass, as plain values, SI units.

    Parameters
    ----------
    name
        Name of the body.
    body
        In the frame of the report.
    about
        A point in the frame (m) and the rpy of axes in the frame (rad), to add the inertia there.
    digits
        Significant digits of the <inertial> element.
    """
    principal = principal_axes(body.inertia, tolerance=_DIGITS)
    margin = triangle_margin(principal.moments)
    size = float(np.abs(principal.moments).max())
    box = equivalent_box(body.mass, principal.moments)
    centred = body.moved(np.eye(3), -body.com)
    elsewhere = None
    if about is not None:
        point, rpy = about
        there = body.about(point, rotation_rpy(*rpy))
        elsewhere = {"point": list(point), "rpy": list(rpy), "inertia": there.tolist()}
    k = principal.symmetry_axis
    return {
        "name": name,
        "mass": body.mass,
        "com": body.com.tolist(),
        "inertia": body.inertia.tolist(),
        "about_origin": body.about_origin.tolist(),
        "about": elsewhere,
        "principal": {"moments": principal.moments.tolist(), "axes": principal.axes.T.tolist()},
        "symmetry": principal.symmetry.value,
        "symmetry_axis": None if k is None else principal.axes[:, k].tolist(),
        "symmetry_planes_of_inertia": list(symmetry_planes(centred, tolerance=_DIGITS)),
        "triangle_margin": margin,
        "physical": bool(margin >= -1e-6 * size and principal.moments[0] >= -1e-6 * size),
        "equivalent_box": None if box is None else box.tolist(),
        "urdf": inertial_xml(body, digits=digits),
    }


def print_report(out: Console, report: dict[str, Any]) -> None:
    """Print the tables, then the <inertial> element."""
    out.print(f"{report['name']}: {report['mass']:.6g} kg, mass centre {_vector(report['com'])} m")
    matrices = Table("inertia, kg m^2", "xx", "yy", "zz", "xy", "xz", "yz", header_style="bold")
    matrices.add_row("about the mass centre", *_moments(report["inertia"]))
    matrices.add_row("about the frame's origin", *_moments(report["about_origin"]))
    elsewhere = report["about"]
    if elsewhere is not None:
        label = f"about ({_vector(elsewhere['point'])}), axes rpy ({_vector(elsewhere['rpy'])})"
        matrices.add_row(label, *_moments(elsewhere["inertia"]))
    for column in matrices.columns[1:]:
        column.justify = "right"
    print_table(out, matrices)
    box = report["equivalent_box"]
    principal = Table("principal moment", "axis in the frame", "side of the equivalent box, m", header_style="bold")
    sides = ["-"] * 3 if box is None else [f"{x:.5g}" for x in box]
    moments = report["principal"]["moments"]
    for moment, axis, side in zip(moments, report["principal"]["axes"], sides, strict=True):
        principal.add_row(f"{moment:.6g}", _vector(axis), side)
    print_table(out, principal)
    symmetry = report["symmetry"]
    if report["symmetry_axis"] is not None:
        symmetry += f" about ({_vector(report['symmetry_axis'])})"
    planes = ", ".join(report["symmetry_planes_of_inertia"]) or "none"
    out.print(f"symmetry of the inertia: {symmetry}; planes through the mass centre without products: {planes}")
    verdict = "physically possible" if report["physical"] else f"physically impossible: see `{rne('check')}`"
    out.print(Text(f"triangle inequality: margin {report['triangle_margin']:.4g} kg m^2; {verdict}"))
    print(report["urdf"])


def _vector(values: Sequence[float]) -> str:
    return "  ".join(_shown(x, max(abs(v) for v in values)) for x in values)


def _moments(matrix: list[list[float]]) -> list[str]:
    tensor: Array = np.array(matrix)
    size = float(np.abs(tensor).max())
    return [_shown(float(tensor[i, j]), size) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]


def _shown(value: float, size: float) -> str:
    return f"{0.0 if abs(value) < 1e-12 * size else value:.6g}"
