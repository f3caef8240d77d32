"""`rne view ARM --replay FILE`: a recording on a page, with a time slider."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.errors import RecordingError
from rne_dynamics.model.protocol import Robot
from rne_dynamics.recording.reading import read_recording
from rne_dynamics.recording.recording import Recording, Series
from rne_dynamics.viewer.page import Page, Picture, frames

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")


class ReplayPage:
    """Controls of a replay of a `read_replay` on the page of its robot, and the loop that plays it over and over."""

    def __init__(self, page: Page, recording: Recording) -> None:
        self.page, self.recording = page, recording
        self.playing = True
        #: The time that is shown, s.
        self.time = float(recording.t[0])
        end = float(recording.t[-1])
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
                if self.time > self.recording.t[-1]:
                    self.time = float(self.recording.t[0])
                if abs(self._slider.value - self.time) > 0.1:
                    self._slider.value = self.time
            self.draw()

    def draw(self) -> None:
        """Draw the row of the present time."""
        rows = self.recording
        k = max(int(np.searchsorted(rows.t, self.time, side="right")) - 1, 0)
        shape = {name: part[k] for name, part in rows.shape.items()}
        base = (shape["base_position"], shape["base_rotation"]) if "base_rotation" in shape else None
        self.page.show(Picture(
            q=rows.q[k], effort=None if rows.effort is None else rows.effort[k],
            terms={name: term.values[k] for name, term in rows.torque.items()},
            reference=None if rows.reference_q is None else rows.reference_q.values[k], posture=shape.get("tree_q"),
            delta=shape.get("delta"), base=base,
            status=f"t = {rows.t[k]:.2f} s of {rows.t[-1]:.2f} s, {'plays' if self.playing else 'paused'}",
        ))  # fmt: skip

    def _toggle(self) -> None:
        self.playing = not self.playing

    def _jump(self, time: float) -> None:
        self.playing, self.time = False, float(time)


def read_replay(path: str | Path, robot: Robot) -> Recording:
    """Read a recording of the robot: of `rne simulate`, an MCAP file, or a ROS 2 bag.

    All parts have the times of the states, efforts are those measured or else commanded, and the shape is that of this
    robot. `RecordingError` as `read_recording`, for a joint that was not recorded, or positions that are not finite.
    """
    found = read_recording(path, joints=robot.joint_names)
    if found.q.shape[1] != robot.n or not np.isfinite(found.q).all():
        raise RecordingError(f"{path}: the positions must be {robot.n} finite numbers in each of {len(found.t)} rows")

    def at(series: Series | None) -> Series | None:
        return None if series is None else Series(found.t, series.at(found.t))

    columns, command = {"tree_q": robot.open_tree.nq, "delta": robot.modes}, at(found.command)
    terms = {name: Series(found.t, term.at(found.t)) for name, term in found.torque.items() if name != "command"}
    return replace(
        found, effort=command.values if found.effort is None and command is not None else found.effort,
        reference_q=at(found.reference_q), torque=terms,
        shape={name: rows for name, rows in found.shape.items() if rows.shape[1] == columns.get(name, rows.shape[1])},
    )  # fmt: skip
