"""`rne --help`, `rne --version`, and the message of commands that need ROS where there is none."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import NamedTuple

from rne_dynamics import __version__
from rne_dynamics.advice import extra
from rne_dynamics.errors import MissingDependencyError

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
    "from_recordings": "from recordings to a better model", "with_ros": "with ROS 2", "experts": "for experts",
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
        if len(line) <= width:
            lines.append(line)
        elif command:
            lines += [command[1], *_wrapped(f"      {command[2]}", width, 6)]
        elif line.startswith("  rne "):
            lines.append(line)
        else:
            lines += _wrapped(line, width, len(line) - len(line.lstrip()))
    return "\n".join(lines)


def versions() -> str:
    """The text of `rne --version`: this package, Python, numpy, llvmlite, ROS."""
    import platform

    from rne_dynamics.figures.report import package_version

    lines = [f"rne {__version__}", f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"]
    lines += [f"{name} {package_version(name) or 'is not installed'}" for name in ("numpy", "llvmlite", "matplotlib")]
    return "\n".join([*lines, *_ros_versions()])


def _ros_versions() -> Iterator[str]:
    if find_spec("rclpy") is None:
        yield "ROS 2 is not found: rclpy cannot be imported"
        return
    distribution = os.environ.get("ROS_DISTRO")
    sourced = f"{distribution}, sourced" if distribution else "of PyPI, no installation sourced"
    yield f"ROS 2 {sourced}"


def require_ros(command: str) -> None:
    """Refuse to go on without rclpy: `MissingDependencyError` that names the command and how to install it."""
    if find_spec("rclpy") is None:
        raise MissingDependencyError(
            f"`{command}` runs on ROS 2 and rclpy is not installed: {extra('ros')}, or source a "
            "ROS 2 (source /opt/ros/jazzy/setup.bash); other commands do without it"
        )
