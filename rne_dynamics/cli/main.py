"""`rne`: the entry point of all subcommands, one module each; errors are one line on standard error."""

from __future__ import annotations

import argparse
import importlib
import logging
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING

from rne_dynamics import __version__
from rne_dynamics.cli.clean_stdout import clean_stdout
from rne_dynamics.errors import RneDynamicsError

if TYPE_CHECKING:
    from rne_dynamics.compiling.progress import Compiling

#: Subcommands and their help; the module of the same name is imported only when it is used.
COMMANDS = {
    "demo": "start simulator and controller as two ROS 2 processes, move the arm, print and plot the tracking",
    "info": "the model as a table: joints, limits, masses, gravity torque",
    "check": "check a robot description for faults that would mislead a controller; with lines and fixes",
    "verify": "compare all formulations in random states: largest disagreement, operation counts, times",
    "bench": "compare this package with Pinocchio and MuJoCo: answers, times and ratios",
    "inertia": "inertia of solids, meshes, composites and links, to paste into a URDF",
    "export": "write the model as a URDF for other tools, or its dynamics as C for other programs",
    "guide": "guide a simulated arm by hand under gravity compensation, in two ROS 2 processes",
    "send": "move the arm of a running controller to a position, and wait until it is there",
    "stop": "stop the arms of running controllers, and wait until they are at rest",
    "state": "what running controllers and simulators report: state, joints against limits, faults and remedies",
    "faults": "inject faults into a running controller and check every effort that it sends",
    "simulate": "simulate free motion or a controlled move without ROS",
    "plot": "plot a recording: positions, errors, efforts, torque terms, and what the model says of them",
    "view": "the arm in the browser: simulated, dragged and pushed, or a recording",
    "warmup": "compile all kernels in advance",
}
_NEGATIVE = re.compile(r"-(\d+\.?\d*|\.\d+)[eE][+-]?\d{1,3}")
_DEGREES = re.compile(r"-[\d.]+deg")
_BACK = "\r\x1b[K"
EXIT_USAGE = 2
EXIT_ERROR = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run `rne` with `argv` (the process's own arguments by default) and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="rne",
        description="Robot arm dynamics: recursive Newton-Euler, simulation and control.",
        epilog="`rne COMMAND --help` shows examples.",
    )
    parser.add_argument("command", choices=list(COMMANDS), metavar="COMMAND", help="; ".join(
        f"{name}: {what}" for name, what in COMMANDS.items()
    ))
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    if not arguments or arguments[0] in ("-h", "--help"):
        parser.print_help()
        return 0 if arguments else EXIT_USAGE
    command = parser.parse_args(arguments[:1]).command
    module = importlib.import_module(f"rne_dynamics.cli.{command}")
    sub = argparse.ArgumentParser(
        prog=f"rne {command}",
        description=COMMANDS[command],
        epilog=module.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.configure(sub)
    try:
        parsed = sub.parse_args([_plain(word) for word in arguments[1:]])
        parsed.command_line = shlex.join(["rne", *arguments])
        with clean_stdout(), _compile_status(command), _shown_repairs(parsed):
            code: int = module.run(parsed)
    except RneDynamicsError as error:
        print(f"rne {command}: {error}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        print(f"rne {command}: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # nobody reads the output any more
        return EXIT_ERROR
    return code


def _plain(word: str) -> str:
    """A negative number as argparse takes it for none of its options.

    Degrees are written after a blank, and numbers without exponent: before Python 3.14 argparse takes -1e-3 for an
    option.
    """
    if _DEGREES.fullmatch(word):
        return f" {word}"
    return f"{Decimal(word):f}" if _NEGATIVE.fullmatch(word) else word


@contextmanager
def _compile_status(command: str) -> Iterator[None]:
    """Within the context, show on a terminal what a command compiles; files and pipes get no output."""
    stream = sys.stderr
    if not stream.isatty():
        yield
        return
    from rne_dynamics.compiling.first_start import StatusLine
    from rne_dynamics.compiling.progress import watch_compiling

    line = StatusLine(command)

    def show(now: Compiling) -> None:
        stream.write(_BACK + line.text(now)[: shutil.get_terminal_size().columns - 1])
        stream.flush()

    with watch_compiling(show):
        yield


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
    sys.exit(main())
