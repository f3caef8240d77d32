"""What a supervised arm of MuJoCo does when it meets a springy wall, by reaction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.foreign_plant import Deviation, ForeignArm
from support.pushed import described
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.contact_watch import ContactSettings
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import ControlError

TEXT, HAND = described("panda")[0], "panda_link7"
ROBOT = rne.load_urdf(TEXT)
START = np.array([0.0, -0.3, 0.0, -2.0, 0.0, 1.7, 0.8])
#: Speed of the hand at the wall, m/s, and the wall's stiffness, N/m.
SPEED, STIFF = 0.25, 10_000.0


class Wall(Rig):
    """A Panda whose hand moves along x at `SPEED` into a springy wall, 5 cm ahead."""

    def __init__(self, reaction: Any, **changes: Any) -> None:
        contact = ContactSettings(rne.MomentumObserver(ROBOT), 0.01 * ROBOT.effort_limit, reaction)
        super().__init__(ROBOT, START, replace(settings(ROBOT, contact=contact), **changes))
        self.simulator = self.arm = ForeignArm(TEXT, START, self.period, Deviation())
        self.run(0.3)
        self.place = self.hand[0] + 0.05
        self.force, self.largest = 0.0, 0.0

    @property
    def hand(self) -> np.ndarray:
        return self.arm.data.xipos[self.arm.model.nbody - 1].copy()

    def approach(self) -> None:
        """Set out along x, 0.2 m in all, at `SPEED`."""
        q, points, speeds = START.copy(), [START.copy()], [np.zeros(7)]
        aim = np.array([SPEED, 0.0, 0.0, 0.0, 0.0, 0.0])
        for k in range(80):
            qd = np.linalg.pinv(rne.jacobian(ROBOT, q, HAND)) @ aim * min(k / 15.0, 1.0, (80 - k) / 15.0)
            q = q + 0.0125 * qd
            points.append(q.copy())
            speeds.append(qd)
        speeds[-1] = np.zeros(7)
        path = rne.SampledTrajectory(
            np.linspace(0.0, 1.0, 81), np.array(points), np.array(speeds), None, ROBOT.joint_names
        )
        motion = Motion(path, self.supervisor.stamp, Tolerances(ROBOT.joint_names), blend_time=0.05)
        self.supervisor.follow(motion, lambda ending, text: self.endings.append((ending, text)))

    def press(self, seconds: float) -> None:
        """Let time pass with the wall there."""
        for _ in range(round(seconds / self.period)):
            self.force = STIFF * max(self.hand[0] - self.place, 0.0)
            self.largest = max(self.largest, self.force)
            self.run(self.period, wrenches={HAND: np.array([-self.force, 0.0, 0.0, 0.0, 0.0, 0.0])})

    def until_touch(self) -> None:
        for _ in range(1000):
            self.press(self.period)
            if self.force:
                return
        raise AssertionError("the wall was not reached")


def met(reaction: Any, seconds: float = 0.3) -> Wall:
    wall = Wall(reaction)
    wall.approach()
    wall.until_touch()
    wall.press(seconds)
    return wall


def test_without_a_reaction_the_arm_goes_on_and_the_contact_is_counted() -> None:
    wall = met("none")
    assert wall.mode is Mode.TRACKING
    assert wall.supervisor.contact.count == 1
    assert wall.force > 50.0


def test_floating_lets_go_of_the_wall() -> None:
    wall = met("float")
    assert wall.mode is Mode.FLOATING
    assert wall.force <= 5.0
    assert wall.largest <= 70.0
    assert wall.endings[0][0] is Ending.STOPPED
    assert "contact at joint 'panda_joint" in wall.endings[0][1]
    wall.press(0.5)
    assert np.linalg.norm(wall.arm.state.qd) < 0.2  # it comes to rest


def test_a_stop_in_place_holds_the_arm_where_it_touched() -> None:
    wall = met("stop")
    assert wall.mode is Mode.HOLDING
    assert wall.force <= 10.0
    assert wall.supervisor.cause.startswith("contact at")
    wall.press(0.3)
    assert abs(wall.hand[0] - wall.place) < 2e-3
    wall.move(START, 1.0)  # the next motion is accepted
    wall.press(1.2)
    assert wall.mode is Mode.HOLDING
    np.testing.assert_allclose(wall.arm.state.q, START, atol=0.01)
    wall.check()


def test_retracting_goes_back_along_the_path() -> None:
    wall = met("retract", 1.2)
    assert wall.mode is Mode.HOLDING
    assert wall.force == 0.0
    # 0.3 s before, while it got faster in the first 0.19 s
    assert wall.hand[0] < wall.place - 0.02
    wall.check()


def retracted(wall: Wall, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of the reference, each (k, n), over some time."""
    found = []
    for _ in range(round(seconds / wall.period)):
        wall.run(wall.period)
        found.append(wall.supervisor.queue.reference[:2])
    return np.array([q for q, _ in found]), np.array([qd for _, qd in found])


def test_a_soft_arm_far_from_its_reference_retracts_no_faster_than_its_limits() -> None:
    """Before: its reference covered the way of 40 ms and 0.25 rad to it in 40 ms, at 12 rad/s."""
    wall, off = Wall("retract"), 0.25
    place, joint = wall.supervisor.queue.reference.q, np.eye(7)[3]
    # soft springs have let it go so far from the last 20 ms of its way
    way = [(k * 20_000_000, place + 0.002 * k * joint - off * joint, 0.1 * joint) for k in range(2)]
    wall.supervisor.contact._retract(way)
    positions, speeds = retracted(wall, 2.0)
    assert wall.mode is Mode.HOLDING
    assert (np.abs(speeds) <= ROBOT.velocity_limit).all()
    accelerations = np.abs(np.diff(speeds, axis=0)).max(axis=0) / wall.period
    assert (accelerations < 1.1 * ROBOT.velocity_limit / wall.supervisor.settings.stop.brake_time).all()
    np.testing.assert_allclose(positions[-1], place - off * joint, atol=0.005)


def test_it_retracts_along_the_present_motion_only() -> None:
    """Before: along that before too, though it was led elsewhere by hand in between."""
    wall = Wall("retract")
    wall.move(START + 0.1, 0.5)
    wall.run(1.0)
    before = wall.arm.state.q.copy()
    wall.supervisor.hand_guide(True)
    wall.run(0.4, wrenches={HAND: np.array([0.0, 40.0, 0.0, 0.0, 0.0, 0.0])})
    wall.run(0.4)
    wall.supervisor.hand_guide(False)
    wall.run(0.2)
    there = wall.arm.state.q.copy()
    assert np.abs(there - before).max() > 0.2
    wall.move(there - 0.1, 1.0)
    wall.run(0.1)
    wall.supervisor.contact._react(wall.supervisor.contact.watch, "contact")
    positions, _ = retracted(wall, 1.0)
    assert np.abs(positions - there).max() < 0.05


@pytest.mark.parametrize("period", [0.004, 0.008, 1.0 / 60.0])
def test_it_goes_back_as_far_and_as_fast_at_any_rate_of_the_states(period: float) -> None:
    """Before: at 125 Hz 22 % farther, at 1.2 times the velocity limit, since states were taken for 20 ms apart."""
    contact = ContactSettings(rne.MomentumObserver(ROBOT), 1e3 * ROBOT.effort_limit, "retract")
    rig = Rig(ROBOT, START, settings(ROBOT, contact=contact, bandwidth=5.0), period)
    rig.run(0.4)
    rig.move(START + 1.5 * np.eye(7)[0], 1.32)
    rig.run(0.6)
    there = rig.supervisor.queue.reference.q
    rig.run(0.3)
    reaction = rig.supervisor.contact
    assert reaction.watch is not None
    reaction._react(reaction.watch, "contact")
    speeds = []
    for _ in range(round(1.2 / period)):
        rig.run(period)
        speeds.append(rig.supervisor.queue.reference.qd)
    assert (np.abs(speeds) <= ROBOT.velocity_limit).all()
    np.testing.assert_allclose(rig.supervisor.queue.reference.q, there, atol=0.05)


def test_a_push_on_a_held_arm_stops_nothing_and_floating_frees_it() -> None:
    for reaction, mode in (("stop", Mode.HOLDING), ("float", Mode.FLOATING)):
        wall = Wall(reaction)
        wall.run(0.1, wrenches={HAND: np.array([0.0, 20.0, 0.0, 0.0, 0.0, 0.0])})
        assert wall.supervisor.contact.count == 1
        assert wall.mode is mode


def test_efforts_that_bridge_gaps_in_the_states_are_no_contact() -> None:
    """Before: contacts at joints 2 and 4, since of a gap only its first effort counted."""
    wall = Wall("stop")
    wall.move(START + np.array([0.4, 0.3, 0.4, 0.4, 0.4, 0.4, 0.4]), 0.6)
    wall.run(0.7, corrupt=lambda state: state if state["sequence"] % 60 > 30 else None)
    assert not wall.supervisor.contact.count


def test_tare_in_the_supervisor() -> None:
    wall = Wall("none")
    push = {HAND: np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0])}
    wall.run(0.3, wrenches=push)
    watch = wall.supervisor.contact.watch
    assert watch is not None
    before = np.abs(watch.external).max()
    wall.supervisor.contact.tare()
    wall.run(0.3, wrenches=push)
    assert np.abs(watch.external).max() < 0.5 * before
    wall.supervisor.stop(wall.now, "test")
    wall.run(1.5)
    with pytest.raises(ControlError, match="the controller is released"):
        wall.supervisor.contact.tare()
    plain = Rig(ROBOT, START, settings(ROBOT))
    with pytest.raises(ControlError, match="not observed"):
        plain.supervisor.contact.tare()


def test_while_the_drives_do_not_act_no_contact_is_felt_and_none_is_tared() -> None:
    """Before: the last contact was felt on, and a tare waited for the drives."""
    wall, said = Wall("none"), []
    wall.run(0.3, wrenches={HAND: np.array([0.0, 0.0, -30.0, 0.0, 0.0, 0.0])})
    contact = wall.supervisor.contact
    assert contact.watch is not None
    assert contact.watch.text()
    wall.supervisor.drives(wall.now, act=False)
    wall.run(0.1)
    assert not contact.watch.text()
    assert not contact.watch.external.any()
    with pytest.raises(ControlError, match="the drives do not act"):
        contact.tare()
    wall.supervisor.drives(wall.now, act=True)
    wall.run(0.005)
    contact.tare(said.append)
    wall.supervisor.drives(wall.now, act=False)
    wall.run(0.1)
    assert said == ["the arm is being stopped, or its drives do not act"]


def test_nothing_is_observed_until_somebody_needs_it() -> None:
    wall = Wall("none")
    contact = wall.supervisor.contact
    contact.read = False
    wall.approach()
    wall.run(0.1)
    assert contact.watch is not None
    assert not contact.watch.observing
    assert not contact.watch.external.any()
    now = wall.supervisor.settings
    assert now.contact is not None
    wall.supervisor.adopt(replace(now, contact=replace(now.contact, reaction="stop")))
    wall.until_touch()  # the arm has moved all the time
    assert contact.watch.observing
    assert not contact.count
    wall.press(0.3)
    assert wall.mode is Mode.HOLDING
    assert contact.count
    wall.supervisor.adopt(now)
    wall.press(0.01)
    assert contact.watch.joint < 0


def test_a_tare_wakes_the_observer_and_is_made_when_it_has_settled() -> None:
    wall, said = Wall("none"), []
    contact, push = wall.supervisor.contact, {HAND: np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0])}
    contact.read = False
    wall.run(0.02, wrenches=push)
    contact.tare(said.append)
    assert not said
    wall.run(0.1, wrenches=push)
    assert said == [""]
    assert contact.watch is not None
    assert not contact.watch.observing
    contact.read = True
    wall.run(0.1, wrenches=push)
    assert np.abs(contact.watch.external).max() < 0.3
    contact.read = False
    wall.run(0.02)
    contact.tare(said.append)
    wall.run(0.06, wrenches={HAND: np.array([0.0, 40.0, 0.0, 0.0, 0.0, 0.0])})
    assert "a contact is felt" in said[1]
    wall.supervisor.stop(wall.now, "test")
    wall.run(0.8)
    for rig, reason in ((wall, "the controller is released"), (Rig(ROBOT, START, settings(ROBOT)), "not observed")):
        with pytest.raises(ControlError, match=reason):
            rig.supervisor.contact.tare()
