"""The web server of the viewer, which refuses pages of other origins and names that are not its own.

A browser lets every page open websockets to this computer. It sends the page's address in the header ``Origin`` and the
address that it has called in ``Host``. Both are checked here, since viser has no option for it:

- Origin other than Host: a page of another site, refused. Native programs send no Origin and are served.
- Host that is no name of the server: DNS rebinding, where another site's name leads to this computer, refused.

viser serves page and websocket by the public function `websockets.asyncio.server.serve`. While a server is started, a
subclass of it with these checks takes its place. A release of viser that serves in another way gets no page.
"""

from __future__ import annotations

import inspect
import re
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any

import viser
from websockets.asyncio import server as websockets_server
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from rne_dynamics.errors import MissingDependencyError

#: The header Host: a name or an address, IPv6 in brackets, and a port.
_HOST = re.compile(r"(\[[^\[\]/@]+\]|[^\[\]:/@\s]+)(?::\d+)?")
#: Only one server is started at a time, since all of them start by the same function.
_STARTING = threading.Lock()
#: A page of another site cannot show this one in a frame, below its own buttons.
_NO_FRAMES = ("Content-Security-Policy", "frame-ancestors 'none'")


class SameOriginServer(viser.ViserServer):  # type: ignore[misc, unused-ignore]  # viser may be absent
    """A `viser.ViserServer` for its own page and for native programs."""

    def __init__(self, host: str, port: int) -> None:
        checked: list[object] = []

        class Serve(websockets_server.serve):
            """As `serve`, with the checks before those of the caller."""

            def __init__(self, *args: Any, process_request: Any = None, **options: Any) -> None:
                checked.append(self)
                super().__init__(*args, process_request=_checking(host, process_request), **options)

        with _STARTING:
            own = websockets_server.serve
            websockets_server.serve = Serve  # type: ignore[misc]
            try:
                super().__init__(host, port, verbose=False)
            finally:
                websockets_server.serve = own  # type: ignore[misc]
        if not checked:
            self.stop()
            raise MissingDependencyError(
                f"viser {viser.__version__} serves its page in a way that rne_dynamics cannot check for requests of "
                "other sites; install viser 1.1, and report it to the maintainers of rne_dynamics"
            )

    def request_share_url(self, verbose: bool = True) -> None:
        """Refuse: any visitor can request it, and viser then shows the page on a public server."""


def refusal(host: str, headers: Any) -> str | None:
    """Why a request with these headers to a server that listens on `host` is refused; `None` if it is not."""
    hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
    named = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    if named is None or not _is_own(named[1].strip("[]").lower(), host):
        return (
            f"Host is {', '.join(hosts) or 'missing'}, which is no name of this server; open the page by the address "
            "that the viewer prints, or start it with --host and this name\n"
        )
    allowed = [f"{scheme}://{hosts[0]}".lower() for scheme in ("http", "https")]
    if any(origin.lower() not in allowed for origin in origins):
        return f"Origin is {', '.join(origins)}; only the page of {hosts[0]} itself is served\n"
    return None


def _checking(host: str, inner: Callable[[ServerConnection, Request], Any] | None) -> Any:
    async def process_request(connection: ServerConnection, request: Request) -> Response | None:
        refused = refusal(host, request.headers)
        if refused is not None:
            return connection.respond(HTTPStatus.FORBIDDEN, refused)
        response = None if inner is None else inner(connection, request)
        if inspect.isawaitable(response):
            response = await response
        if response is not None:
            response.headers[_NO_FRAMES[0]] = _NO_FRAMES[1]
        return response

    return process_request


def _is_own(name: str, host: str) -> bool:
    """Whether a request may call a server on `host` by a name; other sites control neither literals nor localhost."""
    if name in ("localhost", host.lower()):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        computer = socket.gethostname().lower()
        return not _is_loopback(host) and name in (computer, f"{computer}.local")
    return address.is_loopback or not _is_loopback(host)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
