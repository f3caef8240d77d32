"""`rne plot`: a recording as a figure and a table of errors and efforts."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.cli.answer import Answer, Line, Rows, records
from rne_dynamics.cli.arguments import argument, flag, real
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.sources import read_source, read_stdin
from rne_dynamics.dispatch import closed
from rne_dynamics.errors import ArgumentError, unknown
from rne_dynamics.figures.style import FIGURES, INK, REFERENCE, TERMS, WIDE, color_of, figure_file
from rne_dynamics.figures.tracking import (
    MIXED,
    Curve,
    Draw,
    Panel,
    Units,
    configuration,
    draw_stack,
    joint_cells,
    joint_rows,
    joint_units,
    panels,
    units_of,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.recording.reading import read_recording
from rne_dynamics.recording.recording import Recording, Series

EXAMPLES = """\
examples:
  rne plot run.mcap                         of a node, of `rne simulate --record`, or of ros2 bag
  rne plot bag_folder --robot my_arm.urdf   with its effort limits, and rad and m apart
  rne plot run.npz --joint joint2 --from 1.5 --to 3 --out joint2.svg
  rne plot two_arms.mcap --topic /left/joint_states
"""
#: An effort limit up to this many times the largest effort is drawn; higher ones would flatten the curves.
NEAR_LIMIT = 2.0


ARGUMENTS = (
    argument("file", metavar="FILE", help="recording: .mcap, .db3, folder of a ROS 2 bag, .csv or .npz"),
    argument("--robot", metavar="ROBOT",
             help="of this model, with its units and limits: name of a shipped robot, path, URI, - for stdin"),
    argument("--topic", help="topic of the joint states, if there are several"),
    argument("--joint", action="append", default=[], help="draw this joint only; may be given several times"),
    argument("--from", dest="begin", type=real(), default=-math.inf, metavar="S",
             help="time of the recording to begin with, s"),
    argument("--to", dest="end", type=real(), default=math.inf, metavar="S", help="and to end with"),
    argument("--out", type=Path, metavar="FILE", help="figure, .png, .svg or .pdf (default: the recording's name with "
             ".png, in the present folder)"),
    flag("--json", "print the figures as JSON"),
)  # fmt: skip


def run(args: argparse.Namespace) -> Answer:
    """Read and draw."""
    out: Path = args.out or Path(Path(args.file).resolve().stem + FIGURES[0])
    figure_file(out, "--out")
    if not args.begin < args.end:
        raise ArgumentError(f"--from {args.begin:g} is not before --to {args.end:g}")
    robot: RigidRobot | None = None
    if args.robot is not None:
        robot = closed(load_model(read_stdin() if args.robot == "-" else read_source(args.robot))).rigid
    recording = read_recording(args.file, topic=args.topic, joints=None if robot is None else robot.joint_names)
    joints = [_number(recording, joint) for joint in args.joint] or list(range(recording.n))
    shown = recording.between(args.begin, args.end)
    if not len(shown.t):
        raise ArgumentError(
            f"--from {args.begin:g} --to {args.end:g} leaves nothing of {recording.source}, which lasts from 0 to "
            f"{recording.t[-1]:g} s"
        )
    draw(out, shown, joints, robot)
    figures = _figures(shown, joints, robot) | {"figure": str(out)}
    units = MIXED if robot is None else units_of(robot)
    return Answer(figures, list(_parts(shown, figures, units)), written=[out])


def draw(path: Path, recording: Recording, joints: list[int], robot: RigidRobot | None) -> None:
    """Write a figure of positions, errors, efforts and their terms; raises as `canvas`."""
    names, t = recording.joint_names, recording.t
    units = (MIXED,) * recording.n if robot is None else joint_units(robot)
    shown, whole = panels(units, joints), recording.q.shape[1] == recording.n
    columns, units_q = (names, units) if whole else configuration(names, units)
    rows = joint_rows(
        "position", shown if whole else panels(units_q), columns, t, recording.q, width=WIDE,
        reference=recording.reference_q if whole else None,
    )  # fmt: skip
    if recording.error is not None:
        rows += joint_rows("error", shown, names, recording.error.t, 1e3 * recording.error.values, of=recording.q)
    efforts = recording.command if recording.effort is None else Series(t, recording.effort)
    if efforts is not None:
        label = "command" if recording.effort is None else "effort"
        rows += joint_rows(label, shown, names, efforts.t, efforts.values, unit="effort")
        limits = np.zeros(recording.n) if robot is None else robot.effort_limit
        rows[-len(shown) :] = [
            partial(_draw_with_limits, draw, panel, efforts, limits)
            for draw, panel in zip(rows[-len(shown) :], shown, strict=True)
        ]
    found = [term for term in TERMS if term in recording.torque]
    curves = [Curve(term, *recording.torque[term], {"color": TERMS[term]}) for term in found]
    if recording.effort is not None:
        curves.append(Curve("measured", t, recording.effort, {"color": INK}))
    cells = []
    if recording.torque:
        largest_effort = 0.0 if efforts is None else float(np.nanmax(np.abs(efforts.values), initial=0.0))
        cells = joint_cells(names, units, joints, curves, largest_effort)
    draw_stack(path, recording.source, (t[0], max(t[-1], t[0] + 1e-9)), rows, cells)


def _draw_with_limits(draw: Draw, panel: Panel, efforts: Series, limits: Array, axes: Any) -> None:
    """Draw efforts, and the limits that do not flatten the curves."""
    draw(axes)
    for j in panel.joints:
        limit = float(limits[j])
        if 0.0 < limit <= NEAR_LIMIT * float(np.nanmax(np.abs(efforts.values[:, j]), initial=0.0)):
            for sign in (-1.0, 1.0):
                axes.axhline(sign * limit, linestyle=":", color=color_of(j), linewidth=REFERENCE)


def _number(recording: Recording, joint: str) -> int:
    if joint not in recording.joint_names:
        known, owner = recording.joint_names, f"recording {recording.source}"
        raise ArgumentError(f"--joint: {unknown('joint', joint, known, owner)}")
    return recording.joint_names.index(joint)


def _figures(recording: Recording, joints: list[int], robot: RigidRobot | None) -> dict[str, Any]:
    """Errors and efforts of each joint as plain values; rad or m, N·m or N."""
    error, effort, columns = recording.error, recording.effort, dict[str, Array]()
    if error is not None and len(error.t):
        columns |= {
            "rms_error": np.ma.masked_invalid(error.values**2).mean(axis=0).filled(np.nan) ** 0.5,
            "largest_error": _largest(error.values),
        }
    if effort is not None:
        columns["largest_effort"] = _largest(effort)
        if robot is not None:
            columns["effort_limit"] = robot.effort_limit
    names = [recording.joint_names[j] for j in joints]
    rows = records(name=names, **{name: values[joints] for name, values in columns.items()})
    return {
        "recording": recording.source, "states": len(recording.t), "from": float(recording.t[0]),
        "to": float(recording.t[-1]), "topics": dict(recording.topics), "notes": list(recording.notes), "joints": rows,
    }


def _largest(values: Array) -> Array:
    """Largest magnitude in each column without its NaN; NaN where there is nothing else."""
    return np.asarray(np.fmax.reduce(np.abs(values), axis=0))


_HEADINGS = {
    "rms_error": "RMS error ({0.position})", "largest_error": "largest error",
    "largest_effort": "largest effort ({0.effort})", "effort_limit": "limit",
}


def _parts(recording: Recording, figures: dict[str, Any], units: Units) -> Iterator[str | Rows]:
    """The table, and where its numbers come from."""
    yield Line(f"{recording.source}: {len(recording.t)} states, {recording.t[0]:.3f} to {recording.t[-1]:.3f} s")
    names = [name for name in _HEADINGS if name in figures["joints"][0]]
    rows = [
        [row["name"], *("-" if row[k] is None else format(row[k], ".2e" if "error" in k else ".4g") for k in names)]
        for row in figures["joints"]
    ]
    yield Rows(("joint", *(_HEADINGS[name].format(units) for name in names)), rows)
    for topic in dict.fromkeys(recording.topics.values()):
        yield f"{', '.join(part for part, where in recording.topics.items() if where == topic)}: from {topic}"
    yield from (f"note: {note}" for note in recording.notes)
