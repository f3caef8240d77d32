"""Arguments that commands share: ROBOT, xacro arguments, base, rotors, NAME=NUMBER."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable
from typing import Any

from rne_dynamics.control.motion.limits import joint_position, sliding_joints
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.sources import Source, is_model_file, names_model_file, read_source, read_stdin
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import AnyRobot
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.tree import Payload

#: Most coordinates of a robot that commands move: more take minutes, and the Python functions take them.
MOST_MOVED = 300
#: Most coordinates of a robot for which a command computes dynamics in thousands of postures.
MOST_SAMPLED = 50


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Declare ROBOT and the arguments for xacro."""
    parser.add_argument(
        "robot",
        metavar="ROBOT",
        help="name of a robot or mechanism (puma560, pantograph, ur10; `rne list`), path of a .urdf, .xacro or model "
        "file (.yaml), file:// or package:// URI, - for stdin",
    )
    add_reading(parser)


class OneRobot(argparse.Action):
    """ROBOT by its position or as --robot, but not both."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Take the robot."""
        if "robot_given" in namespace:
            parser.error(f"two robots are given, {namespace.robot_given!r} and {values!r}; give one")
        namespace.robot = namespace.robot_given = values


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments for xacro, and --lenient."""
    parser.add_argument(
        "--arg",
        metavar="NAME:=VALUE",
        action="append",
        default=[],
        dest="mappings",
        help="argument for a .xacro file; may be given several times",
    )
    parser.add_argument(
        "--lenient",
        action="store_true",
        help="repair faults of a URDF that other readers accept, each with a warning (`rne check ROBOT --lenient`)",
    )


def add_no_rotors(parser: argparse._ActionsContainer) -> None:
    """Declare --no-rotors, for `rotors` of `load_urdf` and `load_model`."""
    parser.add_argument(
        "--no-rotors",
        action="store_true",
        help="leave out the rotor inertias of the description: efforts are those behind the gears, as torque sensors "
        "in the joints measure them",
    )


def add_base(parser: argparse._ActionsContainer, text: str = "whether the root link is fixed or free") -> None:
    """Declare --base."""
    parser.add_argument("--base", choices=("fixed", "floating"), default="fixed", help=f"{text} (default: fixed)")


def add_payload(parser: argparse._ActionsContainer) -> None:
    """Declare --payload."""
    parser.add_argument(
        "--payload", metavar="LINK=KG",
        help="a point mass at a link's origin, in the arm and in the controller's model",
    )


def payload(option: str, text: str | None) -> Payload | None:
    """The point mass of LINK=KG; `ArgumentError` if it is none."""
    if text is None:
        return None
    ((link, mass),) = assignments(option, [text]).items()
    if mass < 0.0:
        raise ArgumentError(f"{option} is {text!r}; the mass must not be negative")
    return Payload(link, mass)


def check_size(robot: AnyRobot, most: int = MOST_MOVED) -> AnyRobot:
    """The robot; `ArgumentError` if it has more coordinates than a command can move in a reasonable time."""
    count = robot.rigid.open_tree.n
    if count > most:
        raise ArgumentError(
            f"robot {robot.name!r} has {count} coordinates; this command takes up to {most}, `rne check` and "
            "`rne info` more; use the functions of rne_dynamics in Python"
        )
    return robot


def load_robot(args: argparse.Namespace, most: int = MOST_MOVED) -> AnyRobot:
    """The robot of ROBOT, --arg, --base and, where declared, --no-rotors; raises as `robot_source` and `check_size`."""
    return check_size(_loaded(args), most)


def _loaded(args: argparse.Namespace) -> AnyRobot:
    source, rotors = robot_source(args), not getattr(args, "no_rotors", False)
    if not is_model_file(source):
        return load_urdf(source, base=args.base, rotors=rotors)
    robot = load_model(source, mappings=xacro_arguments(args), rotors=rotors)
    if args.base == "fixed":
        return robot
    if robot.kind != "arm":
        raise ArgumentError("--base floating is for a URDF or table of an open arm; this robot's base is fixed")
    return assemble(robot.tree, base=args.base, gravity=robot.gravity)


def robot_source(args: argparse.Namespace) -> Source:
    """Read the description of ROBOT; raises `DescriptionError` or, for an invalid --arg, `ArgumentError`.

    xacro arguments are applied here, except for a model file, whose URDF receives them when it is loaded.
    """
    if args.robot == "-":
        return read_source(read_stdin(), lenient=args.lenient)
    mappings = {} if names_model_file(args.robot) else xacro_arguments(args)
    return read_source(args.robot, mappings, lenient=args.lenient)


def xacro_arguments(args: argparse.Namespace) -> dict[str, str]:
    """Values of --arg by name; `ArgumentError` if one is invalid."""
    mappings = {}
    for text in args.mappings:
        name, given, value = text.partition(":=")
        if not given or not name:
            raise ArgumentError(f"--arg is {text!r}; write NAME:=VALUE")
        mappings[name] = value
    return mappings


def assignments(option: str, texts: list[str]) -> dict[str, float]:
    """Values of a repeatable option NAME=NUMBER; `ArgumentError` if one is invalid."""
    values = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            values[name] = float(number)
        except ValueError:
            values[name] = math.nan
        if not name or not math.isfinite(values[name]):
            raise ArgumentError(f"{option} is {text!r}; write NAME=NUMBER")
    return values


def positions(option: str, texts: Iterable[str], robot: RigidRobot) -> dict[str, float]:
    """Values of a repeatable option JOINT=POSITION, with a unit (deg, mm) or in rad and m; rad or m, by joint.

    `ArgumentError` for no number or a unit that does not fit, `ModelError` with the nearest names for an unknown joint.
    """
    sliding, values = sliding_joints(robot), {}
    for text in texts:
        name, _, quantity = text.rpartition("=")
        if not name:
            raise ArgumentError(f"{option} is {text!r}; write JOINT=POSITION, as {option} {robot.joint_names[0]}=0.5")
        robot.joint_index(name)
        try:
            values[name] = joint_position(quantity, name, sliding)
        except ArgumentError as error:
            raise ArgumentError(f"{option} is {text!r}: {error}") from None
    return values


def posture(option: str, texts: Iterable[str], robot: RigidRobot) -> Array:
    """Neutral positions, (nq,), changed by JOINT=POSITION; raises as `positions`, and for floating joints."""
    q: Array = robot.neutral.copy()
    given = positions(option, texts, robot)
    if given and robot.nq != robot.n:
        raise ArgumentError(f"{option}: robot {robot.name!r} has a floating joint or base; leave {option} out")
    for name, value in given.items():
        q[robot.joint_index(name)] = value
    return q


def node_parameters(source: Source) -> dict[str, str]:
    """Node parameters that name the robot: the path of a model file, which names other files, or the whole URDF."""
    from rne_dynamics.ros.node.robot import description_text

    if not is_model_file(source):
        return {"robot_description": description_text(source)}
    return {"model": source.data.decode() if source.name.startswith("<") else source.name}


def report_left_out(command: str, names: tuple[str, ...]) -> None:
    """Print the parameters of hardware that have no effect on a simulated arm."""
    if names:
        what = "the simulated arm has no such hardware, so these parameters are left out"
        print(f"rne {command}: {what}: {', '.join(names)}", file=sys.stderr)
