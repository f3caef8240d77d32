"""Controller and simulator together: a quintic, a motion of some joints, the move command."""

from __future__ import annotations

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.ros.messages.publishers import stamp_of
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import AT_ONCE, FOLLOWING, PATIENCE, START
from .simulated_mechanism import CONTROLLER, SimulatedMechanism

JOINTS = list(rne.load_urdf("scara").joint_names)
#: Without friction an error dies away as (1 + ω t) exp(−ω t), ω = 50 /s, so that it falls below any tolerance. (With
#: it, a joint sticks wherever |e| < |M⁻¹| f / p: up to 0.9, 2.2, 1.1 and 4.8e-3 on the four joints of this arm.)
ARRIVED = 1e-6
HOME = np.array([0.0, 0.0, 0.05, 0.0])


class Rig(SimulatedMechanism):
    """Simulator and controller under test; the controller is not given the description and reads the topic."""

    def __init__(self, start, peer) -> None:
        super().__init__(start, peer, robot_description="scara", rate=250.0, joints=JOINTS, friction=False)
        self.processes.append(start(
            CONTROLLER, gains={j: {"p": 2500, "d": 100.0} for j in JOINTS}, stop={"brake_time": 0.1},
            friction_compensation=0, **FOLLOWING, **AT_ONCE,
        ))
        peer.commands.drain()
        wait_until(lambda: self.trajectories.get_subscription_count() and peer.efforts(), START, "efforts",
                   self.processes)

    def arrive(self, goal) -> None:
        """Wait until it is there, and not only passing."""

        def rests() -> bool:
            state = self.now()
            return max(np.abs(state.position - goal).max(), np.abs(state.velocity).max()) < ARRIVED

        wait_until(rests, PATIENCE, f"arrival at {goal}", self.processes)


@pytest.fixture(scope="module")
def rig(start, make_peer):
    return Rig(start, make_peer(JOINTS))


@pytest.fixture(autouse=True)
def _home(rig):
    rig.send(JOINTS, (0.5, HOME))
    rig.arrive(HOME)


def test_it_follows_a_quintic_at_the_stamps_of_the_states(rig):
    goal = np.array([0.4, -0.3, 0.12, 0.5])
    state = rig.now()
    q0, begin = np.array(state.position), stamp_of(state) + 1_000_000_000
    rig.states.samples.clear()
    rig.send(JOINTS, (0.0, q0), (0.8, goal), begin=begin)
    wait_until(lambda: rig.states.latest() and stamp_of(rig.states.latest()) > begin + 1_000_000_000, PATIENCE,
               "the end", rig.processes)
    reference = Quintic(q0, goal, 0.8)
    messages = [rig.states.decode(s) for s in rig.states.samples]
    error = np.array([
        np.array(m.position) - reference.sample((stamp_of(m) - begin) * 1e-9).q for m in messages
        if begin <= stamp_of(m)
    ])
    # An effort held for the period h answers h/2 late on average: at most jerk h / (2 p) = 4.7e-5 for the quintic's
    # 60 Δq / T³ (3.2e-5 was measured). Three times that allows for every reply coming a period late.
    assert np.sqrt(np.mean(error**2, axis=0)).max() < 1.5e-4, "one joint moves prismatically"
    rig.arrive(goal)


def test_the_move_command_takes_the_arm_there_and_says_so_or_fails_with_a_reason(rig, start):
    refused = start("move", ["-0.5", "0", "0.1", "0", "--controller", "nobody", "--timeout", "0.5"])
    process = start("move", ["joint1=0.3", "joint3=0.1", "--duration", "0.6"])
    assert process.wait(START) == 0, process.output()
    assert "arrived" in process.output()
    rig.arrive(np.array([0.3, 0.0, 0.1, 0.0]))
    assert refused.wait(START) == 1
    assert "does not listen" in refused.output()
    assert "Traceback" not in refused.output()
