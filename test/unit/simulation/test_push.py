"""Pushes: as typed, their load on the joints, and a gentle one for every shipped arm."""

from __future__ import annotations

import numpy as np
import pytest
from support.guided import defaults, node_settings
from support.wheel import wheel_robots

import rne_dynamics as rne
from rne_dynamics.cli.with_ros.moves import start_posture
from rne_dynamics.control.felt_inertia import LIGHT as LIGHT_DAMPING
from rne_dynamics.control.felt_inertia import joint_inertia, lowered
from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.motion.limits import continuous, described_velocity
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.thresholds import ASSUMED_RATE, CALM
from rne_dynamics.dispatch import closed
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.parameters.controller import joint_limits
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.push import (
    FORCES,
    VELOCITY,
    FloatingMotion,
    Push,
    gentle_push,
    load,
    loads_over_time,
    parse_push,
)
from rne_dynamics.simulation.runs.simulator import Simulator

PUMA = rne.load_urdf("puma560")
LIGHT = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 -0.1"/><mass value="0.5"/>
<inertia ixx="0.002" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.0003"/></inertial></link>
<link name="grip"><inertial><origin xyz="0 0 -0.02"/><mass value="0.02"/>
<inertia ixx="1e-5" ixy="0" ixz="0" iyy="1e-5" iyz="0" izz="1e-5"/></inertial></link>
<joint name="pitch" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="2" velocity="1"/></joint>
<joint name="grip" type="revolute"><parent link="upper"/><child link="grip"/><origin xyz="0 0 -0.2"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="0.2" velocity="1"/></joint></robot>"""


def test_a_push_is_read_as_it_is_written():
    text = "tool0=0,-10,2.5@0.2..0.7"
    assert str(parse_push(text, PUMA)) == text


@pytest.mark.parametrize(("text", "said"), [
    ("tool0=1,2@0..1", "three finite"), ("tool0=1,nan,3@0..1", "three finite"), ("tool0=1,2,3@1..1", "BEGIN < END"),
    ("tool0=1,2,3@-1..1", "BEGIN < END"), ("tool0=1,2,3@0..nan", "BEGIN < END"), ("tool0@0..1", "write LINK="),
    ("tool=1,2,3@0..1", "tool"),
])
def test_what_is_no_push_is_refused(text, said):
    with pytest.raises(RneDynamicsError, match=said):
        parse_push(text, PUMA)


def test_the_load_is_that_of_the_jacobian():
    q = np.array([0.3, -0.4, 0.5, 0.6, 0.7, 0.8])
    push = Push("tool0", np.array([3.0, -2.0, 5.0]), 0.0, 1.0)
    pose = rne.forward_kinematics(PUMA, q)["tool0"]
    world = pose[:3, :3] @ push.force
    np.testing.assert_allclose(load(PUMA, q, push), rne.jacobian(PUMA, q, "tool0")[:3].T @ world, atol=1e-9)


#: Robots that no push within the limits moves: ranges of zero in two, friction above the effort limits in two.
HELD = {"double_pendulum.urdf", "double_pendulum_simple.urdf", "allegro_left_hand.urdf", "allegro_right_hand.urdf"}
NAMES = ("puma560", "scara", "pantograph")
#: Of the wheel a few with the slow tests, the others by hand.
MARKS = (pytest.mark.slow, *[pytest.mark.soak] * 7)
#: Without joints; with joints that move no inertia, which the node refuses.
REFUSED = ("quadrotor", "iris", "romeo")
WHEEL = tuple(p for p in wheel_robots() if not p.name.startswith(REFUSED))


def settings_at(robot: RigidRobot, q: np.ndarray) -> Settings:
    """Settings with the default damping for this posture alone: for all postures it takes up to half a minute."""
    values = defaults("gravity compensation", robot.joint_names)
    damping = lowered(joint_inertia(robot, q).inverse, np.full(robot.n, LIGHT_DAMPING), ASSUMED_RATE / CALM)
    states = StateLimits(described_velocity(robot), continuous(robot), 0.1, 50.0, robot.joint_names)
    return Settings(robot, joint_limits(robot, values), states, None, GravityCompensation(robot, damping))


@pytest.mark.parametrize("source", [
    *NAMES, *(pytest.param(p, id=p.name, marks=MARKS[k % 8]) for k, p in enumerate(WHEEL)),
])  # fmt: skip
def test_a_gentle_push_moves_a_joint_within_all_limits(source):
    robot = rne.load_model(source) if source in NAMES else rne.load_urdf(source).with_own_code(False)
    robot = closed(robot).rigid
    robot = robot.with_effort_limit(np.where(robot.effort_limit > 0.0, robot.effort_limit, 100.0))
    q = start_posture(robot)
    if (np.abs(rne.gravity_torque(robot, q)) > robot.effort_limit).any():
        return  # refused before: `test_an_effort_limit_counts_wherever_it_is_given`
    settings = settings_at(robot, q)
    planned = gentle_push(settings, q)
    push, effort = planned.push, load(robot, q, planned.push)
    assert effort.any()
    assert np.abs(push.force).max() <= FORCES[-1]
    assert (np.abs(effort) <= np.maximum(robot.effort_limit, np.abs(rne.gravity_torque(robot, q)))).all()
    loads = loads_over_time(robot, q, [push], push.begin, push.end)
    displacements, speeds = FloatingMotion(settings, q).run(np.zeros(robot.n), loads)
    limits = np.where(np.isfinite(settings.limits.velocity), settings.limits.velocity, VELOCITY)
    assert (np.abs(speeds) <= limits).all()
    if getattr(source, "name", "") in HELD:
        assert planned.effect < 1.0
        return
    assert planned.effect > 0.02
    assert np.abs(displacements[-1]).max() > 1e-4


def test_a_light_joint_gets_a_small_push_on_the_last_link_that_moves():
    # the hand's frame is on its joint's axis: a push there loads the arm's joint alone, more than 0.5 N is too fast
    robot = rne.load_urdf(LIGHT)
    planned = gentle_push(node_settings("gravity compensation", robot), np.zeros(2))
    assert planned.effect >= 1.0
    assert planned.push.link == "grip"
    assert np.abs(planned.push.force).max() < 0.5


def test_the_expected_motion_is_that_of_forward_dynamics():
    """Coulomb friction holds some joints of a Puma and the others move: in small steps of the simulator's dynamics."""
    robot, q = PUMA, np.array([0.1, -0.6, 0.4, 0.2, 0.3, 0.0])
    settings = node_settings("gravity compensation", robot)
    push = Push("tool0", np.array([25.0, 4.0, -8.0]), 0.0, 0.2)
    simulator = Simulator(ArmPlant(robot), q, dt=1e-3, command_timeout=1.0)
    wrenches = {push.link: np.concatenate((push.force, np.zeros(3)))}
    for _ in range(200):
        state = simulator.state
        simulator.command(settings.floating.law(state.q, state.qd).total)
        simulator.advance(1, wrenches)
    displacements, _ = FloatingMotion(settings, q).run(np.zeros(6), loads_over_time(robot, q, [push], 0.0, 0.2))
    np.testing.assert_allclose(displacements[-1], simulator.state.q - q, atol=0.15 * np.abs(displacements[-1]).max())
    assert (np.abs(displacements[-1]) > 1e-3).any()
    held = displacements[-1] == 0.0
    np.testing.assert_allclose(simulator.state.q[held], q[held], atol=1e-6)
