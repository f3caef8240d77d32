"""What viser's server sends to a browser, decoded."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any

import msgspec
import viser
import zstandard
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Origin

CAMERA = {
    "wxyz": (1.0, 0.0, 0.0, 0.0), "position": (3.0, 0.0, 1.0), "fov": 0.7, "near": 0.1, "far": 100.0,
    "image_height": 600, "image_width": 800, "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0),
}  # fmt: skip


class ViserClient:
    """Connects as a browser does and keeps all messages. Used as a context.

    A browser sends the `origin` of the page; by default this is the one of the server. Without one it is a native
    program. `address` is where the name in `url` leads, by default where it really does.
    """

    def __init__(
        self, url: str, origin: str | None = "", address: tuple[str, int] | None = None, **headers: str
    ) -> None:
        self._socket = connect(
            url.replace("http", "ws", 1), subprotocols=[f"viser-v{viser.__version__}"], max_size=None,
            origin=Origin(url) if origin == "" else origin and Origin(origin), additional_headers=headers,
            sock=None if address is None else socket.create_connection(address),
        )  # fmt: skip
        self.messages: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        # a browser counts as connected from its first camera on
        self.send("ViewerCameraMessage", **CAMERA)

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

    def send(self, kind: str, **content: Any) -> None:
        """Send a message of one of viser's types."""
        self._socket.send(msgspec.msgpack.encode({"type": kind, **content}))

    def press(self, label: str) -> None:
        """Press a button, alone or of a group."""
        for message in list(self.messages):
            props = message.get("props", {})
            is_button = "Button" in message.get("type", "")
            if is_button and (label == props.get("label") or label in props.get("options", ())):
                value = label if "options" in props else True
                self.send("GuiUpdateMessage", uuid=message["uuid"], updates={"value": value})
                return
        raise AssertionError(f"no button {label!r}")

    def set(self, label: str, value: Any) -> None:
        """Set a checkbox or a dropdown."""
        (uuid,) = (m["uuid"] for m in list(self.messages) if m.get("props", {}).get("label") == label)
        self.send("GuiUpdateMessage", uuid=uuid, updates={"value": value})

    def drag(self, handle: str, position: Any, wxyz: Any = (1.0, 0.0, 0.0, 0.0)) -> None:
        """Drag a handle of the scene to a pose and let it go."""
        self.send("TransformControlsDragStartMessage", name=handle)
        place, turn = tuple(map(float, position)), tuple(map(float, wxyz))
        self.send("TransformControlsUpdateMessage", name=handle, position=place, wxyz=turn)
        self.send("TransformControlsDragEndMessage", name=handle)

    def text(self) -> str:
        """All text that was sent, the newest last."""
        return "\n".join(map(str, self.messages))

    def poses(self, name: str) -> list[tuple[float, ...]]:
        """Orientations of a node of the scene in the order in which they came."""
        return [
            tuple(m["wxyz"]) for m in list(self.messages)
            if m.get("type") == "SetOrientationMessage" and m["name"] == name
        ]
