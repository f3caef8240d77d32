"""`rne residual`: measured torque of logs against a model's, after a search for faults of the logs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.cli.answer import Answer, Line, Rows, Verdict, check_files, finite
from rne_dynamics.cli.arguments import REPORT, ROBOT, argument, flag, positive
from rne_dynamics.cli.from_recordings.logs import LOG, load_arm, read_logs
from rne_dynamics.errors import RecordingError
from rne_dynamics.figures.style import DASHED, INK, TERMS, WIDE
from rne_dynamics.figures.tracking import Curve, draw_stack, joint_cells, joint_rows, joint_units, panels, units_of
from rne_dynamics.identification.motion import motion_of
from rne_dynamics.identification.residual import PARTS, Residual, Summary, residual, summary
from rne_dynamics.identification.traps import Trap, traps
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.recording.recording import Recording

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


def run(args: argparse.Namespace) -> Answer:
    """Read, look for faults, compare."""
    check_files(args)
    robot = load_arm(args)
    recordings = read_logs(args, robot)
    faults = [traps(robot, recording) for recording in recordings]
    fatal = any(trap.fatal for found in faults for trap in found)
    found: list[Residual] = []
    try:
        found = [residual(robot, motion_of(recording, args.band)) for recording in recordings]
    except RecordingError:
        if not fatal:
            raise
    whole = summary(found) if found else None
    verdict = _verdict(robot, whole, faults, args.allowed)
    pictures = [(lambda path: draw(path, robot, found), "Torques of every joint, measured and predicted.")]
    if args.plot and found:
        draw(args.plot, robot, found)
    return Answer(
        _values(robot, recordings, faults, found, whole, verdict), list(_parts(robot, recordings, faults, whole)),
        verdict, written=[args.plot] if found else [], title=f"{robot.name}: what logs say of the model",
        pictures=pictures if found else [],
    )  # fmt: skip


def _verdict(
    robot: RobotModel, whole: Summary | None, faults: Sequence[Sequence[Trap]], allowed: float | None
) -> Verdict:
    fatal = [trap for found in faults for trap in found if trap.fatal]
    if fatal or whole is None:
        kinds = ", ".join(dict.fromkeys(trap.kind for trap in fatal))
        return Verdict(False, f"the log does not fit the model: {kinds}; fix this before any number counts",
                       {"traps": [trap.kind for trap in fatal]})  # fmt: skip
    unit, part = units_of(robot).effort, whole.mean_norm / whole.measured_norm if whole.measured_norm else np.nan
    j = int(np.nanargmax(whole.rms))
    text = (
        f"the model leaves {whole.mean_norm:.3g} of {whole.measured_norm:.3g} {unit} ({part:.1%}, mean norms), most of "
        f"joint {robot.joint_names[j]!r}: RMS {whole.rms[j]:.3g}"
    )
    passed = allowed is None or bool(part <= 0.01 * allowed)
    if allowed is not None:
        text += f"; allowed are {allowed:g} %"
    return Verdict(passed, text, {"traps": [], "share": finite(part)})


_NAMES = {"measured": "measured", "rms": "residual", "share": "% of measured", "bias": "bias"}


def _columns(whole: Summary) -> dict[str, Array]:
    return {name: getattr(whole, name) for name in _NAMES} | whole.parts


def _parts(
    robot: RobotModel, recordings: Sequence[Recording], faults: Sequence[Sequence[Trap]], whole: Summary | None
) -> Iterator[str | Rows]:
    """Where the numbers come from, faults with their fixes, and the table."""
    for recording, found in zip(recordings, faults, strict=True):
        yield Line(f"{recording.source}: {len(recording.t)} states, {recording.t[-1]:.4g} s")
        yield from (f"note: {note}" for note in recording.notes)
        for trap in found:
            yield f"{'wrong' if trap.fatal else 'note'}: {trap.text}. {'Fix' if trap.fatal else 'So'}: {trap.fix}"
    if whole is None:
        return
    units = [unit.effort for unit in joint_units(robot)]
    mixed = len(set(units)) > 1
    unit = "" if mixed else f" ({units[0]})"

    def table(title: str, names: Mapping[str, str], columns: Mapping[str, Array]) -> Rows:
        rows = [
            [joint, *[units[j]] * mixed, *(_number(columns[key][j], percent=key == "share") for key in names)]
            for j, joint in enumerate(robot.joint_names)
        ]
        return Rows(("joint", *["unit"] * mixed, *names.values()), rows, title + unit, words=range(1 + mixed))

    values = _columns(whole)
    yield table("measured torque and residual: RMS", _NAMES, values)
    parts = {name: name for name in PARTS if name != "offset" or values[name].any()}
    yield table("predicted torque, by parts: RMS", parts, values)


def _number(value: float, *, percent: bool) -> str:
    if not np.isfinite(value):
        return "-"
    return f"{100.0 * value:.3g}" if percent else f"{value if abs(value) >= 5e-4 else 0.0:.3g}"


def _values(
    robot: RobotModel, recordings: Sequence[Recording], faults: Sequence[Sequence[Trap]], found: Sequence[Residual],
    whole: Summary | None, verdict: Verdict,
) -> dict[str, Any]:
    """The figures for --json; N·m or N."""
    logs = [
        {
            "file": recording.source, "states": len(recording.t), "seconds": float(recording.t[-1]),
            "notes": list(recording.notes),
            "traps": [{**trap._asdict(), "joints": [robot.joint_names[j] for j in trap.joints], "fatal": trap.fatal}
                      for trap in own],
        }
        for recording, own in zip(recordings, faults, strict=True)
    ]  # fmt: skip
    for log, result in zip(logs, found, strict=False):
        log |= {"band": result.band, "rows": len(result.t), "mean_norm": summary([result]).mean_norm}
    joints = [] if whole is None else [
        {"name": name, **{key: finite(values[j]) for key, values in _columns(whole).items()}}
        for j, name in enumerate(robot.joint_names)
    ]
    return {
        "robot": robot.name, "logs": logs, "joints": joints, "mean_norm": None if whole is None else whole.mean_norm,
        "measured_norm": None if whole is None else whole.measured_norm, "verdict": verdict.as_plain(),
    }  # fmt: skip


def draw(path: Path, robot: RobotModel, found: Sequence[Residual]) -> None:
    """Write a figure: residuals of all joints, and of each joint what was measured and predicted; raises as `canvas`.

    Several logs are drawn one after the other.
    """
    times, gap = [], 0.0
    for result in found:
        times.append(np.r_[gap + result.t, np.nan])
        gap += float(result.t[-1]) + 1.0
    t = np.concatenate(times)[:-1]

    def joined(name: str) -> Array:
        rows = [result.parts[name] if name in PARTS else getattr(result, name) for result in found]
        return np.concatenate([np.r_[values, np.full((1, robot.n), np.nan)] for values in rows])[:-1]

    units, names = joint_units(robot), robot.joint_names
    rows = joint_rows("residual", panels(units), names, t, joined("residual"), unit="effort")
    curves = [Curve(name, t, joined(name), {"color": TERMS[name]}) for name in ("gravity", "inertia", "friction")]
    measured = joined("measured")
    curves += [Curve("measured", t, measured, {"color": INK, "linewidth": WIDE}),
               Curve("predicted", t, joined("predicted"), DASHED)]  # fmt: skip
    cells = joint_cells(names, units, range(robot.n), curves, float(np.nanmax(np.abs(measured), initial=0.0)))
    draw_stack(path, ", ".join(Path(result.source).name for result in found), (float(t[0]), float(t[-1])), rows, cells)
