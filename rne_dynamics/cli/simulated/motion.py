"""The motion of `rne simulate`: options that depend on each other, presets, start, trajectory, controller."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from rne_dynamics.cli.arguments import argument, configuration, positions, several
from rne_dynamics.cli.with_ros.moves import bends_little, pause, plan_moves, programmes, stable_bandwidth
from rne_dynamics.control.control_law import ControlLaw, Reference
from rne_dynamics.control.laws import LawKind, find_law
from rne_dynamics.control.motion.limited_path import leading_path
from rne_dynamics.control.motion.limits import continuous, turns_off
from rne_dynamics.control.motion.retiming import FastestMotion
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.control.trajectory import Quintic, SampledTrajectory, Trajectory
from rne_dynamics.description.yaml_nodes import plain
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.dynamics.declared.arguments import check_open_arm
from rne_dynamics.errors import ArgumentError, refuse, unknown
from rne_dynamics.figures.style import output_file
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.protocol import Robot
from rne_dynamics.recording.mcap_file import SUFFIX as MCAP
from rne_dynamics.recording.mcap_file import save_mcap
from rne_dynamics.recording.yaml_files import number, read_scene, read_trajectory_of, read_values
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.plant.base_motion import SampledBase
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.surroundings import Scene
from rne_dynamics.simulation.rollouts.rollout import Rollout
from rne_dynamics.simulation.runs.log import Log

MISMATCH = several(
    "--mismatch", "NAME=VALUE|FILE", "a difference between arm and model (mass=0.05, delay=0.004, stiffness=2e4; "
    "docs/mismatch.md), or a .yaml file of such, also with a script; may be given several times",
)  # fmt: skip
SCENE = argument("--scene", metavar="FILE", help="a .yaml file with what the arm touches and a script of what happens "
                 "(docs/mismatch.md)")  # fmt: skip


def scene_of(path: str | None) -> Scene:
    """The scene of --scene, or none; `ArgumentError` if invalid."""
    return Scene() if path is None else read_scene(path)


def mismatch_of(texts: Sequence[str], scene: str | None = None) -> Mismatch | None:
    """The mismatch of --mismatch, later texts before earlier ones, and of the script of --scene; None without any."""
    values: dict[str, Any] = {}
    for text in texts:
        name, assigned, value = text.partition("=")
        link, _, mass = value.rpartition(":")
        if not assigned and Path(text).suffix not in (".yaml", ".yml"):
            raise ArgumentError(f"--mismatch is {text!r}; write NAME=VALUE, or the path of a .yaml file")
        try:
            given = {name: (link, number(mass)) if name == "payload" else number(plain(value))} if assigned else {}
        except yaml.YAMLError:
            raise ArgumentError(f"--mismatch is {text!r}; write NAME=NUMBER, as delay=0.004") from None
        values |= given if assigned else read_values(text)
    return scene_of(scene).mismatch(Mismatch.of(values) if texts else None)


#: Bandwidth of the controller, rad/s; an upper bound with flexible links.
BANDWIDTH = 40.0
#: Integration step, s.
DT = 1e-3


def rollout(args: argparse.Namespace, robot: Robot, plant: ArmPlant) -> tuple[Rollout, float]:
    """The rollout, and the time when the last move ends; with flexible links the rollout lasts longer."""
    period = 1.0 / args.control_rate
    refuse(
        ArgumentError,
        (args.method == "adaptive", "--method adaptive is for free motion only; add --free, or use rk4"),
        (args.dt is not None and args.dt > period * (1.0 + 1e-9),
         f"--dt is {args.dt} s, longer than a control cycle at --control-rate {args.control_rate:g} ({period:g} s); "
         f"give --dt up to {period:g}, or a lower --control-rate"),
        (args.seconds < 0.5 * period, f"--seconds is {args.seconds:g}, less than a control cycle of {period:g} s; give "
         "more, or a higher --control-rate"),
    )  # fmt: skip
    find_law(args.law).check_kind(robot.kind)
    if args.fastest:
        check_open_arm(robot)
    if robot.kind == "flexible" and not args.trajectory:
        points = _points(args, robot)
        moves = tuple(Quintic(a, b, args.seconds / (len(points) - 1)) for a, b in pairwise(points))
        if args.bandwidth is None:
            args.bandwidth = min(BANDWIDTH, stable_bandwidth(robot, points[1:], args.control_rate))
        path: Trajectory = _joined(robot, moves, args.shaper, args.modes, args.bandwidth)
        after = pause(robot, moves[-1:])
    else:
        path, after = _trajectory(args, robot), 0.0
        args.seconds = path.duration
    made = Rollout(
        plant, controller(args, robot.rigid, path.sample(0.0).q), path, seconds=path.duration + after,
        dt=args.dt or min(DT, period), control_dt=period, method=args.method, base_known=not args.base_unknown,
        mismatch=mismatch_of(args.mismatch, args.scene),
    )  # fmt: skip
    return made, path.duration


def controller(args: argparse.Namespace, robot: RigidRobot, start: Array) -> ControlLaw:
    """The control law of the arguments, with gains that suit the inertia at `start`, (n,), where it has a bandwidth."""
    kind = find_law(args.law)
    friction = None if args.no_friction or args.no_friction_compensation else FrictionCompensation()
    if hasattr(kind.make, "tuned") and not args.law_parameter:
        bandwidth = BANDWIDTH if args.bandwidth is None else args.bandwidth
        tuned: ControlLaw = kind.make.tuned(robot, bandwidth, args.integral, friction, start)
        return tuned
    for option in {"bandwidth", "integral"} & set(getattr(args, "given", ())):
        raise ArgumentError(f"--{option} is not for law {args.law!r} with parameters of its own; leave it out")
    return kind.law(robot, law_values(kind, args.law_parameter, robot), friction, args.control_rate)


def law_values(kind: LawKind, given: list[str], robot: RigidRobot) -> dict[str, object]:
    """The parameters of --law-parameter: of all joints, or as JOINT.NAME of one."""
    values: dict[str, Any] = {}
    for text in given:
        name, assigned, value = text.partition("=")
        joint, _, key = name.rpartition(".")
        if not assigned or key not in kind.parameters:
            raise ArgumentError(f"--law-parameter: {unknown('parameter', key, kind.parameters, f'law {kind.name!r}')}")
        declared = kind.parameters[key]
        parsed = declared.read(name, value)
        if declared.per_joint:
            row = values.setdefault(key, np.full(robot.n, declared.default, np.float64))
            row[robot.joint_index(joint) if joint else slice(None)] = parsed
        else:
            values[key] = parsed
    return values


def _trajectory(args: argparse.Namespace, robot: Robot) -> Trajectory:
    """That of --trajectory, or quintics from rest to rest through `_points`, which lead passive joints."""
    if args.trajectory:
        given = read_trajectory_of(args.trajectory, robot)
        return FastestMotion(robot.rigid).along(given) if args.fastest else given
    robot = robot.rigid
    mechanism, points = mechanism_of(robot), _points(args, robot)
    if args.fastest:
        return FastestMotion(robot).along(points)
    rest = np.zeros_like(points)
    # between points at rest, quintic interpolation gives quintics from rest to rest
    moves = SampledTrajectory(np.linspace(0.0, args.seconds, len(points)), points, rest, rest, robot.joint_names)
    leading = None if mechanism is None else leading_path(mechanism, mechanism.posture)
    named = [robot.joint_index(name) for name in positions("--to", args.to, robot)]
    return moves if leading is None else leading(moves.path, np.array(named), 0.0)


def _points(args: argparse.Namespace, robot: Robot) -> Array:
    """Where the arm rests: the start and the goal of --to, or the ends of three moves; shape (moves + 1, nq)."""
    if args.to:
        return _start_and_end(args, robot.rigid)
    if args.start:
        raise ArgumentError("--start needs --to or --free; the three moves have a start of their own")
    plan = plan_moves(robot.rigid, args.seconds, *([bends_little(robot)] if robot.kind == "flexible" else ()))
    if plan.note:
        print(f"rne simulate: {plan.note}", file=sys.stderr)
    return np.array([plan.moves[0].start, *(move.end for move in plan.moves)])


def _start_and_end(args: argparse.Namespace, robot: RigidRobot) -> Array:
    """Start and end of the move of --to, of continuous joints by the nearest turn; shape (2, nq)."""
    points, turning = np.array([start_configuration(robot, args.start)] * 2), continuous(robot)
    for name, value in positions("--to", args.to, robot).items():
        j = robot.joint_index(name)
        if not (args.no_stops or robot.lower[j] <= value <= robot.upper[j]):
            raise ArgumentError(
                f"--to: {name!r} cannot reach {value:g}; its limits are [{robot.lower[j]:g}, {robot.upper[j]:g}]"
            )
        turns = turns_off(value, points[0, j]) if turning[j] else 0.0
        points[1, j] = value - 2.0 * np.pi * turns
        if turns:
            print(f"rne simulate: {name!r} moves to {points[1, j]:.6g}, the turn of {value:.6g} nearest to its start "
                  f"({points[0, j]:.6g}), as a controller moves it", file=sys.stderr)
    return points


def start_configuration(robot: RigidRobot, given: list[str]) -> Array:
    """The start of --start: zero (a mechanism's posture), moved inside the limits and changed by JOINT=VALUE; (nq,)."""
    return configuration("--start", given, robot, inside=True)


def _joined(
    arm: FlexibleArm, moves: tuple[Quintic, ...], shaper: str | None, modes: int, bandwidth: float
) -> SampledTrajectory:
    """All moves as one trajectory, each shaped for the vibrations under control at its end."""
    (programme,) = programmes(arm, moves, shaper, modes, bandwidth, compare=False)
    times: list[Array] = []
    references: list[Reference] = []
    begin = 0.0
    for move in programme.moves:
        knots = np.array([0.0, move.duration]) if isinstance(move, Quintic) else move.times
        knots = knots[1:] if times else knots  # each move starts where the previous one ended
        times.append(begin + knots)
        references += [move.sample(t) for t in knots.tolist()]
        begin += move.duration
    q, qd, qdd = (np.array(part) for part in zip(*references, strict=True))
    return SampledTrajectory(np.concatenate(times), q, qd, qdd, arm.joint_names)


#: How a log is written, by the ending of the file.
SAVE: dict[str, Callable[[Log, Path], None]] = {".csv": Log.save_csv, ".npz": Log.save_npz, MCAP: save_mcap}


def refuse_unused(args: argparse.Namespace) -> None:
    """`ArgumentError` for options that the others leave without effect."""
    others = ("to", "start", "preset", "seconds", "free", "dae", "shaper")
    controlled = ("law", "law_parameter", "bandwidth", "integral", "control_rate", "no_friction_compensation",
                  "base_unknown", "no_effort_limits", "tolerance", "mismatch", "fastest")  # fmt: skip
    unused = (
        (args.trajectory, others, "is for another motion than that of --trajectory; leave it out"),
        (args.free, controlled, f"is for a controlled move; leave it out with --{'dae' if args.dae else 'free'}"),
        (args.dae, ("scene",), "is for the other methods; leave it out with --dae"),
        (args.shaper is None, ("modes",), "needs --shaper"),
        (args.fastest, ("seconds",), "is not for --fastest; leave it out"),
        (not (args.to or args.trajectory or args.preset), ("fastest",), "needs --to or --trajectory"),
    )
    refuse(ArgumentError, *((without and name in args.given, f"--{name.replace('_', '-')} {why}")
                            for without, names, why in unused for name in names))  # fmt: skip


def outputs(args: argparse.Namespace) -> list[Path]:
    """The files of --out and --record."""
    recorded = [(args.record, (MCAP,), "--record")] * bool(args.record)
    return [output_file(*given) for given in [*((path, tuple(SAVE), "--out") for path in args.out), *recorded]]


def base_motion(args: argparse.Namespace) -> SampledBase | None:
    """The motion of --base-motion; `ArgumentError` for its options without it."""
    if args.base_motion is None:
        if args.base_smoothing is not None or args.base_unknown:
            raise ArgumentError("--base-smoothing and --base-unknown need --base-motion")
        return None
    return SampledBase.load(args.base_motion, smoothing=args.base_smoothing)


class Preset(NamedTuple):
    """A simulation published in a paper: start of the actuated joints, rad or m, and duration, s.

    `to` is the end of a quintic from rest to rest, empty for free motion.
    """

    start: tuple[float, ...]
    to: tuple[float, ...]
    seconds: float


def _degrees(*angles: float) -> tuple[float, ...]:
    return tuple(math.radians(angle) for angle in angles)


#: By robot's name, then by the preset's: those of the pantograph of document 002.
PRESETS = {
    "pantograph": {
        "first": Preset(_degrees(0.0, -70.0, 0.0), (), 10.0),
        "second": Preset(_degrees(0.0, 0.0, 50.0), (), 10.0),
        # the printed start of the second may be a misprint of this one: joint 2 hanging, as in the quintic's start
        "second-hanging": Preset(_degrees(0.0, -90.0, 50.0), (), 10.0),
        "quintic": Preset(_degrees(0.0, -90.0, 0.0), _degrees(90.0, -45.0, -18.0), 5.0),
    }
}


def apply_preset(args: argparse.Namespace, robot: str, joints: tuple[str, ...]) -> None:
    """Set the arguments of a preset; `ArgumentError` if the robot does not have it, or with --start, --to or --free.

    The papers' arms have no friction and no stops, nor have the presets.
    """
    known = PRESETS.get(robot, {})
    if args.preset not in known:
        has = f"it has {', '.join(known)}" if known else f"only {', '.join(PRESETS)} has presets"
        raise ArgumentError(f"--preset is {args.preset!r}, which robot {robot!r} does not have; {has}")
    refuse(ArgumentError, *((getattr(args, name), f"--preset sets the start and end of the motion; leave out --{name}")
                            for name in ("start", "to", "free")))  # fmt: skip
    preset = known[args.preset]
    args.start, args.to = (
        [f"{name}={value!r}" for name, value in zip(joints, ends, strict=False)] for ends in (preset.start, preset.to)
    )
    args.free, args.seconds = not preset.to, args.seconds or preset.seconds
    args.no_friction = args.no_stops = True
