"""Free-body diagrams: what acts on a link against the rate of its momentum, and both against other libraries."""

from __future__ import annotations

import pytest

pytest.importorskip("pinocchio", reason="the oracle is Pinocchio: rosdep, or pip install '.[test]'")

import numpy as np
import pinocchio as pin
from support.differences import rate
from support.errors import relative_error
from support.pinocchio_oracle import Oracle
from support.robots import random_state
from support.robots import robot as model
from support.wheel import wheel_urdf

import rne_dynamics as rne

MODELS = (
    ("gripper", "fixed"),
    ("floating_arm", "floating"),
    ("panda.urdf", "fixed"),
)


@pytest.mark.parametrize(("name", "base"), MODELS)
def test_the_rate_is_the_derivative_of_momentum_about_any_point(name: str, base: str) -> None:
    """About a fixed point, the mass centre and a point that moves (theorems 4.11 to 4.16), for part of the robot."""
    robot = model(name, base)
    q, qd, qdd = random_state(robot, 1)
    links = [str(x) for x in np.random.default_rng(1).permutation(robot.link_names)[: len(robot.link_names) // 2]]
    links.append(max(robot.tree.links, key=lambda x: x.inertia.mass if x.inertia else 0.0).name)
    P, v_P = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -0.7])

    def momentum(t: float, point) -> np.ndarray:
        there = rne.integrate_configuration(robot, q, t * qd + 0.5 * t * t * qdd)
        return np.concatenate(rne.momentum(robot, there, qd + t * qdd, point, links=links))

    def check(found: rne.MomentumRate, point_at) -> None:
        expected = rate(lambda t: momentum(t, point_at(t)), 4e-3)
        assert relative_error(np.concatenate(found), expected, scale=10.0) < 1e-8

    check(rne.momentum_rate(robot, q, qd, qdd, links=links), lambda t: None)
    check(rne.momentum_rate(robot, q, qd, qdd, P, links=links), lambda t: P)
    check(rne.momentum_rate(robot, q, qd, qdd, "com", links=links), lambda t: "com")
    check(rne.momentum_rate(robot, q, qd, qdd, P, links=links, point_velocity=v_P), lambda t: P + t * v_P)


@pytest.mark.parametrize(("name", "base"), MODELS)
def test_every_link_obeys_eulers_laws(name: str, base: str) -> None:
    """Weight, load and reactions together are the rate of momentum: fixed links, loads and all, about any point."""
    robot = model(name, base)
    q, qd, qdd = random_state(robot, 2)
    rng = np.random.default_rng(2)
    loads = {str(link): 10.0 * rng.normal(size=6) for link in robot.link_names[:: max(1, robot.n // 3)]}
    size = 10.0 + 9.81 * robot.mass
    for k, link in enumerate(robot.link_names):
        massive = (robot.tree.link(link).inertia or rne.Inertia()).mass > 0.0
        point = "com" if massive and k % 2 else rng.normal(size=3)
        found = rne.free_body(robot, q, qd, qdd, link, point, wrenches=loads)
        assert relative_error(found.total, np.concatenate(found.rate), scale=size) < 1e-12
        neighbours = {j.name for j in robot.tree.joints if link in (j.parent, j.child)}
        assert set(found.joints) == neighbours


def test_the_rate_of_the_whole_robot_agrees_with_pinocchio() -> None:
    path = wheel_urdf("hextilt_flying_arm_5.urdf")
    robot = rne.load_urdf(path, base="floating")
    oracle = Oracle(robot, path)
    q, qd, qdd = random_state(robot, 3)
    motion = oracle.q(q), oracle.G @ qd, oracle.G @ qdd
    dh = pin.computeCentroidalMomentumTimeVariation(oracle.model, oracle.data, *motion)
    found = rne.momentum_rate(robot, q, qd, qdd, "com")
    assert relative_error(np.concatenate(found), np.concatenate([dh.linear, dh.angular])) < 1e-11


def test_action_is_reaction_and_the_axis_carries_the_effort() -> None:
    """Both links of a joint show one wrench with opposite signs; along the axis it is the effort less the rotor's."""
    robot = rne.load_urdf("puma560")
    q, qd, qdd = random_state(robot, 4)
    P = np.array([0.1, 0.2, 0.9])
    upper = rne.free_body(robot, q, qd, qdd, "link2", P)
    forearm = rne.free_body(robot, q, qd, qdd, "link3", P)
    assert relative_error(upper.joints["joint3"], -forearm.joints["joint3"]) < 1e-12
    drive = (rne.inverse_dynamics(robot, q, qd, qdd) - rne.rotor_inertia(robot) * qdd)[2]
    pose = rne.forward_kinematics(robot, q)["link3"]
    axis = pose[:3, :3] @ robot.tree.joint("joint3").axis
    at_elbow = rne.free_body(robot, q, qd, qdd, "link3", pose[:3, 3]).joints["joint3"]
    assert at_elbow[3:] @ axis == pytest.approx(drive, rel=1e-12)
