"""The text of the parameter file that `rne new` writes: every value with its meaning, in plain words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

import numpy as np

from rne_dynamics.cli.new_settings import ArmSettings
from rne_dynamics.control.thresholds import ASSUMED_RATE

#: Names that YAML reads as text without quotes; words that it reads as something else.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
#: Least significant digits of written limits; gains and damping are rounded down to three.
_DIGITS = 7


def file_text(s: ArmSettings, robot: str) -> str:
    """The parameter file of an arm; `robot` is what the command line named."""
    lines = [
        *_head(s, robot),
        "", "/**/computed_torque_controller:", "  ros__parameters:", *_indented(2, _controller(s)),
        *_indented(2, _gains(s)), *_indented(2, _tolerances(s)), *_indented(2, _limits(s)),
        "", "# The arm floats, and a hand moves it.",
        "/**/gravity_compensation:", "  ros__parameters:", *_indented(2, _floating(s)), *_indented(2, _limits(s)),
        "", "# Between a controller and the driver: takes the arm over if efforts stop (docs/effort_gate.md).",
        "/**/effort_gate:", "  ros__parameters:", *_indented(2, _gate(s)), *_indented(2, _limits(s, margin=False)),
        "", "# The simulated arm. Position and effort limits are those of the description.",
        "/**/simulator:", "  ros__parameters:", *_indented(2, _simulator(s)),
        "", "# Point-to-point moves.",
        "/**/move:", "  ros__parameters:", *_indented(2, [_joints(s), "velocity_scale: 0.3  # of the velocity limits"]),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _head(s: ArmSettings, robot: str) -> list[str]:
    shown = " ".join(robot.split())
    return [
        f"# {' '.join(s.name.split())}: parameters of all nodes of rne_dynamics, written by `rne new {shown}`.",
        "# Units: rad, rad/s, N m for joints that turn; m, m/s, N for joints that slide.",
        "# `/**/` makes a section count in any namespace. docs/parameters.md lists every parameter.",
        *(f"# NOTE: {note}." for note in s.notes),
    ]


def _controller(s: ArmSettings) -> list[str]:
    return [
        "# joints in the order of the efforts sent to the driver; joints left out are locked where they are measured",
        _joints(s),
        "command_interfaces: [effort]",
        "# age of the last joint state at which the arm is stopped, s",
        "state_timeout: 0.1",
        *_rate(s),
        "# part of the description's joint friction that is compensated, 0 to 1",
        f"friction_compensation: {1.0 if s.friction else 0.0}",
        *_payload(s),
        "# speed of all trajectories, 0 to 1: start low on a real arm",
        "speed_scaling: 1.0",
    ]


def _rate(s: ArmSettings) -> list[str]:
    """The lines about the rate; a node assumes `ASSUMED_RATE` by itself."""
    usual = s.rate == ASSUMED_RATE
    return [
        f"# joint states per second below which the arm is stopped; gains and damping below are stable at {_n(s.rate)}",
        f"{'# ' if usual else ''}min_rate: {_n(s.rate)}",
    ]


def _payload(s: ArmSettings) -> list[str]:
    return [
        "# payload: link, mass (kg), mass centre in the link's frame (m); an empty link for nothing",
        f"# payload: {{link: {_name(s.last_link)}, mass: 1.0, com: [0.0, 0.0, 0.05]}}",
        'payload: {link: "", mass: 0.0, com: [0.0, 0.0, 0.0]}',
    ]


def _gains(s: ArmSettings) -> Iterator[str]:
    w = _down(s.bandwidth)
    yield "# Accelerations per error (1/s^2, 1/s^3, 1/s): the model turns them into efforts, so that all joints have"
    yield f"# the same. p = w^2, d = 2 w with w = {_n(w)} rad/s: errors die out without overshoot. w is at most a"
    yield "# sixth of the joint states per second. Lower it if the arm hums, raise it if the arm lags."
    yield "gains:"
    for name in s.joints:
        yield f"  {_name(name)}: {{p: {_n(w * w)}, i: 0.0, d: {_n(2.0 * w)}}}"
    yield "# damping when a hand guides the arm, from the inertia that each joint feels and the rate"
    yield "hand_guiding:"
    for name, d in zip(s.joints, s.damping, strict=True):
        yield f"  {_name(name)}: {{damping: {_n(_down(d))}}}"


def _tolerances(s: ArmSettings) -> Iterator[str]:
    yield "# errors at which a trajectory is aborted, and within which its goal is reached"
    yield "constraints:"
    for j, name in enumerate(s.joints):
        along, goal = s.tolerances(j)
        yield f"  {_name(name)}: {{trajectory: {_n(along)}, goal: {_n(goal)}}}"


def _limits(s: ArmSettings, *, margin: bool = True) -> Iterator[str]:
    yield "# Largest effort and speed, from the description; it is the upper bound, and lower values here count."
    if margin:
        yield "# position_margin: distance to the position limits that trajectories keep; soft walls begin there."
    yield "limits:"
    for j, name in enumerate(s.joints):
        effort, speed = ("N", "m/s") if s.sliding[j] else ("N m", "rad/s")
        yield f"  {_name(name)}:" + (f"  # from {_bound(s.lower[j])} to {_bound(s.upper[j])}" if margin else "")
        missing = f"# effort:   # FILL IN, {effort}: the description gives no limit"
        yield f"    effort: {_n(s.effort[j])}" if np.isfinite(s.effort[j]) else f"    {missing}"
        missing = f"# velocity:   # FILL IN, {speed}: the description gives no limit"
        yield f"    velocity: {_n(s.velocity[j])}" if np.isfinite(s.velocity[j]) else f"    {missing}"
        if margin:
            yield "    position_margin: 0.0"
        elif not (np.isfinite(s.effort[j]) or np.isfinite(s.velocity[j])):
            yield "    effort_rate: 0.0  # the default, so that this section is not empty"


def _floating(s: ArmSettings) -> Iterator[str]:
    yield _joints(s)
    yield "state_timeout: 0.1"
    yield from _rate(s)
    yield "# less than all of the friction: what is left keeps the arm where it is let go"
    yield f"friction_compensation: {0.7 if s.friction else 0.0}"
    yield from _payload(s)
    yield "# Damping against motion, N m s/rad or N s/m: a quarter of what is stable at that rate, at most 1."
    yield "gains:"
    for name, d, inertia in zip(s.joints, s.damping, s.inertia, strict=True):
        yield f"  {_name(name)}: {{d: {_n(_down(d))}}}  # feels an inertia of {inertia:.3g} at the start posture"


def _gate(s: ArmSettings) -> list[str]:
    return [
        _joints(s),
        "command_timeout: 0.02  # s; a few periods of the controller",
        "state_timeout: 0.1",
    ]


def _simulator(s: ArmSettings) -> Iterator[str]:
    yield _joints(s)
    yield "rate: 1000.0  # joint states per second"
    yield "# posture at the start, inside the position limits"
    yield "initial_position:"
    for name, q in zip(s.joints, s.start, strict=True):
        yield f"  {_name(name)}: {_n(q)}"


def _joints(s: ArmSettings) -> str:
    return f"joints: [{', '.join(map(_name, s.joints))}]"


def _name(text: str) -> str:
    """A name as YAML reads it back."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text, ensure_ascii=False)


def _n(value: float) -> str:
    """A number that YAML reads as a float."""
    text = f"{float(value) + 0.0:.{_DIGITS}g}"
    mantissa, exponent, power = text.partition("e")
    return (mantissa if "." in mantissa else f"{mantissa}.0") + exponent + power


def _down(value: float) -> float:
    """Three digits, rounded down, so that what is stable stays so."""
    if value <= 0.0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.floor(value / step + 1e-9) * step


def _bound(value: float) -> str:
    return f"{value:.5g}" if np.isfinite(value) else "no limit"


def _indented(levels: int, lines: Iterator[str] | list[str]) -> Iterator[str]:
    for line in lines:
        yield "  " * levels + line
