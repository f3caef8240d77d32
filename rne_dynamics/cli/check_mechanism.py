"""Checks of a mechanism in a model file: freedoms, loops, motors, posture."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from rne_dynamics.closed_chain.assembly import assembled
from rne_dynamics.closed_chain.coordinates import NEAR_SINGULAR
from rne_dynamics.closed_chain.mobility import Mobility, mobility
from rne_dynamics.closed_chain.refusals import HALF_TURN
from rne_dynamics.description.findings import Finding, Report, error, note, warning
from rne_dynamics.description.model_parts import Values
from rne_dynamics.errors import AssemblyError, ModelError
from rne_dynamics.model.layout import PARENT, VELOCITY_INDEX
from rne_dynamics.model.mechanism import Mechanism

#: Largest closure error of a loop at the given posture that rounding explains: m, rad.
_GAP, _TURN = 1e-3, 0.01
#: Tolerance of limits, m or rad.
_SLACK = 1e-6


def lint_mechanism(mechanism: Mechanism, values: Values) -> tuple[list[Finding], dict[str, Any] | None]:
    """Findings on a mechanism, and its freedoms, by count and by rank, where the loops close.

    The mechanism is that of its model file, with the posture's closure errors; `values` are the file's entries, for
    lines.
    """
    lines = {entry.value["name"].value: entry.line for entry in values["loops"].value}
    at = values["posture"].line if "posture" in values else values["loops"].line
    given = mobility(mechanism)
    try:
        closed = assembled(mechanism)
    except AssemblyError:
        blocked = [] if given.freedoms else list(_motors(mechanism, given, values["actuated"].line))
        return [*_open_loops(given, lines), *blocked], None
    except ModelError:  # too few or too many actuated joints: reported below
        closed = mechanism
    found = mobility(closed)
    findings = [
        *_rough(mechanism, closed, given, lines),
        *_motors(closed, found, values["actuated"].line),
        *_redundant(found, values["loops"].line),
        *_posture(closed, found, at, values),
    ]
    counts = ("freedoms", "gruebler", "constraints", "redundant", "actuated", "passive")
    return findings, {name: getattr(found, name) for name in counts} | {"distance_to_singular": found.distance}


def without_passive_efforts(report: Report, mechanism: Mechanism) -> Report:
    """The URDF's findings without those about effort limits of passive joints."""
    passive = {f"joint {name!r} <limit>" for name in mechanism.passive_names}
    kept = (f for f in report.findings if not (f.element in passive and f.message.startswith("effort is")))
    return replace(report, findings=tuple(kept))


def _open_loops(given: Mobility, lines: dict[str, int]) -> Iterator[Finding]:
    worst = max(given.gaps, key=lambda x: math.hypot(x[1], x[2]))
    for name, gap, turn in given.gaps:
        if gap > _GAP or turn > _TURN or name == worst[0]:
            yield error(
                lines[name],
                f"loop {name!r}",
                f"cannot close: its closure error at the given posture is {_amount(gap, turn)}, and from there no "
                "motion of the passive joints closes all loops",
                HALF_TURN
                if abs(turn - math.pi) < _TURN
                else "correct the posture (rad, m), the loop's frames, or lengths in the URDF",
            )


def _rough(mechanism: Mechanism, closed: Mechanism, given: Mobility, lines: dict[str, int]) -> Iterator[Finding]:
    exact = ", ".join(f"{mechanism.robot.joint_names[k]}: {closed.posture[k]:.9g}" for k in mechanism.passive)
    for name, gap, turn in given.gaps:
        if gap > _GAP or turn > _TURN:
            yield warning(
                lines[name],
                f"loop {name!r}",
                f"has a closure error of {_amount(gap, turn)} at the given posture; it closes nearby, on this branch "
                "or another",
                f"write the posture that was found, if it is correct: {exact}"
                + (f"; else {HALF_TURN}" if abs(turn - math.pi) < _TURN else ""),
            )


def _motors(mechanism: Mechanism, found: Mobility, line: int) -> Iterator[Finding]:
    has = f"the mechanism has {_count(found.freedoms, 'degree')} of freedom and {_count(found.actuated, 'motor')}"
    loose = [name for name in mechanism.passive_names if name not in _on_loops(mechanism)]
    if found.freedoms == 0:
        yield error(
            line,
            "loops",
            f"block every motion: {found.rank} independent directions are blocked, of {found.joints} joints",
            "block less (kind: planar_pin in a planar linkage), or add the missing joint",
        )
    elif found.missing_actuators:
        hint = f"; on no loop: {', '.join(loose)}" if loose else ""
        yield error(
            line,
            "actuated",
            f"{has}: {_count(found.missing_actuators, 'passive joint')} not determined{hint}",
            f"add {_count(found.missing_actuators, 'joint')} to actuated, or make joints fixed that should not move",
        )
    if found.surplus_actuators and found.freedoms and not found.singular:
        yield note(
            line,
            "actuated",
            f"{has}, {found.surplus_actuators} more than can move independently; efforts have the least norm without "
            "effort_weights or preload, and motions are given for the independent joints",
            f"leave it if the motors exist; else remove {_count(found.surplus_actuators, 'joint')} from actuated",
        )
    if found.idle:
        yield note(
            line,
            "loops",
            f"leave {_count(found.idle, 'freedom')} idle: a part turns about its own axis, as a rod between two ball "
            "joints does, without moving a mass centre; it needs no motor",
            "leave it",
        )


def _redundant(found: Mobility, line: int) -> Iterator[Finding]:
    if found.redundant:
        yield note(
            line,
            "loops",
            f"{found.redundant} of {found.constraints} blocked directions are redundant: Grübler's count gives "
            f"{_count(found.gruebler, 'degree')} of freedom, the rank {found.freedoms}; motion and efforts are not "
            "affected, forces at the cuts have the least norm",
            "leave it, or block less: kind: planar_pin for a hinge in a planar linkage",
        )


def _posture(mechanism: Mechanism, found: Mobility, line: int, values: Values) -> Iterator[Finding]:
    robot = mechanism.robot
    entries = values["posture"].value if "posture" in values else {}
    for k, name in enumerate(robot.joint_names):
        if not robot.lower[k] - _SLACK <= mechanism.posture[k] <= robot.upper[k] + _SLACK:
            yield warning(
                entries[name].line if name in entries else line,
                f"posture {name!r}",
                f"is {mechanism.posture[k]:.6g} where the loops are closed, outside the joint's limits "
                f"{robot.lower[k]:.6g} to {robot.upper[k]:.6g}",
                "correct the posture (rad, m), or widen the limits in the URDF",
            )
    held = not found.missing_actuators and found.freedoms > 0
    if held and found.singular:
        yield error(
            line,
            "posture",
            "is singular: the actuated joints do not determine the passive ones, so nothing can be computed",
            "give a posture away from it",
        )
    elif held and found.distance < NEAR_SINGULAR:
        yield warning(
            line,
            "posture",
            f"is near a singular one: the distance is {found.distance:.2g}, below {NEAR_SINGULAR:g}; passive joints "
            "move fast and have large forces there",
            "give a posture farther away, or drive another joint",
        )


def _on_loops(mechanism: Mechanism) -> set[str]:
    """Joints that are part of a loop."""
    topology = mechanism.robot.topology
    moved: set[int] = set()
    for a, b in mechanism.loop_bodies.tolist():
        chains: list[set[int]] = []
        for body in (a, b):
            chain, i = set(), body
            while i >= 0:
                chain.add(int(topology[i, VELOCITY_INDEX]))
                i = topology[i, PARENT]
            chains.append(chain)
        moved |= chains[0] ^ chains[1]
    return {mechanism.robot.joint_names[k] for k in moved}


def _amount(gap: float, turn: float) -> str:
    parts = [f"{1e3 * gap:.4g} mm"] if gap > 0.0 or not turn else []
    return " and ".join([*parts, *([f"{np.degrees(turn):.4g} deg"] if turn > 0.0 else [])])


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
