"""`rne residual`: measured torque of logs against a model's, after a search for faults of the logs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.cli.answer import Answer, Line, Picture, Rows, Verdict, check_files, finite, records, shown
from rne_dynamics.cli.arguments import (
    MOST_SAMPLED,
    REPORT,
    ROBOT,
    argument,
    flag,
    load_robot,
    positions,
    positive,
    several,
)
from rne_dynamics.errors import ArgumentError, RecordingError
from rne_dynamics.figures.style import DASHED, GUIDE, TERMS, WIDE, color_of
from rne_dynamics.figures.tracking import Curve, curves, draw_stack, joint_cells, joint_units, units_of
from rne_dynamics.identification.motion import Residual, joined, motions_of, residual
from rne_dynamics.identification.traps import Trap, traps
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.recording.logs import read_log
from rne_dynamics.recording.recording import Recording

SENSORS = argument(
    "--sensors", choices=("motor", "joint"), default="motor",
    help="where torques are measured: at motors, which feel their rotors, or behind the gears (default: %(default)s)",
)  # fmt: skip
LOG = (
    argument("log", metavar="LOG", nargs="+",
             help="logs of motions: .npz, .mcap, .db3, the folder of a ROS 2 bag, or a table as text (CSV)"),
    argument("--columns", metavar="t=T,q=Q,tau=TAU", help="names of columns or arrays, or numbers of columns from 1 "
             "(t=1,q=2-7,tau=14-19); t=200Hz for logs without times (default: usual names)"),
    argument("--topic", help="topic of the joint states of a bag, if there are several"),
    argument("--units", metavar="q=deg,t=ms",
             help="units of the log: q and qd in rad or deg, of prismatic joints always m; t in s, ms, us or ns; "
             "tau in Nm or mNm"),
    argument("--gains", metavar="G1,G2,...", help="N m for each unit of what was logged as torque, for all joints or "
             "one by one: of motors' currents N m/A times the gear ratio, -1 for another sign"),
    argument("--band", type=positive(200.0, "Hz"), metavar="HZ",
             help="frequency up to which the motion is used (default: 3, more for motion that accelerates faster)"),
    several("--lock", "JOINT=VALUE", "a joint that was not logged, at its position there, as of a gripper"),
    SENSORS,
)  # fmt: skip


def load_arm(args: argparse.Namespace) -> RobotModel:
    """The arm of ROBOT, without rotors for --sensors joint and with joints locked; `ArgumentError` for another kind."""
    args.no_rotors = args.sensors == "joint"
    robot = load_robot(args, MOST_SAMPLED)
    if robot.kind != "arm" or not {joint.name for joint in robot.open_tree.tree.joints}.issuperset(robot.joint_names):
        raise ArgumentError(f"robot {robot.name!r} has closed loops, flexible links or a floating joint; logs are "
                            "compared with open rigid arms")  # fmt: skip
    if not args.lock:
        return robot.open_tree
    tree = robot.tree.with_locked(positions("--lock", args.lock, robot.open_tree))
    return assemble(tree, gravity=robot.gravity).with_own_code()


def read_logs(args: argparse.Namespace, robot: RobotModel, files: Sequence[str]) -> list[tuple[Recording, list[Trap]]]:
    """Logs, read with the options of `LOG`, and their faults; raises as `read_log` and `traps`."""
    units = {key: unit for key, _, unit in (part.partition("=") for part in (args.units or "").split(",") if part)}
    gains = None if args.gains is None else _gains(args.gains, robot)
    found = [read_log(path, robot, args.columns, topic=args.topic, units=units, gains=gains) for path in files]
    return [(log, traps(robot, log)) for log in found]


def _gains(text: str, robot: RobotModel) -> Array:
    try:
        found = np.array([float(part) for part in text.split(",")])
    except ValueError:
        found = np.zeros(0)
    if len(found) not in (1, robot.n) or not np.isfinite(found).all() or not found.all():
        raise ArgumentError(f"--gains is {text!r}; write one number, or {robot.n} with commas, of "
                            f"{', '.join(robot.joint_names)}")  # fmt: skip
    return np.broadcast_to(found, robot.n)


def said(log: Recording, found: Sequence[Trap]) -> list[str]:
    """What was read, what was left out, and faults with their fixes."""
    faults = [f"wrong: {x.text}. Fix: {x.fix}" if x.fatal else f"note: {x.text}. So: {x.fix}" for x in found]
    return [Line(f"{log.source}: {len(log.t)} states, {log.t[-1]:.4g} s"), *(f"note: {x}" for x in log.notes), *faults]


def joint_table(robot: RobotModel, title: str, columns: Mapping[str, Any], unit: str = "effort") -> Rows:
    """A table with a row for each joint, of columns of numbers or texts by their headings."""
    names = [f"{name} ({getattr(own, unit)})" for name, own in zip(robot.joint_names, joint_units(robot), strict=True)]
    cells = [[x if isinstance(x, str) else shown(finite(round(x, 6)), ".3g") for x in own] for own in columns.values()]
    return Rows(("joint", *columns), list(zip(names, *cells, strict=True)), title)


def draw_efforts(path: Path, robot: RobotModel, runs: Mapping[str, Residual]) -> None:
    """Write a figure: norms of residuals of models by name, and of each joint the efforts; raises as `canvas`.

    Those of a single model are shown with its parts.
    """
    (run, *_), t = runs.values(), next(iter(runs.values())).t
    gaps = np.flatnonzero(np.diff(t) > 1.5 * np.median(np.diff(t))) + 1  # between recordings, one after the other

    def broken(values: Array) -> Array:
        return np.insert(values, gaps, np.nan, axis=0)

    drawn = [Curve("measured", broken(t), broken(run.measured), {"color": GUIDE, "linewidth": 2.0 * WIDE})]
    for name, part in run.parts.items() if len(runs) == 1 else ():
        drawn += [Curve(name, broken(t), broken(part), {"color": TERMS[name]})] if name in TERMS else []
    looks = [DASHED] if len(runs) == 1 else [{"color": color_of(0)}, {"color": color_of(1), "linestyle": "--"}]
    drawn += [Curve(name, broken(t), broken(x.predicted), look)
              for (name, x), look in zip(runs.items(), looks, strict=True)]  # fmt: skip
    norms = {name: broken(np.linalg.norm(x.error, axis=1)) for name, x in runs.items()}
    rows = [curves(f"norm of residual ({units_of(robot).effort})", broken(t), norms)]
    cells = joint_cells(robot.joint_names, joint_units(robot), range(robot.n), drawn, float(np.abs(run.measured).max()))
    title = f"{robot.name}, {', '.join(dict.fromkeys(Path(source).name for source in run.sources))}: efforts"
    draw_stack(path, title, (float(t[0]), float(t[-1])), rows, cells)


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
        if not faults:
            j = int(columns["rms"].argmax())
            figures["share"] = norm / measured if measured else None
            text = (f"the model leaves {norm:.3g} of {measured:.3g} {units_of(robot).effort} (mean norms), most of "
                    f"joint {robot.joint_names[j]!r}: RMS {columns['rms'][j]:.3g}")  # fmt: skip
    verdict = Verdict(not faults, text, figures)
    return Answer(values | {"logs": logged, "verdict": verdict.as_plain()}, parts, verdict,
                  title=f"{robot.name}: what logs say of the model", pictures=pictures)  # fmt: skip
