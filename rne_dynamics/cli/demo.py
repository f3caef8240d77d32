"""`rne demo`: a simulated arm and its controller as two ROS 2 processes, and how well the arm tracked."""

from __future__ import annotations

import argparse
import json
import signal
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from rne_dynamics.cli.demo_moves import Plan, plan_moves
from rne_dynamics.cli.demo_plot import plot
from rne_dynamics.cli.demo_tracking import Tracking, evaluate
from rne_dynamics.cli.robot_argument import console
from rne_dynamics.closed_chain.assembly import assembled
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.sources import Source, is_model_file, read_source, read_stdin
from rne_dynamics.errors import ArgumentError, MissingDependencyError
from rne_dynamics.model.mechanism import Machine, Mechanism, open_tree
from rne_dynamics.model.tree import JointKind

EXAMPLES = """\
examples:
  rne demo
  rne demo --robot scara --seconds 6
  rne demo --robot my_arm.urdf --out my_arm.png --json
  rne demo --robot pantograph                    a mechanism with closed loops, from its model file

exit code: 0 if every joint's RMS error stayed below --tolerance, 1 if not or if something failed
"""

#: Bandwidth of the demo's controller, rad/s.
BANDWIDTH = 60.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--robot", default="puma560", metavar="FILE|NAME",
                        help="URDF or model file: path, URI or name of what ships, - for stdin (default: puma560)")
    parser.add_argument("--seconds", type=float, default=9.0, help="time of the three moves together (default: 9)")
    parser.add_argument("--rate", type=float, default=1000.0, help="joint states per second (default: 1000)")
    parser.add_argument("--out", type=Path, default=None, metavar="PNG",
                        help="where the plot goes (default: rne_demo_ROBOT.png; without matplotlib there is none)")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="largest RMS error, rad or m (default: 0.001)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the demo; 0 if the arm tracked."""
    if find_spec("rclpy") is None:
        raise MissingDependencyError(
            "the demo runs on ROS 2 and rclpy is not installed: pip install 'rne_dynamics[ros]', or source a ROS 2"
        )
    from rne_dynamics.ros import demonstration
    from rne_dynamics.ros.description import description_text

    if not 10.0 <= args.rate <= 5000.0:
        raise ArgumentError(f"--rate is {args.rate}; it must be between 10 and 5000 Hz")
    source = read_stdin() if args.robot == "-" else read_source(args.robot)
    robot = load_model(source)
    if isinstance(robot, Mechanism):
        robot = assembled(robot)
    plan = plan_moves(robot, args.seconds)
    session = demonstration.Session(
        _parameters(source, description_text), robot.joint_names, plan.moves[0].start, plan.moves,
        plan.effort_limit, args.rate, min(BANDWIDTH, 0.1 * args.rate),
    )
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"), TimeElapsedColumn(),
        console=None if not args.json else _stderr(),
    )
    # SIGTERM unwinds like Ctrl-C, so that simulator and controller never outlive the demo
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        with bar:
            task = bar.add_task("", total=1.0)
            recording = demonstration.run(
                session, lambda what, fraction: bar.update(task, description=what, completed=fraction)
            )
    finally:
        signal.signal(signal.SIGTERM, before)
    tracking = evaluate(recording, plan.moves, args.rate)
    picture = _picture(args.out, robot, tracking, recording)
    tracked = bool((tracking.rms < args.tolerance).all())
    report = figures(robot, plan, tracking, recording.ready, recording.simulator, tracked)
    report["plot"] = str(picture) if picture else None
    if args.json:
        print(json.dumps(report, indent=2))
    else:
        _print(robot, plan, tracking, args.tolerance, tracked, picture)
    return 0 if tracked else 1


def _parameters(source: Source, text: Callable[[Source], str]) -> dict[str, str]:
    """What tells the nodes the robot: a model file by its path, for it names a URDF beside it; else all the text."""
    if not is_model_file(source):
        return {"robot_description": text(source)}
    return {"model": source.data.decode() if source.name.startswith("<") else source.name}


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def figures(
    robot: Machine, plan: Plan, tracking: Tracking, ready: dict[str, float], simulator: dict[str, float],
    tracked: bool,
) -> dict[str, Any]:
    """All figures as plain values, SI units."""
    return {
        "robot": robot.name,
        "tracked": tracked,
        "joints": [
            {
                "name": name, "rms_error": float(tracking.rms[j]), "largest_error": float(tracking.largest[j]),
                "largest_effort": float(tracking.effort[j]), "effort_limit": float(plan.effort_limit[j]),
            }
            for j, name in enumerate(robot.joint_names)
        ],
        "rate": tracking.rate,
        "reply_latency_p50": tracking.latency_p50,
        "reply_latency_p99": tracking.latency_p99,
        "replies": tracking.answered,
        "missed_replies": tracking.missed,
        "overruns": int(simulator["overruns"]),
        "unheard_states": tracking.lost,
        "seconds_to_ready": ready,
    }


def _picture(out: Path | None, robot: Machine, tracking: Tracking, recording: Any) -> Path | None:
    """Write the plot; without matplotlib that is an error only where a file was asked for."""
    path = out or Path(f"rne_demo_{robot.name}.png")
    if not path.suffix:
        path = path.with_suffix(".png")
    try:
        plot(path, robot, tracking, recording)
    except MissingDependencyError as error:
        if out is not None:
            raise
        console().print(str(error))
        return None
    return path


def _print(
    robot: Machine, plan: Plan, tracking: Tracking, tolerance: float, tracked: bool, picture: Path | None
) -> None:
    out = console()
    table = Table("joint", title=f"{robot.name}: three quintic moves", title_justify="left")
    for heading in ("RMS error", "largest error", "largest effort", "limit", "used"):
        table.add_column(heading, justify="right")
    kinds = {joint.name: joint.kind for joint in open_tree(robot).tree.joints}
    for j, name in enumerate(robot.joint_names):
        length, force = ("m", "N") if kinds.get(name) is JointKind.PRISMATIC else ("rad", "N m")
        used = tracking.effort[j] / plan.effort_limit[j]
        table.add_row(
            name, f"{tracking.rms[j]:.2e} {length}", f"{tracking.largest[j]:.2e} {length}",
            f"{tracking.effort[j]:.2f} {force}", f"{plan.effort_limit[j]:.2f} {force}", f"{100.0 * used:.0f} %",
        )
    out.print(table)
    out.print(
        f"{tracking.rate:.1f} joint states per second held; reply latency p50 {1e3 * tracking.latency_p50:.2f} ms, "
        f"p99 {1e3 * tracking.latency_p99:.2f} ms; {tracking.missed} of {tracking.answered + tracking.missed} replies "
        "missed"
    )
    if picture:
        out.print(f"plot: {picture}")
    worst = int(np.argmax(tracking.rms))
    out.print(
        f"the arm tracked: every RMS error is below {tolerance:g}" if tracked else
        f"the arm did NOT track: joint {robot.joint_names[worst]!r} has an RMS error of {tracking.rms[worst]:.2e}, "
        f"allowed is {tolerance:g}"
    )


def _stderr() -> Console:
    return Console(stderr=True)
