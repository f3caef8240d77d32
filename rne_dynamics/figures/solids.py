"""A robot in a moving picture: links as round bars, joints as drums in the colours of their curves, and a floor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from rne_dynamics.figures.skeleton import Skeleton, View
from rne_dynamics.figures.style import color_of
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.tree import JointKind

#: Colours of links, of the ground, of joints without motor, of the floor's lines and of shadows.
LINK, GROUND, PASSIVE, FLOOR, SHADOW = "#EDEDED", "#9A9A9A", "#C4C4C4", "0.92", "0.88"
#: Radius of links and of drums, and half the length of drums, relative to the robot's extent.
THICK, DRUM, HALF = 0.027, 0.043, 0.047
#: Shading across a bar: share of its width, and the brightness there.
SHADES = ((1.0, -0.45), (0.86, -0.2), (0.62, 0.0), (0.3, 0.35))
#: Shift of shadows on the floor for each metre of height; lines of the floor along either side.
LAMP, LINES = np.array([-0.12, -0.1]), np.linspace(-1.0, 1.0, 9)


class Solid(NamedTuple):
    """A bar with round ends, or a drum: the ends of its axis, (2, rows, 3), and its radius, m, and its colour."""

    ends: Array
    radius: float
    color: str
    flat: bool


def solids(drawn: Skeleton) -> list[Solid]:
    """The bars of all links, and the drums of all joints about their axes."""
    size = drawn.size
    found = [
        Solid(np.array([bar.start, bar.end]), THICK * size, GROUND if bar.ground else LINK, False) for bar in drawn.bars
    ]
    for joint in drawn.joints:
        wide, long = (0.8 * DRUM, 1.3 * HALF) if joint.kind is JointKind.PRISMATIC else (DRUM, HALF)
        shrink, color = (0.75, PASSIVE) if joint.actuated is None else (1.0, color_of(joint.actuated))
        along = shrink * long * size * joint.axis
        ends = np.array([joint.origin - along, joint.origin + along])
        found.append(Solid(ends, shrink * wide * size, color, True))
    return found


def set_up(axes: Any, drawn: Skeleton, view: View) -> float | None:
    """Prepare axes for the whole motion; the height of the floor, m, None for robots that move in a plane."""
    seen = view.project(drawn.points).reshape(-1, 3)
    floor = None
    if not view.planar:
        floor = min(0.0, float(drawn.points[..., 2].min())) - THICK * drawn.size
        middle = np.append(drawn.points[..., :2].mean(axis=(0, 1, 2)), floor)
        for at in LINES:
            for ends in ([(-1.0, at, 0.0), (1.0, at, 0.0)], [(at, -1.0, 0.0), (at, 1.0, 0.0)]):
                x, y, _ = view.project(middle + drawn.size * np.array(ends)).T
                axes.plot(x, y, color=FLOOR, linewidth=0.8, clip_box=axes.figure.bbox)
        seen = np.vstack([seen, view.project(middle)])
    low, high = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
    centre, half = 0.5 * (low + high), 0.5 * (high - low) + 2.5 * DRUM * drawn.size
    axes.set(xlim=(centre[0] - half[0], centre[0] + half[0]), ylim=(centre[1] - half[1], centre[1] + half[1]))
    axes.set_aspect("equal")
    axes.set_axis_off()
    return floor


def artists(axes: Any, parts: list[Solid], view: View, row: int, floor: float | None) -> list[Any]:
    """What shows the posture `row`, the farthest part first; none of it is added to the axes."""
    from matplotlib.lines import Line2D

    width = 144.0 / axes.figure.dpi * float(axes.transData.get_matrix()[0, 0])  # points for a radius of 1 m
    shadows, layers = [], []
    for part in parts:
        ends = part.ends[:, row]
        a, b = view.project(ends)
        if floor is not None:
            fallen = ends + np.outer(ends[:, 2] - floor, [*LAMP, -1.0])
            shadows.append(Line2D(*view.project(fallen)[:, :2].T, color=SHADOW, linewidth=width * part.radius))
        body = [
            Line2D(*np.array([a, b])[:, :2].T, color=shade(part.color, light), linewidth=share * width * part.radius,
                   solid_capstyle="butt" if part.flat else "round")
            for share, light in SHADES
        ]  # fmt: skip
        caps = list(_caps(part, ends, view)) if part.flat else []
        nearer = part.radius if part.flat else 0.0  # drums are wider than the bars that they join
        layers.append((0.5 * float(a[2] + b[2]) + nearer, [*caps[:1], *body, *caps[1:]]))
    found = shadows + [artist for _, layer in sorted(layers, key=lambda x: x[0]) for artist in layer]
    for artist in found:
        artist.axes = axes
        artist.set_transform(axes.transData)
        artist.set_clip_box(axes.figure.bbox)
    return found


def _caps(part: Solid, ends: Array, view: View) -> Iterator[Any]:
    """The two ends of a drum, the farther one first."""
    from matplotlib.patches import Polygon

    axis = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
    across = np.linalg.svd(axis[None])[2][1:]  # two directions normal to the axis
    turn = np.linspace(0.0, 2.0 * np.pi, 25)[:, None]
    rim = part.radius * (np.cos(turn) * across[0] + np.sin(turn) * across[1])
    for end, light in zip(sorted(ends, key=lambda p: view.project(p)[2]), (-0.45, 0.12), strict=True):
        edge = shade(part.color, -0.45)
        yield Polygon(view.project(end + rim)[:, :2], facecolor=shade(part.color, light), edgecolor=edge, linewidth=0.5)


def shade(color: str, light: float) -> tuple[float, float, float]:
    """A colour made darker, towards −1, or lighter, towards 1."""
    from matplotlib.colors import to_rgb

    r, g, b = (c + light * (1.0 - c if light > 0.0 else c) for c in to_rgb(color))
    return r, g, b
