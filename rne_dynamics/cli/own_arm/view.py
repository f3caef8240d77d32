"""`rne view`: a robot in the browser, simulated here, or a recording of it."""

from __future__ import annotations

import argparse
import webbrowser

from rne_dynamics.cli.answer import ended_by_sigterm
from rne_dynamics.cli.arguments import ROBOT, argument, flag, load_robot, robot_source, several, whole
from rne_dynamics.cli.simulated.motion import SCENE, scene_of, start_configuration
from rne_dynamics.description.model_file import urdf_source
from rne_dynamics.description.sources import Source
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.protocol import Robot
from rne_dynamics.viewer.page import HOST, PORT, Page
from rne_dynamics.viewer.pages import ReplayPage, SimulationPage, read_replay
from rne_dynamics.viewer.simulated_arm import SimulatedArm

EXAMPLES = """\
examples:
  rne view puma560                      simulate the arm; drag it, push it, pause it
  rne view pantograph                   a mechanism with closed loops
  rne view flexible_arm                 links that bend
  rne view arm.urdf --port 9000
  rne view puma560 --scene examples/wall.yaml
  rne simulate puma560 --out move.npz
  rne view puma560 --replay move.npz    replay a recording
"""


ARGUMENTS = (
    *ROBOT,
    several("--start", "JOINT=VALUE", "start position of a joint, rad or m; others start at zero or the nearest "
            "position inside their limits"),
    SCENE,
    argument("--replay", metavar="FILE", help="show a recording: .csv, .npz, .mcap, or a ROS 2 bag"),
    argument("--host", default=HOST, help=f"address to listen on (default {HOST}: this computer only)"),
    argument("--port", type=whole(1, 65535), default=PORT, help=f"port; the next free one is taken (default {PORT})"),
    flag("--open", "open the page in the browser"),
)  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C; return the exit code."""
    source = robot_source(args)
    robot = load_robot(args)
    page, session = _page(args, robot, urdf_source(source))
    try:
        print(f"{robot.name}: {page.url} (Ctrl-C ends)", flush=True)
        if args.open:
            webbrowser.open(page.url)
        with ended_by_sigterm():
            session.run()
    finally:
        page.close()
    return 0


def _page(args: argparse.Namespace, robot: Robot, urdf: Source) -> tuple[Page, SimulationPage | ReplayPage]:
    """The page and what runs on it; files are read and the start is checked before the page opens."""
    if args.replay is not None:
        for option in ("start", "scene"):
            if getattr(args, option):
                raise ArgumentError(f"--{option} is for a simulation; leave it out with --replay")
        recording = read_replay(args.replay, robot)
        page = Page(args.host, args.port)
        page.add_robot(robot, urdf, recording.q[0])
        return page, ReplayPage(page, recording)
    scene = scene_of(args.scene)
    arm = SimulatedArm(robot, start_configuration(robot.rigid, args.start), scene)
    page = Page(args.host, args.port)
    drawn = page.add_robot(arm.robot, urdf, arm.state.q)
    drawn.surroundings(() if scene.surroundings is None else scene.surroundings.bodies)
    return page, SimulationPage(page, arm)
