"""The controlled move of `rne simulate`: start, trajectory, controller."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from rne_dynamics.cli import demo_flexible
from rne_dynamics.cli.demo_moves import plan_moves
from rne_dynamics.cli.robot_argument import positions
from rne_dynamics.control.control_law import ControlLaw
from rne_dynamics.control.laws import LawKind, find_law
from rne_dynamics.control.motion.limits import continuous, turns_off
from rne_dynamics.control.motion.loop_path import leading_path
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.control.trajectory import Quintic, SampledTrajectory, Trajectory
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.errors import ArgumentError, unknown
from rne_dynamics.model.flexible.arm import AnyRobot, FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import Rollout

#: Bandwidth of the controller, rad/s; an upper bound with flexible links.
BANDWIDTH = 40.0
#: Integration step, s.
DT = 1e-3


def rollout(args: argparse.Namespace, robot: AnyRobot, plant: ArmPlant) -> tuple[Rollout, float]:
    """The rollout, and the time when the last move ends; with flexible links the rollout lasts longer."""
    if args.method == "adaptive":
        raise ArgumentError("--method adaptive is for free motion only; add --free, or use rk4")
    period = 1.0 / args.control_rate
    if args.dt is not None and args.dt > period * (1.0 + 1e-9):
        raise ArgumentError(
            f"--dt is {args.dt:g} s, longer than a control cycle at --control-rate {args.control_rate:g} "
            f"({period:g} s); give --dt up to {period:g}, or a lower --control-rate"
        )
    if args.seconds < 0.5 * period:
        raise ArgumentError(
            f"--seconds is {args.seconds:g}, less than a control cycle of {period:g} s; give more, or a higher "
            "--control-rate"
        )
    if robot.kind == "flexible":
        moves = _flexible_moves(args, robot)
        if args.bandwidth is None:
            ends = np.array([move.end for move in moves])
            args.bandwidth = min(BANDWIDTH, demo_flexible.bandwidth(robot, ends, args.control_rate))
        path: Trajectory = _joined(robot, moves, args.shaper, args.modes, args.bandwidth)
        after = demo_flexible.look(robot, moves[-1:])
    else:
        path, after = trajectory(args, robot), 0.0
    made = Rollout(
        plant, controller(args, robot.rigid), path, seconds=path.duration + after,
        dt=args.dt or min(DT, period), control_dt=period, method=args.method, base_known=not args.base_unknown,
    )  # fmt: skip
    return made, path.duration


def controller(args: argparse.Namespace, robot: RigidRobot) -> ControlLaw:
    """The control law of the arguments: of a bandwidth where the law has one, otherwise of its own parameters."""
    kind = find_law(args.law)
    friction = None if args.no_friction or args.no_friction_compensation else FrictionCompensation()
    if hasattr(kind.make, "tuned") and not args.law_parameter:
        bandwidth = BANDWIDTH if args.bandwidth is None else args.bandwidth
        tuned: ControlLaw = kind.make.tuned(
            robot, bandwidth, args.integral, friction, start_configuration(robot, args.start)
        )
        return tuned
    for option in {"bandwidth", "integral"} & set(getattr(args, "given", ())):
        raise ArgumentError(f"--{option} is not for law {args.law!r} with parameters of its own; leave it out")
    return kind.law(robot, law_values(kind, args.law_parameter, robot), friction)


def law_values(kind: LawKind, given: list[str], robot: RigidRobot) -> dict[str, object]:
    """The parameters of --law-parameter: of all joints, or as JOINT.NAME of one."""
    values: dict[str, Any] = {}
    for text in given:
        name, assigned, value = text.partition("=")
        joint, _, key = name.rpartition(".")
        if not assigned or key not in kind.parameters:
            raise ArgumentError(f"--law-parameter: {unknown('parameter', key, kind.parameters, f'law {kind.name!r}')}")
        declared = kind.parameters[key]
        parsed = declared.parse(f"--law-parameter {name}", value)
        if declared.per_joint:
            row = values.setdefault(key, np.full(robot.n, float(declared.default)))
            row[robot.joint_index(joint) if joint else slice(None)] = parsed
        else:
            values[key] = parsed
    return values


def trajectory(args: argparse.Namespace, robot: RigidRobot) -> Trajectory:
    """Quintics from rest to rest: to the positions of --to, or three moves that return to the start."""
    mechanism = mechanism_of(robot)
    leading = None if mechanism is None else leading_path(mechanism, mechanism.posture)
    if args.to:
        points = _start_and_end(args, robot)
    else:
        _refuse_start(args)
        planned = _three_moves(args, robot)
        points = np.array([planned[0].start, *(move.end for move in planned)])
    rest = np.zeros_like(points)
    # between points at rest, quintic interpolation gives quintics from rest to rest
    moves = SampledTrajectory(np.linspace(0.0, args.seconds, len(points)), points, rest, rest, robot.joint_names)
    named = [robot.joint_index(name) for name in positions("--to", args.to, robot)]
    return moves if leading is None else leading(moves.path, np.array(named), 0.0)


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


def _refuse_start(args: argparse.Namespace) -> None:
    if args.start:
        raise ArgumentError("--start needs --to or --free; the three moves have a start of their own")


def _flexible_moves(args: argparse.Namespace, arm: FlexibleArm) -> tuple[Quintic, ...]:
    """The move of --to, or three that return to the start, before shaping."""
    if args.to:
        start, end = _start_and_end(args, arm.robot)
        return (Quintic(start, end, args.seconds),)
    _refuse_start(args)
    return _three_moves(args, arm.robot, demo_flexible.bends_little(arm))


def _three_moves(
    args: argparse.Namespace, robot: RigidRobot, *gentle: Callable[[tuple[Quintic, ...]], bool]
) -> tuple[Quintic, ...]:
    """The moves of `plan_moves`; reports what effort limits do to them."""
    plan = plan_moves(robot, args.seconds, *gentle)
    if plan.note:
        print(f"rne simulate: {plan.note}", file=sys.stderr)
    return plan.moves


def start_configuration(robot: RigidRobot, given: list[str]) -> Array:
    """Zero (a mechanism's posture), moved inside the limits and changed by JOINT=VALUE; shape (nq,)."""
    plant = ArmPlant(robot)
    q = np.array(robot.neutral, dtype=np.float64)
    one_axis = plant.positions >= 0
    places = plant.positions[one_axis]
    q[places] = np.clip(q[places], robot.lower[one_axis], robot.upper[one_axis])
    for name, value in positions("--start", given, robot).items():
        place = plant.positions[robot.joint_index(name)]
        if place < 0:
            raise ArgumentError(f"--start: {name!r} belongs to a floating joint, which always starts at zero")
        q[place] = value
    return q


def _joined(
    arm: FlexibleArm, moves: tuple[Quintic, ...], shaper: str | None, modes: int, bandwidth: float
) -> SampledTrajectory:
    """All moves as one trajectory, each shaped for the vibrations under control at its end."""
    (programme,) = demo_flexible.programmes(arm, moves, shaper, modes, bandwidth, compare=False)
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
