"""`rne view ARM`: a simulated arm on a page, in this process."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.viewer.controls import JointSliders, PushPanel
from rne_dynamics.viewer.page import FRAMES, NUMBERS, Page, Picture, frames
from rne_dynamics.viewer.simulated_arm import CARTESIAN, STEP, SimulatedArm
from rne_dynamics.viewer.target_handle import TargetHandle

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
        self._law = gui.add_dropdown("control", arm.laws, initial_value=arm.law)
        page.on_change(self._law, self._choose)
        page.add_torques()
        self._sliders = JointSliders(page, self._moved)
        self._pushing, self._target = PushPanel(page, arm.push, arm.drag), TargetHandle(page, arm.aim)
        self._tool = ""
        page.add_overlays()
        self._speed, self._numbers_at, self._stepped = 1.0, 0.0, False

    def run(self, ended: Callable[[], bool] = lambda: False) -> None:
        """Simulate and draw until `ended`."""
        self.draw()  # the first step may compile for some seconds
        for passed in frames():
            if ended():
                return
            self.page.serve()
            self._advance(min(passed, CATCH_UP))
            self.draw()

    def draw(self) -> None:
        """Draw the present state."""
        arm, state = self.arm, self.arm.state
        self.page.show(Picture(
            q=state.q, posture=state.posture, delta=state.delta, status=self._status(),
            effort=arm.simulator.applied_effort, terms={} if arm.terms is None else arm.terms._asdict(),
            reference=None if arm.reference is None else arm.reference.q, forces=arm.forces,
        ))  # fmt: skip
        cartesian = arm.law == CARTESIAN
        self._pushing.follow(visible=not cartesian)
        tool = self._pushing.link if cartesian else ""
        if cartesian and tool != arm.tool:
            arm.hold_tool(tool)
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
