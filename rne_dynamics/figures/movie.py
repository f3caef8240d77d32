"""Moving picture of a motion, as GIF: the robot next to the curves of its joints; needs matplotlib and Pillow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.errors import ModelError
from rne_dynamics.figures.skeleton import Skeleton, View, skeleton, tree_positions, view_of
from rne_dynamics.figures.style import COLORS, INK, REFERENCE, color_of, figure_file, line_style, styled
from rne_dynamics.figures.tracking import ROUND_OFF, configuration, joint_units, panels, span_at_least
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
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


#: Format of moving pictures.
FORMATS = (".gif",)
#: Time of a picture, ms (GIF has steps of 10 ms), and shortest and longest time of all, s.
PERIOD, SHORTEST, LONGEST = 80, 2.0, 7.5
#: Size, pixels, and width of the part that shows the robot.
WIDTH, HEIGHT, ROBOT = 800, 400, 350
#: Shades of the colour of a joint in the file.
COLOR_SHADES = 24
_DPI = 100


class Motion(NamedTuple):
    """Contents of a moving picture."""

    #: Text above the curves.
    title: str
    #: s; shape (samples,).
    time: Array
    #: Positions of the actuated joints, rad or m; shape (samples, nq).
    q: Array
    #: Desired positions; None in free motion, which is shown with its velocities.
    reference: Array | None = None
    #: Positions of all joints of a mechanism's tree, if known; (samples, tree nq).
    q_tree: Array | None = None


def write_movie(
    path: Path, robot: Robot, motion: Motion, progress: Callable[[float], None] = lambda done: None
) -> None:
    """Write a motion as a GIF that repeats, faster if it is longer than `LONGEST`; `progress` gets the share drawn."""
    figure_file(path, "the movie", FORMATS)
    if not robot.n:
        raise ModelError(f"robot {robot.name!r} has no joint that moves; a movie of it has nothing to show")
    from PIL import Image

    span = float(motion.time[-1] - motion.time[0])
    shown = float(np.clip(span, SHORTEST, LONGEST))
    at = motion.time[0] + np.linspace(0.0, span, max(2, round(1e3 * shown / PERIOD)))
    rows = np.clip(np.searchsorted(motion.time, at), 0, len(motion.time) - 1)
    colors = Image.new("P", (1, 1))
    greys = [3 * (grey,) for grey in (*np.linspace(0.0, 0.96, 63), 1.0)]
    shades = [shade(color, light) for color in COLORS[: robot.n] for light in np.linspace(-0.6, 0.9, COLOR_SHADES)]
    colors.putpalette([round(255.0 * part) for color in (*greys, *shades) for part in color])
    frames = []
    for k, picture in enumerate(_pictures(robot, motion, rows)):
        frames.append(Image.fromarray(picture).quantize(palette=colors, dither=Image.Dither.NONE))
        progress((k + 1) / len(rows))
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=PERIOD, loop=0)


def _pictures(robot: Robot, motion: Motion, rows: Array) -> Iterator[NDArray[np.uint8]]:
    """Pictures at these samples; shape (HEIGHT, WIDTH, 3)."""
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure: Any = Figure(figsize=(WIDTH / _DPI, HEIGHT / _DPI), dpi=_DPI, layout="constrained")
        canvas: Any = FigureCanvasAgg(figure)
        left, right = figure.subfigures(1, 2, width_ratios=[ROBOT, WIDTH - ROBOT])
        moving = _curves(right, robot, motion)
        drawn = skeleton(robot, tree_positions(robot, motion.q[rows]) if motion.q_tree is None else motion.q_tree[rows])
        view, parts, arm = view_of(drawn), solids(drawn), left.subplots()
        floor = set_up(arm, drawn, view)
        canvas.draw()
        background = canvas.copy_from_bbox(figure.bbox)
        for k, row in enumerate(rows):
            canvas.restore_region(background)
            for artist in artists(arm, parts, view, k, floor):
                artist.draw(canvas.get_renderer())
            for line, dot, values in moving:
                line.set_data(motion.time[: row + 1], values[: row + 1])
                dot.set_data(motion.time[row : row + 1], values[row : row + 1])
                line.axes.draw_artist(line)
                dot.axes.draw_artist(dot)
            yield np.array(canvas.buffer_rgba())[..., :3]


def _curves(figure: Any, robot: Robot, motion: Motion) -> list[tuple[Any, Any, Array]]:
    """Draw the axes of positions and errors; the lines and dots to redraw in each picture, with their values."""
    from matplotlib.lines import Line2D

    _, units = configuration(robot.joint_names, joint_units(robot))
    shown = panels(units)
    every = figure.subplots(2 * len(shown), 1, sharex=True)
    if motion.reference is None:
        second = np.gradient(motion.q, motion.time, axis=0)
    else:
        second = 1e3 * (motion.reference - motion.q)
    moving = []
    for upper, lower, (joints, unit) in zip(every[::2], every[1::2], shown, strict=True):
        moving += [*_prepared(upper, motion.time, motion.q, joints), *_prepared(lower, motion.time, second, joints)]
        if motion.reference is not None:
            upper.plot(motion.time, motion.reference[:, joints], color=INK, linewidth=REFERENCE, linestyle=(0, (4, 3)),
                       alpha=0.6)  # fmt: skip
        upper.set_ylabel(f"position ({unit.position})")
        lower.set_ylabel(f"velocity ({unit.velocity})" if motion.reference is None else f"error ({unit.error})")
    every[0].set_title(motion.title)
    every[-1].set_xlabel("time (s)")
    if motion.q.shape[1] == robot.n <= 8:
        columns = robot.n if sum(map(len, robot.joint_names)) < 50 else 4
        handles = [Line2D([], [], color=color_of(j)) for j in range(robot.n)]
        figure.legend(handles, robot.joint_names, loc="outside lower center", ncols=columns, handlelength=1.0,
                      columnspacing=1.2)  # fmt: skip
    return moving


def _prepared(axes: Any, time: Array, values: Array, joints: list[int]) -> list[tuple[Any, Any, Array]]:
    """Lines and dots of these columns to redraw in each picture, with their values; the axes show the whole motion."""
    axes.margins(x=0.02)
    prepared = []
    for j in joints:
        column = values[:, j]
        axes.plot(time, column, color=color_of(j), alpha=0.12)
        (line,) = axes.plot([], [], line_style(j), color=color_of(j), linewidth=1.8, animated=True)
        (dot,) = axes.plot([], [], "o", color=color_of(j), markersize=4.5, animated=True)
        prepared.append((line, dot, column))
    span_at_least(axes, ROUND_OFF * float(np.abs(values).max(initial=0.0)))
    return prepared
