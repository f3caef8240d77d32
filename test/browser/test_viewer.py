"""The viewer in a real headless Chromium: every robot is drawn and moves, buttons, sliders, dragging and replay act."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterator

import matplotlib.image
import numpy as np
import pytest
from support.chromium import PATIENCE, Browser
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.description.model_file import urdf_source
from rne_dynamics.description.share import shipped_models, shipped_robots
from rne_dynamics.description.sources import find
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.free_motion import free_motion
from rne_dynamics.viewer.page import Page
from rne_dynamics.viewer.pages import ReplayPage, SimulationPage, read_replay
from rne_dynamics.viewer.simulated_arm import CARTESIAN, SimulatedArm

SHIPPED = (*shipped_robots(), *shipped_models())
#: Drawn with the slow tests. The others, one with meshes among them, are placed then, and drawn in the soak.
DRAWN = ("panda",)
REST = ("slider_crank", "flexible_beam", "panda.urdf")
#: Where the robot is drawn: left of the panel, below the notice about software rendering.
LEFT = (slice(150, None), slice(0, 440))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(800, 560) as browser:
        yield browser


Shown = Callable[..., SimulationPage]


@pytest.fixture
def show(browser: Browser) -> Iterator[Shown]:
    """Serve a session in a thread of this process, so that tests see both sides; ended after the test."""
    ends: list[Callable[[], None]] = []

    def run(page: Page, session: SimulationPage | ReplayPage) -> None:
        over = threading.Event()
        thread = threading.Thread(target=session.run, args=(over.is_set,))
        ends.append(page.close)
        ends.append(thread.join)
        ends.append(over.set)
        ends.append(lambda: browser.open("about:blank"))  # a page without its server reports that
        thread.start()
        browser.errors.clear()
        browser.open(page.url)
        browser.until(lambda: "t = " in browser.text(), "the panel")
        browser.until(page.server.get_clients, "the camera")

    yield run
    for end in reversed(ends):
        end()


def simulated(name: str) -> tuple[Page, SimulationPage]:
    source = wheel_urdf(name) if name.endswith(".urdf") else find(name)
    robot = rne.load_model(source)
    arm = SimulatedArm(robot, np.clip(robot.neutral, robot.lower, robot.upper))
    page = Page(port=18100)
    page.add_robot(arm.robot, urdf_source(source))
    return page, SimulationPage(page, arm)


def colours(browser: Browser) -> np.ndarray:
    picture = matplotlib.image.imread(io.BytesIO(browser.picture()), format="png")
    return picture[LEFT][..., :3]


def steady(browser: Browser) -> np.ndarray:
    """The picture once it no longer changes: the page fades in, and software draws slowly."""
    last, now = np.zeros(1), colours(browser)
    deadline = time.monotonic() + PATIENCE
    while last.shape != now.shape or np.abs(last - now).max() > 0.02:
        assert time.monotonic() < deadline, "the picture keeps changing"
        time.sleep(0.4)
        last, now = now, colours(browser)
    return now


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.soak if name == "flexible_arm6" else pytest.mark.slow) for name in SHIPPED
])
def test_the_links_of_every_robot_are_placed(name: str) -> None:
    page, session = simulated(name)
    try:
        assert page.scene.missing == []
        arm, frames = session.arm, page.scene._frames
        before = {link: np.array(frame.position) for link, frame in frames.items()}
        arm.place(np.clip(arm.state.q + 0.1, arm.robot.lower, arm.robot.upper))
        session.draw()
        if arm.robot.rigid is arm.robot:
            poses = rne.forward_kinematics(arm.robot, arm.state.q)
            for link, frame in frames.items():
                np.testing.assert_allclose(frame.position, poses[link][:3, 3], atol=1e-6)
        assert any(np.abs(frame.position - before[link]).max() > 1e-3 for link, frame in frames.items())
    finally:
        page.close()


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.slow if name in DRAWN else pytest.mark.soak) for name in (*DRAWN, *REST)
])
def test_a_robot_is_drawn_and_moves(name: str, browser: Browser, show: Shown) -> None:
    page, session = simulated(name)
    session.arm.paused = True
    assert page.scene.missing == []
    show(page, session)
    before = steady(browser)
    drawn = (np.abs(before - before[0, 0]).max(axis=-1) > 0.25).mean()
    assert drawn > 0.002, "the canvas is blank"
    robot, state = session.arm.robot, session.arm.state
    low, high = np.maximum(robot.lower, state.q - 0.3), np.minimum(robot.upper, state.q + 0.3)
    q = np.where(high - state.q > state.q - low, high, low)
    page.do(lambda: session.arm.place(q))
    browser.until(lambda: np.abs(session.arm.state.q - state.q).max() > 0.01, "the new posture")
    time.sleep(1.0)
    after = steady(browser)
    assert (np.abs(after - before).max(axis=-1) > 0.1).mean() > 0.0005, "the picture is the same in another posture"
    assert browser.errors == []


@pytest.mark.slow
def test_buttons_sliders_and_checkboxes_act(browser: Browser, show: Shown) -> None:
    page, session = simulated("puma560")
    arm = session.arm
    show(page, session)
    browser.click("Run / Pause")
    browser.until(lambda: arm.paused, "the pause")
    browser.until(lambda: "paused" in browser.text(), "the panel to say so")
    t = arm.state.t
    browser.click("Step")
    browser.until(lambda: abs(arm.state.t - t - 0.01) < 1e-9, "a step")
    browser.slide(0, 0.75)
    browser.until(lambda: arm.state.q[0] > 0.3, "joint1 at 75 % of its range")
    assert np.abs(arm.state.q[1:]).max() < 1e-3
    before = steady(browser)
    browser.check("inertia ellipsoids")
    browser.until(lambda: page.scene._overlays["inertia"][0].visible, "the ellipsoids")
    time.sleep(1.0)
    assert (np.abs(steady(browser) - before).max(axis=-1) > 0.1).mean() > 0.001
    browser.click("Reset")
    browser.until(lambda: abs(arm.state.q[0]) < 1e-6, "the start")
    browser.click("Run / Pause")
    browser.until(lambda: not arm.paused, "the simulation to run")
    browser.click("Push")
    browser.until(lambda: np.abs(arm.state.q).max() > 1e-3, "the arm to move")
    assert browser.errors == []


@pytest.mark.soak
def test_the_target_is_dragged_under_the_cartesian_law(browser: Browser, show: Shown) -> None:
    page, session = simulated("puma560")
    arm = session.arm
    arm.place(np.array([0.2, 0.4, -0.4, 0.1, 0.8, 0.0]))
    arm.choose(CARTESIAN)
    show(page, session)
    steady(browser)
    start, turn = (x.copy() for x in page.scene.poses[arm.tool][::-1])
    arrow = start + 0.22 * page.scene._size * 0.8 * turn[:, 2]  # on the arrow along z
    drag(browser, page, arrow, arrow - 0.15 * turn[:, 2])
    browser.until(lambda: "is at the pose" in arm.target_text, "the tool to reach the target")
    assert (page.scene.poses[arm.tool][1] - start) @ turn[:, 2] < -0.03
    assert browser.errors == []


def drag(browser: Browser, page: Page, begin: np.ndarray, end: np.ndarray) -> None:
    """Drag what is drawn at a point of the world to another one."""
    (client,) = page.server.get_clients().values()
    size = browser.run("(() => { const r = document.querySelector('canvas').getBoundingClientRect();"
                       "return [r.width, r.height]; })()")
    browser.drag(*(pixel(client.camera, point, *size) for point in (begin, end)))


def pixel(camera: object, point: np.ndarray, width: float, height: float) -> tuple[float, float]:
    """Where a point is on the screen."""
    w, x, y, z = camera.wxyz
    R = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])
    right, down, ahead = R.T @ (point - camera.position)
    focal = 0.5 * height / np.tan(0.5 * camera.fov)
    return 0.5 * width + focal * right / ahead, 0.5 * height + focal * down / ahead


@pytest.mark.soak
def test_a_recording_is_replayed(browser: Browser, show: Shown, tmp_path) -> None:
    robot = rne.load_urdf("scara")
    log = free_motion(ArmPlant(robot), np.array([0.1, 0.1, 0.0, 0.1])[: robot.n], seconds=3.0, record_dt=0.01,
                      effort=np.full(robot.n, 3.0))
    log.save_csv(tmp_path / "move.csv")
    page = Page(port=18100)
    page.add_robot(robot, urdf_source(find("scara")))
    session = ReplayPage(page, read_replay(tmp_path / "move.csv", robot))
    show(page, session)
    first = session.time
    browser.until(lambda: session.time != first, "time to pass")
    browser.click("Play / Pause")
    browser.until(lambda: not session.playing, "the pause")
    browser.until(lambda: "paused" in browser.text(), "the panel to say so")
    assert browser.errors == []
