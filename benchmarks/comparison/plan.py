"""Plan of a run, and what is left out of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from comparison.peers.pinocchio import PinocchioModel
from comparison.robots import BenchRobot

from rne_dynamics.errors import ModelError

T = TypeVar("T")
#: Peers: import names and names for pip.
PEERS = {"pinocchio": "pin", "mujoco": "mujoco", "casadi": "casadi"}


@dataclass(frozen=True)
class LeftOut:
    """Something that is not compared, and the reason."""

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
        Robots of the sections that use robots.
    peers
        Import names of the installed peers.
    quick
        Whether to use small sizes.
    folder
        For temporary files.
    """

    robots: Sequence[BenchRobot]
    peers: frozenset[str]
    quick: bool
    folder: Path

    def pinocchio(self, robot: BenchRobot, section: str) -> Generator[LeftOut, None, PinocchioModel | None]:
        """Pinocchio's model of a robot, or `None` as in `peer`."""
        return (yield from self.peer("pinocchio", f"{robot.name} in {section}", lambda: robot.pinocchio))

    def peer(self, name: str, where: str, make: Callable[[], T]) -> Generator[LeftOut, None, T | None]:
        """What `make` makes of a peer; `None` without that peer, or with the reason where its model differs."""
        if name in self.peers:
            try:
                return make()
            except ModelError as error:
                yield LeftOut(f"{PEERS[name]} on {where}", str(error))
        return None


def installed_peers() -> frozenset[str]:
    """Names of `PEERS` that can be imported."""
    return frozenset(name for name in PEERS if find_spec(name) is not None)


def missing_peers(peers: frozenset[str]) -> list[LeftOut]:
    """An entry for each peer that is not installed."""
    return [
        LeftOut(f"{package} in every comparison", f"it is not installed (pip install {package})")
        for name, package in PEERS.items() if name not in peers
    ]  # fmt: skip
