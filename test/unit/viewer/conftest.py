"""The page of a simulated arm, which runs until the end of a test."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import pytest

import rne_dynamics as rne
from rne_dynamics.viewer.page import Page
from rne_dynamics.viewer.pages import SimulationPage
from rne_dynamics.viewer.simulated_arm import SimulatedArm


@pytest.fixture(scope="session")
def simulated_page():
    """A context with the page of the PUMA 560 in a posture."""

    @contextlib.contextmanager
    def shown(q, port: int) -> Iterator[SimulationPage]:
        page, over, arm = Page(port=port), threading.Event(), SimulatedArm(rne.load_urdf("puma560"), q)
        page.add_robot(arm.robot, None, q)
        session = SimulationPage(page, arm)
        thread = threading.Thread(target=session.run, args=(over.is_set,))
        thread.start()
        try:
            yield session
        finally:
            over.set()
            thread.join()
            page.close()

    return shown


@pytest.fixture(scope="session")
def await_that():
    """Wait until a condition holds; do it `again` every second: the page may overwrite a single move of a visitor."""

    def wait(condition: Callable[[], object], again: Callable[[], object] = lambda: None) -> None:
        deadline, due = time.monotonic() + 120.0, 0.0
        while not condition():
            assert time.monotonic() < deadline
            if time.monotonic() > due:
                due = time.monotonic() + 1.0
                again()
            time.sleep(0.02)

    return wait
