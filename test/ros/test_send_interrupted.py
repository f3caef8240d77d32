"""`rne send` to a simulated arm, interrupted at any instant."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .commanded_arm import LEFT, ROOT

#: Forks a process for each instant, which runs `rne send` and interrupts itself when that function of that file is
#: called for the first time. Imports are made once, before; what sends no motion runs in parallel.
INTERRUPTED = """
import faulthandler, os, signal, sys
import rne_dynamics.cli.main, rne_dynamics.cli.with_ros.send, rne_dynamics.ros.sessions.in_process
from rne_dynamics.cli.start import main

def run(number, file, name):
    def look(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_name == name and code.co_filename.endswith(f"/rne_dynamics/{{file}}.py"):
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGINT)

    for stream in ("stdout", "stderr"):
        os.dup2(os.open(f"{folder}/{{number}}.{{stream}}", os.O_CREAT | os.O_WRONLY), getattr(sys, stream).fileno())
    faulthandler.dump_traceback_later({longest}, exit=True)
    sys.argv = ["rne", "send", "joint1=0.3", "--duration", "0.5", "--node", {node!r}]
    sys.setprofile(look)
    sys.exit(main())

def wait():
    process, status = os.wait()
    with open(f"{folder}/{{running.pop(process)}}.code", "w") as file:
        file.write(str(os.waitstatus_to_exitcode(status)))

running = {{}}
for number, (file, name) in enumerate({instants!r}):
    while len(running) >= (1 if number >= {first!r} else {together!r}):
        wait()
    process = os.fork()
    if not process:
        run(number, file, name)
    running[process] = number
while running:
    wait()
"""
INSTANTS = (  # in the order in which they come; the motion is sent in `_send`
    ("cli/arguments", "declare"), ("ros/sessions/running_nodes", "__init__"), ("ros/sessions/running_nodes", "look"),
    ("ros/sessions/running_nodes", "read_model"), ("control/motion/limits", "parse_goal"),
    ("ros/sessions/running_nodes", "__exit__"), ("ros/sessions/in_process", "send"), ("ros/node/process", "run"),
    ("ros/node/process", "end_with_parent"), ("ros/move", "__init__"), ("ros/move", "build"),
    ("ros/node/process", "settle"), ("ros/move", "begin"), ("ros/move", "_on_state"), ("ros/move", "_send"),
    ("ros/move", "_judge"), ("ros/move", "_finish"), ("ros/node/process", "serve_last_requests"),
    ("ros/node/process", "__exit__"), ("cli/start", "ended"),
)  # fmt: skip
#: The first of them with a motion.
SENT = INSTANTS.index(("ros/move", "_send"))
#: Time after which such a process shows where it hangs, and ends, s.
LONGEST = 90.0


@pytest.fixture(scope="module")
def interrupted(left, tmp_path_factory) -> Path:
    """Exit code and output of a process for each instant."""
    folder = tmp_path_factory.mktemp("interrupted")
    script = INTERRUPTED.format(folder=folder, node=LEFT, instants=INSTANTS, first=SENT, together=4, longest=LONGEST)
    subprocess.run([sys.executable, "-c", script], check=True, timeout=900, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("file", "name"), INSTANTS)
def test_send_interrupted_at_any_instant_is_130_and_a_line(interrupted, file, name):
    number = INSTANTS.index((file, name))
    code, out, error = ((interrupted / f"{number}.{part}").read_text() for part in ("code", "stdout", "stderr"))
    assert code == "130", error
    assert error.endswith("interrupted\n")
    assert error.count("\n") == 1
    assert ("moving for" in out) is (number >= SENT)
