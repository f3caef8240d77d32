"""`rne view ARM --replay FILE`: a recording on a page, with a time slider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.errors import RecordingError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.recording.reading import read_recording
from rne_dynamics.recording.recording import Series
from rne_dynamics.viewer.page import Page, Picture, frames

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")


class ReplayPage:
    """Controls of a replay, and the loop that plays it over and over.

    `page`: with a robot; `recording`: of this robot: as `read_replay` gives it.
    """

    def __init__(self, page: Page, recording: Replay) -> None:
        self.page, self.recording = page, recording
        self.playing = True
        #: The time that is shown, s.
        self.time = float(recording.time[0])
        end = float(recording.time[-1])
        page.add_buttons({"Play / Pause": self._toggle})
        gui = page.server.gui
        span = max(end - self.time, 1e-3)
        self._slider = gui.add_slider("time (s)", self.time, self.time + span, span / 1000.0, self.time)
        self._speed: Any = gui.add_dropdown("speed ×", SPEEDS, initial_value="1")
        page.on_change(self._slider, self._jump)
        page.add_torques()
        page.add_overlays()

    def run(self, ended: Callable[[], bool] = lambda: False) -> None:
        """Play and draw until `ended`."""
        for passed in frames():
            if ended():
                return
            self.page.serve()
            if self.playing:
                self.time += passed * float(self._speed.value)
                if self.time > self.recording.time[-1]:
                    self.time = float(self.recording.time[0])
                if abs(self._slider.value - self.time) > 0.1:
                    self._slider.value = self.time
            self.draw()

    def draw(self) -> None:
        """Draw the row of the present time."""
        rows, k = self.recording, self.recording.row(self.time)

        def at(array: Array | None) -> Array | None:
            return None if array is None else array[k]

        base = None
        if rows.base_position is not None and rows.base_rotation is not None:
            base = rows.base_position[k], rows.base_rotation[k]
        self.page.show(Picture(
            q=rows.q[k], effort=at(rows.effort), terms={name: term[k] for name, term in rows.terms.items()},
            reference=at(rows.reference_q), posture=at(rows.tree_q), delta=at(rows.delta), base=base,
            status=f"t = {rows.time[k]:.2f} s of {rows.time[-1]:.2f} s, {'plays' if self.playing else 'paused'}",
        ))  # fmt: skip

    def _toggle(self) -> None:
        self.playing = not self.playing

    def _jump(self, time: float) -> None:
        self.playing, self.time = False, float(time)


@dataclass(frozen=True, eq=False)
class Replay:
    """A motion with the joints in the order of the robot, one row a time."""

    #: Ascending, s; (rows,).
    time: Array
    #: Positions, rad or m; (rows, n).
    q: Array
    #: Efforts, N·m or N, and desired positions; (rows, n), `None` where they were not recorded. NaN where a row
    #: has none.
    effort: Array | None = None
    reference_q: Array | None = None
    #: Parts of the effort by name; (rows, n).
    terms: Mapping[str, Array] = field(default_factory=dict)
    #: Of a mechanism, positions of all joints of its tree; of flexible links, amplitudes of their modes.
    tree_q: Array | None = None
    delta: Array | None = None
    #: Of a moving base; (rows, 3), (rows, 3, 3).
    base_position: Array | None = None
    base_rotation: Array | None = None

    def row(self, t: float) -> int:
        """Number of the last row at time `t` or before, s."""
        return int(np.clip(np.searchsorted(self.time, t, side="right") - 1, 0, len(self.time) - 1))


def read_replay(path: str | Path, robot: Robot) -> Replay:
    """Read a recording of the robot: of `rne simulate`, an MCAP file, or a ROS 2 bag.

    `RecordingError` as `read_recording`, for a joint that was not recorded, or positions that are not finite.
    """
    found = read_recording(path, joints=robot.joint_names)
    if found.q.shape[1] != robot.n or not np.isfinite(found.q).all():
        raise RecordingError(f"{path}: the positions must be {robot.n} finite numbers in each of {len(found.t)} rows")

    def at(series: Series | None) -> Array | None:
        return None if series is None else series.at(found.t)

    shape = dict(found.shape)
    columns = {"tree_q": robot.open_tree.nq, "delta": robot.modes}
    for name, expected in columns.items():
        if name in shape and (not expected or shape[name].shape[1] != expected):
            del shape[name]
    effort = found.effort if found.effort is not None else at(found.command)
    terms = {name: series.at(found.t) for name, series in found.torque.items() if name != "command"}
    return Replay(found.t, found.q, effort, at(found.reference_q), terms, **shape)
