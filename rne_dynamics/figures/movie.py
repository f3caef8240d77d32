"""Moving picture of a motion, as GIF: the robot next to the curves of its joints; needs matplotlib and Pillow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rne_dynamics.errors import ModelError
from rne_dynamics.figures.skeleton import draw_schematic, skeleton, tree_positions, view_of
from rne_dynamics.figures.style import GUIDE, THIN, figure_file, legend_below, styled
from rne_dynamics.figures.tracking import Draw, configuration, joint_rows, joint_units, panels, tracking_rows
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot

#: Format of moving pictures.
FORMATS = (".gif",)
#: Time of a picture, ms (GIF has steps of 10 ms), and shortest and longest time of all, s.
PERIOD, SHORTEST, LONGEST = 80, 2.0, 7.5
#: Size, inches, and resolution, 1/inch; relative widths of the robot and its curves.
SIZE, DPI, WIDTHS = (8.0, 4.0), 100, (7, 9)
#: Colours of the file.
SHADES = 128
#: Most joints whose names fit below the curves.
MOST_NAMES = 8
#: Space around the robot, as a part of its extent.
AROUND = 0.12


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
    at = motion.time[0] + np.linspace(0.0, span, max(2, round(1e3 * float(np.clip(span, SHORTEST, LONGEST)) / PERIOD)))
    rows = np.clip(np.searchsorted(motion.time, at), 0, len(motion.time) - 1)
    frames: list[Any] = []
    for k, picture in enumerate(_pictures(robot, motion, rows)):
        image = Image.fromarray(picture)
        frames.append(image.quantize(palette=frames[0]) if frames else image.quantize(SHADES))
        progress((k + 1) / len(rows))
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=PERIOD, loop=0)


def _pictures(robot: Robot, motion: Motion, rows: Array) -> Iterator[Array]:
    """Pictures at these samples; shape (height, width, 3)."""
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure: Any = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
        canvas: Any = FigureCanvasAgg(figure)
        left, right = figure.subfigures(1, 2, width_ratios=WIDTHS)
        drawn = skeleton(robot, tree_positions(robot, motion.q[rows]) if motion.q_tree is None else motion.q_tree[rows])
        view, arm, curves = view_of(drawn), left.subplots(), _curves(robot, motion)
        seen = (drawn.points @ view).reshape(-1, 3)[:, :2]
        low, high = seen.min(axis=0) - AROUND * drawn.size, seen.max(axis=0) + AROUND * drawn.size
        every = right.subplots(len(curves), 1, sharex=True)
        for draw, axes in zip(curves, every, strict=True):
            draw(axes)
        every[0].set_title(motion.title)
        every[-1].set_xlabel("time (s)")
        if motion.q.shape[1] <= MOST_NAMES:
            legend_below(right, every[0], 4)
        now = [axes.axvline(color=GUIDE, linewidth=THIN, animated=True) for axes in every]
        arm.set_axis_off()
        canvas.draw()
        background, renderer = canvas.copy_from_bbox(figure.bbox), canvas.get_renderer()
        for k, row in enumerate(rows):
            arm.clear()
            draw_schematic(arm, drawn, view, k)
            arm.set_aspect("equal", adjustable="box")
            arm.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
            canvas.restore_region(background)
            arm.draw(renderer)
            for line in now:
                line.set_xdata([motion.time[row]] * 2)
                line.axes.draw_artist(line)
            yield np.array(canvas.buffer_rgba())[..., :3]


def _curves(robot: Robot, motion: Motion) -> list[Draw]:
    """Rows of positions, and of errors, or of velocities where nothing is desired."""
    names, units = configuration(robot.joint_names, joint_units(robot))
    shown = panels(units)
    if motion.reference is not None:
        return tracking_rows(shown, names, motion.time, motion.q, motion.reference)
    rates = np.gradient(motion.q, motion.time, axis=0)
    return [draw for label, values in (("position", motion.q), ("velocity", rates))
            for draw in joint_rows(label, shown, names, motion.time, values)]  # fmt: skip
