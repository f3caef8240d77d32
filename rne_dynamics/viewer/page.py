"""The web page: a viser server with the robot, its torques, and what to show. Sessions add their own controls."""

from __future__ import annotations

import contextlib
import io
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from html import escape
from types import MappingProxyType
from typing import Any

import numpy as np

from rne_dynamics.advice import extra
from rne_dynamics.description.sources import Source
from rne_dynamics.errors import ArgumentError, MissingDependencyError, RneDynamicsError
from rne_dynamics.figures.tracking import units_of
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.viewer.scene import ArmScene, bars, update

#: Frames a second at most, and updates of numbers a second.
FRAMES, NUMBERS = 60.0, 8.0
#: Where the page is by default: on this computer only.
HOST, PORT = "127.0.0.1", 8080
#: Largest exaggeration of bending.
EXAGGERATION = 50.0
#: No terms, or no forces.
NOTHING: Mapping[str, Array] = MappingProxyType({})
OVERLAYS = {"inertia": "inertia ellipsoids", "centres": "mass centres", "axes": "joint axes", "loops": "loop joints"}


class Page:
    """A page on the next free port, with a message until it gets a robot; what users do is done by `serve`'s thread.

    `MissingDependencyError`: viser is not installed; `ArgumentError`: an address that cannot be listened on.
    """

    def __init__(self, host: str = HOST, port: int = PORT) -> None:
        try:
            from rne_dynamics.viewer.same_origin import SameOriginServer
        except ImportError:
            raise MissingDependencyError(f"the viewer needs viser: {extra('view')}") from None
        _check_address(host, port)
        with contextlib.redirect_stdout(io.StringIO()):  # a banner that `verbose` does not switch off
            self.server: Any = SameOriginServer(host, port)
        self.host = host
        self._actions: deque[Callable[[], None]] = deque()  # callbacks of viser, in other threads, append to it
        self._numbers_at = 0.0
        self.server.gui.configure_theme(control_width="medium", show_logo=False, show_share_button=False)
        self.clear()

    @property
    def url(self) -> str:
        """Address of the page for a browser on this computer."""
        shown = "localhost" if self.host in ("0.0.0.0", "127.0.0.1", "::") else self.host
        shown = f"[{shown}]" if ":" in shown else shown
        return f"http://{shown}:{self.server.get_port()}"

    def clear(self) -> None:
        """Remove the robot and all controls."""
        self.server.scene.reset()
        self.server.gui.reset()
        self.server.scene.set_up_direction("+z")
        self.server.gui.set_panel_label("rne_dynamics")
        self._status = self.server.gui.add_html("")
        self.say("no robot yet")

    def add_robot(self, robot: Robot, source: Source | None, q: Array | None = None) -> ArmScene:
        """Show a robot with the visuals of the URDF `source`; the camera is placed for `q`, (n,), or at neutral."""
        self.robot = robot
        self.scene = ArmScene(self.server, robot, source, robot.neutral if q is None else q)
        self._largest = np.zeros(robot.n)
        self.server.gui.set_panel_label(robot.name)
        return self.scene

    def add_torques(self) -> None:
        """Add the folder of the efforts."""
        with self.server.gui.add_folder(f"Torques ({units_of(self.robot).effort})"):
            self._bars = self.server.gui.add_html("")

    def add_overlays(self) -> None:
        """Add the folder with what else can be shown."""
        gui, scene = self.server.gui, self.scene
        with gui.add_folder("Show", expand_by_default=True):
            for name, text in OVERLAYS.items():
                if name != "loops" or self.robot.loops:
                    self.on_change(gui.add_checkbox(text, initial_value=False), partial(scene.overlay, name))
            if self.robot.modes:
                slider = gui.add_slider("bending ×", 1.0, EXAGGERATION, 1.0, 1.0)
                self.on_change(slider, lambda value: setattr(scene, "exaggeration", float(value)))

    # -- what users do ------------------------------------------------------------------------------------------------

    def on_change(self, handle: Any, action: Callable[[Any], None]) -> None:
        """Carry out `action` with the new value when a user changes it, not when the program does."""

        @handle.on_update  # type: ignore[untyped-decorator, unused-ignore]  # viser may be absent
        def _(event: Any) -> None:
            if event.client is not None:
                value = event.target.value
                self._actions.append(lambda: action(value))

    def add_buttons(self, actions: Mapping[str, Callable[[], None]]) -> None:
        """Add buttons in one row, by their labels."""
        group = self.server.gui.add_button_group("", tuple(actions))
        group.on_click(lambda event: self._actions.append(actions[event.target.value]))

    def do(self, action: Callable[[], None]) -> None:
        """Queue an action; from any thread."""
        self._actions.append(action)

    def serve(self) -> None:
        """Carry out what users have done; a refusal is shown for some seconds."""
        while self._actions:
            action = self._actions.popleft()
            try:
                action()
            except RneDynamicsError as error:
                self.refuse(str(error))

    # -- what is drawn ------------------------------------------------------------------------------------------------

    def show(
        self, q: Array, status: str, *, effort: Array | None = None, terms: Mapping[str, Array] = NOTHING,
        reference: Array | None = None, posture: Array | None = None, delta: Array | None = None,
        base: tuple[Array, Array] | None = None, forces: Mapping[str, Array] = NOTHING,
    ) -> None:
        """Draw the arm at `q`, (n,), with a line of text, or say why it is not drawn; numbers less often than poses.

        `effort`, `terms`: efforts of the motors and their parts by name, (n,), where they are known; `reference`:
        desired positions, (n,), drawn as a ghost; `posture`, `delta`, `base`: as for `ArmScene.show`; `forces`: by
        link, at its origin, N, in the root link's axes, (3,).
        """
        try:
            with self.server.atomic():
                self.scene.show(q, posture=posture, delta=delta, base=base)
                self.scene.ghost(reference)
                poses = self.scene.poses
                R = np.eye(3) if base is None else base[1]
                self.scene.forces({k: (poses[k][1], R @ f) for k, f in forces.items()})
        except RneDynamicsError as error:  # a posture at which loops do not close
            self.say(f"the arm is shown where it was: {error}", alarm=True)
            return
        now = time.monotonic()
        if now - self._numbers_at < 1.0 / NUMBERS:
            return
        self._numbers_at = now
        self.say(status)
        if effort is not None:
            parts = {k: v for k, v in terms.items() if np.isfinite(v).all()}
            self._largest = np.fmax(self._largest, np.abs(effort))
            content = bars(self.robot.joint_names, effort, self.robot.effort_limit, parts, self._largest)
            update(self._bars, content=content)

    def say(self, text: str, *, alarm: bool = False) -> None:
        """Show a line at the top of the panel."""
        colour = "#c81e3a" if alarm else "#333"
        content = f'<div style="padding:.3em .9em;color:{colour};overflow-wrap:anywhere">{escape(text)}</div>'
        update(self._status, content=content)

    def refuse(self, text: str) -> None:
        """Show why something was not done, as a notification."""
        for client in self.server.get_clients().values():
            client.add_notification("Not done", text, color="red", auto_close_seconds=8.0)

    def close(self) -> None:
        """End the server."""
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()


def _check_address(host: str, port: int) -> None:
    """`ArgumentError` for an address where viser would wait forever: its server runs in a thread of its own."""
    if not 1 <= port <= 65535:
        raise ArgumentError(f"the viewer's port is {port}; it must be 1 to 65535")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(address)
    except OSError as error:
        raise ArgumentError(
            f"the viewer cannot listen on host {host!r}: {error.strerror or error}; give an address of this computer, "
            f"{HOST} for this computer only"
        ) from None


def frames(page: Page, ended: Callable[[], bool]) -> Iterator[float]:
    """Until `ended`, at most `FRAMES` times a second: serve the page, and yield the time since the last frame, s."""
    last = due = time.monotonic()
    while True:
        due = max(due + 1.0 / FRAMES, time.monotonic() - 1.0 / FRAMES)
        time.sleep(max(due - time.monotonic(), 0.0))
        now = time.monotonic()
        if ended():
            return
        page.serve()
        yield now - last
        last = now
