"""What a run is asked to compare, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from rne_dynamics.benchmarking.robots import BenchRobot

#: Peers by the names under which they are imported and installed.
PEERS = {"pinocchio": "pin", "mujoco": "mujoco"}


@dataclass(frozen=True)
class LeftOut:
    """What is not compared, and why."""

    what: str
    why: str

    def __str__(self) -> str:
        return f"left out: {self.what}: {self.why}"


@dataclass(frozen=True, eq=False)
class Plan:
    """What is compared.

    Parameters
    ----------
    robots
        For the sections that go over robots.
    peers
        Installed ones, by the names under which they are imported.
    quick
        Whether small sizes are enough.
    folder
        For files that live as long as the run.
    """

    robots: Sequence[BenchRobot]
    peers: frozenset[str]
    quick: bool
    folder: Path


def installed_peers() -> frozenset[str]:
    """Which of `PEERS` can be imported."""
    return frozenset(name for name in PEERS if find_spec(name) is not None)


def missing_peers(peers: frozenset[str]) -> list[LeftOut]:
    """A line for each that is not installed."""
    return [
        LeftOut(f"{package} in every comparison", f"it is not installed (pip install {package})")
        for name, package in PEERS.items() if name not in peers
    ]  # fmt: skip
