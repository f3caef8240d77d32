"""`rne`: the entry point of all subcommands, one module each; errors are one line on standard error."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from rne_dynamics import __version__
from rne_dynamics.advice import extra
from rne_dynamics.cli.start import EXIT_INTERRUPTED, clean_stdout, noted, report
from rne_dynamics.errors import ArgumentError, MissingDependencyError, RneDynamicsError, shortened, unknown

if TYPE_CHECKING:
    from rne_dynamics.cli.answer import Answer


_ROS = f"It needs ROS 2: rclpy, from a sourced installation or by {extra('ros')}"
_WIDTH = 79
#: An example with its comment.
_COMMENTED = re.compile(r"(  \S.*?) {2,}(\S.*)")


class Command(NamedTuple):
    """A subcommand: the folder of its module, what it does, and whether it imports rclpy."""

    folder: str
    text: str
    ros: bool = False

    @property
    def about(self) -> str:
        """What its help says first."""
        return f"{self.text}. {_ROS}" if self.ros else self.text


#: Titles of the folders, in the order of `rne --help`.
GROUPS = {
    "own_arm": "your own arm", "simulated": "simulate and compare",
    "from_recordings": "from recordings to a better model", "with_ros": "with ROS 2",
}  # fmt: skip


def overview(commands: Mapping[str, Command]) -> str:
    """The text of `rne --help`: all commands in groups."""
    about = "Robot arm dynamics: recursive Newton-Euler, simulation and control."
    lines = ["usage: rne COMMAND [arguments]", "", about]
    for folder, title in GROUPS.items():
        lines += ["", f"{title}:"]
        for name, command in commands.items():
            if command.folder == folder:
                lines += _wrapped(f"  {name:10}{command.text}", _WIDTH, 12)
    lines += ["", "rne COMMAND --help    options and examples", "rne --version         versions of what is installed"]
    return "\n".join(lines)


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    import textwrap  # late: only help needs it

    return textwrap.wrap(text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def fitted(examples: str, width: int) -> str:
    """Examples and remarks of a command's help within a width.

    A sentence is wrapped at blanks; a comment that does not fit behind its example goes below; commands stay whole.
    """
    lines: list[str] = []
    for line in examples.splitlines():
        command = _COMMENTED.fullmatch(line)
        if len(line) > width and command:
            lines += [command[1], *_wrapped(f"      {command[2]}", width, 6)]
        elif len(line) > width and not line.startswith("  rne "):
            lines += _wrapped(line, width, len(line) - len(line.lstrip()))
        else:
            lines.append(line)
    return "\n".join(lines)


def versions() -> str:
    """The text of `rne --version`: this package, Python, numpy, llvmlite, ROS."""
    import platform

    from rne_dynamics.figures.report import package_version

    packages = [f"{name} {package_version(name) or 'is not installed'}" for name in ("numpy", "llvmlite", "matplotlib")]
    distribution = os.environ.get("ROS_DISTRO")
    ros = f"ROS 2 {distribution}, sourced" if distribution else "ROS 2 of PyPI, no installation sourced"
    return "\n".join([
        f"rne {__version__}", f"Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        *packages,
        ros if find_spec("rclpy") else "ROS 2 is not found: rclpy cannot be imported",
    ])  # fmt: skip


def require_ros(command: str) -> None:
    """Refuse to go on without rclpy: `MissingDependencyError` that names the command and how to install it."""
    if find_spec("rclpy") is None:
        raise MissingDependencyError(
            f"`{command}` runs on ROS 2 and rclpy is not installed: {extra('ros')}, or source a "
            "ROS 2 (source /opt/ros/jazzy/setup.bash); other commands do without it"
        )


#: Subcommands by name, in the order of `rne --help` and of the documentation; modules are imported when they are used.
COMMANDS = {
    "list": Command("own_arm", "all robots that commands take by name"),
    "new": Command("own_arm", "write a parameter file for your own arm, from its URDF"),
    "check": Command("own_arm", "faults of a description that mislead controllers, with fixes"),
    "info": Command("own_arm", "the model as a table: joints, limits, masses, gravity"),
    "guide": Command("own_arm", "guide a simulated arm by hand, under gravity compensation", ros=True),
    "inertia": Command("own_arm", "inertia of solids, meshes and links, to paste into a URDF"),
    "view": Command("own_arm", "the arm in the browser: simulated, or a recording"),
    "export": Command("own_arm", "write the model as a URDF, or its dynamics as C"),
    "simulate": Command("simulated", "simulate free motion or a controlled move without ROS"),
    "compare": Command("simulated", "compare control laws on arms that differ from the model"),
    "plot": Command("simulated", "plot a recording: positions, errors, efforts and their terms"),
    "verify": Command("simulated", "compare all formulations: disagreement, operations, times"),
    "residual": Command("from_recordings", "measured torque of logs against the model's, by parts"),
    "identify": Command("from_recordings", "a model that predicts the torque, from recorded motion"),
    "excite": Command("from_recordings", "a motion that excites all parameters, to identify them"),
    "demo": Command("with_ros", "simulator and controller as ROS 2 processes: move the arm", ros=True),
    "send": Command("with_ros", "move the arm of a running controller, and wait for it", ros=True),
    "stop": Command("with_ros", "stop the arms of running controllers, and wait for rest", ros=True),
    "state": Command("with_ros", "what running controllers report: state, limits, faults", ros=True),
}
_NEGATIVE = re.compile(r"-(\d+\.?\d*|\.\d+)[eE][+-]?\d{1,3}")
_DEGREES = re.compile(r"-[\d.]+deg")
EXIT_USAGE = 2
EXIT_ERROR = 1
#: Longest line of a message, characters.
LONGEST_LINE = 1_800


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and exit; an `ArgumentError` for a number that an option does not allow."""
        if number := re.fullmatch(r"argument ([^:]+): (is .*)", message):
            raise ArgumentError(f"{number[1]} {number[2]}")
        self.exit(EXIT_USAGE, f"{self.prog}: {message}; `{self.prog} --help` shows the arguments\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run `rne` with `argv` (the process's own arguments by default) and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(overview(COMMANDS))
        return 0 if arguments else EXIT_USAGE
    if arguments[0] == "--version":
        print(versions())
        return 0
    command = arguments[0]
    if command not in COMMANDS:
        print(f"rne: {unknown('command', command, COMMANDS, 'rne')}; `rne --help` shows them", file=sys.stderr)
        return EXIT_USAGE
    found = COMMANDS[command]
    module = f"rne_dynamics.cli.{found.folder}.{command}"
    return run_command(f"rne {command}", found.about, module, arguments[1:], ros=found.ros)


def run_command(name: str, about: str, module: str, words: Sequence[str], *, ros: bool = False) -> int:
    """Run the command that a module declares (EXAMPLES, ARGUMENTS, run) and return its exit code.

    Ctrl-C counts also where something has caught KeyboardInterrupt, or has failed because of it.
    """
    try:
        try:
            code = _run(name, about, module, words, ros)
        except Exception:
            if noted():
                raise KeyboardInterrupt from None
            raise
        if noted() and code != EXIT_INTERRUPTED:
            raise KeyboardInterrupt
        return code
    except RneDynamicsError as error:
        text = "\n".join(shortened(line, LONGEST_LINE) for line in str(error).splitlines())
        print(f"{name}: {text}", file=sys.stderr)
    except KeyboardInterrupt:
        return report(name)
    except BrokenPipeError:
        sys.stderr.close()  # nobody reads the output any more
    except OSError as error:  # a full disk, a folder without permission
        where = f"{error.filename}: " if error.filename else ""
        print(f"{name}: {where}{error.strerror or error}", file=sys.stderr)
    return EXIT_ERROR


def _run(name: str, about: str, module: str, words: Sequence[str], ros: bool) -> int:
    """Import the module of a command and run it."""
    command = importlib.import_module(module)
    from rne_dynamics.cli.arguments import declare  # late: `rne --help` does not need it

    width = shutil.get_terminal_size().columns - 2
    sub = Parser(
        prog=name, description=fitted(about, width), epilog=fitted(command.EXAMPLES, width),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    declare(sub, command.ARGUMENTS)
    parsed = sub.parse_args([_plain(word) for word in words])
    parsed.given = {name for name, value in vars(parsed).items() if value != sub.get_default(name)}
    parsed.command_line = shlex.join([*name.split(), *words])
    if ros:
        require_ros(name)
    with clean_stdout(), _shown_repairs(parsed):
        answer: int | Answer = command.run(parsed)
        return answer if isinstance(answer, int) else answer.given(parsed)


def _plain(word: str) -> str:
    """A negative number as argparse takes it for none of its options.

    Degrees are written after a blank, and numbers without exponent: before Python 3.14 argparse takes -1e-3 for an
    option.
    """
    if _DEGREES.fullmatch(word):
        return f" {word}"
    return f"{Decimal(word):f}" if _NEGATIVE.fullmatch(word) else word


@contextmanager
def _shown_repairs(args: argparse.Namespace) -> Iterator[None]:
    """While a command runs, print each repair of --lenient on standard error."""
    logger, handler = logging.getLogger("rne_dynamics.description.urdf"), logging.StreamHandler()
    if getattr(args, "lenient", False):
        logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


if __name__ == "__main__":
    from rne_dynamics.cli.start import main as start

    sys.exit(start())
