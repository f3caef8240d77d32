"""Curves over time for the joints of a robot, with the units that these joints have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rne_dynamics.figures.style import INK, REFERENCE, THIN, WIDE, color_of, line_style
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.table import is_length


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
#: Of quaternions in the configuration of floating bodies.
QUATERNION = Units("quaternion", "1/1000", "1/s", "N m")
#: Part of the largest value below which differences are round-off: an axis is not scaled to them.
ROUND_OFF = 1e-5
#: Most points of a curve, several for each pixel's width: matplotlib takes 40 bytes and more for each point.
MOST_POINTS = 20_000


class Panel(NamedTuple):
    """Joints that share axes: their numbers, and the units that all of them have."""

    joints: list[int]
    units: Units


def joint_units(robot: Robot) -> tuple[Units, ...]:
    """Units of every actuated joint."""
    kinds = {joint.name: joint.kind.value for joint in robot.open_tree.tree.joints}
    return tuple(PRISMATIC if is_length(name, kinds.get(name)) else REVOLUTE for name in robot.joint_names)


def units_of(robot: Robot) -> Units:
    """Units on an axis for all actuated joints: ``rad``, ``m``, or ``rad, m``."""
    found = joint_units(robot)
    return Units(*(", ".join(dict.fromkeys(", ".join(column).split(", "))) for column in zip(*found, strict=True)))


def panels(units: Sequence[Units], joints: Iterable[int] | None = None) -> list[Panel]:
    """Group joints (default: all) by their units, so that no axis has rad and m."""
    chosen = list(range(len(units)) if joints is None else joints)
    return [Panel([j for j in chosen if units[j] == unit], unit) for unit in dict.fromkeys(units[j] for j in chosen)]


def configuration(names: Sequence[str], units: Sequence[Units]) -> tuple[list[str], list[Units]]:
    """Names and units of the columns of q: a floating joint's three rotations are a quaternion there."""
    columns: list[tuple[str, Units]] = []
    for name, unit in zip(names, units, strict=True):
        body, _, direction = name.rpartition("/")
        if direction == "rot_x":
            columns += [(f"{body}/q{part}", QUATERNION) for part in "xyzw"]
        elif not direction.startswith("rot_"):
            columns.append((name, unit))
    return [name for name, _ in columns], [unit for _, unit in columns]


def thinned(time: Array, values: Array) -> tuple[Array, Array]:
    """The curve of at most `MOST_POINTS` points that looks the same: the least and largest of each part."""
    size = -(-2 * len(time) // MOST_POINTS)
    if size <= 2:
        return time, values
    parts = values[: len(values) // size * size].reshape(-1, size)
    ends = np.sort(np.stack([parts.argmin(axis=1), parts.argmax(axis=1)], axis=1), axis=1)
    kept = np.append((ends + size * np.arange(len(parts))[:, None]).ravel(), len(values) - 1)
    return time[kept], values[kept]


def draw_joints(
    axes: Any, names: Sequence[str], time: Array, values: Array, width: float = THIN,
    joints: Iterable[int] | None = None, least: float = 0.0,
) -> None:
    """Draw a curve for each joint.

    Parameters
    ----------
    axes
        Where to draw.
    names
        Of all joints, length n.
    time, values
        s, shape (samples,); shape (samples, n).
    width
        Of the lines, points.
    joints
        Numbers of the joints to draw; default all.
    least
        The axis spans at least this, so that round-off is not enlarged to a curve.
    """
    for j in range(len(names)) if joints is None else joints:
        axes.plot(*thinned(time, values[:, j]), line_style(j), color=color_of(j), linewidth=width, label=names[j])
    span_at_least(axes, max(least, ROUND_OFF * _largest(values)))
    axes.margins(x=0.0)


def draw_references(axes: Any, time: Array, reference: Array, joints: Iterable[int]) -> None:
    """Draw desired positions, shape (samples, n), over the curves of these joints."""
    for k, j in enumerate(joints):
        label = None if k else "reference"
        axes.plot(*thinned(time, reference[:, j]), linestyle=(0, (4, 3)), color=INK, linewidth=REFERENCE, label=label)


def error_span(q: Array) -> float:
    """Least span of an axis of errors, mrad or mm, for positions in rad or m; shape (samples, k)."""
    return 1e3 * ROUND_OFF * float(np.ptp(q, axis=0).max())


def span_at_least(axes: Any, least: float) -> None:
    """Widen the y axis about its middle until it spans `least`."""
    low, high = axes.get_ylim()
    if high - low < least:
        middle = 0.5 * (low + high)
        axes.set_ylim(middle - 0.5 * least, middle + 0.5 * least)


def draw_tracking(
    axes: Sequence[tuple[Any, Any]], shown: Sequence[Panel], names: Sequence[str], time: Array, q: Array,
    reference: Array,
) -> None:
    """Draw positions with their references, and tracking errors below.

    Parameters
    ----------
    axes
        For positions and for errors, a pair for each panel.
    shown
        From `panels`.
    names
        Of the joints.
    time
        s; shape (samples,).
    q, reference
        Measured and desired positions, rad or m; shape (samples, n).
    """
    error = 1e3 * (reference - q)
    for (positions, errors), (joints, units) in zip(axes, shown, strict=True):
        draw_joints(positions, names, time, q, WIDE, joints)
        draw_references(positions, time, reference, joints)
        draw_joints(errors, names, time, error, joints=joints, least=error_span(q[:, joints]))
        positions.set_ylabel(f"position ({units.position})")
        errors.set_ylabel(f"error ({units.error})")


def _largest(values: Array) -> float:
    finite = np.abs(values)[np.isfinite(values)]
    return float(finite.max(initial=0.0))
