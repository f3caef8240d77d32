"""The arm that users of the viewer play with, without a browser."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rne_dynamics as rne
from rne_dynamics.errors import ArgumentError, RecordingError, SimulationError
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.free_motion import free_motion
from rne_dynamics.viewer.page import Page
from rne_dynamics.viewer.pages import SimulationPage, read_replay
from rne_dynamics.viewer.scene import Kinematics
from rne_dynamics.viewer.simulated_arm import SimulatedArm


def made(name: str) -> SimulatedArm:
    robot = rne.load_model(name)
    return SimulatedArm(robot, np.clip(robot.neutral, robot.lower, robot.upper))


def place(arm: SimulatedArm, link: str) -> np.ndarray:
    state = arm.state
    return Kinematics(arm.robot).poses(state.q, posture=state.posture, delta=state.delta)[link][:3, 3]


@pytest.mark.parametrize("name", ["five_bar", pytest.param("flexible_arm6", marks=pytest.mark.slow)])
def test_a_hand_pulls_a_link_towards_it(name):
    arm = made(name)
    link = arm.robot.link_names[-1]
    start = place(arm, link)
    target = 0.8 * start
    arm.drag(link, target)
    arm.advance(1200)
    assert np.linalg.norm(place(arm, link) - target) < 0.7 * np.linalg.norm(start - target)
    arm.drag(None)
    arm.advance(1)
    assert arm.forces == {}


def test_gravity_compensation_holds_a_push_moves_and_reset_returns():
    arm = made("puma560")
    arm.advance(100)
    assert np.abs(arm.state.q).max() < 1e-3
    arm.push("link6", np.array([0.0, 300.0, 0.0]), 0.2)
    arm.advance(100)
    assert "link6" in arm.forces
    arm.advance(150)
    assert arm.forces == {}, "the push has ended"
    assert np.abs(arm.state.q).max() > 0.01
    arm.reset()
    assert np.abs(arm.state.q).max() == 0.0
    with pytest.raises(SimulationError, match="outside its limits"):
        arm.place(np.full(6, 9.0))
    arm.place(np.full(6, 0.1))
    assert (arm.state.q == 0.1).all()
    with pytest.raises(SimulationError, match="has no joint or a floating one"):
        SimulatedArm(rne.load_urdf('<robot name="r"><link name="a"/></robot>'), [])


def test_computed_torque_moves_to_a_goal():
    arm = made("planar2")
    goal = np.array([0.4, 0.3])
    arm.move(goal)
    arm.advance(2000)
    np.testing.assert_allclose(arm.state.q, goal, atol=1e-3)
    assert arm.terms.gravity.any()
    for other, law in ((arm, "magic"), (made("five_bar"), "Cartesian impedance")):
        with pytest.raises(ArgumentError, match=r"law is .* must be one of gravity compensation, computed torque"):
            other.choose(law)


@pytest.mark.slow
def test_the_tool_follows_a_target_under_the_cartesian_law_and_stops_near_one_out_of_reach():
    arm = made("puma560")
    arm.place(np.array([0.2, 0.4, -0.4, 0.1, 0.8, 0.0]))
    arm.tool = "link6"
    arm.choose("Cartesian impedance")
    arm.advance(100)
    assert arm.target_text == ""
    pose = rne.forward_kinematics(arm.robot, arm.state.q)["link6"].copy()
    R = pose[:3, :3] @ Rotation.from_rotvec([0.0, 0.2, 0.1]).as_matrix()
    p = pose[:3, 3] + np.array([0.05, 0.15, 0.1])
    arm.aim(R, p)
    arm.advance(100)
    assert arm.target_text == "moving to the target"
    arm.advance(2400)
    found = rne.forward_kinematics(arm.robot, arm.state.q)["link6"]
    np.testing.assert_allclose(found[:3, 3], p, atol=1e-3)
    np.testing.assert_allclose(found[:3, :3], R, atol=5e-3)
    assert "is at the pose" in arm.target_text
    arm.aim(R, 3.0 * p)
    arm.advance(4000)
    assert "has come to rest" in arm.target_text
    assert np.abs(arm.state.qd).max() < 0.02
    arm.choose("gravity compensation")
    assert arm.target_text == ""


def test_an_arm_with_few_joints_follows_the_place_of_a_target_only():
    arm = made("scara")
    arm.place(np.array([0.5, 0.5, 0.0, 0.1])[: arm.robot.n])
    start = rne.forward_kinematics(arm.robot, arm.state.q)[arm.tool].copy()
    place = start[:3, 3] + np.array([0.0, -0.08, -0.02])
    arm.aim(np.eye(3), place)
    for _ in range(25):
        arm.advance(100)
        if "is at the pose" in arm.target_text:
            break
    np.testing.assert_allclose(rne.forward_kinematics(arm.robot, arm.state.q)[arm.tool][:3, 3], place, atol=2e-3)
    assert "is at the pose" in arm.target_text
    with pytest.raises(ArgumentError, match=r"must be one of gravity compensation, computed torque, no effort$"):
        made("five_bar").choose("Cartesian impedance")


def test_a_recording_is_read_as_it_was_written(tmp_path):
    robot = rne.load_model("pantograph")
    log = free_motion(ArmPlant(robot), robot.neutral, seconds=0.05, record_dt=0.01)
    log.save_csv(file := tmp_path / "move.csv")
    found = read_replay(file, robot)
    read = {"time": found.t, "q": found.q, "effort": found.effort, "tree_q": found.shape["tree_q"]}
    for name, values in read.items():
        np.testing.assert_array_equal(values, getattr(log, name))
    with pytest.raises(RecordingError, match="joint"):
        read_replay(file, rne.load_urdf("puma560"))
    file.write_text("time,q/joint1,q/joint2\n0,nan,0\n")
    with pytest.raises(RecordingError, match="finite"):
        read_replay(file, rne.load_urdf("planar2"))


def test_an_arm_falls_onto_a_table_that_is_drawn_and_felt():
    robot = rne.load_model("puma560")
    q = np.array([0.0, -0.3, -0.3, 0.0, 0.6, 0.0])
    height = rne.forward_kinematics(robot, q)["tool0"][2, 3]
    bodies = (
        rne.SpringyBody("plane", (0.0, 0.0, height - 0.02), friction=0.5),
        rne.SpringyBody("box", (2.0, 0.0, 0.0), rpy=(0.1, 0.0, 0.0)), rne.SpringyBody("sphere", (0.0, 2.0, 0.0)),
    )  # fmt: skip
    script = rne.Mismatch(script=[{"at": 0.0, "push": {"link": "tool0", "force": [0, 0, -20], "duration": 2.0}}])
    arm = SimulatedArm(robot, q, rne.Scene(rne.Surroundings(bodies, (rne.TouchingPoint("tool0"),)), script))
    arm.choose("no effort")
    arm.advance(400)
    assert arm.forces["tool0"][2] > 10.0
    assert height - 0.05 < place(arm, "tool0")[2] < height - 0.02
    with contextlib.closing(Page()) as page:
        page.add_robot(arm.robot, None).surroundings(bodies)
        page.add_torques()
        SimulationPage(page, arm).draw()


@pytest.mark.parametrize(("host", "port"), [("203.0.113.9", 8080), ("no such host", 8080), ("127.0.0.1", 99999)])
def test_an_address_that_cannot_be_listened_on_is_refused_at_once(host, port):
    with pytest.raises(ArgumentError, match=r"port is 99999|cannot listen"):
        Page(host, port)
