"""The pages of `rne view ARM`: a simulated arm in this process; with `--replay FILE` a recording with a time slider."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.errors import RecordingError, RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.recording.reading import read_recording
from rne_dynamics.recording.recording import Recording, Series
from rne_dynamics.viewer.controls import JointSliders, PushPanel, TargetHandle
from rne_dynamics.viewer.page import FRAMES, NUMBERS, Page, frames
from rne_dynamics.viewer.simulated_arm import CARTESIAN, STEP, SimulatedArm

#: Longest time between two frames that the simulation catches up with, s; part of a frame that it may compute.
CATCH_UP, SHARE = 0.1, 0.8
#: Simulated time of one press on Step, s.
PRESS = 0.01


class SimulationPage:
    """Controls of a simulated arm, and the loop that runs it. `page`: with the arm's robot."""

    def __init__(self, page: Page, arm: SimulatedArm) -> None:
        self.page, self.arm = page, arm
        gui = page.server.gui
        page.add_buttons({"Run / Pause": self._toggle, "Step": self._press, "Reset": arm.reset})
        page.on_change(gui.add_dropdown("control", arm.laws, initial_value=arm.law), self._choose)
        page.add_torques()
        self._sliders = JointSliders(page, self._moved)
        self._pushing, self._target = PushPanel(page, arm.push, arm.drag), TargetHandle(page, arm.aim)
        self._tool = ""
        page.add_overlays()
        self._speed, self._numbers_at, self._stepped = 1.0, 0.0, False

    def run(self, ended: Callable[[], bool] = lambda: False) -> None:
        """Simulate and draw until `ended`."""
        self.draw()  # the first step may compile for some seconds
        for passed in frames(self.page, ended):
            self._advance(min(passed, CATCH_UP))
            self.draw()

    def draw(self) -> None:
        """Draw the present state."""
        arm, state = self.arm, self.arm.state
        self.page.show(
            state.q, self._status(), posture=state.posture, delta=state.delta,
            effort=arm.simulator.applied_effort, terms={} if arm.terms is None else arm.terms._asdict(),
            reference=None if arm.reference is None else arm.reference.q, forces=arm.forces,
        )
        cartesian = arm.law == CARTESIAN
        self._pushing.follow(visible=not cartesian)
        tool = self._pushing.link if cartesian else ""
        if cartesian and tool != arm.tool:
            arm.tool = tool
            arm.choose(CARTESIAN)  # anew, where the tool is
        self._target.follow(tool, anew=tool != self._tool)
        self._tool = tool
        now = time.monotonic()
        if now - self._numbers_at > 1.0 / NUMBERS:
            self._numbers_at = now
            tracking = arm.law == "computed torque"
            self._sliders.enable(arm.paused or tracking)
            if not (arm.paused or tracking):
                self._sliders.follow(state.q)

    def _advance(self, seconds: float) -> None:
        """Simulate as much of `seconds` as can be computed within a frame."""
        if self.arm.paused:
            return
        began, steps, done = time.monotonic(), max(1, round(seconds / STEP)), 0
        try:
            while done < steps and time.monotonic() - began < SHARE / FRAMES:
                self.arm.advance(1)
                done += 1
        except RneDynamicsError as error:
            self.page.refuse(f"the simulation is paused: {error}. Reset starts again")
        if self._stepped:
            self._speed += 0.1 * (done / steps - self._speed)
        self._stepped = True

    def _status(self) -> str:
        state = self.arm.state
        if not (self._stepped or self.arm.paused):
            return f"t = {state.t:.2f} s, compiling what is not on disk yet"
        speed = "" if self._speed > 0.95 else f", {100.0 * self._speed:.0f} % of real time"
        text = self.arm.target_text
        return f"t = {state.t:.2f} s, {'paused' if self.arm.paused else 'running'}{speed}{text and ': '}{text}"

    def _choose(self, law: str) -> None:
        self.arm.choose(law)
        if law == CARTESIAN:
            self.arm.drag(None)

    def _toggle(self) -> None:
        self.arm.paused = not self.arm.paused
        self._sliders.follow(self.arm.state.q)

    def _press(self) -> None:
        self.arm.paused = True
        self.arm.advance(round(PRESS / STEP))
        self._sliders.follow(self.arm.state.q)

    def _moved(self, q: Array) -> None:
        """Sliders place a paused arm, and give a running one its goal."""
        if self.arm.paused:
            # joints whose slider was not moved keep their exact position
            now = self.arm.state.q
            self.arm.place(np.where(np.abs(q - now) > self._sliders.steps, q, now))
        elif self.arm.law == "computed torque":
            self.arm.move(q)


SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")


class ReplayPage:
    """Controls of a replay of a `read_replay` on the page of its robot, and the loop that plays it over and over."""

    def __init__(self, page: Page, recording: Recording) -> None:
        self.page, self.recording = page, recording
        self.playing = True
        #: The time that is shown, s.
        self.time = float(recording.t[0])
        page.add_buttons({"Play / Pause": self._toggle})
        gui = page.server.gui
        span = max(float(recording.t[-1]) - self.time, 1e-3)
        self._slider = gui.add_slider("time (s)", self.time, self.time + span, span / 1000.0, self.time)
        self._speed: Any = gui.add_dropdown("speed ×", SPEEDS, initial_value="1")
        page.on_change(self._slider, self._jump)
        page.add_torques()
        page.add_overlays()

    def run(self, ended: Callable[[], bool] = lambda: False) -> None:
        """Play and draw until `ended`."""
        for passed in frames(self.page, ended):
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
        self.page.show(
            rows.q[k], f"t = {rows.t[k]:.2f} s of {rows.t[-1]:.2f} s, {'plays' if self.playing else 'paused'}",
            effort=None if rows.effort is None else rows.effort[k],
            terms={name: term.values[k] for name, term in rows.torque.items()},
            reference=None if rows.reference_q is None else rows.reference_q.values[k], posture=shape.get("tree_q"),
            delta=shape.get("delta"), base=base,
        )

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
