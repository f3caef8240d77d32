"""Moving picture of a motion, as GIF: the robot next to the curves of its joints; needs matplotlib and Pillow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.figures.output_file import figure_file
from rne_dynamics.figures.skeleton import skeleton, tree_positions, view_of
from rne_dynamics.figures.solids import artists, set_up, shade, solids
from rne_dynamics.figures.style import COLORS, INK, REFERENCE, color_of, line_style, styled
from rne_dynamics.figures.tracking import ROUND_OFF, configuration, joint_units, panels, span_at_least
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot

#: Format of moving pictures.
FORMATS = (".gif",)
#: Time of a picture, ms (GIF has steps of 10 ms), and shortest and longest time of all, s.
PERIOD, SHORTEST, LONGEST = 80, 2.0, 7.5
#: Size, pixels, and width of the part that shows the robot.
WIDTH, HEIGHT, ROBOT = 800, 400, 350
#: Shades of the colour of a joint in the file.
SHADES = 24
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
    from PIL import Image

    span = float(motion.time[-1] - motion.time[0])
    shown = float(np.clip(span, SHORTEST, LONGEST))
    at = motion.time[0] + np.linspace(0.0, span, max(2, round(1e3 * shown / PERIOD)))
    rows = np.clip(np.searchsorted(motion.time, at), 0, len(motion.time) - 1)
    colors = Image.new("P", (1, 1))
    greys = [3 * (grey,) for grey in (*np.linspace(0.0, 0.96, 63), 1.0)]
    shades = [shade(color, light) for color in COLORS[: robot.n] for light in np.linspace(-0.6, 0.9, SHADES)]
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
