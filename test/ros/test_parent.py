"""The end of nodes whose parent dies, as they do under ROS's launch; it needs nothing but Linux."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest
from support.children import children, members

from rne_dynamics.ros.node.process import VARIABLE
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE

PARENT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", sys.argv[1]])
time.sleep(60.0)
"""

#: Starts a node by `NodeProcess`, as the demo, the campaign and most tests do.
STARTER = """
import sys, time
from pathlib import Path
from rne_dynamics.ros.sessions.processes import NodeProcess
node = NodeProcess("child", script=Path(sys.argv[1]))
while True:
    print(node.output(), flush=True)
    time.sleep(0.1)
"""
CHILD = """
import sys, time
from rne_dynamics.ros.node.process import end_with_parent
end_with_parent()
print("ready", flush=True)
try:
    time.sleep(60.0)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.fixture
def run(tmp_path):
    with children(tmp_path) as start:
        yield start


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's help is Linux's")
def test_a_process_is_interrupted_when_its_parent_is_killed(run):
    parent = run([sys.executable, "-c", PARENT, CHILD], {VARIABLE: "1"})
    wait_until(lambda: parent.said("ready"), PATIENCE, "the child")
    parent.signal(signal.SIGKILL)
    wait_until(lambda: parent.said("interrupted"), PATIENCE, "the child's end")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's help is Linux's")
def test_a_node_process_does_not_outlive_who_started_it(run, tmp_path):
    child, traces = tmp_path / "child.py", tmp_path / "traces.txt"
    child.write_text(CHILD.replace('"interrupted", flush=True', f'"interrupted", file=open({str(traces)!r}, "w")'))
    parent = run([sys.executable, "-c", STARTER, str(child)], {VARIABLE: ""})
    wait_until(lambda: parent.said("ready"), PATIENCE, "the child")
    parent.signal(signal.SIGKILL)
    wait_until(lambda: traces.exists() and "interrupted" in traces.read_text(), PATIENCE, "the child's end")


def test_without_the_variable_it_lives_on(run):
    parent = run([sys.executable, "-c", PARENT, CHILD], {VARIABLE: ""})
    wait_until(lambda: parent.said("ready"), PATIENCE, "the child")
    group = parent.group
    parent.signal(signal.SIGKILL)
    time.sleep(0.3)
    assert not parent.said("interrupted")
    assert members(group)
    os.killpg(group, signal.SIGKILL)
