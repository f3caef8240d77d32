"""The target that visitors of a simulated arm drag, as a browser sends it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.viewer.page import Page
from rne_dynamics.viewer.pages import SimulationPage
from rne_dynamics.viewer.simulated_arm import CARTESIAN, SimulatedArm

pytest.importorskip("viser", reason="the viewer's library is not installed: pip install '.[test]'")

from support.viser_client import ViserClient

START = np.array([0.2, 0.4, -0.4, 0.1, 0.8, 0.0])


def await_that(condition, again=lambda: None) -> None:
    """Do it `again` every second: of a single move of a visitor the handle's own place may be left."""
    deadline, due = time.monotonic() + 120.0, 0.0
    while not condition():
        assert time.monotonic() < deadline
        if time.monotonic() > due:
            due = time.monotonic() + 1.0
            again()
        time.sleep(0.02)


@pytest.fixture
def session() -> Iterator[SimulationPage]:
    page, over = Page(port=18110), threading.Event()
    arm = SimulatedArm(rne.load_model("puma560"), START)
    page.add_robot(arm.robot, None, START)
    shown = SimulationPage(page, arm)
    thread = threading.Thread(target=shown.run, args=(over.is_set,))
    thread.start()
    yield shown
    over.set()
    thread.join()
    page.close()


def test_a_dragged_target_is_followed_and_one_out_of_reach_is_named(session: SimulationPage) -> None:
    arm, page = session.arm, session.page
    handle = session._target._handle
    with ViserClient(page.url) as client:
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
        await_that(lambda: "has come to rest" in client.text(), lambda: client.drag("/target", 3.0 * goal, handle.wxyz))
        await_that(lambda: np.abs(handle.position - page.scene.poses[arm.tool][1]).max() < 2e-3)
        client.set("control", "gravity compensation")
        await_that(lambda: not handle.visible and session._pushing._handle.visible)
