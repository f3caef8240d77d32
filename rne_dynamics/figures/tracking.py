"""Curves over time for the joints of a robot, with the units that these joints have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rne_dynamics.figures.style import (
    DASHED,
    REFERENCE,
    THIN,
    WIDE,
    canvas,
    color_of,
    legend_below,
    legend_right,
    line_style,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.robot import is_length


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
#: Size of figures of stacked axes, inches: width, heights of a row and of a cell; most cells side by side.
WIDTH, ROW, CELL, COLUMNS = 13.0, 2.4, 2.2, 3

#: Adds curves to axes of matplotlib.
Draw = Callable[[Any], None]


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


def span_at_least(axes: Any, least: float) -> None:
    """Widen the y axis about its middle until it spans `least`."""
    low, high = axes.get_ylim()
    if high - low < least:
        middle = 0.5 * (low + high)
        axes.set_ylim(middle - 0.5 * least, middle + 0.5 * least)


def joint_rows(
    label: str, shown: Sequence[Panel], names: Sequence[str], time: Array, values: Array, *, unit: str = "",
    width: float = THIN, reference: tuple[Array, Array] | None = None, of: Array | None = None,
) -> list[Draw]:
    """Rows for `draw_stack`: for each panel the curves of its joints, and over them the desired values of `reference`.

    The axis has the label and a `unit`, the field of `Units`, by default of the same name. Of errors of positions `of`,
    (rows, n), no axis shows the round-off.
    """

    times, desired = reference or (time, values)

    def draw(panel: Panel, axes: Any) -> None:
        least = 0.0 if of is None else 1e3 * ROUND_OFF * float(np.ptp(of[:, panel.joints], axis=0).max())
        for j in panel.joints:
            axes.plot(*thinned(time, values[:, j]), line_style(j), color=color_of(j), linewidth=width, label=names[j])
        span_at_least(axes, max(least, ROUND_OFF * float(np.abs(values[np.isfinite(values)]).max(initial=0.0))))
        axes.margins(x=0.0)
        for k, j in enumerate(panel.joints if reference else ()):
            dashed = {**DASHED, "linewidth": REFERENCE, "label": None if k else "reference"}
            axes.plot(*thinned(times, desired[:, j]), **dashed)
        axes.set_ylabel(f"{label} ({getattr(panel.units, unit or label)})")

    return [partial(draw, panel) for panel in shown]


def tracking_rows(shown: Sequence[Panel], names: Sequence[str], time: Array, q: Array, reference: Array) -> list[Draw]:
    """Rows of positions with their references, and of tracking errors; as `joint_rows`, `reference` is (samples, n)."""
    return [
        *joint_rows("position", shown, names, time, q, width=WIDE, reference=(time, reference)),
        *joint_rows("error", shown, names, time, 1e3 * (reference - q), of=q),
    ]


def curves(label: str, time: Array, values: Mapping[str, Array], *, scale: str = "linear") -> Draw:
    """A row for `draw_stack`: curves by their names, (samples,) each."""

    def draw(axes: Any) -> None:
        for k, (name, column) in enumerate(values.items()):
            axes.plot(*thinned(time, column), color=color_of(k), linewidth=THIN, label=name)
        axes.set(ylabel=label, yscale=scale)

    return draw


class Curve(NamedTuple):
    """A curve for every joint in axes of its own: label, times, s, values (samples, n), and matplotlib's options."""

    label: str
    time: Array
    values: Array
    style: Mapping[str, Any]


def joint_cells(
    names: Sequence[str], units: Sequence[Units], joints: Iterable[int], curves: Sequence[Curve], largest: float
) -> list[Draw]:
    """Cells for `draw_stack`: efforts of one joint each; no axis shows the round-off of the `largest` one."""

    def draw(j: int, axes: Any) -> None:
        for curve in curves:
            axes.plot(*thinned(curve.time, curve.values[:, j]), label=curve.label, **{"linewidth": THIN, **curve.style})
        axes.set_title(f"{names[j]} ({units[j].effort})", fontsize="small")
        span_at_least(axes, ROUND_OFF * largest)

    return [partial(draw, j) for j in joints]


def draw_stack(
    path: Path, title: str, span: tuple[float, float], rows: Sequence[Draw], cells: Sequence[Draw] = (),
    side: Draw | None = None,
) -> None:
    """Write a figure of axes over one time span, s: rows, cells side by side below, `side` at the left; as `canvas`.

    A legend is at each row that has a curve with a new name, and one for all cells.
    """
    columns = min(max(len(cells), 1), COLUMNS)
    lines = -(-len(cells) // columns)
    with canvas(path, WIDTH, ROW * len(rows) + CELL * lines) as figure:
        heights = [ROW * len(rows), CELL * lines] if cells else [1.0]
        parts = figure.add_gridspec(len(heights), 1, height_ratios=heights)
        lower = parts[-1].subgridspec(max(lines, 1), columns)
        upper = parts[0].subgridspec(len(rows), 2 if side else 1, width_ratios=[1.0, 2.4] if side else [1.0])
        first = figure.add_subplot(upper[0, -1])
        every = [first, *(figure.add_subplot(upper[k, -1], sharex=first) for k in range(1, len(rows)))]
        if side:
            side(figure.add_subplot(upper[:, 0]))
        named: set[str] = set()
        for draw, axes in zip(rows, every, strict=True):
            draw(axes)
            labels = set(axes.get_legend_handles_labels()[1])
            if not labels <= named:
                legend_right(axes)
            named |= labels
            axes.tick_params(labelbottom=axes is every[-1])
        first.set_title(title)
        every[-1].set_xlabel("time (s)")
        figure.align_ylabels(every)
        for k, draw in enumerate(cells):
            axes = figure.add_subplot(lower[divmod(k, columns)], sharex=first)
            draw(axes)
        if cells:
            legend_below(figure, axes, 8)
        first.set_xlim(*span)
