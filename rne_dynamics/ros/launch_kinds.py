"""The launch files and their nodes: what each starts, and how one node is started."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rne_dynamics.ros.launch_arguments import (
    ARM,
    CONTROLLED,
    EFFORTS,
    MOVED,
    SIMULATED,
    VIEWERS,
    LaunchArgument,
)

SIMULATOR, GATE, MOVE = "simulator", "effort_gate", "move"
VIEWER, RECORDER = "viewer", "recorder"


@dataclass(frozen=True)
class Kind:
    """One launch file: the nodes it starts, whether the arm is simulated, and its default `robot`."""

    nodes: tuple[str, ...]
    simulated: bool = False
    robot: str = ""

    @property
    def gated(self) -> bool:
        """Whether it can put the effort gate behind its controller."""
        return GATE not in self.nodes and MOVE not in self.nodes

    @property
    def arguments(self) -> tuple[LaunchArgument, ...]:
        """Its arguments."""
        if MOVE in self.nodes:
            return (*ARM, *MOVED)
        return (*ARM, EFFORTS, *(CONTROLLED if self.gated else ()), *VIEWERS, *(SIMULATED if self.simulated else ()))


#: By the name of the file in launch/, without its ending.
KINDS = {
    "controller": Kind(("computed_torque_controller",)),
    "gravity_compensation": Kind(("gravity_compensation",)),
    "effort_gate": Kind((GATE,)),
    "simulated_arm": Kind((SIMULATOR, "computed_torque_controller"), simulated=True, robot="puma560"),
    "move": Kind((MOVE,)),
}


@dataclass(frozen=True)
class NodePlan:
    """One node: later parameters override earlier ones; remappings are (from, to)."""

    package: str
    executable: str
    parameters: tuple[Path | dict[str, Any], ...] = ()
    remappings: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    #: Whether the launch goes on without it: it only shows or records something.
    optional: bool = False
    #: Whether the launch goes on when it ends, because an effort gate takes the arm over.
    guarded: bool = False
