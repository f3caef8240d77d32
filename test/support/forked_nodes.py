"""Nodes forked from a process that has imported what they need: half of a node's start is imports, a test has several.

The process forks before ROS is initialised in it: a node has its own context, threads and signals as if started anew.
Nodes of launch files and of commands in processes of their own are started as users start them.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pickle
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import pytest

PACKAGE = "rne_dynamics.ros."
NODES = ("computed_torque_controller", "gravity_compensation", "effort_gate", "simulator", "move")
#: What a node imports after the start of its `main`.
LATER = ("numpy.random", "service_msgs.msg", "type_description_interfaces.msg")
#: Read by imports: a node that is given others than this process is started anew.
READ_BY_IMPORTS = ("PYTHONPATH", "LD_LIBRARY_PATH", "RNE_DYNAMICS_PLAIN", "RNE_DYNAMICS_CHECK_INDICES")
SIZE = 1 << 18


def serve() -> Sequence[str]:
    """Fork whenever a request comes; returns in the forked process, with the node's name and its arguments."""
    requests = socket.socket(fileno=0)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    ended, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    reports: dict[int, socket.socket] = {}
    requests.send(b"ready")
    while True:
        readable, _, _ = select.select([requests, ended], [], [])
        if ended in readable:
            os.read(ended, 4096)
            for child in list(reports):
                number, status = os.waitpid(child, os.WNOHANG)
                if number:
                    with reports.pop(child) as report, contextlib.suppress(OSError):
                        report.send(str(os.waitstatus_to_exitcode(status)).encode())
        if requests not in readable:
            continue
        data, files, _, _ = socket.recv_fds(requests, SIZE, 2)
        if not data:
            os._exit(0)
        words, environment = pickle.loads(data)
        child = os.fork()
        if not child:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for report in reports.values():
                report.close()
            for descriptor in (ended, wake, files[1], requests.detach()):
                os.close(descriptor)
            become(environment, files[0])
            return words
        os.close(files[0])
        reports[child] = socket.socket(fileno=files[1])
        reports[child].send(str(child).encode())


def become(environment: dict[str, str], output: int) -> None:
    """Take session, streams and environment of a new process; stream 0 is closed."""
    os.setsid()
    os.open(os.devnull, os.O_RDONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdout.reconfigure(write_through="PYTHONUNBUFFERED" in environment)


class Forked:
    """What `NodeProcess` needs of `subprocess.Popen`."""

    def __init__(self, requests: socket.socket, words: Sequence[str], environment: dict[str, str], output: int) -> None:
        self._report, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(requests, [pickle.dumps((words, environment))], [output, theirs.fileno()])
        self.pid, self.returncode = int(self._report.recv(20)), None

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode

    def wait(self, seconds: float) -> int | None:
        if self.returncode is None:
            if not select.select([self._report], [], [], seconds)[0]:
                raise subprocess.TimeoutExpired("a node", seconds)
            with self._report:
                self.returncode = int(self._report.recv(20))
        return self.returncode


@contextlib.contextmanager
def forked_nodes() -> Iterator[None]:
    """Have `NodeProcess` fork nodes while the context lasts, and scripts but those that change rclpy."""
    from rne_dynamics.ros.sessions import processes

    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SIZE)
    server = subprocess.Popen([sys.executable, "-m", "support.forked_nodes"], stdin=theirs, start_new_session=True,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    theirs.close()
    first = dict(os.environ)
    ours.recv(SIZE)

    def start(
        command: Sequence[str], env: dict[str, str], stdout: IO[str], **others: object
    ) -> Forked | subprocess.Popen[bytes]:
        _, kind, name, *_ = command
        known = name.removeprefix(PACKAGE) in NODES if kind == "-m" else "rclpy" not in Path(kind).read_text()
        if known and all(env.get(variable) == first.get(variable) for variable in READ_BY_IMPORTS):
            return Forked(ours, command[1 + (kind == "-m"):], env, stdout.fileno())
        return subprocess.Popen(command, env=env, stdout=stdout, **others)

    names = {name: getattr(subprocess, name) for name in ("DEVNULL", "STDOUT", "TimeoutExpired")}
    with pytest.MonkeyPatch.context() as patch, ours:
        patch.setattr(processes, "subprocess", SimpleNamespace(Popen=start, **names))
        yield
    server.wait()


def run() -> int:
    """Import, serve, and be the node."""
    from rne_dynamics.ros.node.process import import_shared

    import_shared()
    modules = {PACKAGE + node: import_module(PACKAGE + node) for node in NODES}
    for name in LATER:
        import_module(name)
    gc.collect()
    gc.freeze()
    program, *arguments = serve()
    gc.unfreeze()
    module = modules.get(program)
    sys.argv = [module.__file__ if module else program, *arguments]
    if module:
        return module.main()
    runpy.run_path(program, run_name="__main__")
    return 0


if __name__ == "__main__":
    raise SystemExit(run())
