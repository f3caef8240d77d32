"""A handle with arrows and rings that users drag: the target of a link's pose."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from rne_dynamics.dynamics.kinematics.kinematics import quaternion_matrices
from rne_dynamics.model.inertia import Array
from rne_dynamics.viewer.followed_target import TURNING
from rne_dynamics.viewer.meshes import reach
from rne_dynamics.viewer.page import Page
from rne_dynamics.viewer.scene import quaternion

#: Time for which the link must rest until the handle returns to it, s; the distance that counts as motion, m.
RESTED, MOVED = 0.5, 1e-4


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

    def follow(self, link: str, tool: Array | None = None, *, anew: bool = False) -> None:
        """Show the handle at a `tool` point, m, (3,) of a link at rest, or at once if `anew`; hide it without link."""
        handle = self._handle
        if handle.visible != bool(link):
            handle.visible = bool(link)
        if not link or self._page.scene is None:
            return
        R, p = self._page.scene.poses[link]
        turn, p, now = quaternion(R), p if tool is None else p + R @ tool, time.monotonic()
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
