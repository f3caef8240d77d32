"""`rne excite`: a motion that excites all parameters of an arm, to record for `rne identify`."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.cli.answer import Answer, Line, check_files, progress
from rne_dynamics.cli.arguments import MOST_SAMPLED, REPORT, ROBOT, argument, flag, load_robot, positions, real, several
from rne_dynamics.cli.from_recordings.residual import SENSORS, joint_table
from rne_dynamics.dispatch import inverse_dynamics
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.style import output_file
from rne_dynamics.figures.tracking import draw_stack, joint_rows, joint_units, panels
from rne_dynamics.identification.excitation import SCALE, Excitation, excite
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.recording.yaml_files import write_trajectory

EXAMPLES = """\
examples:
  rne excite panda --scale 0.3 --budget 2 --out first.yaml   a small first motion
  rne excite panda --box panda_joint2=-30deg,60deg --plot excite.png
  rne excite my_arm.urdf --seconds 20 --harmonics 7 --sensors joint

Collisions of the arm with itself and its surroundings are not known: bound the joints with --box, simulate and watch
the motion, and run it at low speed first. Identify with the recording of the first motion, and repeat with the new
model and a larger --scale.

exit code: 0 if the file is written, 1 if not
"""
#: Largest path tolerance that is advised, rad or m, and as part of the motion's way.
_TOLERANCE, _PART = 0.1, 0.2
#: Condition number above which one motion is not enough.
_LARGE = 30.0

ARGUMENTS = (
    *ROBOT,
    several("--box", "JOINT=LOW,HIGH", "range of a joint that is free of collisions: rad or m, or with a unit (90deg, "
            "20mm); others have their limits. The motion starts at zero, or as near as the middle half of the range"),
    argument("--seconds", type=real(1.0, 600.0, "s"), default=10.0, metavar="S", help="duration (default: 10)"),
    argument("--harmonics", type=real(2, 20, whole=True), default=5, metavar="N",
             help="of the Fourier series (default: 5)"),
    argument("--scale", type=real(0.01, 1.0), default=SCALE, metavar="FRACTION",
             help=f"part of the ranges of position and velocity that is used (default: {SCALE:g})"),
    SENSORS,
    argument("--budget", type=real(1e-3, 3600.0, "s"), default=30.0, metavar="S",
             help="time of the search (default: 30)"),
    argument("--seed", type=real(0, 2**31, whole=True), default=0, help="of the random motions (default: 0)"),
    argument("--out", metavar="FILE", help="trajectory, .yaml (default: the robot's name with _excite.yaml)"),
    argument("--plot", metavar="FILE", help="figure (.png, .svg, .pdf); needs matplotlib"),
    REPORT,
    flag("--json", "print the figures as JSON"),
)  # fmt: skip


def run(args: argparse.Namespace) -> Answer:
    """Search, and write the trajectory."""
    robot = load_robot(args, MOST_SAMPLED).rigid
    out = output_file(args.out or f"{robot.name}_excite.yaml", (".yaml", ".yml"), "--out")
    check_files(args)
    box = dict(_range(text, robot) for text in args.box)
    with progress(quiet=args.json) as show:
        found = excite(robot, seconds=args.seconds, harmonics=args.harmonics, scale=args.scale, box=box,
                       rotors=args.sensors == "motor", budget=args.budget, seed=args.seed, progress=show)  # fmt: skip
    write_trajectory(out, found.trajectory, args.command_line)
    q = found.trajectory.positions
    way, columns = np.ptp(q, axis=0), {"start": q[0], "least": q.min(axis=0), "largest": q.max(axis=0)}
    tolerance = min(_TOLERANCE, float(f"{_PART * way.min():.2g}"))
    step = rne(f"send --trajectory {out} --path-tolerance {tolerance:g}")
    used = dict(zip(("position", "velocity", "effort"), found.used, strict=True))
    values = {
        "robot": robot.name, "file": str(out), "condition": found.condition, "random": found.random,
        "parameters": found.parameters, "seconds": args.seconds, "scale": args.scale,
        "start": dict(zip(robot.joint_names, q[0].tolist(), strict=True)), "way": way.tolist(),
        "used": {name: part.tolist() for name, part in used.items()}, "path_tolerance": tolerance, "next": step,
    }  # fmt: skip
    said = (f"scaled condition number {found.condition:.2f} of {found.parameters} parameters; best random motion "
            f"{found.random:.1f}")  # fmt: skip
    if found.condition > _LARGE:
        said += f". Above {_LARGE:g} little is found of some: later, with more range, --scale or --seconds, of all"
    title = f"{robot.name}: motion of {args.seconds:g} s, percent of the bounds for --scale {args.scale:g}"
    columns |= {f"{name} %": 100.0 * part for name, part in used.items()}
    return Answer(
        values, [joint_table(robot.open_tree, title, columns, "position"), said,
                 "Collisions are not checked. Next, with the controller running and a recorder:", Line(f"  {step}")],
        written=[out], title=f"Excitation of {robot.name}",
        pictures=[(lambda path: draw(path, robot, found), "The motion, with efforts of the model")],
    )  # fmt: skip


def _range(text: str, robot: RigidRobot) -> tuple[str, tuple[float, float]]:
    """The joint and range of one --box; raises as `positions`."""
    name, _, bounds = text.rpartition("=")
    if not name or bounds.count(",") != 1:
        raise ArgumentError(f"--box is {text!r}; write JOINT=LOW,HIGH, as --box {robot.joint_names[0]}=-0.5,0.5")
    low, high = (positions("--box", [f"{name}={bound}"], robot)[name] for bound in bounds.split(","))
    return name, (low, high)


def draw(path: Path, robot: RigidRobot, found: Excitation) -> None:
    """Write a figure of the motion and of the efforts that the model needs for it; raises as `canvas`."""
    time = np.linspace(0.0, found.trajectory.duration, 501)
    q, qd, qdd = np.moveaxis(found.trajectory.samples(time), 1, 0)
    effort = inverse_dynamics(robot, q, qd, qdd) + friction_torque(robot, qd)
    shown, names = panels(joint_units(robot)), robot.joint_names
    rows = [
        draw for label, values in (("position", q), ("velocity", qd), ("effort", effort))
        for draw in joint_rows(label, shown, names, time, values)
    ]  # fmt: skip
    draw_stack(path, f"{robot.name}: excitation, condition number {found.condition:.1f}", (0.0, time[-1]), rows)
