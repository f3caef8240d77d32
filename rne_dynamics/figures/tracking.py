"""Curves over time for the joints of a robot, with the units that these joints have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rne_dynamics.figures.style import INK, REFERENCE, THIN, WIDE, color_of, line_style
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.tree import JointKind


class Units(NamedTuple):
    """Units of the quantities of joints, as text for an axis; both kinds of a unit if the joints are mixed."""

    position: str
    error: str
    velocity: str
    effort: str


REVOLUTE = Units("rad", "mrad", "rad/s", "N m")
PRISMATIC = Units("m", "mm", "m/s", "N")
#: Of joints whose kinds are not known.
MIXED = Units(*(f"{a}, {b}" for a, b in zip(REVOLUTE, PRISMATIC, strict=True)))


def joint_units(robot: Robot) -> tuple[Units, ...]:
    """Units of every actuated joint; a floating or planar joint has both kinds."""
    kinds = {joint.name: joint.kind for joint in robot.open_tree.tree.joints}
    return tuple(_units(kinds.get(name)) for name in robot.joint_names)


def units_of(robot: Robot) -> Units:
    """Units on an axis for all actuated joints: ``rad``, ``m``, or ``rad, m``."""
    found = joint_units(robot)
    return Units(*(", ".join(dict.fromkeys(", ".join(column).split(", "))) for column in zip(*found, strict=True)))


def _units(kind: JointKind | None) -> Units:
    if kind in (JointKind.REVOLUTE, JointKind.CONTINUOUS):
        return REVOLUTE
    if kind is JointKind.PRISMATIC:
        return PRISMATIC
    return MIXED


def draw_joints(axes: Any, names: Sequence[str], time: Array, values: Array, width: float = THIN) -> None:
    """Draw a curve for each joint; `values` has the shape (samples, n)."""
    for j, name in enumerate(names):
        axes.plot(time, values[:, j], line_style(j), color=color_of(j), linewidth=width, label=name)
    axes.margins(x=0.0)


def draw_tracking(
    positions: Any, errors: Any, names: Sequence[str], time: Array, q: Array, reference: Array, units: Units
) -> None:
    """Draw positions with their references on one pair of axes, and tracking errors on another.

    Parameters
    ----------
    positions, errors
        Axes.
    names
        Of the joints.
    time
        s; shape (samples,).
    q, reference
        Measured and desired positions, rad or m; shape (samples, n).
    units
        Of these joints, see `units_of`.
    """
    draw_joints(positions, names, time, q, WIDE)
    for j in range(len(names)):
        label = None if j else "reference"
        positions.plot(time, reference[:, j], linestyle=(0, (4, 3)), color=INK, linewidth=REFERENCE, label=label)
    draw_joints(errors, names, time, 1e3 * (reference - q))
    positions.set_ylabel(f"position ({units.position})")
    errors.set_ylabel(f"error ({units.error})")
