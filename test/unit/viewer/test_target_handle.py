"""The target that visitors of a simulated arm drag, as a browser sends it."""

from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.viewer.simulated_arm import CARTESIAN

pytest.importorskip("viser", reason="the viewer's library is not installed: pip install '.[test]'")

from support.viser_client import ViserClient

START = np.array([0.2, 0.4, -0.4, 0.1, 0.8, 0.0])


@pytest.mark.slow
def test_a_dragged_target_is_followed_and_one_out_of_reach_is_named(simulated_page, await_that) -> None:
    with simulated_page(START, 18110) as session, ViserClient(session.page.url) as client:
        arm, page, handle = session.arm, session.page, session._target._handle
        await_that(lambda: "running" in client.text())
        client.drag("/target", (0.3, 0.3, 0.3))  # the handle is hidden under other laws
        client.set("control", CARTESIAN)
        await_that(lambda: arm.law == CARTESIAN and handle.visible)
        await_that(lambda: np.abs(handle.position - page.scene.poses[arm.tool][1]).max() < 1e-3)
        R, p = page.scene.poses[arm.tool]
        goal = p + np.array([0.05, 0.12, 0.1])
        await_that(lambda: np.abs(page.scene.poses[arm.tool][1] - goal).max() < 2e-3,
                   lambda: client.drag("/target", goal, handle.wxyz))  # fmt: skip
        await_that(lambda: "is at the pose" in arm.target_text)
        np.testing.assert_allclose(page.scene.poses[arm.tool][0], R, atol=0.01)
        # once: each drag begins a new motion, and a slow computer would never see its end
        await_that(lambda: "has come to rest" in client.text(),
                   lambda: "is at" in arm.target_text and client.drag("/target", 3.0 * goal, handle.wxyz))  # fmt: skip
        await_that(lambda: np.abs(handle.position - page.scene.poses[arm.tool][1]).max() < 2e-3)
        client.set("control", "gravity compensation")
        await_that(lambda: not handle.visible and session._pushing._handle.visible)


@pytest.mark.slow
def test_a_link_is_dragged_from_the_start_of_a_drag_to_its_end(simulated_page, await_that) -> None:
    with simulated_page(START, 18120) as session, ViserClient(session.page.url) as client:
        arm, page = session.arm, session.page
        await_that(lambda: "running" in client.text())
        link = session._pushing.link
        begin = page.scene.poses[link][1].copy()
        goal = begin + np.array([0.05, 0.05, 0.05])
        move = {"name": "/hand", "position": tuple(map(float, goal)), "wxyz": (1.0, 0.0, 0.0, 0.0)}
        client.send("TransformControlsUpdateMessage", **move)  # no drag has begun
        client.send("TransformControlsDragStartMessage", name="/hand")
        client.send("TransformControlsUpdateMessage", **move)
        await_that(lambda: arm.hand is not None and arm.hand.link == link and arm.hand.target is not None)
        np.testing.assert_allclose(arm.hand.target, goal, atol=1e-6)
        await_that(lambda: np.linalg.norm(page.scene.poses[link][1] - begin) > 0.02)
        client.send("TransformControlsDragEndMessage", name="/hand")
        await_that(lambda: arm.hand is None)
