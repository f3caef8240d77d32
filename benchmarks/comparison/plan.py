"""Plan of a run, and what is left out of it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from comparison.peers.pinocchio import PinocchioModel
from comparison.robots import BenchRobot

from rne_dynamics.errors import ModelError

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
        """Pinocchio's model of a robot; `None` without pin, or with the reason where the models differ."""
        if "pinocchio" in self.peers:
            try:
                return robot.pinocchio
            except ModelError as error:
                yield LeftOut(f"pin on {robot.name} in {section}", str(error))
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
