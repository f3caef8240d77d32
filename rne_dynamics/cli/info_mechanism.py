"""The part of `rne info` for mechanisms: loops, motors, posture."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from rne_dynamics.cli.table_layout import print_table
from rne_dynamics.closed_chain.mobility import mobility
from rne_dynamics.model.loop import DIRECTIONS, LoopKind
from rne_dynamics.model.mechanism import Mechanism


def describe_mechanism(mechanism: Mechanism) -> dict[str, Any]:
    """Loops, joints with and without motors, the posture with the loops closed (rad or m), and freedoms."""
    freedoms = mobility(mechanism)
    rows = []
    for loop in mechanism.loops:
        blocked = [d for d, held in zip(DIRECTIONS, loop.blocked.tolist(), strict=True) if held]
        kind = next((k.name.lower() for k in LoopKind if list(k.value) == blocked), None)
        rows.append({"name": loop.name, "a": loop.a.link, "b": loop.b.link, "kind": kind, "blocked": blocked})
    return {
        "loops": rows,
        "actuated": list(mechanism.joint_names),
        "passive": list(mechanism.passive_names),
        "posture": dict(zip(mechanism.robot.joint_names, mechanism.posture.tolist(), strict=True)),
        "freedoms": freedoms.freedoms,
        "idle": freedoms.idle,
        "redundant": freedoms.redundant,
    }


def print_mechanism(info: dict[str, Any], out: Console) -> None:
    """Print the loops, and the joints with and without motors."""
    loops = Table("loop", "holds", "against", "kind", "blocked", header_style="bold")
    for row in info["loops"]:
        loops.add_row(row["name"], row["b"], row["a"], row["kind"] or "-", " ".join(row["blocked"]))
    motors = Table("joint", "motor", "posture", header_style="bold")
    for name, value in info["posture"].items():
        shown = f"{0.0 if abs(value) < 1e-12 else value:.5g}"
        motors.add_row(name, "actuated" if name in info["actuated"] else "passive", shown)
    motors.columns[2].justify = "right"
    print_table(out, loops)
    print_table(out, motors)
    more = f", {info['redundant']} redundant constraint{'s' * (info['redundant'] != 1)}" if info["redundant"] else ""
    idle = f", {info['idle']} of them idle" if info["idle"] else ""
    out.print(f"degrees of freedom: {info['freedoms']}{idle}{more}")
