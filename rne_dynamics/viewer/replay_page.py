"""`rne view ARM --replay FILE`: a recording on a page, with a time slider."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.viewer.page import Page, Picture, frames
from rne_dynamics.viewer.recorded import Replay

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")


class ReplayPage:
    """Controls of a replay, and the loop that plays it over and over.

    Parameters
    ----------
    page
        With a robot.
    recording
        Of this robot: as `read_replay` gives it.
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
        try:
            self.page.show(Picture(
                q=rows.q[k], effort=at(rows.effort), terms={name: term[k] for name, term in rows.terms.items()},
                reference=at(rows.reference_q), posture=at(rows.tree_q), delta=at(rows.delta), base=base,
                status=f"t = {rows.time[k]:.2f} s of {rows.time[-1]:.2f} s, {'plays' if self.playing else 'paused'}",
            ))  # fmt: skip
        except RneDynamicsError as error:
            self.page.say(str(error), alarm=True)

    def _toggle(self) -> None:
        self.playing = not self.playing

    def _jump(self, time: float) -> None:
        self.playing, self.time = False, float(time)
