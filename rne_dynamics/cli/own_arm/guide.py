"""`rne guide`: a simulated arm under gravity compensation, in two ROS 2 processes, pushed by a scripted hand."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.cli.answer import Answer, ended_by_sigterm, plot_file, plot_if_possible, progress
from rne_dynamics.cli.arguments import (
    MOST_SAMPLED,
    PAYLOAD,
    ROBOT,
    argument,
    check_size,
    flag,
    node_parameters,
    payload,
    positions,
    real,
    report_left_out,
    robot_source,
    several,
)
from rne_dynamics.cli.own_arm.guide_report import (
    evaluate_guided,
    guiding_figures,
    guiding_verdict,
    plot_guided,
)
from rne_dynamics.cli.simulated.report import joint_table
from rne_dynamics.cli.with_ros.moves import start_posture
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.description.share import share_file, shipped_models, shipped_robots
from rne_dynamics.dispatch import gravity_torque
from rne_dynamics.errors import ArgumentError, ModelError
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.runs.push import gentle_push, parse_push

if TYPE_CHECKING:
    from rne_dynamics.ros.sessions.guiding import Guidance

EXAMPLES = """\
examples:
  rne guide puma560
  rne guide my_arm.urdf --payload tool0=1.5
  rne guide panda --push panda_link8=0,0,-3@0.2..0.8 --push panda_link4=0,10,0@1..1.5
  rne guide my_arm.urdf --config my_arm.yaml --out guided.png --json

A push is LINK=FX,FY,FZ@BEGIN..END: N at the link's origin in its axes, s. Without --push the last link that
a push can move is pushed for up to 0.5 s, as gently as moves some joint by 0.05 rad or m, within the limits of
velocity and effort.

The last line says whether the arm was guided; if not, why.

exit code: 0 if the arm was held, moved as it was pushed, and stayed or slows down, 1 if not or if something failed
"""
#: Recorded after the last push, s.
AFTER = 3.0


ARGUMENTS = (
    *ROBOT,
    several("--push", "LINK=FX,FY,FZ@T..T", "a push in the link's axes, N and s; may be given several times"),
    several("--start", "JOINT=VALUE", "start position of a joint: rad or m, or with a unit (90deg, 20mm); others start "
            "at zero or inside their limits"),
    PAYLOAD,
    argument("--config", type=Path, metavar="FILE",
             help="parameter file of the nodes (default: that of a shipped robot)"),
    argument("--rate", type=real(50.0, 5000.0, "Hz"), help="joint states per second (default: the config's, or 1000)"),
    argument("--after", type=real(0.5, 60.0, "s"), default=AFTER, metavar="SECONDS",
             help=f"time to record after the last push (default: {AFTER:g})"),
    argument("--out", type=Path, metavar="FILE",
             help="file of the plot, PNG, SVG or PDF (default: guide_ARM.png; none without matplotlib)"),
    flag("--json", "print the figures as JSON"),
)  # fmt: skip


def run(args: argparse.Namespace) -> Answer:
    """Guide the arm; it passes if it was held and guided."""
    from rne_dynamics.ros.sessions import guiding

    guidance = _guidance(args)
    path = plot_file(args.out, f"guide_{guidance.robot.name}.png")
    with ended_by_sigterm(), progress() as update:
        done = guiding.run(guidance, update)
    guided = None if done.recording is None else evaluate_guided(guidance, done.recording)
    plotted = None
    if guided is not None:
        draw = partial(plot_guided, robot=guidance.robot, pushes=guidance.pushes, guided=guided)
        plotted = plot_if_possible(path, draw, wanted=args.out is not None)
    verdict = guiding_verdict(guidance, guided, done)
    values = guiding_figures(guidance, guided, verdict, plot=plotted)
    title = f"{guidance.robot.name}: pushed by hand, {', '.join(values['pushes'])}"
    table = [joint_table(guidance.robot, values["joints"], title)] if values["joints"] else []
    return Answer(values, table, verdict, written=[plotted])


def _guidance(args: argparse.Namespace) -> Guidance:
    """The session; the settings of its controller are those that the node makes of the same parameters."""
    from rne_dynamics.ros.gravity_compensation import SCHEMA
    from rne_dynamics.ros.node.robot import load_robot
    from rne_dynamics.ros.parameters.controller import controller_settings
    from rne_dynamics.ros.parameters.table import payload as payload_of
    from rne_dynamics.ros.sessions.demonstration import ArmConfig
    from rne_dynamics.ros.sessions.guiding import CONTROLLER, NAMESPACE, SIMULATOR, Guidance

    file: Path | None = args.config
    if file is None and args.robot in (*shipped_robots(), *shipped_models()):
        file = share_file(f"config/{args.robot}.yaml")
    given: dict[str, Any] = {"model": "", "robot_description": "", **node_parameters(robot_source(args))}
    config = ArmConfig("", {}, {}) if file is None else ArmConfig.read(
        file, f"{NAMESPACE}/{CONTROLLER}", f"{NAMESPACE}/{SIMULATOR}"
    )  # fmt: skip
    report_left_out("guide", config.left_out)
    loaded = payload("--payload", args.payload)
    if loaded is not None:
        given |= {"payload.link": loaded.link, "payload.mass": loaded.mass, "payload.com": [0.0] * 3,
                  "payload.inertia": [0.0] * 6}
    config = config.with_parameters(given)
    joints, gravity = (config.controller.get(name, ()) for name in ("joints", "gravity"))
    robot = load_robot(
        given["model"], given["robot_description"], tuple(map(str, joints)), tuple(map(float, gravity))
    ).robot.rigid
    check_size(robot, MOST_SAMPLED)
    if not robot.n or robot.nq != robot.n:
        raise ModelError(f"robot {robot.name!r} has no joint or a floating one; guiding needs driven joints")
    values = config.values(robot, SCHEMA)
    robot = robot.with_payload(payload_of(values))
    settings = controller_settings(robot, values, law=None, damping="gains.{joint}.d")
    rate = float(args.rate or config.simulator.get("rate", 1000.0))
    if not 50.0 <= rate <= 5000.0:
        raise ArgumentError(f"--rate is {rate:g}; it must be between 50 and 5000 Hz")
    start = _start(args, settings, config.simulator)
    _check_strength(settings, start)
    friction = bool(config.simulator.get("friction", True))
    given_pushes = tuple(parse_push(text, robot) for text in args.push)
    pushes = given_pushes or (gentle_push(settings, start, friction=friction).push,)
    return Guidance(config, settings, friction, start, pushes, max(push.end for push in pushes) + args.after, rate)


def _check_strength(settings: Settings, start: Array) -> None:
    """Refuse an arm whose motors cannot hold it at its start."""
    if "gravity" in settings.compensated:
        return
    robot, limit = settings.robot, settings.limits.effort
    gravity = np.abs(gravity_torque(robot, start))
    if (gravity > limit).any():
        j = int(np.argmax(gravity / limit))
        raise ModelError(
            f"joint {robot.joint_names[j]!r} needs {gravity[j]:.4g} to hold the arm at its start; its effort limit is "
            f"{limit[j]:.4g}. Take a lighter payload or another posture (--start), or `{rne('check')}`"
        )


def _start(args: argparse.Namespace, settings: Settings, parameters: Mapping[str, Any]) -> Array:
    """Start position: of the command line, the parameter file, or inside the limits."""
    robot, limits = settings.robot, settings.limits
    start = start_posture(robot, limits.margin)
    places = {f"initial_position.{name}": name for name in robot.joint_names}
    configured = {places[name]: float(value) for name, value in parameters.items() if name in places}
    for name, value in (configured | positions("--start", args.start, robot)).items():
        j = robot.joint_index(name)
        if not limits.lower[j] <= value <= limits.upper[j]:
            raise ArgumentError(f"joint {name!r} starts at {value:g}; its limits are [{limits.lower[j]:.6g}, "
                                f"{limits.upper[j]:.6g}]")
        start[j] = value
    return start
