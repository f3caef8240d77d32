"""The command line of `move`, and one motion of a running controller for `rne send`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from rclpy.parameter import Parameter as RosParameter

from rne_dynamics import __version__
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.node.command_line import refuse_remappings
from rne_dynamics.ros.parameters.schema import Values


def goal(robot: RigidRobot, joints: Sequence[str], values: Values) -> Array:
    """The goal that the parameters name, NaN for joints that stay; shape (n,), rad or m.

    Raises ArgumentError: another number of values than joints, an unknown joint, a goal outside the position limits.
    """
    listed = values["goal_joints"] or joints
    given = values["goal"]
    if len(given) != len(listed):
        raise ArgumentError(f"goal has {len(given)} values for {len(listed)} joints ({', '.join(listed)})")
    target = np.full(robot.n, np.nan)
    for name, value in zip(listed, given, strict=True):
        j = robot.joint_index(name)
        if not robot.lower[j] <= value <= robot.upper[j]:
            raise ArgumentError(
                f"goal {value:g} of joint {name!r} is outside its limits [{robot.lower[j]:.6g}, {robot.upper[j]:.6g}]"
            )
        target[j] = value
    return target


def overrides(arguments: Sequence[str]) -> list[RosParameter]:
    """Parameters from the command line; exits with a usage message if it is not valid."""
    parser = argparse.ArgumentParser(
        prog="move", description="Send the arm to a position along a quintic and wait until it is there.",
        epilog="examples: move 0.5 -0.8 0.3 0 0 0    move joint2=-0.8 --duration 2    "
               "move joint1=1 --ros-args -p robot_description:=puma560",
    )
    parser.add_argument("goal", nargs="*", metavar="VALUE|JOINT=VALUE", help="rad or m")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    for name in ("duration", "velocity-scale", "tolerance", "timeout"):
        parser.add_argument(f"--{name}", type=float)
    parser.add_argument("--controller")
    refuse_remappings(parser, arguments)
    options = parser.parse_args([f" {a}" if a[:1] == "-" and a[1:2] in "0123456789." and a != "-" else a
                                 for a in arguments])
    given = vars(options)
    words = [w.strip() for w in given.pop("goal")]
    named = [w.partition("=") for w in words if "=" in w]
    if named and len(named) != len(words):
        parser.error("give either VALUEs for all joints or JOINT=VALUE for some")
    try:
        values = [float(value) for _, _, value in named] or [float(w) for w in words]
    except ValueError as error:
        parser.error(str(error))
    result = [RosParameter(name, value=value) for name, value in given.items() if value is not None]
    if values:
        result.append(RosParameter("goal", value=values))
    if named:
        result.append(RosParameter("goal_joints", value=[name for name, _, _ in named]))
    return result
