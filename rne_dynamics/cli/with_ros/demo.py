"""`rne demo`: a simulated arm and its controller in two ROS 2 processes, with figures of the tracking."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rne_dynamics.cli.answer import (
    Answer,
    Picture,
    Verdict,
    check_files,
    ended_by_sigterm,
    plot_file,
    plot_if_possible,
    progress,
)
from rne_dynamics.cli.arguments import (
    MOST_SAMPLED,
    MOVIE,
    READING,
    REPORT,
    OneRobot,
    argument,
    check_size,
    flag,
    node_parameters,
    positive,
    real,
    report_left_out,
    robot_source,
    whole,
    xacro_arguments,
)
from rne_dynamics.cli.verdict import FLEXIBLE_TOLERANCE, TOLERANCE, motion_verdict, without_effort_limit
from rne_dynamics.cli.with_ros.demo_report import (
    demo_figures,
    demo_parts,
    evaluate,
    evaluate_vibration,
    flexible_figures,
    flexible_parts,
    plot_demo,
    plot_flexible,
)
from rne_dynamics.cli.with_ros.moves import (
    EFFORT_RESERVE,
    PLAIN,
    Plan,
    Programme,
    bends_little,
    lively,
    pause,
    plan_moves,
    programmes,
    slowed,
    stable_bandwidth,
)
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.input_shaper import SHAPERS
from rne_dynamics.control.tracking_verdict import SMALL_TRAVEL, Run
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.sources import is_model_file
from rne_dynamics.dispatch import closed
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.movie import Motion, write_movie
from rne_dynamics.figures.style import figure_file
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.protocol import Robot
from rne_dynamics.recording.mcap_file import new_mcap

if TYPE_CHECKING:
    from rne_dynamics.ros.sessions.demonstration import ArmConfig, ConfiguredArm

EXAMPLES = """\
examples:
  rne demo
  rne demo scara --seconds 6
  rne demo my_arm.urdf --out my_arm.png --json
  rne demo --robot my_arm.urdf --config my_arm.yaml    with the parameter file that `rne new` writes
  rne demo --movie demo.gif --report demo.html
  rne demo --record demo.mcap                    for Foxglove, PlotJuggler and `rne plot`
  rne demo --robot pantograph                    a mechanism with closed loops, from its model file
  rne demo --robot flexible_arm --shaper zv      an arm with flexible links, with input shaping
  rne demo --robot flexible_arm --compare        the moves unshaped, with each shaper, and slow

The last line says whether the arm moved as asked and tracked; if not, why, and what to do.

exit code: 0 if every joint made its travel and its RMS error stayed below --tolerance, 1 if not or if something failed
"""

#: Bandwidth of the controller, rad/s; an upper bound with flexible links, see `stable_bandwidth`.
BANDWIDTH = 60.0
#: Time of the three moves, s.
SECONDS = 9.0


ARGUMENTS = (
    argument("robot", nargs="?", default=argparse.SUPPRESS, action=OneRobot, metavar="ROBOT",
             help="URDF or model file: path, URI or a name of `rne list`, - for stdin (default: puma560)"),
    argument("--robot", default="puma560", action=OneRobot, metavar="ROBOT", help="the same as ROBOT"),
    *READING,
    argument("--config", metavar="FILE",
             help="parameter file (.yaml) with the controller's gains and limits, as `rne new` writes it"),
    argument("--seconds", type=positive(3600.0, "s"), help=f"time of the three moves together (default: {SECONDS:g}; "
             "with flexible links 4 periods of the slowest vibration)"),
    argument("--rate", type=real(50.0, 5000.0, "Hz"), default=1000.0, help="joint states per second (default: 1000)"),
    flag("--real-time", "simulated time does not wait for the controller when the computer is busy"),
    argument("--out", type=Path, metavar="FILE",
             help="the plot, .png, .svg or .pdf (default: rne_demo_ROBOT.png; none without matplotlib)"),
    MOVIE, REPORT,
    argument("--tolerance", type=positive(), help=f"largest RMS error, rad or m (default: {TOLERANCE:g}, with flexible "
             f"links {FLEXIBLE_TOLERANCE:g}; of joints that travel less than {SMALL_TRAVEL:g} in proportion less)"),
    argument("--bandwidth", type=positive(1000.0, "rad/s"), metavar="RAD/S",
             help=f"of the controller (default: {BANDWIDTH:g}, less for low rates or flexible links)"),
    argument("--shaper", choices=sorted(SHAPERS), help="flexible links: input shaper of the moves, against vibration"),
    argument("--modes", type=whole(1, 1000), default=1,
             help="number of vibration modes to shape for, slowest first (default: 1)"),
    flag("--compare", "flexible links: make the moves unshaped, with each shaper, and slow"),
    argument("--record", type=Path, metavar="FILE",
             help="record all topics in a new .mcap, for Foxglove, PlotJuggler and `rne plot`"),
    flag("--json", "print the figures as JSON"),
)  # fmt: skip


def run(args: argparse.Namespace) -> Answer:
    """Run the demo; it passes if the arm tracked in all plans."""
    from rne_dynamics.ros.sessions import demonstration

    if args.config is not None and args.bandwidth is not None:
        raise ArgumentError("--bandwidth and --config are both given; the parameter file has the gains")
    check_files(args)
    record = new_mcap(args.record) if args.record else ""
    source = robot_source(args)
    loaded = load_model(source, mappings=xacro_arguments(args) if is_model_file(source) else None)
    machine = closed(check_size(loaded, MOST_SAMPLED))
    config, configured = _configured(args.config, machine)
    if configured is not None:
        machine = configured.robot
    robot = machine.rigid
    place = plot_file(args.out, f"rne_demo_{robot.name}.png")
    if args.out:
        figure_file(place, "--out")
    plan, planned, bandwidth, settle = _programmes(machine, args, configured)
    _report_limits(robot, plan)
    session = demonstration.Session(
        node_parameters(source), robot.joint_names, plan.moves[0].start,
        tuple(demonstration.Run(p.moves, settle) for p in planned), plan.effort_limit, args.rate, bandwidth,
        flexible=machine.kind == "flexible", lockstep=not args.real_time, record=record, config=config,
    )
    with ended_by_sigterm(), progress() as update:
        recordings = demonstration.run(session, update)
    followed = tuple(
        p._replace(moves=tuple(slowed(m, r.reports.speed or 1.0) for m in p.moves[: len(r.begins)]))
        for r, p in zip(recordings, planned, strict=True)
    )
    trackings = [evaluate(r, p.moves, plan, args.rate, settle) for r, p in zip(recordings, followed, strict=True)]
    verdict = min(
        (_verdict(args, machine, configured, bandwidth, tracking.run) for tracking in trackings),
        key=lambda v: (v.passed, -v.figures["rms_error"] / v.figures["tolerance"]),
    )  # fmt: skip
    tracking = trackings[0]
    values = demo_figures(robot, tracking, verdict)
    parts = demo_parts(robot, values)
    draw: Callable[[Path], None] = partial(plot_demo, robot=robot, tracking=tracking)
    if machine.kind == "flexible":
        seen = [evaluate_vibration(machine, r, p.moves, settle) for r, p in zip(recordings, followed, strict=True)]
        values["flexible"] = flexible_figures(machine, plan.moves, bandwidth, followed, trackings, seen)
        parts += flexible_parts(values["flexible"])
        draw = partial(plot_flexible, arm=machine, programmes=followed, trackings=trackings, seen=seen)
    values["plot"] = plotted = plot_if_possible(place, draw, wanted=args.out is not None)
    pictures: list[Picture] = [(draw, "Robot, positions with references, errors, and what the efforts consist of")]
    title = f"{robot.name}: three moves under computed torque over ROS 2"
    if args.movie:
        motion = Motion(
            f"{robot.name}: computed torque over ROS 2", tracking.run.time, tracking.run.q, tracking.reference
        )
        with progress(quiet=args.json) as update:
            write_movie(args.movie, machine, motion, partial(update, "moving picture"))
        pictures.append((args.movie, "The motion"))
    remark = (
        "Simulator and controller ran as two ROS 2 processes; a third one recorded their topics. Overruns of the "
        f"simulator: {values['overruns']}."
    )
    return Answer(values, parts, verdict, [remark], [plotted, args.movie, args.record], title, pictures)


def _verdict(
    args: argparse.Namespace, machine: Robot, configured: ConfiguredArm | None, bandwidth: float, run: Run
) -> Verdict:
    """Whether the arm moved as asked and tracked in one run, and why not."""
    robot, flexible = machine.rigid, machine.kind == "flexible"
    gains, compensated, rubs = Gains.critically_damped(robot.n, bandwidth), 1.0, True
    if configured is not None:
        gains, compensated, rubs = configured.gains, configured.friction, configured.rubs
    return motion_verdict(robot, gains, run, args.tolerance, flexible=flexible, compensated=compensated,
                          friction=rubs, goals=not flexible)  # fmt: skip


def _configured(file: str | None, machine: Robot) -> tuple[ArmConfig | None, ConfiguredArm | None]:
    """The parameter file of --config, and what the moves and the verdict take from it."""
    if file is None:
        return None, None
    from rne_dynamics.ros.sessions.demonstration import CONTROLLER, NAMESPACE, SIMULATOR, ArmConfig, ConfiguredArm

    config = ArmConfig.read(file, f"{NAMESPACE}/{CONTROLLER}", f"{NAMESPACE}/{SIMULATOR}")
    report_left_out("demo", config.left_out)
    return config, ConfiguredArm.of(config, machine)


def _report_limits(robot: RigidRobot, plan: Plan) -> None:
    """Print what effort limits do to the moves, and those that the demo uses where the description gives none."""
    if plan.note:
        print(f"rne demo: {plan.note}", file=sys.stderr)
    for name in without_effort_limit(robot):
        limit = plan.effort_limit[robot.joint_index(name)]
        print(
            f"rne demo: the description gives no effort limit of joint {name!r} (or 0); this demo uses {limit:.3g}, "
            f"{EFFORT_RESERVE:g} times what its moves need", file=sys.stderr,
        )  # fmt: skip


def _programmes(
    machine: Robot, args: argparse.Namespace, configured: ConfiguredArm | None
) -> tuple[Plan, tuple[Programme, ...], float, float]:
    """The plan, the programmes to run, the controller's bandwidth, and the pause after each move, s."""
    from rne_dynamics.ros.sessions.demonstration import SETTLE

    if "modes" in args.given and not (args.shaper or args.compare):
        raise ArgumentError("--modes needs --shaper or --compare")
    most = min(BANDWIDTH, 0.1 * args.rate)
    limits: dict[str, Any] = {}
    if configured is not None:
        limits = {"velocity_limit": configured.velocity, "margin": configured.margin}
        args.bandwidth = float(np.sqrt(configured.gains.p.max())) or None
    if machine.kind != "flexible":
        if args.shaper or args.compare:
            raise ArgumentError(f"--shaper and --compare are for flexible links; robot {machine.name!r} has none")
        plan = plan_moves(machine, SECONDS if args.seconds is None else args.seconds, **limits)
        return plan, (Programme(PLAIN, plan.moves),), args.bandwidth or most, SETTLE
    if args.shaper and args.compare:
        raise ArgumentError("--compare shows every shaper; leave --shaper out")
    seconds = lively(machine) if args.seconds is None else args.seconds
    plan = plan_moves(machine.robot, seconds, bends_little(machine), **limits)
    postures = np.array([move.end for move in plan.moves])
    bandwidth = args.bandwidth or min(most, stable_bandwidth(machine, postures, args.rate))
    planned = programmes(machine, plan.moves, args.shaper, args.modes, bandwidth, compare=args.compare)
    return plan, planned, bandwidth, pause(machine, plan.moves)
