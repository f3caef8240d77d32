"""Writes docs/images/viewer_*.png: pages of the viewer as Chromium shows them."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from support.chromium import Browser  # noqa: E402
from support.wheel import wheel_urdf  # noqa: E402

import rne_dynamics as rne  # noqa: E402
from rne_dynamics.description.model_file import urdf_source  # noqa: E402
from rne_dynamics.description.sources import find  # noqa: E402
from rne_dynamics.viewer.page import Page  # noqa: E402
from rne_dynamics.viewer.pages import SimulationPage  # noqa: E402
from rne_dynamics.viewer.simulated_arm import SimulatedArm  # noqa: E402

#: Name of the picture, source, start, link that is pulled by how much, m; what else is shown.
PICTURES = (
    ("puma560", "puma560", {"joint2": 0.7, "joint3": -0.3}, ("link6", (0.12, -0.2, 0.0)), "inertia ellipsoids"),
    ("panda", "panda.urdf", {"panda_joint2": 0.4, "panda_joint4": -1.8, "panda_joint6": 2.0},
     ("panda_hand", (0.15, -0.2, 0.15)), ""),
)  # fmt: skip
#: Time for software to draw the page, s.
DRAWING = 12.0


def main() -> int:
    """Write all pictures."""
    with Browser(1200, 800) as browser:
        for name, robot_name, start, (link, by), shown in PICTURES:
            source = wheel_urdf(robot_name) if robot_name.endswith(".urdf") else find(robot_name)
            robot = rne.load_model(source)
            q = np.array([start.get(joint, 0.0) for joint in robot.joint_names])
            arm = SimulatedArm(robot, np.clip(q, robot.lower, robot.upper))
            page = Page()
            scene = page.add_robot(arm.robot, urdf_source(source), arm.state.q)
            session, over = SimulationPage(page, arm), threading.Event()
            session.draw()
            arm.drag(link, scene.poses[link][1] + np.array(by))
            arm.advance(150)
            arm.paused = True
            thread = threading.Thread(target=session.run, args=(over.is_set,))
            thread.start()
            browser.open(page.url)
            browser.until(lambda: "t = " in browser.text(), "the panel")
            browser.run("document.querySelectorAll('.mantine-Notification-closeButton').forEach(e => e.click())")
            if shown:
                browser.check(shown)
            time.sleep(DRAWING)
            (ROOT / "docs" / "images" / f"viewer_{name}.png").write_bytes(browser.picture())
            browser.open("about:blank")
            over.set()
            thread.join()
            page.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
