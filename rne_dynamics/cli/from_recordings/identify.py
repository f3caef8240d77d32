"""`rne identify`: from logged motion to a model that predicts the torque, as files that all commands and nodes load."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from importlib.util import find_spec
from operator import add
from pathlib import Path
from typing import NamedTuple

from rne_dynamics.cli.answer import Answer, Verdict, check_files
from rne_dynamics.cli.arguments import (
    REPORT,
    ROBOT,
    argument,
    flag,
    payload,
    positive,
    robot_source,
    several,
)
from rne_dynamics.cli.from_recordings.identify_report import Findings, as_json, draw_efforts, tables
from rne_dynamics.cli.from_recordings.logs import LOG, load_arm, read_logs
from rne_dynamics.description.model_file import urdf_source
from rne_dynamics.description.sources import Source
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.output_file import output_file
from rne_dynamics.figures.tracking import units_of
from rne_dynamics.identification.columns import Friction, Layout
from rne_dynamics.identification.drive_gains import estimated_gains, with_gains
from rne_dynamics.identification.friction_choice import USUAL
from rne_dynamics.identification.identify import TRUST, Identified, identify
from rne_dynamics.identification.links import identified_robot, open_arm
from rne_dynamics.identification.model_files import write_model
from rne_dynamics.identification.motion import Motion, motion_of
from rne_dynamics.identification.residual import Residual, residual, summary
from rne_dynamics.identification.traps import traps
from rne_dynamics.identification.triangles import Triangles, triangles_of
from rne_dynamics.model.assembly import with_payload
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import Payload
from rne_dynamics.recording.recording import Recording

EXAMPLES = """\
examples:
  rne identify my_arm.urdf run1.npz run2.npz --validate run3.npz
  rne identify my_arm.urdf bag_folder --sensors joint         torque sensors behind the gears
  rne identify my_arm.urdf log.csv --columns t=time,q=q_*,tau=i_* --gains 12.1,11.8,9.2
  rne identify my_arm.urdf loaded.csv --reference empty.csv --load tool0=2.5      gains of currents, from a known load
  rne identify my_arm_identified.yaml loaded.npz --payload tool0

It writes:
  NAME_identified.urdf   the text of ROBOT with other inertias
  NAME_identified.yaml   names it, with friction and rotors; all commands and nodes load it
  NAME_identified.html   a report with plots, with matplotlib
With --payload they are NAME_payload.*, and only the payload is new.

exit code: 0 if the new model predicts better than ROBOT, 1 otherwise.
"""

#: Faults of a log with which the command ends; others are notes.
_FATAL = ("time", "degrees", "sign")
#: Largest scaled condition number for least squares.
LARGEST_CONDITION = 30.0
#: Trust for least squares, and for the model when a payload is found from loaded logs only.
_NO_PRIOR, _GOOD_MODEL = 100.0, 0.05

ARGUMENTS = (
    *ROBOT, *LOG,
    several("--validate", "LOG", "another motion, on which the new model is compared with ROBOT"),
    several("--reference", "LOG", "with --payload and --load: a log without that load"),
    argument("--trust", type=positive(10.0), help=f"relative standard deviation of ROBOT's inertias (default: {TRUST}; "
             f"with --payload and no --reference {_GOOD_MODEL})"),
    argument("--friction", choices=("auto", "coulomb", "stribeck"), default="auto",
             help="form of every joint's friction; auto: the one that predicts left-out parts best (default)"),
    argument("--method", choices=("consistent", "least-squares"), default="consistent",
             help="least-squares leaves ROBOT's inertias out of account, as far as bodies stay possible; only for "
             f"motions with a scaled condition number up to {LARGEST_CONDITION:g}"),
    argument("--load", metavar="LINK=KG", help="logs have currents, and a load of this mass: find the gains"),
    argument("--payload", metavar="LINK", help="find only a load on this link; the rest of ROBOT stays"),
    flag("--force", "go on where a log has a fault that makes the result worthless"),
    argument("--out", metavar="PATH", type=Path,
             help="path of the files, without ending (default: NAME_identified, with --payload NAME_payload)"),
    flag("--no-report", "write no report"), flag("--json", "print everything as JSON"),
    REPORT,
)  # fmt: skip


class _Models(NamedTuple):
    """A robot without and with the load that some logs have."""

    empty: RobotModel
    loaded: RobotModel

    def residuals(self, motions: Sequence[Motion]) -> list[Residual]:
        """Measured and predicted efforts of every motion."""
        return [residual(self.loaded if motion.loaded else self.empty, motion) for motion in motions]


def run(args: argparse.Namespace) -> Answer:
    """The identified model."""
    path, source = _path(args), _expanded(args)
    robot = open_arm(load_arm(args))
    load = payload("--load", args.load)
    if load is not None and (args.payload or args.gains):
        raise ArgumentError("--load finds gains of currents; leave out --payload and --gains, or --load")
    layout = Layout(robot, rotors=args.sensors == "motor", payload=load.link if load else args.payload)
    notes: list[str] = []
    motions = _motions(args, robot, notes, loaded=layout.payload is not None)
    checked = _motions(args, robot, notes, validation=True, loaded=layout.payload is not None)
    triangles, gains = reduce(add, (triangles_of(layout, m) for m in motions)), None
    if load is not None:
        gains = estimated_gains(triangles, load.mass, args.trust or TRUST)
        triangles = with_gains(triangles, gains.values)
        motions, checked = ([m._replace(effort=m.effort * gains.values) for m in part] for part in (motions, checked))
    found = _identified(args, triangles, load)
    if load is not None:
        written = write_model(found.without_payload(), source, path, args.command_line)
        before, after = _Models(robot, with_payload(robot, load)), _Models(written, identified_robot(found))
    else:
        written = write_model(found, source, path, args.command_line)
        before, after = _Models(robot, robot), _Models(robot if args.payload else written, written)
    pairs = {"training": (before.residuals(motions), after.residuals(motions))}
    if checked:
        pairs["validation"] = before.residuals(checked), after.residuals(checked)
    return _answer(args, Findings(found, gains, pairs, tuple(notes)), path)


def _expanded(args: argparse.Namespace) -> Source:
    """The URDF of ROBOT, as text that is changed; standard input is read once, and its text is ROBOT then."""
    source = robot_source(args)
    if args.robot == "-":
        args.robot = source.data.decode()
    return replace(urdf_source(source), lenient=args.lenient)


def _path(args: argparse.Namespace) -> Path:
    """Where files are written, without ending; --report is set where it is not given."""
    name = Path(args.robot).name if args.robot != "-" else "arm"
    for ending in (".xacro", ".urdf", ".yaml", ".yml"):
        name = name.removesuffix(ending)
    path: Path = args.out or Path(f"{name}_{'payload' if args.payload else 'identified'}")
    for ending in (".urdf", ".yaml"):
        output_file(path.with_name(path.name + ending), (), "--out")
    if args.report is None and not args.no_report and find_spec("matplotlib") is not None:
        args.report = path.with_name(f"{path.name}.html")
    check_files(args)
    return path


def _motions(
    args: argparse.Namespace, robot: RobotModel, notes: list[str], *, loaded: bool, validation: bool = False
) -> list[Motion]:
    """Motions of the logs, or those for validation; what is said of them is added to `notes`."""
    files = [args.validate] if validation else [args.log, args.reference]
    found = []
    for log, carries in [(log, loaded and k == 0) for k, part in enumerate(files) for log in _logs(args, part, robot)]:
        file = log.source
        notes += [f"{file}: {note}" for note in log.notes]
        for trap in traps(robot, log):
            text = f"{file}: {trap.text}; {trap.fix}"
            if trap.kind in _FATAL and not args.force:
                raise ArgumentError(f"{text} (--force goes on with the log as it is)")
            if not (args.load and trap.kind in ("scale", "joint")):
                notes.append(text)
        found.append(motion_of(log, args.band)._replace(loaded=carries))
    return found


def _logs(args: argparse.Namespace, files: Sequence[str], robot: RobotModel) -> list[Recording]:
    """Logs, read as those of LOG."""
    return read_logs(argparse.Namespace(**{**vars(args), "log": files}), robot)


def _identified(args: argparse.Namespace, triangles: Triangles, load: Payload | None) -> Identified:
    """The fit that the options ask for."""
    forms = {"auto": None, "coulomb": USUAL, "stribeck": Friction(USUAL.threshold, stribeck=True)}[args.friction]
    trust = args.trust or (_GOOD_MODEL if args.payload and not args.reference else TRUST)
    fit = partial(
        identify, triangles, forms=None if forms is None else (forms,) * triangles.layout.robot.n,
        payload_mass=None if load is None else load.mass,
    )  # fmt: skip
    found = fit(trust=trust)
    if args.method == "consistent":
        return found
    condition = found.base.condition
    if condition > LARGEST_CONDITION:
        raise ArgumentError(
            f"--method least-squares: the scaled condition number is {condition:.3g}, so least squares would fit this "
            f"motion and no other; it may be {LARGEST_CONDITION:g} at most: record a motion of `rne excite`, or leave "
            "--method out"
        )
    return fit(trust=_NO_PRIOR)


def _answer(args: argparse.Namespace, findings: Findings, path: Path) -> Answer:
    """Numbers, tables, plots and verdict."""
    robot = findings.found.layout.robot
    name = "validation" if "validation" in findings.pairs else "training"
    before, after = (summary(side).mean_norm for side in findings.pairs[name])
    unit = units_of(robot).effort
    where = "on other data" if name == "validation" else "on the logs themselves; give --validate LOG for another one"
    better = after < before
    text = f"mean norm of the residual {before:.3g} -> {after:.3g} {unit} {where}"
    if not better:
        text += f"; the given model of {robot.name!r} is better: keep it, and record a motion of `rne excite`"
    verdict = Verdict(better, text, {"before": before, "after": after})
    written = [path.with_name(path.name + ending) for ending in (".urdf", ".yaml")]
    values = as_json(findings) | {
        "files": [str(file) for file in written], "report": args.report and str(args.report),
        "verdict": verdict.as_plain(),
    }  # fmt: skip
    pictures = [
        (partial(draw_efforts, robot=robot, before=a, after=b), f"{a.source}: measured and predicted efforts")
        for a, b in zip(*findings.pairs[name], strict=True)
    ]  # fmt: skip
    return Answer(
        values, tables(findings), verdict, (),
        written, f"{robot.name}: identified from {', '.join(args.log)}", pictures,
    )  # fmt: skip
