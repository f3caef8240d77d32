"""What viser's server sends to a browser, decoded."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import msgspec
import viser
import zstandard
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect


class ViserClient:
    """Connects as a browser does and keeps all messages. Used as a context."""

    def __init__(self, url: str) -> None:
        self._socket = connect(
            url.replace("http", "ws", 1), subprotocols=[f"viser-v{viser.__version__}"], max_size=None
        )
        self.messages: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def __enter__(self) -> ViserClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._thread.join(10.0)

    def _listen(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            for data in self._socket:
                length = int.from_bytes(data[8:16], "little")
                inner = zstandard.ZstdDecompressor().decompress(data[16 : 16 + length])
                self.messages += msgspec.msgpack.decode(inner)["messages"]

    def text(self) -> str:
        """All text that was sent, the newest last."""
        return "\n".join(map(str, self.messages))

    def poses(self, name: str) -> list[tuple[float, ...]]:
        """Orientations of a node of the scene in the order in which they came."""
        return [
            tuple(m["wxyz"]) for m in list(self.messages)
            if m.get("type") == "SetOrientationMessage" and m["name"] == name
        ]
