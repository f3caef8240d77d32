"""All faults: a file for each kind."""

from __future__ import annotations

from faults.fault import Fault
from faults.kinds import (
    arm_faults,
    clocks,
    drives,
    gate,
    hands,
    joint_states,
    live_changes,
    motors,
    other_nodes,
    parameters,
    processes,
    requests,
    simulation,
    storms,
    trajectories,
    walls,
)

#: Every fault, grouped by kind.
FAULTS: tuple[Fault, ...] = (
    *joint_states.FAULTS, *clocks.FAULTS, *trajectories.FAULTS, *arm_faults.FAULTS, *walls.FAULTS, *drives.FAULTS,
    *motors.FAULTS, *hands.FAULTS, *parameters.FAULTS, *live_changes.FAULTS, *requests.FAULTS, *storms.FAULTS,
    *other_nodes.FAULTS, *simulation.FAULTS, *processes.FAULTS, *gate.FAULTS,
)
