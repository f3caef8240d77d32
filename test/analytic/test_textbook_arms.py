"""Problems 4.1–4.6, 4.25–4.29, 4.33–4.36, 4.40, 4.44 and 4.45 of the textbook chapter: momentum, and Euler's laws.

Those of the cylindrical robot are in test_cylindrical_robot.py.

Every arm runs as it ships and with mass centres off every axis and full inertia matrices, where no term vanishes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from analytic.textbook_arms import KINDS, LINKS, closed_form
from support.differences import rate as derivative
from support.errors import relative_error

import rne_dynamics as rne
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink

ARMS = tuple((name, general) for name in KINDS for general in (False, True))
arms = pytest.mark.parametrize(("name", "general"), ARMS, ids=[f"{n}{'-general' * g}" for n, g in ARMS])
TOLERANCE = 1e-12


@cache
def arm(name: str, general: bool) -> rne.RobotModel:
    robot = rne.load_urdf(name)
    if not general:
        return robot
    rng = np.random.default_rng(4)
    links = []
    for link in robot.tree.links:
        inertia = link.inertia
        if inertia is not None:
            points = 0.2 * rng.normal(size=(6, 3))
            com = points.mean(axis=0)
            r = points - com
            second = inertia.mass / 6.0 * r.T @ r
            inertia = Inertia(inertia.mass, com, np.trace(second) * np.eye(3) - second)
        links.append(TreeLink(link.name, inertia))
    return rne.assemble(replace(robot.tree, links=tuple(links)))


def state(robot: rne.RobotModel, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.5, 1.5, size=(3, robot.n))


def inertia_of(robot: rne.RobotModel, link: str) -> Inertia:
    return robot.tree.link(link).inertia


def along(q, qd, qdd):
    """The motion of constant joint accelerations through a state: (q, qd) at time t."""
    return lambda t: (q + qd * t + 0.5 * qdd * t * t, qd + qdd * t)


@arms
def test_4_1_to_4_6_linear_momentum_in_every_basis(name: str, general: bool) -> None:
    robot = arm(name, general)
    form = closed_form(robot)
    q, qd, _ = state(robot, 0)
    poses = rne.forward_kinematics(robot, q)
    R, v = form.rotations(q), form.velocities(q, qd)
    for i, link in enumerate(LINKS):
        m = inertia_of(robot, link).mass
        linear = rne.momentum(robot, q, qd, links=[link]).linear
        for j in range(i + 1):  # the basis of frame i, …, 1
            expected = m * R[j].T @ R[i] @ v[i]
            assert relative_error(poses[LINKS[j]][:3, :3].T @ linear, expected, scale=0.1) < TOLERANCE
        assert relative_error(linear, m * R[i] @ v[i], scale=0.1) < TOLERANCE  # and of frame 0
        centre = form.mass_centres(q)[i]
        assert relative_error(poses[link][:3, :3] @ form.c[i] + poses[link][:3, 3], centre) < TOLERANCE
        J = rne.jacobian(robot, q, link)  # the same from the Jacobian: v_C = v_O + ω × c
        at = J[:3] @ qd + np.cross(J[3:] @ qd, R[i] @ form.c[i])
        assert relative_error(m * at, linear, scale=0.1) < TOLERANCE


@arms
def test_4_25_to_4_29_angular_momentum_about_the_own_mass_centre(name: str, general: bool) -> None:
    robot = arm(name, general)
    form = closed_form(robot)
    q, qd, _ = state(robot, 0)
    for i, link in enumerate(LINKS):
        body, R = inertia_of(robot, link), form.rotations(q)
        expected = body.inertia @ form.spins(q, qd)[i]  # in the basis of frame i
        about_centre = rne.momentum(robot, q, qd, "com", links=[link]).angular
        assert relative_error(R[i].T @ about_centre, expected, scale=0.1) < TOLERANCE
        # theorem 4.2: about the origin of frame 0
        linear = body.mass * R[i] @ form.velocities(q, qd)[i]
        moved = R[i] @ expected + np.cross(form.mass_centres(q)[i], linear)
        assert relative_error(rne.momentum(robot, q, qd, links=[link]).angular, moved, scale=0.1) < TOLERANCE


@arms
def test_4_35_4_36_4_40_eulers_laws_about_the_mass_centre(name: str, general: bool) -> None:
    """The closed form's momenta, differentiated, are the sums of reactions and weight of the free body."""
    robot = arm(name, general)
    form = closed_form(robot)
    q, qd, qdd = state(robot, 0)
    motion = along(q, qd, qdd)
    for i, link in enumerate(LINKS):
        body = inertia_of(robot, link)

        def momenta(t: float, i: int = i, body: Inertia = body) -> np.ndarray:
            at = motion(t)
            R = form.rotations(at[0])[i]
            return R @ np.stack([body.mass * form.velocities(*at)[i], body.inertia @ form.spins(*at)[i]], axis=1)

        force, moment = rne.free_body(robot, q, qd, qdd, link, form.mass_centres(q)[i]).total.reshape(2, 3)
        change = derivative(momenta)
        assert relative_error(force, change[:, 0], scale=10.0) < 1e-9
        assert relative_error(moment, change[:, 1], scale=10.0) < 1e-9


@pytest.mark.parametrize("general", [False, True])
def test_4_36_the_force_along_the_quill_in_closed_form(general: bool) -> None:
    """Euler's first law along a prismatic joint; the rotor turns in its motor."""
    robot = arm("scara", general)
    rotor = rne.rotor_inertia(robot)[2]
    q, qd, qdd = state(robot, 1)
    carried = inertia_of(robot, "link3").mass + inertia_of(robot, "link4").mass
    down = carried * (qdd[2] - 9.81) + rotor * qdd[2]
    assert rne.inverse_dynamics(robot, q, qd, qdd)[2] == pytest.approx(down, rel=1e-12)


@pytest.mark.parametrize("general", [False, True])
def test_4_44_about_a_point_that_moves(general: bool) -> None:
    """Link 2, moments about the elbow, a point of the link that is not fixed in frame 0 (theorem 4.15's subject)."""
    robot = arm("puma560", general)
    q, qd, qdd = state(robot, 0)
    motion = along(q, qd, qdd)

    def elbow(t: float) -> np.ndarray:
        return rne.forward_kinematics(robot, motion(t)[0])["link3"][:3, 3]

    def angular(t: float) -> np.ndarray:
        return rne.momentum(robot, *motion(t), elbow(t), links=["link2"]).angular

    J, rate = rne.jacobian(robot, q, "link3")[:3], rne.jacobian_rate(robot, q, qd, "link3")[:3]
    v_P, a_P = J @ qd, J @ qdd + rate @ qd
    moment = rne.free_body(robot, q, qd, qdd, "link2", elbow(0.0)).total[3:]
    linear = rne.momentum(robot, q, qd, links=["link2"]).linear
    assert relative_error(derivative(angular), moment - np.cross(v_P, linear), scale=10.0) < 1e-9

    # with the relative momentum, I_P ω, the correction is m r_PC × a_P instead
    body = inertia_of(robot, "link2")

    def relative(t: float) -> np.ndarray:
        p, v = motion(t)
        R = rne.forward_kinematics(robot, p)["link2"][:3, :3]
        return R @ body.about((0.4318, 0.0, 0.0)) @ R.T @ (rne.jacobian(robot, p, "link2")[3:] @ v)

    given = rne.momentum(robot, q, qd, elbow(0.0), links=["link2"], point_velocity=v_P).angular
    assert relative_error(given, relative(0.0), scale=0.1) < TOLERANCE
    r_PC = closed_form(robot).mass_centres(q)[1] - elbow(0.0)
    expected = moment - body.mass * np.cross(r_PC, a_P)
    assert relative_error(derivative(relative), expected, scale=10.0) < 1e-9


@pytest.mark.parametrize("general", [False, True])
def test_4_45_about_a_point_that_is_fixed(general: bool) -> None:
    """Link 1, the shoulder, moments about the origin of frame 1, which stays where it is: H_O = I_O ω."""
    robot = arm("puma560", general)
    q, qd, qdd = state(robot, 0)
    motion = along(q, qd, qdd)
    shoulder = np.array([0.0, 0.0, 0.672])
    body = inertia_of(robot, "link1")

    def angular(t: float) -> np.ndarray:
        p, v = motion(t)
        R = closed_form(robot).rotations(p)[0]
        return R @ body.about_origin @ [0.0, 0.0, v[0]]

    given = rne.momentum(robot, q, qd, shoulder, links=["link1"]).angular
    assert relative_error(given, angular(0.0), scale=0.1) < TOLERANCE
    moment = rne.free_body(robot, q, qd, qdd, "link1", shoulder).total[3:]
    assert relative_error(moment, derivative(angular), scale=10.0) < 1e-9
    # its component along the axis, I_zz θ̈₁, is what the motor and the inner arm leave over
    assert moment[2] == pytest.approx(body.about_origin[2, 2] * qdd[0], rel=1e-9)


def joint_of(axes) -> rne.RobotModel:
    """An outer link on a joint made of passive revolute ones in one point, with massless bodies between them."""
    names = [f"cross{k}" for k in range(len(axes) - 1)] + ["outer"]
    rng = np.random.default_rng(9)
    points = 0.3 * rng.normal(size=(6, 3)) + [0.2, 0.1, -0.4]
    com = points.mean(axis=0)
    second = (points - com).T @ (points - com)
    outer = Inertia(6.0, com, np.trace(second) * np.eye(3) - second)
    links = [TreeLink("inner"), *(TreeLink(x) for x in names[:-1]), TreeLink("outer", outer)]
    joints = [
        TreeJoint(f"j{k}", JointKind.CONTINUOUS, parent, child, axis=np.array(axis))
        for k, (parent, child, axis) in enumerate(zip(["inner", *names[:-1]], names, axes, strict=True))
    ]
    return rne.assemble(KinematicTree("joint", tuple(links), tuple(joints)))


def test_4_33_a_spherical_joint_carries_three_forces_and_no_moment() -> None:
    robot = joint_of(([0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]))
    q, qd = np.array([0.3, 0.5, -0.7]), np.array([1.0, -2.0, 1.5])
    qdd = rne.forward_dynamics(robot, q, qd, np.zeros(3))
    reaction = rne.joint_reactions(robot, q, qd, qdd)["j2"]
    assert robot.n == 3
    assert np.linalg.norm(reaction[:3]) > 1.0
    assert np.abs(reaction[3:]).max() < 1e-11 * np.linalg.norm(reaction[:3])


def test_4_34_a_universal_joint_without_the_mass_of_its_crossbar() -> None:
    """Two degrees of freedom; three forces and the moment across both arms of the cross; the cross passes them on."""
    robot = joint_of(([0.0, 0.0, 1.0], [0.0, 1.0, 0.0]))
    q, qd = np.array([0.3, 0.5]), np.array([1.0, -2.0])
    qdd = rne.forward_dynamics(robot, q, qd, np.zeros(2))
    reactions, poses = rne.joint_reactions(robot, q, qd, qdd), rne.forward_kinematics(robot, q)
    inner, outer = (
        np.concatenate([poses[link][:3, :3] @ reactions[joint][k : k + 3] for k in (0, 3)])
        for joint, link in (("j0", "cross0"), ("j1", "outer"))
    )
    assert relative_error(inner, outer) < 1e-12
    first, second = np.array([0.0, 0.0, 1.0]), poses["outer"][:3, 1]
    across = np.cross(first, second) / np.linalg.norm(np.cross(first, second))
    assert outer[3:] == pytest.approx(across * (across @ outer[3:]), abs=1e-11)
    assert abs(across @ outer[3:]) > 0.1
