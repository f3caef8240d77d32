"""`rne residual`: measured torque of logs against a model's, after a search for faults of the logs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rne_dynamics.cli.answer import Answer, Picture, Rows, Verdict, check_files
from rne_dynamics.cli.arguments import REPORT, ROBOT, argument, flag
from rne_dynamics.cli.from_recordings.logs import LOG, draw_efforts, joint_table, load_arm, read_logs, records, said
from rne_dynamics.errors import RecordingError
from rne_dynamics.figures.tracking import units_of
from rne_dynamics.identification.motion import Residual, joined, motions_of, residual

EXAMPLES = """\
examples:
  rne residual my_arm.urdf run.mcap --plot run.png
  rne residual my_arm.urdf bag_folder --topic /left/joint_states
  rne residual my_arm.urdf a.npz b.npz --columns q=positions,tau=torques,t=times
  rne residual ur10 log.csv --columns t=1,q=2-7,tau=14-19 --gains 14.9,13.3,11.1,10.6,11,11.5
"""

ARGUMENTS = (
    *ROBOT, *LOG,
    argument("--plot", type=Path, metavar="FILE", help="measured and predicted torques, .png, .svg or .pdf"),
    REPORT, flag("--json", "print the figures as JSON"),
)  # fmt: skip


def run(args: argparse.Namespace) -> Answer:
    """Read, look for faults, compare."""
    check_files(args)
    robot = load_arm(args)
    logs = read_logs(args, robot, args.log)
    faults = [trap for _, found in logs for trap in found if trap.fatal]
    runs: list[Residual] = []
    try:
        runs = [joined([residual(robot, part) for part in motions_of(log, args.band)]) for log, _ in logs]
    except RecordingError:
        if not faults:
            raise
    logged = [
        {"file": log.source, "states": len(log.t), "seconds": float(log.t[-1]), "notes": list(log.notes),
         "traps": [{**trap._asdict(), "joints": [robot.joint_names[j] for j in trap.joints], "fatal": trap.fatal}
                   for trap in found]} for log, found in logs
    ]  # fmt: skip
    for log, part in zip(logged, runs, strict=False):
        log |= {"band": part.band, "rows": len(part.t), "mean_norm": part.norms[0]}
    values: dict[str, Any] = {"robot": robot.name, "joints": [], "mean_norm": None, "measured_norm": None}
    parts: list[str | Rows] = [text for log, found in logs for text in said(log, found)]
    figures: dict[str, Any] = {"traps": [trap.kind for trap in faults]}
    text = (f"the log does not fit the model: {', '.join(dict.fromkeys(figures['traps']))}; fix this before any number "
            "counts")  # fmt: skip
    pictures: list[Picture] = []
    if runs:
        whole = joined(runs)
        columns, (norm, measured) = whole.columns(), whole.norms
        shown = {"measured": columns["measured"], "residual": columns["rms"], "% of measured": 100.0 * columns["share"]}
        parts.append(joint_table(robot, "measured torque and residual: RMS", shown | {"bias": columns["bias"]}))
        shown = {name: columns[name] for name, part in whole.parts.items() if name != "offset" or part.any()}
        parts.append(joint_table(robot, "predicted torque, by parts: RMS", shown))
        values |= {"joints": records(name=robot.joint_names, **columns), "mean_norm": norm, "measured_norm": measured}
        pictures = [(lambda path: draw_efforts(path, robot, {"predicted": whole}), "Torques, measured and predicted.")]
        if args.plot:
            draw_efforts(args.plot, robot, {"predicted": whole})
        if not faults:
            j = int(columns["rms"].argmax())
            figures["share"] = norm / measured if measured else None
            text = (f"the model leaves {norm:.3g} of {measured:.3g} {units_of(robot).effort} (mean norms), most of "
                    f"joint {robot.joint_names[j]!r}: RMS {columns['rms'][j]:.3g}")  # fmt: skip
    verdict = Verdict(not faults, text, figures)
    return Answer(values | {"logs": logged, "verdict": verdict.as_plain()}, parts, verdict,
                  written=[args.plot] if runs else [], title=f"{robot.name}: what logs say of the model",
                  pictures=pictures)  # fmt: skip
