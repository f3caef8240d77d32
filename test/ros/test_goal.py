"""What the controller says at the end of a trajectory: the arm is where this file says it is."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE, STEP, through

JOINTS = ["joint1", "joint2"]
HOME = [-0.7, 0.4]
NODE = "computed_torque_controller"
DURATION = 0.2


class Rig:
    """The controller, and an arm that is exactly at its commanded position."""

    def __init__(self, process, peer) -> None:
        self.process, self.peer = process, peer
        self.trajectories = peer.node.create_publisher(JointTrajectory, f"{NODE}/joint_trajectory", OFFERED)
        self.diagnostics = TopicRecorder(peer.node, DiagnosticArray, "/diagnostics", 10)
        wait_until(self.trajectories.get_subscription_count, PATIENCE, "the trajectory topic", [process])

    def send(self, goal: list[float], duration: float = DURATION) -> None:
        self.trajectories.publish(through(JOINTS, (duration, goal)))

    def stay(self, q: list[float], said: str, count: int) -> str:
        """Send the state `q` until the controller has said something `count` times; the last line with it."""

        def logged() -> list[str]:
            self.peer.stream(q, STEP)
            return [line for line in self.process.output().splitlines() if said in line]

        wait_until(lambda: len(logged()) >= count, PATIENCE, f"{said!r}", [self.process])
        lines = logged()
        assert len(lines) == count
        return lines[-1]

    def counted(self, reached: int, missed: int) -> None:
        """Wait until the diagnostics count so many goals."""

        def reported() -> bool:
            self.peer.stream(HOME, STEP)
            message = self.diagnostics.latest()
            if message is None or not message.status[0].name.endswith(NODE):
                return False
            values = {v.key: v.value for v in message.status[0].values}
            return (values["goals reached"], values["goals missed"]) == (str(reached), str(missed))

        wait_until(reported, PATIENCE, f"diagnostics of {reached} goals reached, {missed} missed", [self.process])


@pytest.fixture(scope="module")
def rig(in_lockstep):
    process, peer = in_lockstep(
        NODE, JOINTS, robot_description="planar2", diagnostics_period=0.5,
        constraints={"joint1": {"goal": 0.01}, "joint2": {"goal": 0.05}},
    )
    yield Rig(process, peer)
    peer.hurry()


def test_trajectories_are_refused_until_the_startup_check_is_over(rig):
    rig.peer.answer(HOME)
    rig.send(HOME)
    assert "the start-up check is not over" in rig.stay(HOME, "trajectory refused", 1)
    rig.stay(HOME, "not checked: the arm reports no efforts", 1)


def test_a_motion_that_is_called_off_is_not_judged(rig):
    rig.peer.answer(HOME)
    rig.send(HOME, 500.0)
    rig.stay(HOME, "following a trajectory", 1)
    rig.trajectories.publish(JointTrajectory(joint_names=JOINTS))
    rig.stay(HOME, "trajectory cancelled", 1)
    rig.peer.stream(HOME, 0.5)
    assert "goal" not in rig.process.output()
    rig.counted(0, 0)


def test_goals_are_judged_once_against_the_tolerance_of_each_joint(rig):
    peer = rig.peer
    peer.answer(HOME)
    near = [HOME[0] + 0.009, HOME[1] - 0.045]
    rig.send(near)
    assert "4.50e-02" in rig.stay(HOME, "goal reached", 1)
    rig.counted(1, 0)

    rig.send([near[0], HOME[1] + 0.06])
    warning = rig.stay(HOME, "goal missed", 1)
    assert "'joint2' is 0.06 off its goal" in warning
    assert "allowed is 0.05 (constraints.joint2.goal)" in warning
    rig.counted(1, 1)

    rig.send([HOME[0] - 0.02, HOME[1]])
    assert "'joint1' is -0.02 off its goal" in rig.stay(HOME, "goal missed", 2)

    assert peer.set_parameters(NODE, constraints__joint1__goal=0.0).successful
    peer.answer(HOME)
    rig.send([HOME[0] - 0.04, HOME[1]])
    rig.stay(HOME, "goal reached", 2)
    rig.counted(2, 2)
