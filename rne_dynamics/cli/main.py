"""`rne`: the entry point of all subcommands, one module each; errors are one line on standard error."""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, NoReturn

from rne_dynamics.cli.clean_stdout import clean_stdout
from rne_dynamics.cli.interrupt import EXIT_INTERRUPTED, noted, report
from rne_dynamics.cli.overview import NEEDS_ROS, fitted, overview, versions
from rne_dynamics.errors import ArgumentError, RneDynamicsError, shortened, unknown

if TYPE_CHECKING:
    from rne_dynamics.cli.terminal import Answer

#: Subcommands and their help; the module of the same name is imported only when it is used. Groups are in `overview`.
COMMANDS = {
    "demo": "simulator and controller as ROS 2 processes: move the arm",
    "list": "all robots that commands take by name",
    "new": "write a parameter file for your own arm, from its URDF",
    "info": "the model as a table: joints, limits, masses, gravity",
    "check": "faults of a description that mislead controllers, with fixes",
    "verify": "compare all formulations: disagreement, operations, times",
    "inertia": "inertia of solids, meshes and links, to paste into a URDF",
    "export": "write the model as a URDF, or its dynamics as C",
    "guide": "guide a simulated arm by hand, under gravity compensation",
    "send": "move the arm of a running controller, and wait for it",
    "stop": "stop the arms of running controllers, and wait for rest",
    "state": "what running controllers report: state, limits, faults",
    "simulate": "simulate free motion or a controlled move without ROS",
    "plot": "plot a recording: positions, errors, efforts and their terms",
    "view": "the arm in the browser: simulated, or a recording",
    "warmup": "compile all kernels in advance",
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
    about = COMMANDS[command] + (f". {NEEDS_ROS[command]}" if command in NEEDS_ROS else "")
    return run_command(f"rne {command}", about, f"rne_dynamics.cli.{command}", arguments[1:])


def run_command(name: str, about: str, module: str, words: Sequence[str]) -> int:
    """Run the command that a module declares (EXAMPLES, configure, run) and return its exit code."""
    try:
        return _uninterrupted(name, about, module, words)
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


def _uninterrupted(name: str, about: str, module: str, words: Sequence[str]) -> int:
    """As `_run`; after Ctrl-C KeyboardInterrupt, also where something has caught it or failed because of it."""
    try:
        code = _run(name, about, module, words)
    except Exception:
        if noted():
            raise KeyboardInterrupt from None
        raise
    if noted() and code != EXIT_INTERRUPTED:
        raise KeyboardInterrupt
    return code


def _run(name: str, about: str, module: str, words: Sequence[str]) -> int:
    """Import the module of a command and run it."""
    command = importlib.import_module(module)
    sub = Parser(
        prog=name,
        description=fitted(about, shutil.get_terminal_size().columns - 2),
        epilog=fitted(command.EXAMPLES, shutil.get_terminal_size().columns - 2),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.configure(sub)
    parsed = sub.parse_args([_plain(word) for word in words])
    parsed.given = {name for name, value in vars(parsed).items() if value != sub.get_default(name)}
    parsed.command_line = shlex.join([*name.split(), *words])
    with clean_stdout(), _shown_repairs(parsed):
        answer: int | Answer = command.run(parsed)
        if isinstance(answer, int):
            return answer
        if parsed.json:
            print(json.dumps(answer.values, indent=2))
        else:
            from rne_dynamics.cli.terminal import console  # late: `rne --help` does not need it

            answer.show(console())
    return answer.code


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
