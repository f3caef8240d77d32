"""What `rne identify` says: residuals before and after, parameters with their uncertainty, the plot of efforts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rne_dynamics.cli.answer import Rows, finite
from rne_dynamics.cli.from_recordings.logs import broken, draw_efforts, joint_table, records
from rne_dynamics.dynamics.friction import OWN
from rne_dynamics.figures.style import COLORS, DASHED, GUIDE, WIDE
from rne_dynamics.figures.tracking import units_of
from rne_dynamics.identification.identify import Gains, Identified
from rne_dynamics.identification.models import identified_payload
from rne_dynamics.identification.motion import Residual
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
            "mean_norm": after.norms[0], "mean_norm_before": before.norms[0], "logs": list(after.sources),
            "joints": records(name=robot.joint_names, rms=new["rms"], rms_before=old["rms"], bias=new["bias"],
                              bias_before=old["bias"], rms_measured=new["measured"]),
        } for name, (before, after) in findings.pairs.items() for old, new in [(before.columns(), after.columns())]
    }  # fmt: skip
    source = np.where(found.from_data, "data", "URDF")
    every = records(name=names, value=found.parameters, deviation=found.deviations, before=found.layout.given,
                     source=source)  # fmt: skip
    joints = records(joint=robot.joint_names, threshold=[form.threshold for form in found.forms],
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
    found, robot, gains = findings.found, findings.found.layout.robot, findings.gains
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
    for name, (before, after) in findings.pairs.items():
        old, new = before.columns(), after.columns()
        shown = {"effort RMS": new["measured"], "residual before": old["rms"], "after": new["rms"],
                 "% of effort": 100.0 * new["share"], "bias": new["bias"]}  # fmt: skip
        table = joint_table(robot, "on other data (--validate)" if name == "validation" else "on the logs", shown)
        norms = (f"{norm:.3g}" for norm in (after.norms[1], before.norms[0], after.norms[0]))
        yield table._replace(rows=[*table.rows, ["mean norm", *norms, "", ""]])
    if gains is not None:
        columns = {"drive gain, effort over current": gains.values, "relative deviation": gains.deviations}
        yield joint_table(robot, "drives", columns)
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
    own = dict(zip(OWN, np.reshape(cells[layout.links :], (-1, len(OWN))).T.tolist(), strict=True))
    own["threshold"] = [f"{form.threshold:g}" for form in found.forms]
    yield joint_table(layout.robot, "joints, SI units", own, "position")


def draw(path: Path, *, robot: RobotModel, pair: tuple[Residual, Residual]) -> None:
    """Write the plot of motions: norm of the residual, and each joint's efforts; raises as `canvas`."""
    looks = {"given model": {**DASHED, "color": COLORS[3]}, "identified model": {"color": COLORS[0]}}
    run = pair[1]

    def norms(axes: Any) -> None:
        for side, (label, look) in zip(pair, looks.items(), strict=True):
            axes.plot(*broken(side.t, np.linalg.norm(side.error, axis=1)), label=label, **look)
        axes.set_ylabel(f"norm of residual ({units_of(robot).effort})")

    curves: dict[str, Any] = {"measured": (run.measured, {"color": GUIDE, "linewidth": 2.0 * WIDE})}
    curves |= {label: (side.predicted, look) for side, (label, look) in zip(pair, looks.items(), strict=True)}
    names = ", ".join(Path(source).name for source in run.sources)
    draw_efforts(path, f"{robot.name}, {names}: efforts of the given and of the identified model", robot, run, [norms],
                 curves)  # fmt: skip
