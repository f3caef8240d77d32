"""Nodes forked from a process that has imported what they need: 1 s less for each of hundreds.

What a node does at its start with a fresh interpreter is shown by the tests that use `NodeProcess` itself, the
commands and the launch files.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import json
import os
import runpy
import select
import selectors
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from rne_dynamics.ros.node.process import import_shared
from rne_dynamics.ros.sessions.processes import NodeProcess

#: Nodes: what they import is there, they themselves are executed as by `python -m`.
MODULES = tuple(f"rne_dynamics.ros.{name}" for name in (
    "computed_torque_controller", "gravity_compensation", "effort_gate", "simulator", "recorder", "move",
))  # fmt: skip
#: Longest request, bytes: arguments and environment.
LARGEST = 1 << 18


class ForkedProcess:
    """A process as `subprocess.Popen` has them: its number is not used again before its end is known here."""

    def __init__(self, server: socket.socket, request: Mapping[str, object], output: int) -> None:
        self.args = request["arguments"]
        self.returncode: int | None = None
        self._link, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(server, [json.dumps(request).encode()], [theirs.fileno(), output])
        self.pid = int.from_bytes(self._link.recv(4), "little")

    def poll(self) -> int | None:
        """Exit code, negative if a signal ended it; None while it runs."""
        if self.returncode is None:
            with contextlib.suppress(BlockingIOError):
                code = self._link.recv(4, socket.MSG_DONTWAIT)
                self._link.close()
                self.returncode = int.from_bytes(code, "little", signed=True)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; its exit code."""
        if self.returncode is None:
            select.select([self._link], [], [], timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(str(self.args), timeout or 0.0)
        return code


class ForkedNode(NodeProcess):
    """As `NodeProcess`; `script` must not need to be executed before our modules are."""

    def _begin(self, command: Sequence[str], environment: Mapping[str, str]) -> Any:
        request = {"arguments": command[1:], "environment": dict(environment), "folder": str(Path.cwd())}
        with _lock:
            server = _server()
        return ForkedProcess(server, request, self._output.fileno())


#: Threads of the fault campaign start nodes at the same time.
_lock = threading.Lock()


@functools.cache
def _server() -> socket.socket:
    """The link to this process's server, which ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()], start_new_session=True
        )
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def serve(link: socket.socket) -> None:
    """Fork nodes until the link is closed."""
    for module in MODULES:
        import_module(module)
    import_shared()
    for module in MODULES:
        del sys.modules[module]
    with selectors.DefaultSelector() as selector:
        selector.register(link, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not link:
                    _pass_on(selector, key)
                    continue
                data, files, _, _ = socket.recv_fds(link, LARGEST, 2)
                if not data:
                    return
                number = os.fork()
                if number == 0:
                    link.close()
                    os.close(files[0])
                    _close(selector)
                    _run(json.loads(data), files[1])
                ours = socket.socket(fileno=files[0])
                os.close(files[1])
                ours.sendall(number.to_bytes(4, "little"))
                selector.register(os.pidfd_open(number), selectors.EVENT_READ, (number, ours))


def _pass_on(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    """Pass on the exit code of a process that has ended; release its number once the code was received."""
    number, ours = key.data
    selector.unregister(key.fileobj)
    if key.fd == ours.fileno():
        os.waitpid(number, 0)
        ours.close()
        return
    os.close(key.fd)
    ended = os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT)
    assert ended is not None
    code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    with contextlib.suppress(OSError):  # the node is known to nobody any more
        ours.sendall(code.to_bytes(4, "little", signed=True))
    selector.register(ours, selectors.EVENT_READ, key.data)


def _close(selector: selectors.BaseSelector) -> None:
    """Close what a node has inherited of others."""
    for key in filter(lambda key: key.data, selector.get_map().values()):
        key.data[1].close()
        if key.fileobj is not key.data[1]:
            os.close(key.fd)
    selector.close()


def _run(request: Mapping[str, Any], output: int) -> None:
    """Become a node, and end with its exit code.

    Not by the end of the interpreter, in which Kilted's rclpy crashes where it was imported before the fork.
    """
    code: object = 1
    try:
        _execute(request, output)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:  # noqa: BLE001 printed, as by the interpreter
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


def _execute(request: Mapping[str, Any], output: int) -> None:
    os.setsid()
    for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), output, output)):
        os.dup2(file, number)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    if os.environ.get("PYTHONUNBUFFERED") and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # `write_through` leaves 8 kB in the buffer of bytes
    kind, *words = request["arguments"]
    if kind == "-m":
        sys.path[0], sys.argv = "", words
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0], sys.argv = str(Path(kind).parent), [kind, *words]
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
