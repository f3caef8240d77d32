"""`rne simulate`: a controlled move or free motion, without ROS."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress

from rne_dynamics.cli import demo_flexible, simulate_many
from rne_dynamics.cli.demo_moves import plan_moves
from rne_dynamics.cli.robot_argument import add_robot, assignments, console, robot_source, xacro_arguments
from rne_dynamics.cli.simulate_flexible import one_after_the_other, planned_moves, seconds_after
from rne_dynamics.cli.simulate_plot import plot
from rne_dynamics.cli.simulate_presets import apply_preset
from rne_dynamics.cli.simulate_report import base_figures, free_figures, print_figures, tip_figures, tracking_figures
from rne_dynamics.control.computed_torque import ComputedTorque
from rne_dynamics.control.friction_compensation import FrictionCompensation
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.guards.felt_inertia import joint_inertia
from rne_dynamics.control.input_shaper import SHAPERS
from rne_dynamics.control.motion.loop_path import leading_path
from rne_dynamics.control.pd_gravity import PdGravity
from rne_dynamics.control.sampled import SampledTrajectory
from rne_dynamics.control.trajectory import Quintic, Trajectory
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.sources import is_model_file
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import ArgumentError
from rne_dynamics.flexible.theory_range import BendingRangeWarning
from rne_dynamics.model.assembly import with_payload
from rne_dynamics.model.flexible.arm import AnyMachine, FlexibleArm, rigid
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Machine, Mechanism
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import Payload
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.sampled_base import SampledBase
from rne_dynamics.simulation.rollouts.rollout import Rollout
from rne_dynamics.simulation.runs.free_motion import free_motion
from rne_dynamics.simulation.runs.log import Log

EXAMPLES = """\
examples:
  rne simulate puma560                                three moves under computed torque
  rne simulate puma560 --payload link6=2.5            the arm carries 2.5 kg that the controller does not know of
  rne simulate panda --law pd_gravity --plot move.png
  rne simulate puma560 --samples 200 --vary mass=5% --vary friction=20% --plot band.png
  rne simulate puma560 --to joint2=-0.8 --to joint3=0.4 --seconds 2 --out move.csv
  rne simulate puma560 --free --no-friction --seconds 10 --json
  rne simulate pantograph --preset quintic --plot quintic.png
  rne simulate pantograph --payload wrist=3           a mechanism with closed loops, from its model file
  rne simulate flexible_arm --shaper zv               flexible links, moved so that their vibration cancels itself
  rne simulate flexible_arm6 --free --no-friction --plot swing.png
  rne simulate puma560 --base-motion examples/ship_motion.csv --plot ship.png
"""


#: Bandwidth of the controller, rad/s, where flexible links do not want less.
BANDWIDTH = 40.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    motion = parser.add_argument_group("motion")
    motion.add_argument("--free", action="store_true", help="no controller: let the arm go and watch its energy")
    motion.add_argument(
        "--seconds", type=float, help="how long in all, before shaping; default 6, what the preset takes, or for "
        "controlled moves of flexible links 4 periods of the slowest vibration",
    )  # fmt: skip
    motion.add_argument(
        "--preset", metavar="NAME",
        help="a simulation that a paper reports; of pantograph: first, second, second-hanging (it swings), quintic",
    )  # fmt: skip
    motion.add_argument(
        "--start", action="append", default=[], metavar="JOINT=VALUE",
        help="where a joint starts, rad or m; others at zero or the nearest their limits allow",
    )  # fmt: skip
    motion.add_argument(
        "--to", action="append", default=[], metavar="JOINT=VALUE",
        help="one quintic to this position instead of three moves there and back; may be given several times",
    )  # fmt: skip
    motion.add_argument("--shaper", choices=sorted(SHAPERS), help="flexible links: shape the moves so that the "
                        "vibration they set off cancels itself")  # fmt: skip
    motion.add_argument("--modes", type=int, default=1, help="how many vibrations, from the slowest on, --shaper is "
                        "for (default 1)")  # fmt: skip
    motion.add_argument("--base", choices=("fixed", "floating"), default="fixed", help="floating only with --free")
    arm = parser.add_argument_group("arm")
    arm.add_argument("--base-motion", metavar="FILE", help="how the base moves: .csv (columns time, x, y, z, qx, qy, "
                     "qz, qw) or .npz (time, position, quaternion)")  # fmt: skip
    arm.add_argument("--base-smoothing", type=float, metavar="HZ", help="take faster motion in that file for noise")
    arm.add_argument("--payload", metavar="LINK=KG", help="a point mass at a link's origin that the controller ignores")
    arm.add_argument("--no-friction", action="store_true", help="an arm without joint friction, and no compensation")
    arm.add_argument("--no-stops", action="store_true", help="no position stops")
    arm.add_argument("--no-effort-limits", action="store_true", help="drives without limits")
    law = parser.add_argument_group("controller")
    law.add_argument("--law", choices=("computed_torque", "pd_gravity"), default="computed_torque")
    law.add_argument("--bandwidth", type=float, help="of the critically damped error, rad/s (default 40, less where "
                     "flexible links want it)")  # fmt: skip
    law.add_argument("--integral", type=float, default=0.0, help="integral gain over bandwidth cubed (default 0)")
    law.add_argument("--control-rate", type=float, default=1000.0, help="torque updates a second (default 1000)")
    law.add_argument("--no-friction-compensation", action="store_true", help="leave friction to the feedback")
    law.add_argument("--base-unknown", action="store_true", help="take the base for one at rest")
    numbers = parser.add_argument_group("numbers")
    numbers.add_argument("--dt", type=float, default=1e-3, help="integration step, s (default 0.001)")
    numbers.add_argument("--method", choices=("rk4", "gauss", "semi_implicit", "adaptive"),
                         help="default rk4, of flexible links gauss; gauss only for these; adaptive only with --free, "
                         "without Coulomb friction and short of the stops")  # fmt: skip
    simulate_many.configure(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--out", metavar="FILE", action="append", default=[], help=".csv or .npz; may be given twice")
    output.add_argument("--plot", metavar="FILE", help="a picture (.png, .svg, .pdf); needs matplotlib")
    output.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    """Simulate, print the figures, and return the exit code."""
    outputs = _outputs(args)
    robot = _machine(args)
    if args.seconds is None and not (isinstance(robot, FlexibleArm) and not args.free):
        args.seconds = 6.0
    elif args.seconds is None and isinstance(robot, FlexibleArm):
        args.seconds = demo_flexible.lively(robot) / (3.0 if args.to else 1.0)
    if (robot.effort_limit == 0.0).any():
        # many descriptions write effort="0" for "not known"; such a drive could not even hold itself
        names = ", ".join(n for n, limit in zip(robot.joint_names, robot.effort_limit, strict=True) if limit == 0.0)
        print(f"rne simulate: taking effort limits of 0 as unlimited: {names}", file=sys.stderr)
        robot = _with_effort_limit(robot, np.where(robot.effort_limit == 0.0, np.inf, robot.effort_limit))
    plant = ArmPlant(
        with_loads(robot, args.payload),
        friction=not args.no_friction, stops=not args.no_stops, limit_effort=not args.no_effort_limits,
        base_motion=_base_motion(args),
    )  # fmt: skip
    if args.samples is not None or args.vary:
        if args.samples is None or args.free:
            raise ArgumentError("--vary needs --samples, and --samples a controlled move, without --free")
        return simulate_many.simulate_many(args, robot.name, _rollout(args, robot, plant)[0], outputs)
    ended = None
    with _progress(args.seconds, quiet=args.json) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", BendingRangeWarning)  # reported below
        if args.free:
            log = _free(args, plant, progress)
        else:
            rollout, ended = _rollout(args, robot, plant)
            log = rollout.run(progress=progress)
    for path in outputs:
        path.parent.mkdir(parents=True, exist_ok=True)
        (log.save_csv if path.suffix == ".csv" else log.save_npz)(path)
    if args.plot:
        plot(Path(args.plot), robot.name, log)
    at_rest = plant.base_motion is None
    figures = free_figures(log) if args.free else tracking_figures(log, plant, ends=bool(args.to) and at_rest)
    if not at_rest:
        figures["base"] = base_figures(log, plant, None if args.free else not args.base_unknown)
    if log.flexible_links:
        figures["links"] = tip_figures(log, ended)
        figures["findings"] = list(log.findings)
        for finding in log.findings:
            print(f"rne simulate: warning: {finding}", file=sys.stderr)
    if args.json:
        print(json.dumps(figures, indent=2))
    else:
        print_figures(robot.name, figures)
        for path in (*outputs, *([args.plot] if args.plot else [])):
            console().print(f"wrote {path}")
    return 0


def _machine(args: argparse.Namespace) -> AnyMachine:
    """What ROBOT names, and what --preset makes of the other arguments."""
    source = robot_source(args)
    robot: AnyMachine
    if is_model_file(source):
        if args.base != "fixed":
            raise ArgumentError("--base floating is for a URDF; a model file's robot stands on its base")
        robot = load_model(source, mappings=xacro_arguments(args))
    else:
        robot = load_urdf(source, base=args.base)
    if args.preset is not None:
        apply_preset(args, robot.name, robot.joint_names)
    if args.shaper and not (isinstance(robot, FlexibleArm) and not args.free):
        raise ArgumentError(f"--shaper is for controlled moves of flexible links; robot {robot.name!r} "
                            f"{'moves freely' if isinstance(robot, FlexibleArm) else 'has none'}")  # fmt: skip
    return robot


def _base_motion(args: argparse.Namespace) -> SampledBase | None:
    if args.base_motion is None:
        if args.base_smoothing is not None or args.base_unknown:
            raise ArgumentError("--base-smoothing and --base-unknown are about --base-motion; give that too")
        return None
    return SampledBase.load(args.base_motion, smoothing=args.base_smoothing)


def _rollout(args: argparse.Namespace, robot: AnyMachine, plant: ArmPlant) -> tuple[Rollout, float]:
    """What is simulated, and when the last move ends; flexible links are looked at for a while after it."""
    if args.method == "adaptive":
        raise ArgumentError("--method adaptive serves free motion only; add --free, or take rk4")
    if not args.control_rate > 0.0:
        raise ArgumentError(f"--control-rate is {args.control_rate}; it must be above 0")
    period = 1.0 / args.control_rate
    if isinstance(robot, FlexibleArm):
        moves = _flexible_moves(args, robot)
        if args.bandwidth is None:
            ends = np.array([move.end for move in moves])
            args.bandwidth = min(BANDWIDTH, demo_flexible.bandwidth(robot, ends, args.control_rate))
        path: Trajectory = one_after_the_other(robot, moves, args.shaper, args.modes, args.bandwidth)
        after = seconds_after(robot, moves)
    else:
        path, after = trajectory(args, robot), 0.0
    rollout = Rollout(
        plant, controller(args, rigid(robot)), path, seconds=path.duration + after,
        dt=min(args.dt, period), control_dt=period, method=args.method, base_known=not args.base_unknown,
    )  # fmt: skip
    return rollout, path.duration


def _free(args: argparse.Namespace, plant: ArmPlant, progress: Callable[[float], None]) -> Log:
    if args.to:
        raise ArgumentError("--to asks for a controlled move; leave it out with --free")
    return free_motion(
        plant, start_configuration(rigid(plant.robot), args.start), seconds=args.seconds, dt=args.dt,
        method=args.method, progress=progress,
    )  # fmt: skip


def controller(args: argparse.Namespace, robot: Machine) -> ComputedTorque | PdGravity:
    """The law that the arguments ask for; PD gains scale with the inertia each joint moves at the start."""
    bandwidth = BANDWIDTH if args.bandwidth is None else args.bandwidth
    gains = Gains.critically_damped(robot.n, bandwidth)
    gains = replace(gains, i=np.full(robot.n, args.integral * bandwidth**3))
    friction = None if args.no_friction or args.no_friction_compensation else FrictionCompensation()
    if args.law == "computed_torque":
        return ComputedTorque(robot, gains, friction)
    inertia = joint_inertia(robot, start_configuration(robot, args.start)).held
    return PdGravity(robot, Gains(inertia * gains.p, inertia * gains.i, inertia * gains.d), friction)


def trajectory(args: argparse.Namespace, robot: Machine) -> Trajectory:
    """Quintics from rest to rest: to the positions of --to, or three moves there and back."""
    led = leading_path(robot, robot.posture) if isinstance(robot, Mechanism) else None
    if args.to:
        points = _start_and_end(args, robot)
    else:
        _refuse_start(args)
        planned = plan_moves(robot, args.seconds).moves
        points = np.array([planned[0].start, *(move.end for move in planned)])
    rest = np.zeros_like(points)
    # between points at rest the quintic interpolation is the quintic from rest to rest
    moves = SampledTrajectory(np.linspace(0.0, args.seconds, len(points)), points, rest, rest, robot.joint_names)
    named = [robot.joint_index(name) for name in assignments("--to", args.to)]
    return moves if led is None else led(moves.path, np.array(named), 0.0)


def _start_and_end(args: argparse.Namespace, robot: Machine) -> Array:
    """The ends of the move of --to; shape (2, nq)."""
    points = np.array([start_configuration(robot, args.start)] * 2)
    for name, value in assignments("--to", args.to).items():
        j = robot.joint_index(name)
        if not (args.no_stops or robot.lower[j] <= value <= robot.upper[j]):
            raise ArgumentError(
                f"--to: {name!r} cannot reach {value:g}; its limits are [{robot.lower[j]:g}, {robot.upper[j]:g}]"
            )
        points[1, j] = value
    return points


def _refuse_start(args: argparse.Namespace) -> None:
    if args.start:
        raise ArgumentError("--start needs --to or --free; the three moves choose their own start")


def _flexible_moves(args: argparse.Namespace, arm: FlexibleArm) -> tuple[Quintic, ...]:
    """The move of --to, or three there and back, before they are shaped."""
    if args.to:
        start, end = _start_and_end(args, arm.robot)
        return (Quintic(start, end, args.seconds),)
    _refuse_start(args)
    return planned_moves(arm, args.seconds)


def start_configuration(robot: Machine, given: list[str]) -> Array:
    """Zero (a mechanism's own posture), or the nearest inside the limits, changed by JOINT=VALUE; shape (nq,)."""
    plant = ArmPlant(robot)
    q = np.array(robot.neutral, dtype=np.float64)
    one_axis = plant.positions >= 0
    places = plant.positions[one_axis]
    q[places] = np.clip(q[places], robot.lower[one_axis], robot.upper[one_axis])
    for name, value in assignments("--start", given).items():
        place = plant.positions[robot.joint_index(name)]
        if place < 0:
            raise ArgumentError(f"--start: {name!r} belongs to a floating joint, which always starts at zero")
        q[place] = value
    return q


def with_loads(robot: AnyMachine, payload: str | None) -> AnyMachine:
    """The robot that is simulated: with the point mass of --payload."""
    if payload is None:
        return robot
    ((link, mass),) = assignments("--payload", [payload]).items()
    load = Payload(link, mass)
    loaded: AnyMachine
    loaded = with_payload(robot, load) if isinstance(robot, RobotModel) else robot.with_payload(load)
    return _with_effort_limit(loaded, robot.effort_limit)


def _with_effort_limit(robot: AnyMachine, limit: Array) -> AnyMachine:
    if isinstance(robot, FlexibleArm):
        return replace(robot, robot=replace(robot.robot, effort_limit=limit))
    if isinstance(robot, Mechanism):
        limits = np.array(robot.robot.effort_limit)
        limits[robot.actuated] = limit
        return replace(robot, robot=replace(robot.robot, effort_limit=limits))
    return replace(robot, effort_limit=limit)


def _outputs(args: argparse.Namespace) -> list[Path]:
    paths = [Path(text) for text in args.out]
    for path in paths:
        if path.suffix not in (".csv", ".npz"):
            raise ArgumentError(f"--out is {str(path)!r}; its ending must be .csv or .npz")
    return paths


@contextmanager
def _progress(seconds: float, *, quiet: bool) -> Iterator[Callable[[float], None]]:
    """A bar on standard error that goes away again."""
    with Progress(console=Console(stderr=True), transient=True, disable=quiet or not sys.stderr.isatty()) as bar:
        task = bar.add_task("simulating", total=seconds)
        shown = 0.0

        def update(t: float) -> None:
            nonlocal shown
            if t - shown >= 0.01 * seconds:  # a bar need not move a thousand times a second
                shown = t
                bar.update(task, completed=t)

        yield update
