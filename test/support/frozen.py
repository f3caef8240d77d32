"""Nodes that stand still on a signal.

SIGSTOP would end at the SIGCONT of whoever pauses all processes for a while, as `under-stress` does.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from rne_dynamics.ros.sessions.processes import NodeProcess

from .forked import ForkedNode

PROGRAM = """
import runpy, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
signal.signal(signal.SIGUSR1, lambda *_: signal.sigwait({signal.SIGUSR2}))
runpy.run_module("rne_dynamics.ros.MODULE", run_name="__main__")
"""


def program(module: str) -> str:
    """A program that runs a node which `freeze` holds."""
    return PROGRAM.replace("MODULE", module)


def freezable(
    module: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> NodeProcess:
    """Start such a node."""
    file = folder / f"freezable_{module}.py"
    file.write_text(program(module), encoding="utf-8")
    return ForkedNode(module, arguments, environment, file)


def freeze(process: NodeProcess) -> None:
    """Hold a node, and the process of its control loop, from their next line of Python on."""
    process.signal(signal.SIGUSR1)


def thaw(process: NodeProcess) -> None:
    """Let it go on."""
    process.signal(signal.SIGUSR2)
