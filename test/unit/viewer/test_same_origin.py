"""The viewer's real server serves its own page and native programs, and refuses other sites and DNS rebinding."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("viser", reason="the viewer's library is not installed: pip install '.[test]'")

from support.viser_client import ViserClient
from websockets.asyncio import server as websockets_server
from websockets.exceptions import InvalidStatus

import rne_dynamics as rne
from rne_dynamics.errors import MissingDependencyError
from rne_dynamics.viewer import same_origin
from rne_dynamics.viewer.page import HOST, Page
from rne_dynamics.viewer.pages import SimulationPage
from rne_dynamics.viewer.simulated_arm import SimulatedArm

PORT = 18181
EVIL = "evil.example"
#: Origins of other pages; {port} is the server's.
FOREIGN = [
    f"http://{EVIL}", f"http://{EVIL}:{{port}}", "https://127.0.0.1", "http://127.0.0.1", "http://127.0.0.1:1",
    "http://localhost:{port}", "http://127.0.0.1:{port}.evil.example", "http://127.0.0.1:{port}@evil.example", "null",
    "file://", "ftp://127.0.0.1:{port}", "http://[", " ", "chrome-extension://127.0.0.1:{port}",
]  # fmt: skip
#: Names that a visitor calls the server by, and whether a server on this computer only, and one on all, has them.
NAMES = [
    ("localhost", True, True), ("LOCALHOST", True, True), ("127.0.0.1", True, True), ("[::1]", True, True),
    ("127.9.9.9", True, True), ("10.1.2.3", False, True), ("[fe80::1]", False, True), ("0.0.0.0", False, True),
    (EVIL, False, False), ("localhost.evil.example", False, False), ("evil.localhost", False, False),
    ("127.0.0.1.evil.example", False, False), ("127.0.0.1.", False, False), ("localhost@evil.example", False, False),
    ("evil.example@localhost", False, False),
    ("0x7f000001", False, False), ("2130706433", False, False),
]  # fmt: skip


@pytest.fixture(scope="module")
def arm() -> Iterator[tuple[Page, SimulationPage]]:
    robot = SimulatedArm(rne.load_urdf("puma560"), np.zeros(6))
    page = Page(port=PORT)
    page.add_robot(robot.robot, None)
    session, over = SimulationPage(page, robot), threading.Event()
    thread = threading.Thread(target=session.run, args=(over.is_set,))
    thread.start()
    yield page, session
    over.set()
    thread.join()
    page.close()


def port_of(page: Page) -> int:
    return int(page.server.get_port())


def status(page: Page, headers: dict[str, str], path: str = "/") -> http.client.HTTPResponse:
    """The reply to a GET with these headers; Host is the server's own if not given."""
    connection = http.client.HTTPConnection("127.0.0.1", port_of(page), timeout=10.0)
    connection.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    reply = connection.getresponse()
    reply.read()
    connection.close()
    return reply


def refused(*args, **options) -> int:
    """The status by which a websocket is refused; fails where it opens."""
    with pytest.raises(InvalidStatus) as raised, ViserClient(*args, **options):
        pass
    return raised.value.response.status_code


def until(condition, what: str) -> None:
    end = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def pushes(client: ViserClient, session: SimulationPage) -> bool:
    """Whether Pause and Step reach the arm from a client."""
    until(lambda: "'Step'" in client.text(), "the buttons")
    before = session.arm.state.t
    client.press("Step")
    until(lambda: session.arm.state.t > before, "a step")
    return True


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_page_of_another_origin_gets_no_websocket(arm, origin):
    page, _ = arm
    origin = origin.format(port=port_of(page))
    assert refused(f"http://127.0.0.1:{port_of(page)}", origin=origin) == 403
    assert status(page, {"Origin": origin}).status == 403


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_own_page_moves_the_arm(arm, name, scheme):
    page, session = arm
    address = f"{name}:{port_of(page)}"
    with ViserClient(f"http://{address}", origin=f"{scheme}://{address}") as client:
        assert pushes(client, session)
    assert status(page, {"Host": address, "Origin": f"{scheme}://{address}"}).status == 200


def test_a_native_program_sends_no_origin_and_moves_the_arm(arm):
    page, session = arm
    with ViserClient(f"http://127.0.0.1:{port_of(page)}", origin=None) as client:
        assert pushes(client, session)


def test_a_forwarded_port_is_another_in_host_and_origin(arm):
    """As by ``ssh -L 9000:localhost:8080``."""
    page, session = arm
    with ViserClient("http://localhost:9000", address=("127.0.0.1", port_of(page))) as client:
        assert pushes(client, session)


def test_dns_rebinding_is_refused(arm):
    """Of a name that leads here, Host and Origin agree."""
    page, _ = arm
    url = f"http://{EVIL}:{port_of(page)}"
    for origin in (url, None):
        assert refused(url, origin=origin, address=("127.0.0.1", port_of(page))) == 403
    reply = status(page, {"Host": urlsplit(url).netloc})
    assert reply.status == 403


@pytest.mark.parametrize(("name", "here", "anywhere"), NAMES)
def test_names_of_the_server(arm, open_page, name, here, anywhere):
    for page, allowed in ((arm[0], here), (open_page, anywhere)):
        for host in (name, f"{name}:{port_of(page)}"):
            assert (status(page, {"Host": host}).status == 200) == allowed, (page.host, host)


@pytest.fixture(scope="module")
def open_page() -> Iterator[Page]:
    page = Page("0.0.0.0", PORT)
    yield page
    page.close()


@pytest.mark.parametrize("host", ["", "[", "a b", "localhost:8080, evil.example", "evil.example, localhost", "%00"])
def test_a_host_that_is_none_is_refused(arm, host):
    assert status(arm[0], {"Host": host}).status == 403


def test_the_page_cannot_be_shown_in_a_frame(arm):
    """Another site cannot put it below its own buttons."""
    reply = status(arm[0], {})
    assert (reply.status, reply.getheader("Content-Security-Policy")) == (200, "frame-ancestors 'none'")


def test_a_visitor_cannot_make_the_page_public(arm, capsys):
    """viser shows the page on a public server on request of any client, and prints that."""
    page, session = arm
    with ViserClient(page.url) as client:
        client.send("ShareUrlRequest")
        assert pushes(client, session)
    assert "Share" not in capsys.readouterr().out


def test_a_viser_that_cannot_be_checked_gets_no_page(monkeypatch):
    """A release that does not serve by `websockets.asyncio.server.serve`."""
    monkeypatch.setattr(same_origin, "websockets_server", SimpleNamespace(serve=websockets_server.serve))
    with pytest.raises(MissingDependencyError, match="install viser"):
        Page(port=PORT)


def test_the_page_is_on_this_computer_by_default():
    assert HOST == "127.0.0.1"
