"""`rne identify`: from logged motion to a model that predicts the torque, as files that all commands and nodes load."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from importlib.util import find_spec
from operator import add
from pathlib import Path

from rne_dynamics.cli.answer import Answer, Verdict, check_files
from rne_dynamics.cli.arguments import REPORT, ROBOT, argument, flag, payload, positive, robot_source, several
from rne_dynamics.cli.from_recordings.identify_report import Findings, as_json, draw, tables
from rne_dynamics.cli.from_recordings.logs import LOG, load_arm, read_logs, said
from rne_dynamics.description.model_file import urdf_source
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.output_file import output_file
from rne_dynamics.figures.tracking import units_of
from rne_dynamics.identification.identify import TRUST, estimated_gains, identify
from rne_dynamics.identification.models import identified_robot, write_model
from rne_dynamics.identification.motion import Motion, Residual, joined, motions_of, residual
from rne_dynamics.identification.triangles import USUAL, Friction, Layout, triangles_of
from rne_dynamics.model.robot import RobotModel

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
_NO_PRIOR, _GOOD_MODEL = 30.0, 0.05

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


def run(args: argparse.Namespace) -> Answer:
    """The identified model."""
    path, source = _path(args), robot_source(args)
    if args.robot == "-":
        args.robot = source.data.decode()  # standard input is read once
    robot, load, notes, gains = load_arm(args), payload("--load", args.load), list[str](), None
    if load is not None and (args.payload or args.gains):
        raise ArgumentError("--load finds gains of currents; leave out --payload and --gains, or --load")
    layout = Layout(robot, rotors=args.sensors == "motor", payload=load.link if load else args.payload)
    motions = _motions(args, robot, notes, args.log, loaded=True) + _motions(args, robot, notes, args.reference)
    checked = _motions(args, robot, notes, args.validate, loaded=True)
    triangles = reduce(add, (triangles_of(layout, motion) for motion in motions))
    if load is not None:
        gains = estimated_gains(triangles, load.mass, args.trust or TRUST)
        triangles = triangles.with_gains(gains.values)
        motions, checked = ([m._replace(effort=m.effort * gains.values) for m in part] for part in (motions, checked))
    form = {"auto": None, "coulomb": USUAL, "stribeck": Friction(USUAL.threshold, stribeck=True)}[args.friction]
    trust = args.trust or (_GOOD_MODEL if args.payload and not args.reference else TRUST)
    fit = partial(identify, triangles, forms=(form,) * robot.n if form else None,
                  payload_mass=load.mass if load else None)  # fmt: skip
    found = fit(trust=trust)
    if args.method == "least-squares":
        _check_condition(found.base.condition)
        found = fit(trust=_NO_PRIOR)
    text = replace(urdf_source(source), lenient=args.lenient)
    written = write_model(found, text, path, args.command_line, payload_only=bool(args.payload))
    # without and with the load that some logs have
    before = (robot, robot.with_payload(load) if load else robot)
    after = (robot if args.payload else written, identified_robot(found) if load else written)

    def along(models: tuple[RobotModel, RobotModel], part: Sequence[Motion]) -> Residual:
        return joined([residual(models[motion.loaded], motion) for motion in part])

    parts = {"training": motions, "validation": checked}
    pairs = {name: (along(before, part), along(after, part)) for name, part in parts.items() if part}
    return _answer(args, Findings(found, gains, pairs, tuple(notes)), path)


def _check_condition(condition: float) -> None:
    """`ArgumentError` where least squares would fit this motion and no other."""
    if condition > LARGEST_CONDITION:
        raise ArgumentError(
            f"--method least-squares: the scaled condition number is {condition:.3g}; it may be {LARGEST_CONDITION:g} "
            "at most. Record a motion of `rne excite`, or leave --method out"
        )


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
    args: argparse.Namespace, robot: RobotModel, notes: list[str], files: Sequence[str], *, loaded: bool = False
) -> list[Motion]:
    """Motions of logs; what is said of them is added to `notes`."""
    found = []
    for log, faults in read_logs(args, robot, files):
        for trap in faults:
            if trap.kind in _FATAL and not args.force:
                raise ArgumentError(f"{log.source}: {trap.text}; {trap.fix} (--force goes on with the log as it is)")
        notes += said(log, [trap for trap in faults if not args.load or trap.kind != "scale"])
        found += [motion._replace(loaded=loaded) for motion in motions_of(log, args.band)]
    return found


def _answer(args: argparse.Namespace, findings: Findings, path: Path) -> Answer:
    """Numbers, tables, plots and verdict."""
    robot, other = findings.found.layout.robot, "validation" in findings.pairs
    pair = findings.pairs["validation" if other else "training"]
    before, after = (side.norms[0] for side in pair)
    where = "on other data" if other else "on the logs themselves; give --validate LOG for another one"
    text = f"mean norm of the residual {before:.3g} -> {after:.3g} {units_of(robot).effort} {where}"
    if after >= before:
        text += f"; the given model of {robot.name!r} is better: keep it, and record a motion of `rne excite`"
    verdict = Verdict(after < before, text, {"before": before, "after": after})
    written = [path.with_name(path.name + ending) for ending in (".urdf", ".yaml")]
    values = as_json(findings) | {
        "files": [str(file) for file in written], "report": args.report and str(args.report),
        "verdict": verdict.as_plain(),
    }  # fmt: skip
    picture = partial(draw, robot=robot, pair=pair), "Measured and predicted efforts."
    title = f"{robot.name}: identified from {', '.join(args.log)}"
    return Answer(values, list(tables(findings)), verdict, (), written, title, [picture])
