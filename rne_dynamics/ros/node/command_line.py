"""Command line of the nodes: ``--help``, ``--version``, and refusal of other words."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import rclpy
from rclpy.context import Context

from rne_dynamics.ros.parameters.files import JOINT, Parameter, words_of

if TYPE_CHECKING:
    import argparse

EPILOG = """\
examples:
  ros2 run rne_dynamics {node} --ros-args --params-file ARM.yaml -p robot_description:=ARM.urdf
  ros2 run rne_dynamics {node} --ros-args -p robot_description:=puma560 -r __ns:=/left

If a setting is given twice, the last one on the command line counts.

parameters, each as -p NAME:=VALUE behind --ros-args or in a parameter file:
"""
WIDTH = 110


def described(parameter: Parameter) -> str:
    """A parameter with its default, unit and choices, as lines of help."""
    facts = " ".join(filter(None, [parameter.default_text(), parameter.unit]))
    choices = f" One of {', '.join(parameter.choices)}." if parameter.choices else ""
    name = parameter.name.replace(JOINT, "<joint>")
    return textwrap.fill(
        f"{name} ({facts}): {parameter.description}{choices}", WIDTH, initial_indent="  ", subsequent_indent="      ",
        break_on_hyphens=False,
    )


def read_command_line(node: str, text: str | None, parameters: Sequence[Parameter], argv: Sequence[str] | None) -> None:
    """Show help or the version, which ends the process, or refuse what is not a ROS argument."""
    words = own_words(argv)
    if not words:
        return
    import argparse  # here: most nodes are started without such words

    from rne_dynamics import __version__

    parser = argparse.ArgumentParser(
        prog=node, usage="%(prog)s [-h] [--version] [--ros-args ...]", description=(text or "").partition("\n\n")[0],
        epilog=EPILOG.format(node=node) + "\n".join(map(described, parameters)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    refuse_remappings(parser, words)
    parser.parse_args(words)


def refuse_remappings(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """End with a usage message where a word is ``A:=B``: rcl takes it for a remapping, as ROS 1 did."""
    for word in words:
        if ":=" in word:
            parser.error(f"{word} has no --ros-args before it; write --ros-args -p {word}, or -r for a remapping")


def own_words(argv: Sequence[str] | None) -> list[str]:
    """The words of a command line, by default this process's, that are no ROS arguments."""
    return list(words_of(sys.argv[1:] if argv is None else argv, ros=False))


# -- ROS contexts of commands, which take nothing from the command line of `rne` ---------------------------------------


def own_context() -> Context:
    """An initialised context without ROS arguments."""
    # rclpy passes on this process's command line, where rcl takes every NAME:=VALUE for a remapping, also xacro's
    # arguments
    context = Context()
    rclpy.init(args=[], context=context)
    return context
