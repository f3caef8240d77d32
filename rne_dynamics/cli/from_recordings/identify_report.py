"""What `rne identify` says: residuals before and after, parameters with their uncertainty, the plot of efforts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rne_dynamics.cli.answer import Rows
from rne_dynamics.dynamics.derivatives.regressor import inertial_parameters
from rne_dynamics.figures.style import COLORS, DASHED, GUIDE, WIDE
from rne_dynamics.figures.tracking import Curve, draw_stack, joint_cells, joint_units, units_of
from rne_dynamics.identification.base_parameters import structure
from rne_dynamics.identification.drive_gains import Gains
from rne_dynamics.identification.identify import Identified
from rne_dynamics.identification.links import identified_payload
from rne_dynamics.identification.residual import Residual, summary
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.generalized_inertia import rotor_inertia
from rne_dynamics.model.robot import RobotModel

Pairs = Mapping[str, tuple[Sequence[Residual], Sequence[Residual]]]


class Findings(NamedTuple):
    """What was identified, and how well it predicts."""

    found: Identified
    gains: Gains | None
    #: Residuals of the given and of the new model, by "training" and "validation".
    pairs: Pairs
    notes: tuple[str, ...]


def as_json(findings: Findings) -> dict[str, Any]:
    """Plain values in SI units."""
    found, robot = findings.found, findings.found.layout.robot
    values: dict[str, Any] = {"robot": robot.name, "joints": list(robot.joint_names)}
    for name, (before, after) in findings.pairs.items():
        old, new = summary(before), summary(after)
        values[name] = {
            "mean_norm": new.mean_norm, "mean_norm_before": old.mean_norm, "logs": [part.source for part in after],
            "joints": [
                {"name": joint, "rms": new.rms[j], "rms_before": old.rms[j], "rms_measured": new.measured[j],
                 "bias": new.bias[j], "bias_before": old.bias[j]}
                for j, joint in enumerate(robot.joint_names)
            ],
        }  # fmt: skip
    base = found.base
    deviations = np.sqrt(np.einsum("ij,jk,ik->i", base.combinations, found.covariance, base.combinations))
    names = found.layout.names(found.forms)
    values["friction"] = [
        {"joint": joint, "threshold": form.threshold, "stribeck": form.stribeck}
        for joint, form in zip(robot.joint_names, found.forms, strict=True)
    ]
    values["parameters"] = _parameters(found, names)
    values["base_parameters"] = {
        "count": structure(robot, rotors=found.layout.rotors).count, "from_data": base.count,
        "scaled_condition": base.condition,
        "values": [
            {"combination": {names[k]: row[k] for k in np.flatnonzero(np.abs(row) > 1e-9)}, "value": value,
             "deviation": deviation}
            for row, value, deviation in zip(base.combinations, base.combinations @ found.parameters, deviations,
                                             strict=True)
        ],
    }  # fmt: skip
    values["corrected"] = list(found.prior.corrected)
    values["payload"] = _payload(found)
    gains = findings.gains
    values["gains"] = None if gains is None else {
        joint: {"value": value, "relative_deviation": deviation}
        for joint, value, deviation in zip(robot.joint_names, gains.values, gains.deviations, strict=True)
    }  # fmt: skip
    values["notes"] = list(findings.notes)
    plain: dict[str, Any] = _plain(values)
    return plain


def _plain(value: Any) -> Any:
    """Values as JSON has them."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return float(value) if isinstance(value, np.floating) else value


def _parameters(found: Identified, names: Sequence[str]) -> list[dict[str, Any]]:
    """Every parameter with its value in the given model, its deviation and its source."""
    before = _given(found)
    rows = zip(names, found.parameters, found.deviations, before, found.from_data.tolist(), strict=True)
    return [
        {"name": name, "value": value, "deviation": deviation, "before": old,
         "source": "data" if known else "URDF"} for name, value, deviation, old, known in rows
    ]  # fmt: skip


def _given(found: Identified) -> list[float | None]:
    """The parameters of the given model in the order of the fit; None for those that it has not."""
    layout, robot = found.layout, found.layout.robot
    friction, rotors = joint_friction(robot), rotor_inertia(robot)
    values: list[float | None] = [*inertial_parameters(robot).tolist()]
    values += [None] * (layout.links - len(values))
    for j, form in enumerate(found.forms):
        values += [friction.viscous[j], friction.coulomb[j], friction.offset[j]]
        values += [friction.stribeck[j]] if form.stribeck else []
        values += [rotors[j]] if layout.rotors else []
    return values


def _payload(found: Identified) -> dict[str, Any] | None:
    """The payload in its link's frame, with the deviation of its mass, and how many of its parameters data say."""
    load = identified_payload(found)
    if load is None:
        return None
    place = found.layout.links - 10
    return {
        "link": load.link, "mass": load.mass, "mass_deviation": found.deviations[place],
        "com": np.asarray(load.com).tolist(), "inertia": np.asarray(load.inertia).tolist(),
        "parameters_from_data": int(found.from_data[place : place + 10].sum()),
    }  # fmt: skip


def remarks(findings: Findings) -> list[str]:
    """Sentences of the report."""
    found = findings.found
    text = [
        f"{found.base.count} of {len(found.parameters)} parameters and combinations are seen in the logs; scaled "
        f"condition number {found.base.condition:.3g}."
    ]
    if found.prior.corrected:
        text.append(
            f"In the given model these bodies cannot be (mass or moments of inertia of no body); a corrected one was "
            f"the start: {', '.join(found.prior.corrected)}."
        )
    return text


def tables(findings: Findings) -> list[str | Rows]:
    """Residuals of every joint, then parameters."""
    return [*findings.notes, *remarks(findings), *_tables(findings)]


def _tables(findings: Findings) -> Iterator[Rows]:
    found, robot = findings.found, findings.found.layout.robot
    units = [unit.effort for unit in joint_units(robot)]
    for name, (before, after) in findings.pairs.items():
        old, new = summary(before), summary(after)
        rows = [
            [f"{joint} ({units[j]})", f"{new.measured[j]:.3g}", f"{old.rms[j]:.3g}", f"{new.rms[j]:.3g}",
             f"{100.0 * new.share[j]:.3g} %", f"{round(new.bias[j], 6) + 0.0:.2g}"]
            for j, joint in enumerate(robot.joint_names)
        ]  # fmt: skip
        rows.append(["mean norm", f"{new.measured_norm:.3g}", f"{old.mean_norm:.3g}", f"{new.mean_norm:.3g}", "", ""])
        headings = ("joint", "effort RMS", "residual before", "after", "of the effort", "bias")
        yield Rows(headings, rows, "on other data (--validate)" if name == "validation" else "on the logs")
    if findings.gains is not None:
        gains = zip(robot.joint_names, findings.gains.values, findings.gains.deviations, strict=True)
        rows = [[joint, f"{value:.4g}", f"{100 * deviation:.2g} %"] for joint, value, deviation in gains]
        yield Rows(("joint", "drive gain, effort over current", "deviation"), rows)
    load = _payload(found)
    if load is not None:
        com = "  ".join(f"{x:.4f}" for x in load["com"])
        row = [load["link"], f"{load['mass']:.4g}", f"{load['mass_deviation']:.2g}", com]
        yield Rows(("payload on", "mass (kg)", "deviation", "mass centre (m)"), [row])
    if load is None or findings.gains is not None:
        yield from _parameter_tables(found)


def _parameter_tables(found: Identified) -> Iterator[Rows]:
    """Masses and first moments of bodies, friction and rotors of joints; * for those from the given model."""
    names = found.layout.names(found.forms)
    before = dict(zip(names, _given(found), strict=True))
    value = {
        name: f"{x:.3g} ± {deviation:.2g}{'' if known else ' *'}"
        for name, x, deviation, known in zip(names, found.parameters, found.deviations, found.from_data, strict=True)
    }
    bodies = [
        [body, f"{before[f'{body}.m']:.3g}", *(value[f"{body}.{part}"] for part in ("m", "mx", "my", "mz"))]
        for body in found.layout.robot.body_names
    ]  # fmt: skip
    title = "bodies, named by their joints; *: rather from the given model than from data"
    yield Rows(("body", "mass before (kg)", "mass", "m cx (kg m)", "m cy", "m cz"), bodies, title)
    rows = []
    for joint, form in zip(found.layout.robot.joint_names, found.forms, strict=True):
        own = [value.get(f"{joint}.{part}", "-") for part in ("viscous", "coulomb", "offset", "stribeck", "rotor")]
        rows.append([joint, *own, f"{form.threshold:g}"])
    yield Rows(("joint", "viscous", "Coulomb", "offset", "Stribeck", "rotor", "threshold"), rows, "joints, SI units")


def draw_efforts(path: Path, *, robot: RobotModel, before: Residual, after: Residual) -> None:
    """Write the plot of a motion: norm of the residual, and each joint's efforts; raises as `canvas`."""
    t, measured = after.t, after.measured
    looks = {"given model": {**DASHED, "color": COLORS[3]}, "identified model": {"color": COLORS[0]}}
    sides = dict(zip(looks, (before, after), strict=True))

    def norms(axes: Any) -> None:
        for label, side in sides.items():
            axes.plot(t, np.linalg.norm(side.residual, axis=1), label=label, **looks[label])
        axes.set_ylabel(f"norm of residual ({units_of(robot).effort})")

    shown = [Curve("measured", t, measured, {"color": GUIDE, "linewidth": 2.0 * WIDE})]
    shown += [Curve(label, t, side.predicted, looks[label]) for label, side in sides.items()]
    cells = joint_cells(robot.joint_names, joint_units(robot), range(robot.n), shown, float(np.abs(measured).max()))
    title = f"{robot.name}, {Path(after.source).name}: efforts of the given and of the identified model"
    draw_stack(path, title, (t[0], t[-1]), [norms], cells)
