"""Moving picture of a motion, as GIF: the robot, next to the curves of its joints; needs matplotlib and Pillow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rne_dynamics.figures.output_file import figure_file
from rne_dynamics.figures.render import Pixels, frame_of, parts_of, render, rgb
from rne_dynamics.figures.skeleton import skeleton, tree_positions, view_of
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
#: Colours of the file: shades of grey, and shades of each joint's colour on either side of it.
GREYS, SHADES = 112, 9
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
    """Write a motion as a GIF that repeats; `progress` receives the share of the pictures drawn so far.

    Motions longer than `LONGEST` are shown faster, with the time shown being that of the motion. Raises as
    `figure_file`.
    """
    figure_file(path, "the movie", FORMATS)
    from PIL import Image

    span = float(motion.time[-1] - motion.time[0])
    shown = float(np.clip(span, SHORTEST, LONGEST))
    at = motion.time[0] + np.linspace(0.0, span, max(2, round(1e3 * shown / PERIOD)))
    rows = np.clip(np.searchsorted(motion.time, at), 0, len(motion.time) - 1)
    palette = _palette(min(robot.n, len(COLORS)))
    frames = []
    for k, picture in enumerate(_pictures(robot, motion, rows)):
        frame = Image.fromarray(_nearest(picture, palette))
        frame.putpalette(palette.ravel().tolist())
        frames.append(frame)
        progress((k + 1) / len(rows))
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=PERIOD, loop=0)


def _palette(colors: int) -> Pixels:
    """Grey, and the colours of the joints from dark to light; shape (up to 256, 3)."""
    ramps = [np.linspace(0.0, 1.0, GREYS)[:, None] * np.ones(3)]
    for k in range(colors):
        color = np.array(rgb(color_of(k)))
        ramps.append(np.linspace(0.35, 1.0, SHADES)[:, None] * color)
        ramps.append(color + np.linspace(0.0, 1.0, SHADES + 2)[1:-1, None] * (1.0 - color))
    return np.asarray(np.rint(255.0 * np.vstack(ramps)), dtype=np.uint8)


def _nearest(picture: Pixels, palette: Pixels) -> Pixels:
    """Place of every pixel's colour in the palette, (height, width); Pillow's own is not the nearest for white."""
    packed = picture.astype(np.int64) @ np.array([65536, 256, 1], dtype=np.int64)
    found, where = np.unique(packed, return_inverse=True)
    colors = np.stack([found // 65536, found // 256 % 256, found % 256], axis=1)
    distance = ((colors[:, None] - palette.astype(np.int64)) ** 2).sum(axis=2)
    return np.asarray(distance.argmin(axis=1).astype(np.uint8)[where].reshape(picture.shape[:2]))


def _pictures(robot: Robot, motion: Motion, rows: Array) -> Iterator[Pixels]:
    """Pictures at these samples; shape (HEIGHT, WIDTH, 3)."""
    q_tree = tree_positions(robot, motion.q[rows]) if motion.q_tree is None else motion.q_tree[rows]
    drawn = skeleton(robot, q_tree)
    view = view_of(drawn)
    frame = frame_of(drawn, view, ROBOT, HEIGHT)
    curves = _curves(robot, motion, rows)
    for k, right in enumerate(curves):
        yield np.hstack([render(parts_of(drawn, k), view, frame), right])


def _curves(robot: Robot, motion: Motion, rows: Array) -> Iterator[Pixels]:
    """Pictures of the curves up to each of these samples; shape (HEIGHT, WIDTH − ROBOT, 3)."""
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D

        figure = Figure(figsize=((WIDTH - ROBOT) / _DPI, HEIGHT / _DPI), dpi=_DPI, layout="constrained")
        canvas: Any = FigureCanvasAgg(figure)
        named = motion.q.shape[1] == len(robot.joint_names)
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
                for column in motion.reference[:, joints].T:
                    upper.plot(motion.time, column, color=INK, linewidth=REFERENCE, linestyle=(0, (4, 3)), alpha=0.6)
            upper.set_ylabel(f"position ({unit.position})")
            lower.set_ylabel(f"velocity ({unit.velocity})" if motion.reference is None else f"error ({unit.error})")
        every[0].set_title(motion.title)
        every[-1].set_xlabel("time (s)")
        if named and robot.n <= 8:
            handles = [Line2D([], [], color=color_of(j)) for j in range(robot.n)]
            columns = robot.n if sum(map(len, robot.joint_names)) < 50 else 4
            figure.legend(handles, robot.joint_names, loc="outside lower center", ncols=columns, handlelength=1.0,
                          columnspacing=1.2)  # fmt: skip
        canvas.draw()
        background = canvas.copy_from_bbox(figure.bbox)
        for k in rows:
            canvas.restore_region(background)
            for line, dot, values in moving:
                line.set_data(motion.time[: k + 1], values[: k + 1])
                dot.set_data(motion.time[k : k + 1], values[k : k + 1])
                line.axes.draw_artist(line)
                dot.axes.draw_artist(dot)
            yield np.array(canvas.buffer_rgba())[..., :3]


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
