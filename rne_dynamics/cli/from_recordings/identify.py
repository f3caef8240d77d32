"""`rne identify`: from logged motion to a model that predicts the torque, as files that all commands and nodes load."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from importlib.util import find_spec
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.cli.answer import Answer, Rows, Verdict, check_files, finite, records
from rne_dynamics.cli.arguments import REPORT, ROBOT, argument, flag, payload, positive, robot_source, several
from rne_dynamics.cli.from_recordings.residual import LOG, draw_efforts, joint_table, load_arm, read_logs, said
from rne_dynamics.description.model_file import urdf_source
from rne_dynamics.dynamics.friction import OWN
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.style import output_file
from rne_dynamics.figures.tracking import units_of
from rne_dynamics.identification.identify import TRUST, Gains, Identified, estimated_gains, identify
from rne_dynamics.identification.models import identified_payload, identified_robot, write_model
from rne_dynamics.identification.motion import Motion, Residual, joined, motions_of, residual
from rne_dynamics.identification.triangles import USUAL, Friction, Layout, structure, triangles_of
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
_FATAL = ("time", "degrees", "jump", "sign")
#: Trust in the model when a payload is found from loaded logs only.
_GOOD_MODEL = 0.05

#: Residuals of the given and of the new model, by "training" and "validation".
Pairs = Mapping[str, Sequence[Residual]]

ARGUMENTS = (
    *ROBOT, *LOG,
    several("--validate", "LOG", "another motion, on which the new model is compared with ROBOT"),
    several("--reference", "LOG", "with --payload and --load: a log without that load"),
    argument("--trust", type=positive(3.0), help=f"relative standard deviation of ROBOT's inertias (default: {TRUST}; "
             f"with --payload and no --reference {_GOOD_MODEL})"),
    argument("--friction", choices=("auto", "coulomb", "stribeck"), default="auto",
             help="form of every joint's friction; auto: the one that predicts left-out parts best (default)"),
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
    found = identify(triangles, trust=trust, forms=(form,) * robot.n if form else None,
                     payload_mass=load.mass if load else None)  # fmt: skip
    text = replace(urdf_source(source), lenient=args.lenient)
    written = write_model(found, text, path, args.command_line, payload_only=bool(args.payload))
    # without and with the load that some logs have
    before = (robot, robot.with_payload(load) if load else robot)
    after = (robot if args.payload else written, identified_robot(found) if load else written)
    parts = {"training": motions, "validation": checked}
    pairs = {name: [joined([residual(models[m.loaded], m) for m in part]) for models in (before, after)]
             for name, part in parts.items() if part}  # fmt: skip
    return _answer(args, found, gains, pairs, notes, path)


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


def _answer(
    args: argparse.Namespace, found: Identified, gains: Gains | None, pairs: Pairs, notes: list[str], path: Path
) -> Answer:
    """Numbers, tables, plots and verdict."""
    robot = found.layout.robot
    models = dict(zip(("given model", "identified model"), pairs.get("validation", pairs["training"]), strict=True))
    before, after = (side.norms[0] for side in models.values())
    where = "on other data" if args.validate else "on the logs themselves; give --validate LOG for another one"
    text = f"mean norm of the residual {before:.3g} -> {after:.3g} {units_of(robot).effort} {where}"
    if after >= before:
        text += f"; the given model of {robot.name!r} is better: keep it, and record a motion of `rne excite`"
    verdict = Verdict(after < before, text, {"before": before, "after": after})
    written = [path.with_name(path.name + ending) for ending in (".urdf", ".yaml")]
    values = _plain(found, gains, pairs) | {
        "notes": notes, "files": [str(file) for file in written], "report": args.report and str(args.report),
        "verdict": verdict.as_plain(),
    }  # fmt: skip
    picture = partial(draw_efforts, robot=robot, runs=models), "Measured and predicted efforts."
    title = f"{robot.name}: identified from {', '.join(args.log)}"
    return Answer(values, [*notes, *_tables(found, gains, pairs)], verdict, (), written, title, [picture])


def _plain(found: Identified, gains: Gains | None, pairs: Pairs) -> dict[str, Any]:
    """Plain values in SI units."""
    robot, base, names = found.layout.robot, found.base, found.layout.names
    deviations = np.sqrt(np.einsum("ij,jk,ik->i", base.combinations, found.covariance, base.combinations))
    combinations = [{name: k for name, k in zip(names, row, strict=True) if abs(k) > 1e-9}
                    for row in base.combinations.tolist()]  # fmt: skip
    sides = {
        name: {
            "mean_norm": after.norms[0], "mean_norm_before": before.norms[0], "logs": list(after.sources),
            "joints": records(name=robot.joint_names, rms=new["rms"], rms_before=old["rms"], bias=new["bias"],
                              bias_before=old["bias"], rms_measured=new["measured"]),
        } for name, (before, after) in pairs.items() for old, new in [(before.columns(), after.columns())]
    }  # fmt: skip
    every = records(name=names, value=found.parameters, deviation=found.deviations, before=found.layout.given,
                    source=np.where(found.from_data, "data", "URDF"))  # fmt: skip
    drives = None if gains is None else records(value=gains.values, relative_deviation=gains.deviations)
    return {
        "robot": robot.name, "joints": list(robot.joint_names), **sides,
        "friction": records(joint=robot.joint_names, threshold=[form.threshold for form in found.forms],
                            stribeck=[form.stribeck for form in found.forms]),
        "parameters": [row for row, used in zip(every, found.layout.used(found.forms), strict=True) if used],
        "base_parameters": {
            "count": len(structure(robot, rotors=found.layout.rotors).kept), "from_data": len(base.kept),
            "scaled_condition": finite(base.condition),
            "values": records(combination=combinations, value=base.combinations @ found.parameters,
                              deviation=deviations),
        },
        "corrected": list(found.corrected), "payload": _payload(found),
        "gains": drives and dict(zip(robot.joint_names, drives, strict=True)),
    }  # fmt: skip


def _payload(found: Identified) -> dict[str, Any] | None:
    """The payload in its link's frame, with the deviation of its mass, and how many of its parameters data say."""
    load, own = identified_payload(found), slice(found.layout.links - 10, found.layout.links)
    return None if load is None else {
        "link": load.link, "mass": load.mass, "mass_deviation": float(found.deviations[own][0]),
        "com": np.asarray(load.com).tolist(), "inertia": np.asarray(load.inertia).tolist(),
        "parameters_from_data": int(found.from_data[own].sum()),
    }  # fmt: skip


def _tables(found: Identified, gains: Gains | None, pairs: Pairs) -> Iterator[str | Rows]:
    """Residuals of every joint; then masses and first moments of bodies, friction and rotors of joints."""
    layout, robot, load = found.layout, found.layout.robot, _payload(found)
    used = layout.used(found.forms)
    yield (f"{len(found.base.kept)} of {used.sum()} parameters and combinations are seen in the logs; scaled condition "
           f"number {found.base.condition:.3g}.")  # fmt: skip
    if found.corrected:
        yield ("In the given model these bodies cannot be (mass or moments of inertia of no body); a corrected one was "
               f"the start: {', '.join(found.corrected)}.")  # fmt: skip
    for name, (before, after) in pairs.items():
        old, new = before.columns(), after.columns()
        shown = {"effort RMS": new["measured"], "residual before": old["rms"], "after": new["rms"],
                 "% of effort": 100.0 * new["share"], "bias": new["bias"]}  # fmt: skip
        table = joint_table(robot, "on other data (--validate)" if name == "validation" else "on the logs", shown)
        norms = (f"{norm:.3g}" for norm in (after.norms[1], before.norms[0], after.norms[0]))
        yield table._replace(rows=[*table.rows, ["mean norm", *norms, "", ""]])
    if gains is not None:
        columns = {"drive gain, effort over current": gains.values, "relative deviation": gains.deviations}
        yield joint_table(robot, "drives", columns)
    if load is not None:
        yield Rows(("payload on", "mass (kg)", "deviation", "mass centre (m)"), [[
            load["link"], f"{load['mass']:.4g}", f"{load['mass_deviation']:.2g}",
            "  ".join(f"{x:.4f}" for x in load["com"])]])  # fmt: skip
    if load is not None and gains is None:
        return
    rows = zip(found.parameters, found.deviations, found.from_data, strict=True)
    cells = np.where(used, [f"{x:.3g} ± {d:.2g}{'' if known else ' *'}" for x, d, known in rows], "-").tolist()
    bodies = [[body, f"{layout.given[10 * i]:.3g}", *cells[10 * i : 10 * i + 4]]
              for i, body in enumerate(robot.body_names)]  # fmt: skip
    title = "bodies, named by their joints; *: rather from the given model than from data"
    yield Rows(("body", "mass before (kg)", "mass", "m cx (kg m)", "m cy", "m cz"), bodies, title)
    own = dict(zip(OWN, np.reshape(cells[layout.links :], (-1, len(OWN))).T.tolist(), strict=True))
    yield joint_table(robot, "joints, SI units", own | {"threshold": [f"{x.threshold:g}" for x in found.forms]},
                      "position")  # fmt: skip
