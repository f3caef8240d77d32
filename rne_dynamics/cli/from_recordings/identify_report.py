"""What `rne identify` says: residuals before and after, parameters with their uncertainty, the plot of efforts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rne_dynamics.cli.answer import Rows, finite
from rne_dynamics.cli.from_recordings.logs import broken, draw_efforts
from rne_dynamics.dynamics.friction import OWN
from rne_dynamics.figures.style import COLORS, DASHED, GUIDE, WIDE
from rne_dynamics.figures.tracking import joint_units, units_of
from rne_dynamics.identification.identify import Gains, Identified
from rne_dynamics.identification.models import identified_payload
from rne_dynamics.identification.motion import Residual, rms
from rne_dynamics.identification.triangles import structure
from rne_dynamics.model.robot import RobotModel


class Findings(NamedTuple):
    """What was identified, and how well it predicts."""

    found: Identified
    gains: Gains | None
    #: Residuals of the given and of the new model, by "training" and "validation".
    pairs: Mapping[str, tuple[Residual, Residual]]
    notes: tuple[str, ...]


def as_json(findings: Findings) -> dict[str, Any]:
    """Plain values in SI units."""
    found, robot, gains = findings.found, findings.found.layout.robot, findings.gains
    base, names = found.base, found.layout.names
    deviations = np.sqrt(np.einsum("ij,jk,ik->i", base.combinations, found.covariance, base.combinations))
    base_values = zip(base.combinations.tolist(), base.combinations @ found.parameters, deviations, strict=True)
    sides = {
        name: {
            "mean_norm": after.mean_norm, "mean_norm_before": before.mean_norm, "logs": list(after.sources),
            "joints": _records(name=robot.joint_names, rms=rms(after.error), rms_before=rms(before.error),
                               rms_measured=rms(after.measured), bias=after.bias, bias_before=before.bias),
        } for name, (before, after) in findings.pairs.items()
    }  # fmt: skip
    source = np.where(found.from_data, "data", "URDF")
    every = _records(name=names, value=found.parameters, deviation=found.deviations, before=found.layout.given,
                     source=source)  # fmt: skip
    joints = _records(joint=robot.joint_names, threshold=[form.threshold for form in found.forms],
                      stribeck=[form.stribeck for form in found.forms])  # fmt: skip
    return {
        "robot": robot.name, "joints": list(robot.joint_names), **sides, "friction": joints,
        "parameters": [row for row, used in zip(every, found.layout.used(found.forms), strict=True) if used],
        "base_parameters": {
            "count": len(structure(robot, rotors=found.layout.rotors).kept), "from_data": len(base.kept),
            "scaled_condition": finite(base.condition),
            "values": [
                {"combination": {name: k for name, k in zip(names, row, strict=True) if abs(k) > 1e-9}, "value": value,
                 "deviation": deviation} for row, value, deviation in base_values
            ],
        },
        "corrected": list(found.corrected), "payload": _payload(found), "notes": list(findings.notes),
        "gains": None if gains is None else {
            joint: {"value": value, "relative_deviation": deviation} for joint, value, deviation in
            zip(robot.joint_names, gains.values.tolist(), gains.deviations.tolist(), strict=True)
        },
    }  # fmt: skip


def _records(**columns: Any) -> list[dict[str, Any]]:
    """A record for each row of columns, as JSON has them: None for NaN."""
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    return [
        {key: finite(x) if isinstance(x, float) else x for key, x in zip(columns, row, strict=True)} for row in rows
    ]


def _payload(found: Identified) -> dict[str, Any] | None:
    """The payload in its link's frame, with the deviation of its mass, and how many of its parameters data say."""
    load, own = identified_payload(found), slice(found.layout.links - 10, found.layout.links)
    return None if load is None else {
        "link": load.link, "mass": load.mass, "mass_deviation": float(found.deviations[own][0]),
        "com": np.asarray(load.com).tolist(), "inertia": np.asarray(load.inertia).tolist(),
        "parameters_from_data": int(found.from_data[own].sum()),
    }  # fmt: skip


def tables(findings: Findings) -> Iterator[str | Rows]:
    """What was said of logs, residuals of every joint, then parameters."""
    found, names, gains = findings.found, findings.found.layout.robot.joint_names, findings.gains
    yield from findings.notes
    yield (
        f"{len(found.base.kept)} of {found.layout.used(found.forms).sum()} parameters and combinations are seen in the "
        f"logs; scaled condition number {found.base.condition:.3g}."
    )
    if found.corrected:
        yield (
            "In the given model these bodies cannot be (mass or moments of inertia of no body); a corrected one was "
            f"the start: {', '.join(found.corrected)}."
        )
    units = [unit.effort for unit in joint_units(found.layout.robot)]
    for name, (old, new) in findings.pairs.items():
        columns = zip(rms(new.measured), rms(old.error), rms(new.error), 100.0 * new.share, new.bias, strict=True)
        rows = [
            [f"{joint} ({unit})", *(f"{x:.3g}" for x in row[:3]), f"{row[3]:.3g} %", f"{round(row[4], 6) + 0.0:.2g}"]
            for joint, unit, row in zip(names, units, columns, strict=True)
        ]
        norms = new.measured_norm, old.mean_norm, new.mean_norm
        rows.append(["mean norm", *(f"{norm:.3g}" for norm in norms), "", ""])
        headings = ("joint", "effort RMS", "residual before", "after", "of the effort", "bias")
        yield Rows(headings, rows, "on other data (--validate)" if name == "validation" else "on the logs")
    if gains is not None:
        rows = [[joint, f"{value:.4g}", f"{100 * deviation:.2g} %"] for joint, value, deviation in
                zip(names, gains.values, gains.deviations, strict=True)]  # fmt: skip
        yield Rows(("joint", "drive gain, effort over current", "deviation"), rows)
    load = _payload(found)
    if load is not None:
        row = [load["link"], f"{load['mass']:.4g}", f"{load['mass_deviation']:.2g}",
               "  ".join(f"{x:.4f}" for x in load["com"])]  # fmt: skip
        yield Rows(("payload on", "mass (kg)", "deviation", "mass centre (m)"), [row])
    if load is None or gains is not None:
        yield from _parameter_tables(found)


def _parameter_tables(found: Identified) -> Iterator[Rows]:
    """Masses and first moments of bodies, friction and rotors of joints; * for those from the given model."""
    layout, rows = found.layout, zip(found.parameters, found.deviations, found.from_data, strict=True)
    cells = [f"{x:.3g} ± {deviation:.2g}{'' if known else ' *'}" for x, deviation, known in rows]
    cells = np.where(layout.used(found.forms), cells, "-").tolist()
    bodies = [
        [body, f"{layout.given[10 * i]:.3g}", *cells[10 * i : 10 * i + 4]]
        for i, body in enumerate(layout.robot.body_names)
    ]  # fmt: skip
    title = "bodies, named by their joints; *: rather from the given model than from data"
    yield Rows(("body", "mass before (kg)", "mass", "m cx (kg m)", "m cy", "m cz"), bodies, title)
    joints = [
        [joint, *cells[layout.links + len(OWN) * j :][: len(OWN)], f"{form.threshold:g}"]
        for j, (joint, form) in enumerate(zip(layout.robot.joint_names, found.forms, strict=True))
    ]
    yield Rows(("joint", "rotor", "offset", "viscous", "Coulomb", "Stribeck", "threshold"), joints, "joints, SI units")


def draw(path: Path, *, robot: RobotModel, pair: tuple[Residual, Residual]) -> None:
    """Write the plot of motions: norm of the residual, and each joint's efforts; raises as `canvas`."""
    looks = {"given model": {**DASHED, "color": COLORS[3]}, "identified model": {"color": COLORS[0]}}
    run = pair[1]

    def norms(axes: Any) -> None:
        for side, (label, look) in zip(pair, looks.items(), strict=True):
            t, values = broken(side.t, np.linalg.norm(side.error, axis=1)[:, None])
            axes.plot(t, values, label=label, **look)
        axes.set_ylabel(f"norm of residual ({units_of(robot).effort})")

    curves: dict[str, Any] = {"measured": (run.measured, {"color": GUIDE, "linewidth": 2.0 * WIDE})}
    curves |= {label: (side.predicted, look) for side, (label, look) in zip(pair, looks.items(), strict=True)}
    names = ", ".join(Path(source).name for source in run.sources)
    draw_efforts(path, f"{robot.name}, {names}: efforts of the given and of the identified model", robot, run, [norms],
                 curves)  # fmt: skip
