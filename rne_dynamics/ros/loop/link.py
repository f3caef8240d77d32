"""Messages between the two processes of a controller: complete, in order, without blocking the control loop.

A pair of sockets that preserve message boundaries. Large messages (the points of a trajectory) are files in memory
whose descriptors are sent: the receiver maps them, so that nothing is copied while an effort is due, and only pages
that are used are read.
"""

from __future__ import annotations

import array
import io
import mmap
import os
import pickle
import select
import socket
from collections import deque
from contextlib import suppress
from typing import Any

from rne_dynamics.control.motion.path import Path
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array

#: Largest message that is sent through the socket itself, bytes; larger ones are files in memory.
LARGEST_MESSAGE = 60_000
#: Smallest array that is stored outside the pickle, so that it is mapped rather than copied, bytes.
APART = 4096
#: Alignment of arrays in a file, bytes.
ALIGNMENT = 64
_WORD = 8
#: Files that the sender keeps open: of the current motion, of the next one, and of one just replaced.
FILES_KEPT = 3


class LinkClosedError(RneDynamicsError):
    """The process at the other end has ended."""


class Link:
    """One end of the connection, of a SOCK_SEQPACKET pair; `side`: another one, for bytes that may be lost."""

    def __init__(self, end: socket.socket, side: socket.socket | None = None) -> None:
        self._socket, self._side = end, side
        self._files: deque[int] = deque()

    @staticmethod
    def pair(patience: float) -> tuple[Link, Link]:
        """Both ends; the first blocks for at most `patience`, s, when the buffer is full."""
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        side, other_side = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one.settimeout(patience)
        side.setblocking(False)
        other_side.setblocking(False)
        return Link(one, side), Link(other, other_side)

    def close(self) -> None:
        """Close the link at this end."""
        self._socket.close()
        if self._side is not None:
            self._side.close()
        self._keep(None)

    def wait(self, seconds: float) -> bool:
        """Whether a message comes, or the other end closes, within so many seconds."""
        poll = select.poll()  # one for each call: several threads of the node wait at the same time
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(1e3 * seconds))

    def send(self, message: object, *, block: bool = True) -> bool:
        """Send a message; False, and not sent, if it would block for too long; `LinkClosedError`."""
        out = io.BytesIO()
        arrays: list[memoryview] = []

        def kept_in(value: pickle.PickleBuffer) -> bool:
            if value.raw().nbytes >= APART:
                arrays.append(value.raw())
                return False
            return True

        _Pickler(out, protocol=5, buffer_callback=kept_in).dump(message)
        data, flags = out.getvalue(), 0 if block else socket.MSG_DONTWAIT
        try:
            if not arrays and len(data) <= LARGEST_MESSAGE:
                self._socket.send(data, flags | socket.MSG_NOSIGNAL)
                return True
            file, table = _file([data, *arrays])
            try:
                ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))]
                self._socket.sendmsg([table], ancillary, flags | socket.MSG_NOSIGNAL)
            finally:
                self._keep(file)
        except (BlockingIOError, TimeoutError):
            return False
        except OSError as error:
            raise LinkClosedError(f"the other process of this controller has ended ({error.strerror})") from None
        return True

    def send_lossy(self, data: bytes) -> None:
        """Send bytes at once or not at all, independently of the messages."""
        if self._side is not None:
            with suppress(OSError):  # full; or the other end has closed, which `receive` reports
                self._side.send(data, socket.MSG_NOSIGNAL)

    def receive_lossy(self, memory: memoryview) -> int:
        """Receive what `send_lossy` sent, the earliest first, into `memory`; its size, 0 for nothing."""
        try:
            return 0 if self._side is None else self._side.recv_into(memory)
        except OSError:  # nothing there
            return 0

    def _keep(self, file: int | None) -> None:
        """Keep a file open while the receiver may use it: the process that closes it last spends time to free it."""
        if file is not None:
            self._files.append(file)
        while len(self._files) > (FILES_KEPT if file is not None else 0):
            os.close(self._files.popleft())

    def receive(self) -> Any:
        """The next message; None if there is none now. `LinkClosedError` once everything has been received."""
        try:
            if not self.wait(0.0):
                return None
            data, ancillary, _, _ = self._socket.recvmsg(
                LARGEST_MESSAGE, socket.CMSG_SPACE(array.array("i").itemsize), socket.MSG_DONTWAIT
            )
        except BlockingIOError:  # another thread was faster
            return None
        except OSError as error:
            raise LinkClosedError(f"the other process of this controller has ended ({error.strerror})") from None
        if not data:
            raise LinkClosedError("the other process of this controller has ended")
        if not ancillary:
            return pickle.loads(data)
        (file,) = array.array("i", ancillary[0][2])
        try:
            # private: kernels are compiled for writable arrays, though nothing is written
            memory = memoryview(mmap.mmap(file, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE))
        finally:
            os.close(file)
        places = memoryview(data).cast("Q")
        first, *rest = (memory[places[k] : places[k] + places[k + 1]] for k in range(0, len(places), 2))
        return pickle.loads(first, buffers=rest)


class _Pickler(pickle.Pickler):
    """Preserves whether the arrays of a path are writable, for which kernels are compiled; pickles do not."""

    def reducer_override(self, value: Any) -> Any:
        """As `pickle.Pickler`."""
        if type(value) is Path:
            return _path, tuple((a, a.flags.writeable) for a in (value.knots, value.coefficients))
        return NotImplemented


def _path(*arrays: tuple[Array, bool]) -> Path:
    for values, writeable in arrays:
        values.flags.writeable = writeable
    return Path(*(values for values, _ in arrays))


def _file(parts: list[bytes | memoryview]) -> tuple[int, bytes]:
    """A file in memory with all parts, and the offset and size of each, as 64-bit words."""
    table, end = [], 0
    for part in parts:
        end = -(-end // ALIGNMENT) * ALIGNMENT
        size = len(part)
        table += [end, size]
        end += size
    file = os.memfd_create("rne_dynamics", os.MFD_CLOEXEC)
    os.ftruncate(file, end)
    for part, place in zip(parts, table[::2], strict=True):
        view, done = memoryview(part).cast("B"), 0
        while done < len(view):
            done += os.pwrite(file, view[done:], place + done)
    return file, b"".join(word.to_bytes(_WORD, "little") for word in table)
