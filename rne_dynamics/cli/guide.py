"""`rne guide`: a simulated arm under gravity compensation, in two ROS 2 processes, pushed by a scripted hand."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.cli.demo_moves import start_inside
from rne_dynamics.cli.guide_report import Guided, evaluate, figures, plot, print_guided, verdict
from rne_dynamics.cli.numbers import real
from rne_dynamics.cli.overview import require_ros
from rne_dynamics.cli.robot_argument import add_robot, assignments, robot_source
from rne_dynamics.cli.ros_nodes import node_parameters
from rne_dynamics.cli.terminal import console, ended_by_sigterm, progress_bar
from rne_dynamics.description.share import share_file, shipped_models, shipped_robots
from rne_dynamics.dispatch import gravity_torque
from rne_dynamics.errors import ArgumentError, MissingDependencyError, ModelError
from rne_dynamics.figures.output_file import FIGURES, output_file
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.simulation.runs.push import Push, gentle_push, parse_push

if TYPE_CHECKING:
    from rne_dynamics.ros.guiding import Guidance

EXAMPLES = """\
examples:
  rne guide puma560
  rne guide my_arm.urdf --payload tool0=1.5
  rne guide panda --push panda_link8=0,0,-3@0.2..0.8 --push panda_link4=0,10,0@1..1.5
  rne guide my_arm.urdf --config my_arm.yaml --out guided.png --json

A push is LINK=FX,FY,FZ@BEGIN..END: N at the link's origin in its axes, s. Without --push the last link is pushed for
0.5 s, with up to 40 N and as gently as moves some joint by 0.05 rad or m.

exit code: 0 if the arm was held, followed the push, and came to rest or slows down, 1 if not or if something failed
"""
#: Recorded after the last push, s.
AFTER = 3.0
#: Parameters of hardware that a simulated arm does not have.
OF_HARDWARE = ("hardware_compensates", "effort_scale.", "drives.topic", "base_motion.", "realtime_priority",
               "cpu_affinity", "lock_memory")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("--push", action="append", default=[], metavar="LINK=FX,FY,FZ@T..T",
                        help="a push in the link's axes, N and s; may be given several times")
    parser.add_argument("--start", action="append", default=[], metavar="JOINT=VALUE",
                        help="start position of a joint, rad or m; others start at zero or inside their limits")
    parser.add_argument("--payload", metavar="LINK=KG", help="a point mass on a link, in the arm and in the model")
    parser.add_argument("--config", type=Path, metavar="FILE",
                        help="parameter file of the nodes (default: that of a shipped robot)")
    parser.add_argument("--rate", type=real(50.0, 5000.0, "Hz"),
                        help="joint states per second (default: the config's, or 1000)")
    parser.add_argument("--after", type=real(0.5, 60.0, "s"), default=AFTER, metavar="SECONDS",
                        help=f"time to record after the last push (default: {AFTER:g})")
    parser.add_argument("--out", type=Path, metavar="FILE",
                        help="file of the plot, PNG, SVG or PDF (default: guide_ARM.png; none without matplotlib)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    """Guide the arm; 0 if it was held and guided."""
    require_ros("guide")
    from rne_dynamics.ros import guiding

    guidance, robot = _guidance(args)
    path = _plot_path(args.out, robot)
    with ended_by_sigterm(), progress_bar() as bar:
        task = bar.add_task("", total=1.0)
        done = guiding.run(guidance, lambda what, part: bar.update(task, description=what, completed=part))
    guided = None if done.recording is None else evaluate(robot, guidance.start, guidance.pushes, done.recording)
    good, text = verdict(robot, guidance.pushes, guided, done.states, done.message)
    plotted = None if guided is None else _plot(path, args.out is not None, robot, guidance.pushes, guided)
    if args.json:
        print(json.dumps(figures(robot, guidance.pushes, guided, good=good, text=text, plot=plotted), indent=2))
        return 0 if good else 1
    out = console()
    if guided is not None:
        print_guided(out, robot, guidance.pushes, guided)
    if plotted:
        out.print(f"plot: {plotted}")
    out.print(text)
    return 0 if good else 1


def _guidance(args: argparse.Namespace) -> tuple[Guidance, RigidRobot]:
    """The session, and the robot as the nodes have it."""
    from rne_dynamics.ros.common_parameters import COMMON, payload
    from rne_dynamics.ros.described_robot import load_robot
    from rne_dynamics.ros.guiding import CONTROLLER, NAMESPACE, SIMULATOR, Guidance
    from rne_dynamics.ros.parameter_files import settings_for

    names, file = (CONTROLLER, SIMULATOR), _config(args)
    given = {name: settings_for(str(file), f"{NAMESPACE}/{name}") if file else {} for name in names}
    if args.config is not None and not any(given.values()):
        raise ArgumentError(
            f"--config {file} has no settings for gravity_compensation or simulator; their keys are "
            "/**/gravity_compensation and /**/simulator, or /** for all nodes"
        )
    own: dict[str, Any] = {**node_parameters(robot_source(args)), **_payload(args.payload)}
    parameters = {name: _without(given[name], own) | own for name in names}
    controller = parameters[CONTROLLER]
    for key in ("joints", "gravity", *(k for k in controller if k.startswith("payload."))):
        if key in controller:  # arm and model are the same here
            parameters[SIMULATOR][key] = controller[key]
    described = load_robot(
        str(own.get("model", "")), str(own.get("robot_description", "")),
        tuple(map(str, controller.get("joints", ()))), tuple(map(float, controller.get("gravity", ()))),
    )
    mass = {p.name: controller.get(p.name, p.default) for p in COMMON if p.name.startswith("payload.")}
    robot = described.robot.rigid.with_payload(payload(mass))
    if not robot.n or robot.nq != robot.n:
        raise ModelError(f"robot {robot.name!r} has no joint or a floating one; guiding needs driven joints")
    rate = float(args.rate or parameters[SIMULATOR].get("rate", 1000.0))
    if not 50.0 <= rate <= 5000.0:
        raise ArgumentError(f"--rate is {rate:g}; it must be between 50 and 5000 Hz")
    start = _start(args, robot, parameters[SIMULATOR])
    _check_strength(robot, start)
    pushes = tuple(parse_push(text, robot) for text in args.push) or (gentle_push(robot, start),)
    seconds = max(push.end for push in pushes) + args.after
    return Guidance(parameters, robot.joint_names, start, pushes, seconds, rate), robot


def _check_strength(robot: RigidRobot, start: Array) -> None:
    """Refuse an arm whose motors cannot hold it at its start."""
    gravity = np.abs(gravity_torque(robot, start))
    limit = np.where(robot.effort_limit > 0.0, robot.effort_limit, np.inf)
    if (gravity > limit).any():
        j = int(np.argmax(gravity / limit))
        raise ModelError(
            f"joint {robot.joint_names[j]!r} needs {gravity[j]:.4g} to hold the arm at its start; its effort limit is "
            f"{limit[j]:.4g}. Take a lighter payload or another posture (--start), or `{rne('check')}`"
        )


def _config(args: argparse.Namespace) -> Path | None:
    """The parameter file: the one named, or the shipped one of a robot that ships."""
    if args.config is None and args.robot in (*shipped_robots(), *shipped_models()):
        return share_file(f"config/{args.robot}.yaml")
    config: Path | None = args.config
    return config


def _without(given: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Settings without those of hardware, and without those that the command line gives."""
    mine = {"robot_description", "model", *own}
    if "payload.link" in own:
        mine |= {"payload.com", "payload.inertia"}
    return {k: v for k, v in given.items() if k not in mine and not k.startswith(OF_HARDWARE)}


def _payload(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    ((link, mass),) = assignments("--payload", [text]).items()
    if mass < 0.0:
        raise ArgumentError(f"--payload is {text!r}; the mass must not be negative")
    return {"payload.link": link, "payload.mass": mass}


def _start(args: argparse.Namespace, robot: RigidRobot, parameters: dict[str, Any]) -> Array:
    """Start position: of the command line, the parameter file, or inside the limits."""
    start, _ = start_inside(robot)
    prefix = "initial_position."
    configured = {k.removeprefix(prefix): float(v) for k, v in parameters.items() if k.startswith(prefix)}
    known = {name: value for name, value in configured.items() if name in robot.joint_names}
    for name, value in (known | assignments("--start", args.start)).items():
        j = robot.joint_index(name)
        if not robot.lower[j] <= value <= robot.upper[j]:
            raise ArgumentError(f"joint {name!r} starts at {value:g}; its limits are [{robot.lower[j]:.6g}, "
                                f"{robot.upper[j]:.6g}]")
        start[j] = value
    return np.array(start)


def _plot_path(out: Path | None, robot: RigidRobot) -> Path:
    """The file of the plot; refused before the run if it cannot be written."""
    path = out or Path(f"guide_{robot.name}.png")
    path = path if path.suffix else path.with_suffix(".png")
    return output_file(path, FIGURES, "--out")


def _plot(path: Path, wanted: bool, robot: RigidRobot, pushes: tuple[Push, ...], guided: Guided) -> str | None:
    """Write the plot; without matplotlib this is an error only if --out is given."""
    try:
        plot(path, robot, pushes, guided)
    except MissingDependencyError as error:
        if wanted:
            raise
        console().print(str(error))
        return None
    return str(path)
