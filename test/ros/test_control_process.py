"""The two processes of a controller: whichever ends or fails, the arm is stopped and the log says why."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from std_srvs.srv import Trigger

import rne_dynamics as rne
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

from .peer import PATIENCE, SEES_AGAIN, START

ROBOT = rne.load_urdf("puma560")
Q = [0.1, 0.2, -0.3, 0.1, 0.2, 0.3]
HELD = rne.gravity_torque(ROBOT, np.array(Q))
NODE = "computed_torque_controller"
STOP = {"brake_time": 0.1, "hold_time": 0.2, "ramp_time": 0.4}
#: A state time-out that a busy machine's pauses do not reach, s.
PATIENT = 2.0


def loop_of(process: NodeProcess) -> int:
    """Number of the process of the control loop."""
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(child)


def lives(process: int) -> bool:
    """Whether it runs: not even a zombie of it counts."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def stream(peer, seconds: float, until=lambda: False) -> np.ndarray:
    """Publish states at 500 Hz; the efforts that came."""
    efforts = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not until():
        peer.state(Q)
        time.sleep(0.002)
        efforts += peer.efforts()
    efforts += peer.efforts()
    while until() and time.monotonic() < deadline and (not efforts or any(efforts[-1])):  # what is still on its way
        time.sleep(0.01)
        efforts += peer.efforts()
    return np.array(efforts).reshape(-1, ROBOT.n)


@pytest.fixture
def held(start, make_peer):
    """Start a controller and have it hold the arm."""

    def begin(script: str = "", **parameters: object) -> tuple[NodeProcess, object]:
        slow = {joint: {"effort_rate": 1000.0} for joint in ROBOT.joint_names}
        usual = {"stop": STOP, "state_timeout": PATIENT, "limits": slow, **SEES_AGAIN}
        process = start(NODE, script=script, robot_description="puma560", **{**usual, **parameters})
        peer = make_peer(ROBOT.joint_names)
        peer.mode(NODE)
        peer.connect(process)
        wait_until(lambda: np.allclose(peer.answer(Q), HELD, atol=1e-9), START, "an arm that is held")
        return process, peer

    return begin


def test_a_second_signal_brings_the_efforts_to_zero_at_once(held):
    process, peer = held(stop={"brake_time": 1.0, "hold_time": 20.0, "ramp_time": 20.0})
    loop = loop_of(process)
    os.kill(process.pid, signal.SIGINT)
    assert np.abs(stream(peer, 0.5)[-1] - HELD).max() < 1e-6, "one signal: the arm is held first"
    os.kill(process.pid, signal.SIGTERM)
    began = time.monotonic()
    efforts = stream(peer, 10.0, until=lambda: process.exit_code is not None)
    assert time.monotonic() - began < 8.0, "not after 41 s"
    assert (efforts[-1] == 0.0).all()
    driven = np.flatnonzero(efforts.any(axis=1))[-1]
    assert (efforts[driven + 1 :] == 0.0).all()
    assert np.abs(np.diff(efforts, axis=0)).max() < 0.5 * np.abs(HELD).max(), "at the rate limit"
    assert process.exit_code == 0, process.output()
    assert "a second signal" in process.output()
    assert not lives(loop)


def test_the_zeros_reach_a_receiver_that_stands_still_while_the_loop_ends(held):
    """Before: the process was gone after 0.05 s, and with it all that the receiver, stopped for 1 s, had not read."""
    process, peer = held()
    loop = loop_of(process)
    stop_and_go_on = f"sleep 0.3; kill -STOP {os.getpid()}; sleep 1.2; kill -CONT {os.getpid()}"
    os.kill(process.pid, signal.SIGKILL)
    with subprocess.Popen(["sh", "-c", stop_and_go_on]):
        efforts = stream(peer, 20.0, until=lambda: not lives(loop))
    assert (efforts[-1] == 0.0).all()


@pytest.mark.slow
def test_a_receiver_that_has_not_taken_the_zeros_is_reported(held):
    process, peer = held()
    loop = loop_of(process)
    process.signal(signal.SIGINT)
    stop_and_go_on = f"kill -STOP {os.getpid()}; while kill -0 {loop}; do sleep 0.2; done; kill -CONT {os.getpid()}"
    with subprocess.Popen(["sh", "-c", stop_and_go_on]):
        wait_until(lambda: (peer.state(Q), not lives(loop))[1], PATIENCE, "its end")
    assert "has not taken the zeros within 2 s" in process.output()


@pytest.mark.slow
def test_the_loop_is_a_process_of_its_own_without_services_whose_end_ends_the_node(held):
    process, peer = held()
    loop, name, space = loop_of(process), f"{NODE}_loop", peer.node.get_namespace()
    assert Path(f"/proc/{loop}/comm").read_text().strip() == "rne_loop"
    wait_until(lambda: name in [n for n, _ in peer.node.get_node_names_and_namespaces()], PATIENCE, "the loop's node")
    assert peer.node.get_service_names_and_types_by_node(name, space) == []
    subscribed = [topic for topic, _ in peer.node.get_subscriber_names_and_types_by_node(name, space)]
    assert subscribed == [f"{space}/{NODE}/setpoints", f"{space}/joint_states"]
    os.kill(loop, signal.SIGKILL)
    wait_until(lambda: (peer.state(Q), process.exit_code is not None)[1], PATIENCE, "its end")
    assert process.exit_code == 1
    assert "the process of the control loop has ended: signal 9" in process.output()
    assert "nothing is sent to the arm any more" in process.output()


@pytest.mark.slow
def test_a_loop_that_does_not_answer_is_killed_when_the_node_is_to_end(held):
    process, _ = held(stop={"brake_time": 0.2, "hold_time": 0.2, "ramp_time": 0.2})
    loop = loop_of(process)
    os.kill(loop, signal.SIGSTOP)
    process.signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 1, process.output()
    assert "the control loop does not end and is killed: signal 9" in process.output()
    assert not lives(loop)


#: What is broken, from when on, and what has to happen for it to be met.
BROKEN = {
    "the law": ("loop.control_loop.Supervisor", "effort", None),
    "the law and the stop without states": ("loop.control_loop.Supervisor", "effort tick", None),
    "a service": ("loop.process.LoopProcess", "call", (Trigger, "stop", Trigger.Request())),
    "what is reported": ("effort_node.EffortNode", "_report", None),
    "the stop": ("effort_node.EffortNode", "end", signal.SIGINT),
}


def breaking(where: str, names: str, when: Path) -> str:
    """A program that runs the controller, some of whose methods divide by zero once a file exists."""
    module, _, kind = where.rpartition(".")
    return f"""
from pathlib import Path
from importlib import import_module
from rne_dynamics.ros import computed_torque_controller
kind = import_module("rne_dynamics.ros.{module}").{kind}
when = Path({str(when)!r})

def broken(method):
    def wrapped(*arguments, **named):
        if when.exists():
            1 / 0
        return method(*arguments, **named)
    return wrapped

for name in {names.split()!r}:
    setattr(kind, name, broken(getattr(kind, name)))
if __name__ == "__main__":
    raise SystemExit(computed_torque_controller.main())
"""


#: In every run; the others are slow.
USUAL = ("the law",)
#: Methods that fail at the start, and what is logged.
FAILING = {
    "effort_node.EffortNode build": "cannot configure", "loop.control_loop.ControlLoop build": "build",
    "effort_node.EffortNode begin": "cannot activate",
}


@pytest.mark.parametrize("what", [
    pytest.param(what, marks=[] if what in USUAL else [pytest.mark.slow]) for what in BROKEN
])
def test_an_error_of_ours_is_logged_and_the_arm_released(held, tmp_path, what):
    where, names, trigger = BROKEN[what]
    when = tmp_path / "now"
    process, peer = held(breaking(where, names, when))
    efforts = [HELD]

    def is_held() -> bool:
        efforts.extend(stream(peer, 0.2))
        return np.abs(efforts[-1] - HELD).max() < 1e-6

    wait_until(is_held, START, "an arm that is held again after what this computer was late")
    when.touch()
    if isinstance(trigger, signal.Signals):
        os.kill(process.pid, trigger)
    elif trigger is not None:
        kind, name, request = trigger
        peer.client(kind, f"{NODE}/{name}").call_async(request)
        peer.executor.spin_once(0.01)
    rest = stream(peer, 20.0, until=lambda: process.exit_code is not None)
    output = process.output()
    assert process.exit_code == 1, output
    assert "Traceback" in output
    assert "ZeroDivisionError" in output
    efforts = np.concatenate([efforts, rest, np.array(peer.efforts()).reshape(-1, ROBOT.n)])
    assert (efforts[-1] == 0.0).all(), "the last effort does not stay"
    # 1000 N m/s and an effort every 4 ms, of which some may be lost
    assert np.abs(np.diff(efforts, axis=0)).max() < 0.5 * np.abs(HELD).max(), "no jump to zero"


@pytest.mark.slow
def test_an_error_of_ours_at_the_start_is_logged(start, tmp_path):
    """All started together: none gets as far as to drive the arm."""
    scripts = {said: breaking(*what.split(), tmp_path) for what, said in FAILING.items()}  # a folder, which exists
    processes = {said: start(NODE, script=script, robot_description="puma560") for said, script in scripts.items()}
    for said, process in processes.items():
        assert process.wait(START) == 1
        for text in ("Traceback", "ZeroDivisionError", said):
            assert text in process.output()


def test_a_signal_in_the_middle_of_activation_stops_the_arm_and_says_so(start):
    script = """
import os, signal
from rne_dynamics.ros import computed_torque_controller, effort_node

begin = effort_node.EffortNode.begin

def begin_and_receive_a_signal(self):
    begin(self)
    os.kill(os.getpid(), signal.SIGTERM)

effort_node.EffortNode.begin = begin_and_receive_a_signal
if __name__ == "__main__":
    raise SystemExit(computed_torque_controller.main())
"""
    process = start(NODE, script=script, robot_description="puma560")
    assert process.wait(START) == 0, process.output()
    assert "stopped: the arm is released" in process.output()
    assert "Traceback" not in process.output()
