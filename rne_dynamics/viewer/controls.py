"""Parts of the panel that several sessions have: joint sliders, pushes, dragging, a handle for a target pose."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rne_dynamics.dynamics.kinematics.kinematics import quaternion_matrices
from rne_dynamics.figures.tracking import units_of
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.tree import JointKind
from rne_dynamics.viewer.meshes import reach
from rne_dynamics.viewer.page import Page
from rne_dynamics.viewer.scene import moving_links, quaternion, update
from rne_dynamics.viewer.simulated_arm import TURNING

DIRECTIONS = {
    "+x": (1.0, 0.0, 0.0), "-x": (-1.0, 0.0, 0.0), "+y": (0.0, 1.0, 0.0), "-y": (0.0, -1.0, 0.0),
    "+z": (0.0, 0.0, 1.0), "-z": (0.0, 0.0, -1.0),
}  # fmt: skip
#: Duration of a push, s; its force over the robot's weight by default.
PUSH_TIME, PUSH = 0.2, 0.3
#: Distance of a handle from its link that counts as motion, m.
MOVED = 1e-4


class JointSliders:
    """One slider a joint of the page's robot; `moved` gets all positions, (n,), when a user moves one."""

    def __init__(self, page: Page, moved: Callable[[Array], None]) -> None:
        robot = page.robot
        self._sliders = []
        prismatic = {j.name for j in robot.tree.joints if j.kind is JointKind.PRISMATIC}
        with page.server.gui.add_folder(f"Joints ({units_of(robot).position})"):
            for j, name in enumerate(robot.joint_names):
                wide = reach(robot) if name in prismatic else np.pi
                low = float(robot.lower[j]) if np.isfinite(robot.lower[j]) else -wide
                high = float(robot.upper[j]) if np.isfinite(robot.upper[j]) else wide
                middle = float(np.clip(robot.neutral[j], low, high))
                high = max(high, low + 1e-6)  # a joint may be locked by its limits
                slider = page.server.gui.add_slider(name, low, high, 1e-3 * (high - low), middle)
                page.on_change(slider, lambda _value: moved(self.values()))
                self._sliders.append(slider)
        #: Differences that they do not resolve, (n,).
        self.steps: Array = np.array([slider.step for slider in self._sliders])

    def values(self) -> Array:
        """Their positions, (n,)."""
        return np.array([slider.value for slider in self._sliders], dtype=np.float64)

    def follow(self, q: Array) -> None:
        """Set them to `q`, (n,), where that differs."""
        for slider, value in zip(self._sliders, q.tolist(), strict=True):
            inside = min(max(value, slider.min), slider.max)
            if abs(slider.value - inside) > 0.5 * slider.step:
                slider.value = inside

    def enable(self, enabled: bool) -> None:
        """Whether users can move them."""
        for slider in self._sliders:
            update(slider, disabled=not enabled)


class PushPanel:
    """A link, a direction, a force, N, and a button for `push`; where `drag` is given also a handle on the link."""

    def __init__(
        self, page: Page, push: Callable[[str, Array, float], None],
        drag: Callable[[str, Array | None], None] | None = None,
    ) -> None:
        gui, robot = page.server.gui, page.robot
        moving = moving_links(robot)
        self._page, self._held = page, False
        with gui.add_folder("Push" if drag is None else "Drag and push"):
            self._link = gui.add_dropdown("link", moving, initial_value=moving[-1])
            direction = gui.add_dropdown("direction", tuple(DIRECTIONS), initial_value="+y")
            force = gui.add_number("force (N)", float(f"{PUSH * 9.81 * robot.mass:.2g}"), min=0.0, step=1.0)
            button = gui.add_button("Push")

        def pressed() -> None:
            push(self.link, float(force.value) * np.array(DIRECTIONS[str(direction.value)]), PUSH_TIME)

        button.on_click(lambda event: page.do(pressed))
        self._handle: Any = None
        if drag is not None:
            self._handle = page.server.scene.add_transform_controls(
                "/hand", scale=0.16 * reach(robot), disable_rotations=True, depth_test=False, opacity=0.8,
            )
            self._handle.on_update(lambda event: page.do(partial(self._dragged, drag, event.phase)))
            page.on_change(self._link, lambda _value: self._dragged(drag, "end"))

    @property
    def link(self) -> str:
        """The link that is chosen."""
        return str(self._link.value)

    def follow(self, *, visible: bool = True) -> None:
        """Keep the handle on its link while nobody drags it, or hide it."""
        if self._handle is None:
            return
        update(self._handle, visible=visible)
        position = self._page.scene.poses[self.link][1]
        if not self._held and np.abs(self._handle.position - position).max() > MOVED:
            self._handle.position = position

    def _dragged(self, drag: Callable[[str, Array | None], None], phase: str) -> None:
        """Drag the link where the handle is, from the phase "start" to "end"."""
        if phase == "start":
            self._held = True
        elif phase == "end":
            self._held = False
            drag(self.link, None)
        elif self._held:
            drag(self.link, np.array(self._handle.position, dtype=np.float64))


#: Time for which the link must rest until the handle returns to it, s.
RESTED = 0.5


class TargetHandle:
    """The handle, hidden at first; `aim` gets turn (3, 3) and place (3,), m, in the root link while it is dragged."""

    def __init__(self, page: Page, aim: Callable[[Array, Array], None]) -> None:
        self._page, self._aim, self._held = page, aim, False
        self._place, self._rested_at, self._shown = np.zeros(3), 0.0, np.zeros(7)
        handle = self._handle = page.server.scene.add_transform_controls(
            "/target", scale=0.22 * reach(page.robot), disable_rotations=page.robot.n < TURNING, depth_test=False,
            opacity=0.8, visible=False,
        )
        handle.on_update(lambda event: self._note(event.phase))

    def follow(self, link: str, *, anew: bool = False) -> None:
        """Show the handle at a link that rests, or at once if `anew`; hide it without link."""
        handle = self._handle
        update(handle, visible=bool(link))
        if not link:
            return
        R, p = self._page.scene.poses[link]
        turn, now = quaternion(R), time.monotonic()
        if self._held or np.abs(p - self._place).max() > MOVED:
            self._place, self._rested_at = p.copy(), now + RESTED
        off = np.abs(np.r_[handle.position - p, handle.wxyz - turn]).max() > MOVED
        if off and (anew or (now >= self._rested_at and not self._held)):
            handle.position, handle.wxyz = p, turn
            self._shown = np.r_[handle.wxyz, handle.position]

    def _note(self, phase: str) -> None:
        """Hold the handle at once, and pass on where it is now."""
        self._held = phase != "end"
        self._page.do(partial(self._moved, phase, self._handle.wxyz, self._handle.position))

    def _moved(self, phase: str, wxyz: Array, position: Array) -> None:
        """Take what a visitor does; the pose is that of then, or the link's where that was shown in between."""
        if phase != "start" and self._handle.visible and not np.array_equal(np.r_[wxyz, position], self._shown):
            self._aim(quaternion_matrices(np.roll(wxyz, -1)[None])[0], np.array(position, dtype=np.float64))
