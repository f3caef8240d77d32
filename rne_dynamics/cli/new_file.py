"""The text of the parameter file that `rne new` writes: every value with its meaning, in plain words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable

import numpy as np

from rne_dynamics.cli.new_settings import ArmSettings
from rne_dynamics.control.thresholds import ASSUMED_RATE

#: Names that YAML reads as text without quotes; words that it reads as something else.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
#: Least significant digits of written limits; gains and damping are rounded down to three.
_DIGITS = 7


_FILE = """\
# {name}: parameters of all nodes of rne_dynamics, written by `rne new {robot}`.
# Units: rad, rad/s, N m for joints that turn; m, m/s, N for joints that slide.
# `/**/` makes a section count in any namespace. docs/parameters.md lists every parameter.
{notes}
/**/computed_torque_controller:
  ros__parameters:
    # joints in the order of the efforts sent to the driver; joints left out are locked where they are measured
    {joints}
    command_interfaces: [effort]
    # age of the last joint state at which the arm is stopped, s
    state_timeout: 0.1
    {rate}
    # part of the description's joint friction that is compensated, 0 to 1
    friction_compensation: {friction}
    {payload}
    # speed of all trajectories, 0 to 1: start low on a real arm
    speed_scaling: 1.0
    # Accelerations per error (1/s^2, 1/s^3, 1/s): the model turns them into efforts, so that all joints have
    # the same. p = w^2, d = 2 w with w = {w} rad/s: errors die out without overshoot. w is at most a
    # sixth of the joint states per second. Lower it if the arm hums, raise it if the arm lags.
    gains:
{gains}
    # damping when a hand guides the arm, from the inertia that each joint feels and the rate
    hand_guiding:
{guiding}
    # errors at which a trajectory is aborted, and within which its goal is reached
    constraints:
{constraints}
{limits}

# The arm floats, and a hand moves it.
/**/gravity_compensation:
  ros__parameters:
    {joints}
    state_timeout: 0.1
    {rate}
    # less than all of the friction: what is left keeps the arm where it is let go
    friction_compensation: {part}
    {payload}
    # Damping against motion, N m s/rad or N s/m: a quarter of what is stable at that rate, at most 1.
    gains:
{floating}
{limits}

# Between a controller and the driver: takes the arm over if efforts stop (docs/effort_gate.md).
/**/effort_gate:
  ros__parameters:
    {joints}
    command_timeout: 0.02  # s; a few periods of the controller
    state_timeout: 0.1
{gate_limits}

# The simulated arm. Position and effort limits are those of the description.
/**/simulator:
  ros__parameters:
    {joints}
    rate: 1000.0  # joint states per second
    # posture at the start, inside the position limits
    initial_position:
{start}

# Point-to-point moves.
/**/move:
  ros__parameters:
    {joints}
    velocity_scale: 0.3  # of the velocity limits
"""
_MARGIN = "# position_margin: distance to the position limits that trajectories keep; soft walls begin there."
_PAYLOAD = """\
# payload: link, mass (kg), mass centre in the link's frame (m); an empty link for nothing
    # payload: {{link: {link}, mass: 1.0, com: [0.0, 0.0, 0.05]}}
    payload: {{link: "", mass: 0.0, com: [0.0, 0.0, 0.0]}}"""
#: A node assumes `ASSUMED_RATE` by itself.
_RATE = """\
# joint states per second below which the arm is stopped; gains and damping below are stable at {rate}
    {comment}min_rate: {rate}"""


def file_text(s: ArmSettings, robot: str) -> str:
    """The parameter file of an arm; `robot` is what the command line named."""
    names = [_name(joint) for joint in s.joints]
    w, damping = _down(s.bandwidth), [_n(_down(d)) for d in s.damping]
    tolerances = [s.tolerances(j) for j in range(len(names))]

    def each(values: Iterable[str]) -> str:
        return "\n".join(f"      {name}: {value}" for name, value in zip(names, values, strict=True))

    floating = [
        f"{{d: {d}}}  # feels an inertia of {x:.3g} at the start posture"
        for d, x in zip(damping, s.inertia, strict=True)
    ]
    return _FILE.format(
        name=" ".join(s.name.split()), robot=" ".join(robot.split()), joints=f"joints: [{', '.join(names)}]", w=_n(w),
        notes="".join(f"# NOTE: {note}.\n" for note in s.notes), payload=_PAYLOAD.format(link=_name(s.last_link)),
        rate=_RATE.format(rate=_n(s.rate), comment="# " if s.rate == ASSUMED_RATE else ""),
        friction=1.0 if s.friction else 0.0, part=0.7 if s.friction else 0.0,
        gains=each([f"{{p: {_n(w * w)}, i: 0.0, d: {_n(2.0 * w)}}}"] * len(names)),
        guiding=each(f"{{damping: {d}}}" for d in damping), floating=each(floating), start=each(map(_n, s.start)),
        constraints=each(f"{{trajectory: {_n(along)}, goal: {_n(goal)}}}" for along, goal in tolerances),
        limits=_limits(s), gate_limits=_limits(s, margin=False),
    )  # fmt: skip


def _limits(s: ArmSettings, *, margin: bool = True) -> str:
    """The section of the limits; the `margin` is for controllers, which follow trajectories."""
    lines = ["# Largest effort and speed, from the description; it is the upper bound, and lower values here count."]
    if margin:
        lines.append(_MARGIN)
    lines.append("limits:")
    for j, name in enumerate(s.joints):
        units = ("N", "m/s") if s.sliding[j] else ("N m", "rad/s")
        lower, upper = (f"{x:.5g}" if np.isfinite(x) else "no limit" for x in (s.lower[j], s.upper[j]))
        lines.append(f"  {_name(name)}:" + (f"  # from {lower} to {upper}" if margin else ""))
        given = {"effort": s.effort[j], "velocity": s.velocity[j]}
        for (what, limit), unit in zip(given.items(), units, strict=True):
            missing = f"# {what}:   # FILL IN, {unit}: the description gives no limit"
            lines.append(f"    {what}: {_n(limit)}" if np.isfinite(limit) else f"    {missing}")
        if margin:
            lines.append("    position_margin: 0.0")
        elif not np.isfinite(list(given.values())).any():
            lines.append("    effort_rate: 0.0  # the default, so that this section is not empty")
    return "\n".join(f"    {line}" for line in lines)


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
