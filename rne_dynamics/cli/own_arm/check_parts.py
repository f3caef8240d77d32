"""Checks of a mechanism in a model file: freedoms, loops, motors, posture."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from rne_dynamics.cli.own_arm.info import at_rest
from rne_dynamics.closed_chain.assembly import assembled
from rne_dynamics.closed_chain.coordinates import NEAR_SINGULAR, Mobility, mobility
from rne_dynamics.closed_chain.independence import HALF_TURN
from rne_dynamics.description.flexible_parts import FlexibleEntry
from rne_dynamics.description.lint.findings import Finding, Report, error, first_of, note, warning
from rne_dynamics.description.model_parts import Values
from rne_dynamics.errors import AssemblyError, ModelError
from rne_dynamics.flexible.energy import tip_deflections
from rne_dynamics.flexible.theory_range import PLAIN, SPIN, largest_deflection
from rne_dynamics.model.flexible.arm import FlexibleArm, clamped_frequencies, loads
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.layout import PARENT, VELOCITY_INDEX
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.robot import counted

#: Largest closure error of a loop at the given posture that rounding explains: m, rad.
_GAP, _TURN = 1e-3, 0.01
#: Tolerance of limits, m or rad.
_SLACK = 1e-6


def lint_mechanism(mechanism: Mechanism, values: Values) -> tuple[list[Finding], dict[str, Any] | None]:
    """Findings on a mechanism with its posture's closure errors, and its freedoms; `values` of the file give lines."""
    lines = {entry.value["name"].value: entry.line for entry in values["loops"].value}
    given, actuated, loops = mobility(mechanism), values["actuated"].line, values["loops"].line
    try:
        closed = assembled(mechanism)
    except AssemblyError:
        blocked = [] if given.freedoms else list(_motors(mechanism, given, actuated))
        return [*_gaps(mechanism, None, given, lines), *blocked], None
    except ModelError:  # too few or too many actuated joints: reported below
        closed = mechanism
    found = mobility(closed)
    findings = [
        *_gaps(mechanism, closed, given, lines), *_motors(closed, found, actuated), *_redundant(found, loops),
        *_posture(closed, found, values["posture"].line if "posture" in values else loops, values),
    ]  # fmt: skip
    counts = ("freedoms", "gruebler", "constraints", "redundant", "actuated", "passive")
    return findings, {name: getattr(found, name) for name in counts} | {"distance_to_singular": found.distance}


def without_passive_efforts(report: Report, mechanism: Mechanism) -> Report:
    """The URDF's findings without those about effort limits of passive joints."""
    passive = {f"joint {name!r} <limit>" for name in mechanism.passive_names}
    kept = (f for f in report.findings if not (f.element in passive and f.message.startswith("effort is")))
    return replace(report, findings=tuple(kept))


def _gaps(
    mechanism: Mechanism, closed: Mechanism | None, given: Mobility, lines: dict[str, int]
) -> Iterator[Finding]:
    """Yield loops with a closure error at the given posture; `closed`: the mechanism where its loops close, if any."""
    worst = max(given.gaps, key=lambda x: math.hypot(x[1], x[2]))
    for name, gap, turn in given.gaps:
        rough, half = gap > _GAP or turn > _TURN, abs(turn - math.pi) < _TURN
        amount = f"{1e3 * gap:.4g} mm and {np.degrees(turn):.4g} deg"
        if closed is None and (rough or name == worst[0]):
            yield error(
                lines[name], f"loop {name!r}",
                f"cannot close: its closure error at the given posture is {amount}, and from there no motion of the "
                "passive joints closes all loops",
                HALF_TURN if half else "correct the posture (rad, m), the loop's frames, or lengths in the URDF",
            )  # fmt: skip
        elif closed is not None and rough:
            exact = ", ".join(f"{mechanism.robot.joint_names[k]}: {closed.posture[k]:.9g}" for k in mechanism.passive)
            yield warning(
                lines[name], f"loop {name!r}",
                f"has a closure error of {amount} at the given posture; it closes nearby, on this branch or another",
                f"write the posture that was found, if it is correct: {exact}" + f"; else {HALF_TURN}" * half,
            )  # fmt: skip


def _motors(mechanism: Mechanism, found: Mobility, line: int) -> Iterator[Finding]:
    has = f"the mechanism has {counted(found.freedoms, 'degree')} of freedom and {counted(found.actuated, 'motor')}"
    loose = ", ".join(name for name in mechanism.passive_names if name not in _on_loops(mechanism))
    moves, missing = found.freedoms > 0, found.missing_actuators
    yield from first_of(line, "loops", (
        not moves, error,
        f"block every motion: {found.rank} independent directions are blocked, of {found.joints} joints",
        "block less (kind: planar_pin in a planar linkage), or add the missing joint",
    ))  # fmt: skip
    yield from first_of(line, "actuated", (
        moves and missing > 0, error,
        f"{has}: {counted(missing, 'passive joint')} not determined" + f"; on no loop: {loose}" * bool(loose),
        f"add {counted(missing, 'joint')} to actuated, or make joints fixed that should not move",
    ), (
        moves and found.surplus_actuators > 0 and not found.singular, note,
        f"{has}, {found.surplus_actuators} more than can move independently; efforts have the least norm without "
        "effort_weights or preload, and motions are given for the independent joints",
        f"leave it if the motors exist; else remove {counted(found.surplus_actuators, 'joint')} from actuated",
    ))  # fmt: skip
    yield from first_of(line, "loops", (
        found.idle > 0, note,
        f"leave {counted(found.idle, 'freedom')} idle: a part turns about its own axis, as a rod between two ball "
        "joints does, without moving a mass centre; it needs no motor", "leave it",
    ))  # fmt: skip


def _redundant(found: Mobility, line: int) -> Iterator[Finding]:
    yield from first_of(line, "loops", (
        found.redundant > 0, note,
        f"{found.redundant} of {found.constraints} blocked directions are redundant: Grübler's count gives "
        f"{counted(found.gruebler, 'degree')} of freedom, the rank {found.freedoms}; motion and efforts are not "
        "affected, forces at the cuts have the least norm",
        "leave it, or block less: kind: planar_pin for a hinge in a planar linkage",
    ))  # fmt: skip


def _posture(mechanism: Mechanism, found: Mobility, line: int, values: Values) -> Iterator[Finding]:
    robot = mechanism.robot
    entries = values["posture"].value if "posture" in values else {}
    for k, name in enumerate(robot.joint_names):
        if not robot.lower[k] - _SLACK <= mechanism.posture[k] <= robot.upper[k] + _SLACK:
            yield warning(
                entries[name].line if name in entries else line, f"posture {name!r}",
                f"is {mechanism.posture[k]:.6g} where the loops are closed, outside the joint's limits "
                f"{robot.lower[k]:.6g} to {robot.upper[k]:.6g}",
                "correct the posture (rad, m), or widen the limits in the URDF",
            )  # fmt: skip
    held = not found.missing_actuators and found.freedoms > 0
    yield from first_of(line, "posture", (
        held and found.singular, error,
        "is singular: the actuated joints do not determine the passive ones, so nothing can be computed",
        "give a posture away from it",
    ), (
        held and found.distance < NEAR_SINGULAR, warning,
        f"is near a singular one: the distance is {found.distance:.2g}, below {NEAR_SINGULAR:g}; passive joints "
        "move fast and have large forces there", "give a posture farther away, or drive another joint",
    ))  # fmt: skip


def _on_loops(mechanism: Mechanism) -> set[str]:
    """Joints that are part of a loop."""
    topology, moved = mechanism.robot.topology, set[int]()

    def chain(body: int) -> set[int]:
        return set() if body < 0 else {int(topology[body, VELOCITY_INDEX]), *chain(int(topology[body, PARENT]))}

    for a, b in mechanism.loop_bodies.tolist():
        moved |= chain(a) ^ chain(b)
    return {mechanism.robot.joint_names[k] for k in moved}


#: Control rate, Hz; vibrations up to half of it can be controlled.
_RATE = 1000.0
#: Least length in thicknesses of a beam without shear, as Euler and Bernoulli's theory has it.
_SLENDER = 10.0
#: Range of E/ρ of solids, (m/s)²: from soft plastics to carbon fibre along its fibres, with an ample margin.
_SPECIFIC = (1e5, 1e9)
#: E/ρ of metals: aluminium, steel, titanium and magnesium have nearly the same.
_METAL = 2.6e7
#: Range of radii of gyration of metal sections: foil is thinner, m; stout bodies are thicker, part of the length.
_FOIL, _STOUT = 1e-5, 0.25


def lint_flexible(arm: FlexibleArm, entries: tuple[FlexibleEntry, ...]) -> list[Finding]:
    """Findings on valid flexible links of an arm; `entries` are the links as the file describes them."""
    found: list[Finding] = []
    for entry in entries:
        link = arm.flexible_link(entry.link)
        if link.modes:
            found += _modes(arm, link, entry)
            found += [] if entry.beam is None else [*_shape(entry.beam, entry), *_stiffness(entry.beam, entry)]
    return found + list(_sag(arm, entries))


def _modes(arm: FlexibleArm, link: ModalLink, entry: FlexibleEntry) -> Iterator[Finding]:
    """Modes that are too fast for a controller, without damping, or without stiffening."""
    frequencies = clamped_frequencies(link, loads(arm.robot, link.link))
    highest, least = float(frequencies[-1]) / (2.0 * math.pi), float(np.linalg.eigvalsh(link.damping)[0])
    yield from first_of(entry.line_of("modes"), f"{entry.where} modes", (
        highest > 0.5 * _RATE, warning,
        f"reach {highest:.4g} Hz; a loop at {_RATE:g} Hz can control vibrations up to {0.5 * _RATE:g} Hz, and "
        "integration steps of 1 ms are stable but inaccurate for such a mode",
        "take fewer modes of that kind (torsion is the stiffest), or correct EI and GJ",
    ))  # fmt: skip
    yield from first_of(entry.line_of("modal" if entry.beam is None else "damping"), f"{entry.where} damping", (
        least <= 1e-12 * max(float(np.abs(link.damping).max()), 1e-300), warning,
        f"is 0 for {'some mode' if link.damping.any() else 'all modes'}; vibration that the controller does not damp "
        "never decays", "give a ratio: bare metal has 0.001 to 0.01, bolted structures 0.01 to 0.05",
    ))  # fmt: skip
    yield from first_of(entry.line_of("modal"), f"{entry.where} modal", (
        entry.beam is None and largest_deflection(arm, link.link) == PLAIN, note,
        f"has no stiffening; the theory then holds up to a deflection of {100.0 * PLAIN:g} % of the link's length "
        f"and a spin of {SPIN * float(frequencies[0]):.3g} rad/s, a third of its first frequency",
        "stay within both; or describe it as a beam, or give a line of nodes with rotations, or shortening and "
        "shortenings in a file of integrals",
    ))  # fmt: skip


def _shape(beam: Beam, entry: FlexibleEntry) -> Iterator[Finding]:
    """A beam too thick for its theory, or bending in both planes without torsion."""
    thick, (y, z, torsion) = entry.thickness or math.inf, beam.modes
    yield from first_of(entry.line_of("length"), f"{entry.where} length", (
        entry.thickness is not None and beam.length < _SLENDER * thick, warning,
        f"is {beam.length / thick:.3g} times the section's {thick:g} m; below {_SLENDER:g} times a beam also "
        "deforms in shear, and these modes without shear are too stiff",
        "make the link rigid, or give modal matrices of a finite-element model (modal: file)",
    ))  # fmt: skip
    yield from first_of(entry.line_of("modes"), f"{entry.where} modes", (
        y > 0 and z > 0 and not torsion, warning,
        "has bending in both planes but no torsion; loads off the beam's axis twist it",
        "add torsion: 1 (with GJ and polar, or a section), or leave it for a stiff closed section",
    ))  # fmt: skip


def _stiffness(beam: Beam, entry: FlexibleEntry) -> Iterator[Finding]:
    fix = "give N m^2: 1 N mm^2 is 1e-6 N m^2"
    mass = float(np.mean(beam.mass_per_length))
    for plane, count in (("y", beam.modes[0]), ("z", beam.modes[1])):
        EI, spread = float(np.mean(getattr(beam, f"EI_{plane}"))), float(np.mean(getattr(beam, f"spread_{plane}")))
        if not count or "section" in entry.given:
            continue
        radius, specific = math.sqrt(EI / (mass * _METAL)), EI / spread if spread > 0.0 else _METAL
        yield from first_of(entry.line_of("EI"), f"{entry.where} EI", (
            not _SPECIFIC[0] < specific < _SPECIFIC[1], warning,
            f"in plane {plane} is {EI:g} N m^2 with polar {spread:g} kg m: their quotient E/density is "
            f"{specific:.3g} (m/s)^2, and solids have {_SPECIFIC[0]:g} to {_SPECIFIC[1]:g}",
            f"correct EI or polar; {fix}",
        ), (
            not _FOIL < radius < _STOUT * beam.length, warning,
            f"in plane {plane} is {EI:g} N m^2 at {mass:g} kg/m: in metal a section whose radius of gyration is "
            f"{1e3 * radius:.3g} mm, for a beam of {beam.length:g} m", f"correct EI or mass_per_length; {fix}",
        ))  # fmt: skip
    GJ, most = float(np.mean(beam.GJ)), 0.5 * float(np.mean(beam.EI_y) + np.mean(beam.EI_z))
    yield from first_of(entry.line_of("GJ"), f"{entry.where} GJ", (
        beam.modes[2] > 0 and bool(beam.EI_y.all() and beam.EI_z.all()) and most * (1.0 + 1e-9) < GJ, warning,
        f"is {GJ:g} N m^2, more than half the sum of EI in both planes, {most:g}, which no section of an isotropic "
        "material exceeds", "correct GJ or EI, or leave it for fibre composites with high torsional stiffness",
    ))  # fmt: skip


def _sag(arm: FlexibleArm, entries: tuple[FlexibleEntry, ...]) -> Iterator[Finding]:
    try:
        tips = tip_deflections(arm, at_rest(arm)[0])
    except ModelError as fault:
        message, _, fix = str(fault).rpartition("; ")
        yield warning(min(entry.line for entry in entries), "flexible", message, fix)
        return
    by_name = {entry.link: entry for entry in entries}
    for link, tip in zip(arm.flexible_links, tips, strict=True):
        entry = by_name[link.link]
        length = float(np.linalg.norm(link.tip)) if entry.beam is None else entry.beam.length
        sag = float(np.linalg.norm(tip[:3]))
        most = largest_deflection(arm, link.link)
        if sag > most * length:
            yield warning(
                entry.line, entry.where,
                f"sags by {sag:.3g} m at rest under gravity with all joints at zero, {100.0 * sag / length:.3g} % of "
                f"its {length:.3g} m; beyond {100.0 * most:g} % its bending theory is inaccurate",
                "make it stiffer or its load lighter, or set gravity to 0 0 0 if gravity does not bend it",
            )  # fmt: skip
