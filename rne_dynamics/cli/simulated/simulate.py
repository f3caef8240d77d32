"""`rne simulate`: simulate a controlled move or free motion, without ROS."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from rne_dynamics.cli.answer import Answer, Verdict, check_files, progress
from rne_dynamics.cli.arguments import (
    MOVIE,
    PAYLOAD,
    REPORT,
    ROBOT,
    argument,
    base,
    flag,
    group,
    load_robot,
    payload,
    positive,
    real,
    several,
    whole,
)
from rne_dynamics.cli.simulated.motion import (
    DT,
    MISMATCH,
    SAVE,
    SCENE,
    apply_preset,
    base_motion,
    mismatch_of,
    outputs,
    refuse_unused,
    rollout,
    scene_of,
    start_configuration,
)
from rne_dynamics.cli.simulated.report import (
    DAE,
    DAE_SECONDS,
    base_figures,
    check_dae,
    contact_figures,
    dae_figures,
    free_figures,
    parts_of,
    plot,
    simulate_dae,
    tip_figures,
    tracking_figures,
)
from rne_dynamics.cli.verdict import FLEXIBLE_TOLERANCE, TOLERANCE, motion_verdict, without_effort_limit
from rne_dynamics.cli.with_ros.moves import lively
from rne_dynamics.control.input_shaper import SHAPERS
from rne_dynamics.control.laws import DEFAULT_LAW, law_names
from rne_dynamics.control.tracking_law import TrackingLaw
from rne_dynamics.control.tracking_verdict import SMALL_TRAVEL, Run
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.movie import Motion, write_movie
from rne_dynamics.flexible.theory_range import BendingRangeWarning
from rne_dynamics.model.protocol import Robot
from rne_dynamics.recording.mcap_file import SUFFIX as MCAP
from rne_dynamics.recording.mcap_file import needs_joint_positions
from rne_dynamics.recording.yaml_files import read_values
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import Rollout
from rne_dynamics.simulation.runs.free_motion import free_motion
from rne_dynamics.simulation.runs.log import Log

EXAMPLES = """\
examples:
  rne simulate puma560                                three moves under computed torque
  rne simulate puma560 --payload link6=2.5            the arm has 2.5 kg more, and the controller knows it
  rne simulate puma560 --unknown-payload link6=2.5    the controller's model lacks it
  rne simulate puma560 --mismatch mass=0.05 --mismatch delay=0.004
  rne simulate puma560 --scene examples/wall.yaml --plot wall.png
  rne simulate panda --law pd_gravity --plot move.png
  rne simulate puma560 --to joint2=-0.7 --to joint3=0.4 --seconds 2 --out move.csv
  rne simulate puma560 --to joint2=-0.7 --fastest     as fast as the limits of velocity and effort allow
  rne simulate puma560 --free --no-friction --seconds 10 --json
  rne simulate puma560 --dae --plot dae.png           every body for itself, with the reactions of the joints
  rne simulate pantograph --preset quintic --plot quintic.png
  rne simulate pantograph --payload wrist=3           a mechanism with closed loops, from its model file
  rne simulate flexible_arm --shaper zv               flexible links with input shaping
  rne simulate flexible_arm6 --free --no-friction --plot swing.png
  rne simulate puma560 --record run.mcap              for Foxglove, PlotJuggler and `rne plot`
  rne simulate puma560 --base-motion examples/ship_motion.csv --plot ship.png
  rne simulate panda --report move.html --movie move.gif

The last line of a controlled move says whether the arm tracked; if not, why, and what to do.

exit code: 0 if the arm tracked or moved freely; 1 if not, or if something failed
"""


ARGUMENTS = (
    *ROBOT,
    group("motion", (
        flag("--free", "free motion without controller; reports the energy"),
        DAE,
        argument("--seconds", type=positive(unit="s"), help="total time before shaping; default 6, that of the preset, "
                 "or for controlled moves of flexible links 4 periods of the slowest vibration"),
        argument("--preset", metavar="NAME",
                 help="a simulation of a paper; for pantograph: first, second, second-hanging (it swings), quintic"),
        several("--start", "JOINT=VALUE", "start position of a joint: rad or m, or with a unit (90deg, 20mm); others "
                "start at zero or the nearest position inside their limits"),
        several("--to", "JOINT=VALUE",
                "one quintic to this position instead of three moves that return; may be given several times"),
        argument("--trajectory", metavar="FILE",
                 help="follow a trajectory_msgs/JointTrajectory in YAML, as of `rne excite`"),
        flag("--fastest", "with --to or along the path of --trajectory: as fast as the limits of velocity and effort "
             "allow; needs the extra retime"),
        argument("--shaper", choices=sorted(SHAPERS), help="flexible links: input shaper against vibration"),
        argument("--modes", type=whole(1, 1000), default=1,
                 help="number of vibration modes to shape for, slowest first (default 1)"),
        base("fixed or free root link; floating needs --free"),
    )),
    group("arm", (
        argument("--base-motion", metavar="FILE",
                 help="motion of the base: .csv with the columns time, x, y, z, qx, qy, qz, qw"),
        argument("--base-smoothing", type=positive(unit="Hz"), metavar="HZ",
                 help="low-pass filter for noise in that file"),
        PAYLOAD,
        argument("--unknown-payload", metavar="LINK=KG",
                 help="a point mass at a link's origin that the controller's model lacks"),
        MISMATCH,
        SCENE,
        flag("--no-friction", "no joint friction, and no compensation of it"),
        flag("--no-stops", "no position stops"),
        flag("--no-effort-limits", "no effort limits"),
    )),
    group("controller", (
        argument("--law", metavar="NAME", default=DEFAULT_LAW, help=f"{', '.join(law_names())}, or the module of "
                 f"your own, as my_package.my_law (default {DEFAULT_LAW})"),
        several("--law-parameter", "NAME=VALUE", "a parameter of the law as in docs/parameters.md, of all joints or as "
                "JOINT.NAME of one; may be given several times; replaces --bandwidth and --integral"),
        argument("--bandwidth", type=positive(unit="rad/s"),
                 help="of the critically damped error, rad/s (default 40, less for some flexible links)"),
        argument("--integral", type=real(0.0), default=0.0, help="integral gain over bandwidth cubed (default 0)"),
        argument("--control-rate", type=positive(1e6, "Hz"), default=1000.0,
                 help="control cycles per second (default 1000)"),
        flag("--no-friction-compensation", "no feedforward of friction"),
        flag("--base-unknown", "the controller assumes a base at rest"),
    )),
    group("numbers", (
        argument("--dt", type=positive(unit="s"), help="integration step, s (default 0.001, or a control cycle)"),
        argument("--method", choices=("rk4", "gauss", "semi_implicit", "adaptive"),
                 help="default rk4, with flexible links gauss; gauss only with flexible links; adaptive only with "
                 "--free, without Coulomb friction and away from the stops"),
    )),
    group("output", (
        argument("--out", metavar="FILE", action="append", default=[],
                 help=".csv, .npz or .mcap; may be given several times"),
        argument("--record", metavar="FILE", help="an .mcap for Foxglove, PlotJuggler and `rne plot`, as --out"),
        argument("--plot", metavar="FILE", help="figure (.png, .svg, .pdf); needs matplotlib"),
        MOVIE, REPORT,
        argument("--tolerance", type=positive(), help="largest RMS error for the verdict, rad or m (default: "
                 f"{TOLERANCE:g}, with flexible links {FLEXIBLE_TOLERANCE:g}; of joints that travel less than "
                 f"{SMALL_TRAVEL:g} in proportion less)"),
        flag("--json", "print the figures as JSON"),
    )),
)  # fmt: skip


def run(args: argparse.Namespace) -> Answer:
    """Simulate; the arm passes if it tracks."""
    files = outputs(args)
    check_files(args)
    robot = _robot(args)
    if args.dae:
        check_dae(args, robot)
        args.free = args.no_friction = args.no_stops = True
    refuse_unused(args)
    if any(path.suffix == MCAP for path in files):
        needs_joint_positions(robot)
    if args.seconds is None:
        args.seconds = DAE_SECONDS if args.dae else 6.0
        if robot.kind == "flexible" and not args.free:
            args.seconds = lively(robot) / (3.0 if args.to else 1.0)
    robot = _unlimited(args, robot)
    scene = scene_of(args.scene)
    if args.free and scene.script is not None:
        raise ArgumentError(f"--scene: {args.scene} has a script, which is for a controlled move; leave out --free")
    plant = ArmPlant(
        with_loads(robot, "--unknown-payload", args.unknown_payload),
        friction=not args.no_friction, stops=not args.no_stops, limit_effort=not args.no_effort_limits,
        base_motion=base_motion(args), surroundings=scene.surroundings,
    )  # fmt: skip
    return _one(args, robot, plant, files)


def _one(args: argparse.Namespace, robot: Robot, plant: ArmPlant, files: list[Path]) -> Answer:
    """One motion: simulated, saved, drawn and judged."""
    ended, controlled = None, None
    with progress(quiet=args.json) as update, warnings.catch_warnings():
        warnings.simplefilter("ignore", BendingRangeWarning)  # reported below

        def tick(t: float) -> None:
            update("simulating", t / args.seconds)

        if args.free:
            log = _free(args, plant, tick)
        else:
            controlled, ended = rollout(args, robot, plant)
            log = controlled.run(progress=tick)
    for path in files:
        SAVE[path.suffix](log, path)
    draw = partial(plot, robot=robot, log=log)
    motion = "free motion" if args.free else args.law.replace("_", " ")
    if args.movie:
        moved = Motion(f"{robot.name}: {motion}", log.time, log.q, log.reference_q, log.tree_q)
        with progress(quiet=args.json) as update:
            write_movie(args.movie, robot, moved, partial(update, "moving picture"))
    at_rest = plant.base_motion is None
    figures = free_figures(log) if args.free else tracking_figures(log, plant, ends=bool(args.to) and at_rest)
    if args.dae:
        figures["constraints"] = dae_figures(args, plant.tree, log)
    verdict = None if controlled is None else _verdict(args, controlled, log)
    if verdict is not None:
        figures["verdict"] = verdict.as_plain()
    mismatch = mismatch_of(args.mismatch, args.scene)
    if mismatch is not None:
        figures["mismatch"] = mismatch.as_plain()
    if plant.surroundings is not None:
        figures |= {"scene": read_values(args.scene), "contacts": contact_figures(log)}
    if not at_rest:
        figures["base"] = base_figures(log, plant, None if args.free else not args.base_unknown)
    if log.flexible_links:
        figures |= {"links": tip_figures(log, ended), "findings": list(log.findings)}
        for finding in log.findings:
            print(f"rne simulate: warning: {finding}", file=sys.stderr)
    remarks = [f"{log.time[-1]:g} s simulated with {len(log.time)} control cycles.", *figures.get("findings", ())]
    if mismatch is not None:
        remarks.append(f"Mismatch: {figures['mismatch']}")
    title = f"{robot.name}: {'free motion' if args.free else 'controlled move'}, simulated"
    return Answer(figures, list(parts_of(robot, figures)), verdict, remarks, [*files, args.movie], title,
                  [(draw, "Robot and curves over time")])  # fmt: skip


def _unlimited(args: argparse.Namespace, robot: Robot) -> Robot:
    """The robot with no limit instead of an effort limit of 0; reports all joints without one."""
    if args.no_effort_limits:
        return robot.with_effort_limit(np.full(robot.n, np.inf))
    names = without_effort_limit(robot.rigid)
    if not names:
        return robot
    # many descriptions have effort="0" for an unknown limit; such a drive could not even hold itself
    if not args.free and robot.nq == robot.n:
        print(
            "rne simulate: the description gives no effort limit (or 0), which counts as unlimited: "
            f"{', '.join(names)}", file=sys.stderr,
        )  # fmt: skip
    return robot.with_effort_limit(np.where(robot.effort_limit > 0.0, robot.effort_limit, np.inf))


def _verdict(args: argparse.Namespace, made: Rollout, log: Log) -> Verdict | None:
    """Whether the arm moved as asked and tracked, and why not; None for laws that are not judged."""
    law = made.controller
    if not isinstance(law, TrackingLaw):
        return None
    verdict = _judged(args, made, law, log)
    if made.mismatch is None or verdict.passed:
        return verdict
    alike = replace(made, mismatch=None)
    if not _judged(args, alike, law, alike.run()).passed:
        return verdict
    different = ", ".join(f"{name} {value}" for name, value in made.mismatch.as_plain().items())
    return _judged(args, made, law, log, different)


def _judged(args: argparse.Namespace, made: Rollout, law: TrackingLaw, log: Log, mismatch: str = "") -> Verdict:
    """The verdict on a run; `mismatch` as of `Run`."""
    measured = Run(
        log.time, log.q, log.qd, log.error, log.effort, log.rms_error, np.ptp(log.q + log.error, axis=0),
        made.plant.robot.effort_limit, log.terms, mismatch=mismatch,
    )
    return motion_verdict(
        law.robot, law.gains, measured, args.tolerance, flexible=bool(log.flexible_links),
        compensated=law.friction_scale, friction=not args.no_friction, feedforward=law.feedforward,
    )  # fmt: skip


def _robot(args: argparse.Namespace) -> Robot:
    """The robot of ROBOT; sets the arguments of --preset."""
    robot = with_loads(load_robot(args), "--payload", args.payload)
    if args.preset is not None:
        apply_preset(args, robot.name, robot.joint_names)
    flexible = robot.kind == "flexible"
    if args.shaper and (args.free or not flexible):
        raise ArgumentError(f"--shaper is for controlled moves of flexible links; robot {robot.name!r} "
                            f"{'moves freely' if flexible else 'has none'}")  # fmt: skip
    return robot


def _free(args: argparse.Namespace, plant: ArmPlant, progress: Callable[[float], None]) -> Log:
    if args.to:
        raise ArgumentError("--to is for a controlled move; leave it out with --free")
    if args.dae:
        return simulate_dae(args, plant.tree, progress)
    return free_motion(
        plant, start_configuration(plant.robot.rigid, args.start), seconds=args.seconds, dt=args.dt or DT,
        method=args.method, progress=progress,
    )  # fmt: skip


def with_loads(robot: Robot, option: str, text: str | None) -> Robot:
    """The robot with the point mass of an option; the effort limits stay."""
    loaded = payload(option, text)
    return robot if loaded is None else robot.with_payload(loaded).with_effort_limit(robot.effort_limit)
