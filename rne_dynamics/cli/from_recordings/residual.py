"""`rne residual`: measured torque of logs against a model's, after a search for faults of the logs."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.cli.answer import Answer, Rows, Verdict, check_files, finite
from rne_dynamics.cli.arguments import REPORT, ROBOT, argument, flag, positive
from rne_dynamics.cli.from_recordings.logs import LOG, broken, draw_efforts, load_arm, read_logs, said
from rne_dynamics.errors import RecordingError
from rne_dynamics.figures.style import DASHED, INK, TERMS, WIDE
from rne_dynamics.figures.tracking import joint_rows, joint_units, panels, units_of
from rne_dynamics.identification.motion import Residual, joined, motion_of, residual, rms
from rne_dynamics.identification.traps import Trap
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

EXAMPLES = """\
examples:
  rne residual my_arm.urdf run.mcap --plot run.png
  rne residual my_arm.urdf bag_folder --topic /left/joint_states
  rne residual my_arm.urdf a.npz b.npz --columns q=positions,tau=torques,t=times
  rne residual ur10 log.csv --columns t=1,q=2-7,tau=14-19 --gains 14.9,13.3,11.1,10.6,11,11.5
"""

ARGUMENTS = (
    *ROBOT, *LOG,
    argument("--allowed", type=positive(1000.0, "%"), metavar="PERCENT",
             help="exit code 1 if the residual is more than this part of the measured torque (mean norms)"),
    argument("--plot", type=Path, metavar="FILE", help="measured and predicted torques, .png, .svg or .pdf"),
    REPORT, flag("--json", "print the figures as JSON"),
)  # fmt: skip
#: Columns of the first table by the names of their values, which follow in the second one.
_NAMES = {"measured": "measured", "rms": "residual", "share": "% of measured", "bias": "bias"}


def run(args: argparse.Namespace) -> Answer:
    """Read, look for faults, compare."""
    check_files(args)
    robot = load_arm(args)
    logs = read_logs(args, robot, args.log)
    faults = [trap for _, found in logs for trap in found if trap.fatal]
    runs: list[Residual] = []
    try:
        runs = [residual(robot, motion_of(log, args.band)) for log, _ in logs]
    except RecordingError:
        if not faults:
            raise
    values: dict[str, Any] = {"robot": robot.name, "joints": [], "mean_norm": None, "measured_norm": None}
    values["logs"] = [
        {"file": log.source, "states": len(log.t), "seconds": float(log.t[-1]), "notes": list(log.notes),
         "traps": [{**trap._asdict(), "joints": [robot.joint_names[j] for j in trap.joints], "fatal": trap.fatal}
                   for trap in found]} for log, found in logs
    ]  # fmt: skip
    for log, part in zip(values["logs"], runs, strict=False):
        log |= {"band": part.band, "rows": len(part.t), "mean_norm": part.mean_norm}
    parts: list[str | Rows] = [text for log, found in logs for text in said(log, found)]
    pictures = []
    if runs:
        whole = joined(runs)
        columns = {"measured": rms(whole.measured), "rms": rms(whole.error), "share": whole.share, "bias": whole.bias}
        columns |= {name: rms(part) for name, part in whole.parts.items()}
        parts += _tables(robot, columns)
        values["joints"] = [
            {"name": name, **{key: finite(column[j]) for key, column in columns.items()}}
            for j, name in enumerate(robot.joint_names)
        ]
        values |= {"mean_norm": whole.mean_norm, "measured_norm": whole.measured_norm}
        draw = partial(_draw, robot=robot, run=whole)
        pictures = [(draw, "Torques of every joint, measured and predicted.")]
        if args.plot:
            draw(args.plot)
    verdict = _verdict(robot, joined(runs) if runs else None, faults, args.allowed)
    return Answer(
        values | {"verdict": verdict.as_plain()}, parts, verdict, written=[args.plot] if runs else [],
        title=f"{robot.name}: what logs say of the model", pictures=pictures,
    )  # fmt: skip


def _verdict(robot: RobotModel, whole: Residual | None, faults: list[Trap], allowed: float | None) -> Verdict:
    if faults or whole is None:
        kinds = ", ".join(dict.fromkeys(trap.kind for trap in faults))
        return Verdict(False, f"the log does not fit the model: {kinds}; fix this before any number counts",
                       {"traps": [trap.kind for trap in faults]})  # fmt: skip
    part = whole.mean_norm / whole.measured_norm if whole.measured_norm else np.nan
    j = int(rms(whole.error).argmax())
    text = (
        f"the model leaves {whole.mean_norm:.3g} of {whole.measured_norm:.3g} {units_of(robot).effort} ({part:.1%}, "
        f"mean norms), most of joint {robot.joint_names[j]!r}: RMS {rms(whole.error)[j]:.3g}"
    )
    text += "" if allowed is None else f"; allowed are {allowed:g} %"
    passed = allowed is None or bool(part <= 0.01 * allowed)
    return Verdict(passed, text, {"traps": [], "share": finite(part)})


def _tables(robot: RobotModel, columns: dict[str, Array]) -> list[Rows]:
    """Measured torque and residual, and the prediction by parts."""
    units = [unit.effort for unit in joint_units(robot)]
    mixed = len(set(units)) > 1

    def number(value: float, key: str) -> str:
        value = 100.0 * value if key == "share" else value if abs(value) >= 5e-4 else 0.0
        return f"{value:.3g}" if np.isfinite(value) else "-"

    predicted = {key: key for key in columns if key not in _NAMES and (key != "offset" or columns[key].any())}
    tables = []
    for title, names in (("measured torque and residual", _NAMES), ("predicted torque, by parts", predicted)):
        rows = [
            [joint, *[units[j]] * mixed, *(number(columns[key][j], key) for key in names)]
            for j, joint in enumerate(robot.joint_names)
        ]
        title += ": RMS" + ("" if mixed else f" ({units[0]})")
        tables.append(Rows(("joint", *["unit"] * mixed, *names.values()), rows, title, words=range(1 + mixed)))
    return tables


def _draw(path: Path, *, robot: RobotModel, run: Residual) -> None:
    """Write a figure: residuals of all joints, and of each joint what was measured and predicted."""
    rows = joint_rows("residual", panels(joint_units(robot)), robot.joint_names, *broken(run.t, run.error), unit="effort")
    curves: dict[str, Any] = {name: (run.parts[name], {"color": TERMS[name]}) for name in run.parts if name in TERMS}
    curves["measured"] = run.measured, {"color": INK, "linewidth": WIDE}
    curves["predicted"] = run.predicted, DASHED
    draw_efforts(path, ", ".join(Path(source).name for source in run.sources), robot, run, rows, curves)
