"""Arguments of commands: their declaration, numbers, ROBOT, and what else several commands take."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rne_dynamics.control.motion.limits import joint_position, sliding_joints
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.sources import Source, is_model_file, names_model_file, read_source, read_stdin
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.tree import Payload

#: Most coordinates of a robot that commands move: more take minutes, and the Python functions take them.
MOST_MOVED = 300
#: Most coordinates of a robot for which a command computes dynamics in thousands of postures.
MOST_SAMPLED = 50


#: An argument of a command: a function that adds it to a parser.
Argument = Callable[[Any], object]


def argument(*words: str, **options: Any) -> Argument:
    """An argument, as of `argparse.ArgumentParser.add_argument`."""
    return lambda parser: parser.add_argument(*words, **options)


def group(title: str, arguments: Sequence[Argument]) -> Argument:
    """Arguments below a title in the help; without a title, arguments of which at most one may be given."""
    return lambda parser: declare(
        parser.add_argument_group(title) if title else parser.add_mutually_exclusive_group(), arguments
    )


def kinds(dest: str, metavar: str, every: Mapping[str, tuple[str, str | None, Sequence[Argument]]]) -> Argument:
    """A first word `dest` that chooses among kinds with arguments of their own: help, description, arguments."""

    def add(parser: argparse.ArgumentParser) -> None:
        parsers = parser.add_subparsers(dest=dest, metavar=metavar, required=True)
        for name, (text, description, own) in every.items():
            declare(parsers.add_parser(name, help=text, description=description), own)

    return add


def declare(parser: argparse._ActionsContainer, arguments: Iterable[Argument]) -> None:
    """Declare the arguments of a command."""
    for add in arguments:
        add(parser)


def flag(word: str, text: str) -> Argument:
    """An option without a value."""
    return argument(word, action="store_true", help=text)


def several(word: str, metavar: str, text: str) -> Argument:
    """An option that may be given several times."""
    return argument(word, action="append", default=[], metavar=metavar, help=text)


def real(
    lowest: float = -math.inf, highest: float = math.inf, unit: str = "", *, whole: bool = False, name: str = ""
) -> Callable[[str], float]:
    """A finite number from `lowest` to `highest`; `name` replaces the range in messages."""
    kind = "a whole number" if whole else "finite"
    if name:
        allowed = name
    elif math.isfinite(lowest) and math.isfinite(highest):
        allowed = f"between {lowest:g} and {highest:.10g}"
    else:
        allowed = f"at least {lowest:g}" if math.isfinite(lowest) else kind
    if math.isfinite(highest):
        allowed = f"{allowed} {unit}".rstrip()

    def read(text: str) -> float:
        try:
            value = int(text) if whole else float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"is {text!r}; it must be {kind if whole else 'a number'}") from None
        if not (math.isfinite(value) and lowest <= value <= highest):
            raise argparse.ArgumentTypeError(f"is {value:g}; it must be {allowed}")
        return value

    return read


def positive(highest: float = math.inf, unit: str = "") -> Callable[[str], float]:
    """A finite number above 0 and up to `highest`."""
    most = f" and at most {highest:g}" if math.isfinite(highest) else ""
    return real(math.ulp(0.0), highest, unit, name=f"positive{most}")


def whole(lowest: int, highest: int) -> Callable[[str], float]:
    """A whole number from `lowest` to `highest`."""
    return real(lowest, highest, whole=True)


class OneRobot(argparse.Action):
    """ROBOT by its position or as --robot, but not both."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Take the robot."""
        if "robot_given" in namespace:
            parser.error(f"two robots are given, {namespace.robot_given!r} and {values!r}; give one")
        namespace.robot = namespace.robot_given = values


#: xacro arguments and --lenient.
READING = (
    argument("--arg", metavar="NAME:=VALUE", action="append", default=[], dest="mappings",
             help="argument for a .xacro file; may be given several times"),
    flag("--lenient",
         "repair faults of a URDF that other readers accept, each with a warning (`rne check ROBOT --lenient`)"),
)  # fmt: skip
ROBOT = (
    argument("robot", metavar="ROBOT",
             help="name of a robot or mechanism (puma560, pantograph, ur10; `rne list`), path of a .urdf, .xacro or "
             "model file (.yaml), file:// or package:// URI, - for stdin"),
    *READING,
)  # fmt: skip
#: For `rotors` of `load_urdf` and `load_model`.
NO_ROTORS = flag(
    "--no-rotors", "leave out the rotor inertias of the description: efforts are those behind the gears, as torque "
    "sensors in the joints measure them",
)  # fmt: skip
PAYLOAD = argument("--payload", metavar="LINK=KG",
                   help="a point mass at a link's origin, in the arm and in the controller's model")  # fmt: skip
REPORT = argument("--report", type=Path, metavar="HTML",
                  help="write one HTML page with numbers, pictures and verdict, to send to others")  # fmt: skip
MOVIE = argument("--movie", type=Path, metavar="GIF",
                 help="write a moving picture of the robot and its curves; needs matplotlib")  # fmt: skip


def base(text: str = "whether the root link is fixed or free", default: str | None = "fixed") -> Argument:
    """--base."""
    return argument("--base", choices=("fixed", "floating"), default=default, help=f"{text} (default: fixed)")


def node_option(otherwise: str) -> Argument:
    """--node."""
    return argument("--node", metavar="NAME", help="full name of the controller, as in "
                    f"/left/computed_torque_controller (default: {otherwise})")  # fmt: skip


def payload(option: str, text: str | None) -> Payload | None:
    """The point mass of LINK=KG; `ArgumentError` if it is none."""
    if text is None:
        return None
    link, _, number = text.rpartition("=")
    try:
        mass = float(number)
    except ValueError:
        mass = math.nan
    if not link or not 0.0 <= mass < math.inf:
        raise ArgumentError(f"{option} is {text!r}; write LINK=KG; the mass must not be negative")
    return Payload(link, mass)


def check_size(robot: Robot, most: int = MOST_MOVED) -> Robot:
    """The robot; `ArgumentError` if it has more coordinates than a command can move in a reasonable time."""
    count = robot.rigid.open_tree.n
    if count > most:
        raise ArgumentError(
            f"robot {robot.name!r} has {count} coordinates; this command takes up to {most}, `rne check` and "
            "`rne info` more; use the functions of rne_dynamics in Python"
        )
    return robot


def load_robot(args: argparse.Namespace, most: int = MOST_MOVED) -> Robot:
    """The robot of ROBOT, --arg, --base and, where declared, --no-rotors; raises as `robot_source` and `check_size`."""
    source, rotors = robot_source(args), not getattr(args, "no_rotors", False)
    base: Literal["fixed", "floating"] = getattr(args, "base", None) or "fixed"
    if not is_model_file(source):
        return check_size(load_urdf(source, base=base, rotors=rotors), most)
    robot = check_size(load_model(source, mappings=xacro_arguments(args), rotors=rotors), most)
    if base == "fixed":
        return robot
    if robot.kind != "arm":
        raise ArgumentError("--base floating is for a URDF or table of an open arm; this robot's base is fixed")
    return assemble(robot.tree, base=base, gravity=robot.gravity)


def robot_source(args: argparse.Namespace) -> Source:
    """The description of ROBOT, expanded but for a model file's; `DescriptionError`, or `ArgumentError` for --arg."""
    if args.robot == "-":
        args.robot = read_stdin()  # which can be read once
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


def positions(option: str, texts: Iterable[str], robot: RigidRobot) -> dict[str, float]:
    """Values of a repeatable option JOINT=POSITION, with a unit (deg, mm) or in rad and m; rad or m, by joint."""
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


def configuration(option: str, texts: Iterable[str], robot: RigidRobot, *, inside: bool = False) -> Array:
    """Neutral positions, (nq,), if `inside` moved inside the limits, changed by JOINT=VALUE; raises as `positions`."""
    from rne_dynamics.simulation.plant.plant import ArmPlant  # late: most commands set no posture

    q, places = np.array(robot.neutral, dtype=np.float64), ArmPlant(robot).positions
    one_axis = places >= 0
    if inside:
        q[places[one_axis]] = np.clip(q[places[one_axis]], robot.lower[one_axis], robot.upper[one_axis])
    for name, value in positions(option, texts, robot).items():
        place = places[robot.joint_index(name)]
        if place < 0:
            raise ArgumentError(f"{option}: {name!r} belongs to a floating joint, which stays at zero; leave it out")
        q[place] = value
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
