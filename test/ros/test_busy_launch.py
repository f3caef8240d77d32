"""What simulated_arm.launch.py starts, with the same parameters and topics, on a computer that is busy."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from sensor_msgs.msg import JointState
from support.busy import busy
from trajectory_msgs.msg import JointTrajectory

import rne_dynamics as rne
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.ros.launch_plan import KINDS, SIMULATOR, plan
from rne_dynamics.ros.messages.publishers import stamp_of
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.sessions.demonstration import move_message
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

from .peer import Peer, account

CONTROLLER, PATIENCE = "computed_torque_controller", 300.0
ROBOT = rne.load_urdf("puma560")
REST = np.zeros(6)
MOVE = Quintic(REST, np.array([0.4, -0.5, 0.3, 0.2, -0.3, 0.5]), 1.5)


@contextlib.contextmanager
def launched(folder: Path, namespace: str, **given):
    """The nodes of the plan that are ours, as processes by name; the simulator last, when the others are ready.

    So the gate passes the controller's first effort in every run.
    """
    planned = [n for n in plan(KINDS["simulated_arm"], {"urdf": "puma560", **given}) if n.package == "rne_dynamics"]
    with contextlib.ExitStack() as stack:
        processes = {}
        for node in sorted(planned, key=lambda n: n.executable == SIMULATOR):
            if node.executable == SIMULATOR:
                others = list(processes.values())
                wait_until(lambda: all("ready: " in p.output() for p in others), PATIENCE, "the others", others)  # noqa: B023
            arguments = ["--ros-args", "-r", f"__ns:={namespace}"]
            for k, part in enumerate(node.parameters):
                file = part if isinstance(part, Path) else folder / f"{node.executable}{k}.yaml"
                if isinstance(part, dict):
                    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": part}}), encoding="utf-8")
                arguments += ["--params-file", str(file)]
            arguments += [word for name, to in node.remappings for word in ("-r", f"{name}:={to}")]
            processes[node.executable] = stack.enter_context(NodeProcess(node.executable, arguments))
        yield processes


def errors(peer: Peer, processes) -> dict[int, np.ndarray]:
    """Errors, (6,), during a move and half a second of rest, by the time since its start, ns; some may be unheard."""
    states = TopicRecorder(peer.node, JointState, "joint_states", depth=20_000)
    trajectories = peer.node.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", OFFERED)
    every = list(processes.values())
    wait_until(lambda: "agree" in processes[CONTROLLER].output() and peer.mode(CONTROLLER) == "holding", PATIENCE,
               "the start-up check", every)
    wait_until(lambda: states.latest() is not None and trajectories.get_subscription_count(), PATIENCE, "topics", every)
    begin = stamp_of(states.latest()) + 1_000_000_000
    end = begin + round((MOVE.duration + 0.5) * 1e9)
    trajectories.publish(move_message(ROBOT.joint_names, MOVE, begin))
    wait_until(lambda: stamp_of(states.latest()) > end, PATIENCE, "the end of the move", every, period=0.05)
    messages = [m for m in map(states.decode, states.samples) if begin <= stamp_of(m) <= end]
    return {
        stamp_of(m) - begin: MOVE.sample(1e-9 * (stamp_of(m) - begin)).q - np.array(m.position)[:6] for m in messages
    }


@pytest.mark.soak
@pytest.mark.parametrize(("gate", "tolerance"), [("none", 5e-4), ("start", 5e-3)])
def test_no_reply_is_missed_nothing_faults_and_the_error_is_the_same_three_times(tmp_path, namespace, gate, tolerance):
    found = []
    for run in range(3):
        place = f"{namespace}_{gate}{run}_{time.monotonic_ns()}"
        peer = Peer(place, ROBOT.joint_names)
        try:
            with busy(2), launched(tmp_path, place, gate=gate) as processes:
                found.append(errors(peer, processes))
                assert peer.mode(CONTROLLER) == "holding"
                report = account(peer)
                assert report["missed replies"] == "0"
                assert int(report["answered states"]) > 1000
                assert "lock-step" not in processes[SIMULATOR].output()
                for process in processes.values():
                    assert "fault" not in process.output()
        finally:
            peer.close()
    common = sorted(set.intersection(*map(set, found)))  # the test itself may be kept from listening
    assert len(common) > 1000
    rms = [np.sqrt(np.mean(np.square([run[at] for at in common]), axis=0)) for run in found]
    assert (rms[0] < 1e-3).all()
    for other in rms[1:]:
        np.testing.assert_allclose(other, rms[0], rtol=tolerance)
