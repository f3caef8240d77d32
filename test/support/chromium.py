"""A headless Chromium driven by its DevTools protocol: console errors, pictures, clicks."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--disable-background-networking", "--no-first-run", "--remote-debugging-port=0",
    "--disable-extensions",
)  # fmt: skip
#: A page that software draws takes its time, s.
PATIENCE = 300.0


def chromium() -> str:
    """Path of the browser."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert found, "no chromium: apt-get install chromium (.ci/run does it)"
    return found


class Browser:
    """One browser with one page. Used as a context."""

    def __init__(self, width: int = 1280, height: int = 800) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [chromium(), *FLAGS, f"--user-data-dir={self._folder.name}", f"--window-size={width},{height}",
             "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        self._numbers = itertools.count(1)
        #: What the page has reported as errors.
        self.errors: list[str] = []
        file = Path(self._folder.name) / "DevToolsActivePort"
        wait(lambda: file.is_file() and file.read_text().strip(), "the browser's port")
        port = file.read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
            (page,) = (target for target in json.load(answer) if target["type"] == "page")
        self._socket = connect(page["webSocketDebuggerUrl"], max_size=None)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(20.0)
        self._folder.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        deadline = time.monotonic() + PATIENCE
        while True:
            message = json.loads(self._socket.recv(timeout=max(deadline - time.monotonic(), 0.1)))
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        what, given = message.get("method"), message.get("params", {})
        if what == "Runtime.exceptionThrown":
            self.errors.append(str(given["exceptionDetails"].get("exception", given["exceptionDetails"])))
        elif what == "Runtime.consoleAPICalled" and given["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in given["args"]))
        elif what == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.errors.append(f"{given['entry']['text']} {given['entry'].get('url', '')}")

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def text(self) -> str:
        return str(self.run("document.body ? document.body.innerText : ''"))

    def until(self, condition: Callable[[], object], what: str) -> None:
        wait(condition, what)

    def picture(self) -> bytes:
        """The page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 8) -> None:
        """Press the left button at `start`, move to `end`, release it; pixels of the page."""

        def mouse(kind: str, x: float, y: float, **more: Any) -> None:
            self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **more)

        mouse("Moved", *start)
        time.sleep(0.3)  # the page must draw a frame to know what is under the pointer
        mouse("Pressed", *start, button="left", clickCount=1)
        for k in range(1, steps + 1):
            x, y = (a + (b - a) * k / steps for a, b in zip(start, end, strict=True))
            mouse("Moved", x, y, button="left", buttons=1)
            time.sleep(0.05)
        mouse("Released", *end, button="left", clickCount=1)

    def click(self, text: str) -> None:
        """Click the button with that text."""
        found = self.run(
            "(() => { const e = [...document.querySelectorAll('button')].find("
            f"e => e.innerText.trim() == {text!r}); if (e) e.click(); return !!e; }})()"
        )
        assert found, f"no button {text!r}"

    def check(self, label: str) -> None:
        """Click the first checkbox after the text `label`."""
        assert self.run(
            "(() => { const e = [...document.querySelectorAll('*')].filter("
            f"e => !e.children.length && e.textContent.trim() == {label!r})[0]; if (!e) return false;"
            "let row = e; while (!row.querySelector('input[type=checkbox]')) row = row.parentElement;"
            "row.querySelector('input[type=checkbox]').click(); return true; })()"
        ), f"no checkbox {label!r}"

    def slide(self, number: int, part: float) -> None:
        """Press the mouse on the track of a slider at a part of its length, and release it."""
        self.run(
            f"(() => {{ const e = document.querySelectorAll('.mantine-Slider-track')[{number}];"
            f"const r = e.getBoundingClientRect(); const x = r.x + {part} * r.width, y = r.y + r.height / 2;"
            "const at = {bubbles: true, clientX: x, clientY: y, button: 0};"
            "e.dispatchEvent(new MouseEvent('mousedown', at)); document.dispatchEvent(new MouseEvent('mousemove', at));"
            "return new Promise(done => setTimeout(() => {"
            "document.dispatchEvent(new MouseEvent('mouseup', at)); done(true); }, 200)); })()"
        )


def wait(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE:g} s for {what}"
        time.sleep(0.1)
