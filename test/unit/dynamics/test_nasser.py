"""Nasser's O(n) forward dynamics (document 000), verified as the document was and in what it leaves out.

Planar two-link arm against closed form; the Shuttle's six-joint arm against Walker and Orin; prescribed base motion
against a base that its own reaction drives, and against Pinocchio; control wrenches at both joints of a link;
actuator inertia; trees; mimic joints, which composite bodies and Cholesky serve.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from analytic.systems import GearedTwoLink, Pendulum, PlanarTwoLink
from support.arms import gripper
from support.errors import relative_error
from support.pinocchio_oracle import Oracle
from support.robots import WHEEL, file_of, robot

import rne_dynamics as rne
from rne_dynamics.dynamics.kinematics.kinematics import rotation_quaternions
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.layout import MULTIPLIER, VELOCITY_INDEX
from rne_dynamics.model.tree import JointKind, KinematicTree, Mimic, TreeJoint, TreeLink, rotation_about
from rne_dynamics.verification.engines import random_base_motion


def unit_and_angle(rng: np.random.Generator) -> tuple[np.ndarray, float]:
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis), rng.uniform(0.0, 3.0)


def one_by_one(model: rne.RobotModel, q, qd, tau) -> float:
    """Largest acceleration that efforts and bias would give if they did not cancel."""
    M = rne.mass_matrix(model, q)
    return float((np.abs(np.linalg.inv(M)) @ (np.abs(tau) + np.abs(rne.bias_torque(model, q, qd)))).max())


# --- the document's own verifications


@pytest.mark.parametrize("seed", range(2))
def test_planar_two_link_arm_on_a_moving_base_with_a_load(seed):
    system = PlanarTwoLink()
    model = rne.assemble(system.tree())
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.normal(size=(3, 2)) * 2.0
    ax, az, spin, spin_rate = rng.normal(size=4) * 3.0
    tip, force = 0.45, rng.normal(size=2) * 20.0
    # the joints turn about −y, and so does the base
    base = rne.BaseMotion((ax, 0.0, az), (0.0, -spin, 0.0), (0.0, -spin_rate, 0.0), rng.normal(size=3))
    b = q[0] + q[1]
    along, across = force[0] * np.cos(b) + force[1] * np.sin(b), force[1] * np.cos(b) - force[0] * np.sin(b)
    load = {"lower": [along, 0.0, across, 0.0, -tip * across, 0.0]}
    tau = system.efforts_on(q, qd, qdd, (ax, az, spin, spin_rate), tip, force)
    found = rne.forward_dynamics(model, q, qd, tau, wrenches=load, base_motion=base, method="nasser")
    assert relative_error(found, qdd, scale=1.0) < 1e-12


@pytest.mark.parametrize("payload", [0.0, 29484.0], ids=lambda m: f"{m:g}kg")
def test_shuttle_arm_with_a_payload_on_an_orbiter_that_turns_against_walker_orin(payload):
    """29,484 kg is the largest payload it was built for."""
    model = rne.load_urdf("shuttle_arm", gravity=(0, 0, 0))
    if payload:
        box = payload / 12.0 * np.diag([3.0**2 + 3.0**2, 3.0**2 + 9.0**2, 3.0**2 + 9.0**2])
        model = rne.with_payload(model, rne.Payload("tip", payload, (4.5, 0.1, -0.2), box))
    rng = np.random.default_rng(90)
    rows = 200
    q = rng.uniform(model.lower, model.upper, (rows, 6))
    qd = rng.uniform(-1.0, 1.0, (rows, 6)) * model.velocity_limit
    tau = rng.uniform(-1.0, 1.0, (rows, 6)) * model.effort_limit
    orbiter = rne.BaseMotion(
        rng.normal(size=(rows, 3)), 0.1 * rng.normal(size=(rows, 3)), 0.05 * rng.normal(size=(rows, 3))
    )
    nasser = rne.forward_dynamics(model, q, qd, tau, base_motion=orbiter, method="nasser")
    for method in ("walker_orin", "walker_orin_columns"):
        other = rne.forward_dynamics(model, q, qd, tau, base_motion=orbiter, method=method)
        assert max(relative_error(a, b) for a, b in zip(nasser, other, strict=True)) < 1e-11


@pytest.mark.parametrize("name", [*WHEEL, "shuttle_arm"])
def test_a_prescribed_base_is_a_floating_base_that_its_reaction_drives(name):
    fixed, floating = robot(name), robot(name, "floating")
    rng = np.random.default_rng(91)
    for _ in range(5):
        q = rne.random_configuration(fixed, rng)
        qd, tau = rng.normal(size=(2, fixed.n))
        motion = random_base_motion(rng)
        load = {str(link): rng.normal(size=6) * 5.0 for link in rng.choice(fixed.link_names, 2)}
        qdd = rne.forward_dynamics(fixed, q, qd, tau, wrenches=load, base_motion=motion)
        v, w = np.asarray(motion.linear_velocity), np.asarray(motion.angular_velocity)
        # a floating base's qdd is the rate of its velocity's components along its own axes: a = v̇ + ω × v
        base_rate = np.concatenate([motion.linear_acceleration - np.cross(w, v), motion.angular_acceleration])
        pose = np.concatenate([rng.normal(size=3), *rotation_quaternions(np.asarray(motion.rotation)[None])])
        whole_q, whole_qd = np.concatenate([pose, q]), np.concatenate([v, w, qd])
        found = rne.inverse_dynamics(floating, whole_q, whole_qd, np.concatenate([base_rate, qdd]), wrenches=load)
        size = np.abs(found).max()
        assert relative_error(found[6:], tau, scale=size) < 1e-11
        driven = np.concatenate([found[:6], tau])
        back = rne.forward_dynamics(floating, whole_q, whole_qd, driven, wrenches=load)
        scale = one_by_one(floating, whole_q, whole_qd, driven)
        assert relative_error(back, np.concatenate([base_rate, qdd]), scale=scale) < 1e-11


# --- prescribed base motion


@pytest.mark.parametrize("name", ["puma560", "icub_reduced.urdf", "panda.urdf"])
def test_a_prescribed_base_against_pinocchios_free_flyer(name):
    """Pinocchio's free flyer is given its acceleration: the joint rows of its equations leave q̈ as the only unknown."""
    fixed, floating = robot(name), robot(name, "floating")
    oracle = Oracle(floating, file_of(name))
    rng = np.random.default_rng(92)
    for _ in range(5):
        q = rne.random_configuration(fixed, rng)
        qd, tau = rng.normal(size=(2, fixed.n))
        motion = random_base_motion(rng)
        v, w = np.asarray(motion.linear_velocity), np.asarray(motion.angular_velocity)
        rate = np.concatenate([motion.linear_acceleration - np.cross(w, v), motion.angular_acceleration])
        pose = np.concatenate([rng.normal(size=3), *rotation_quaternions(np.asarray(motion.rotation)[None])])
        whole_q, whole_qd = np.concatenate([pose, q]), np.concatenate([v, w, qd])
        M, bias = oracle.mass_matrix(whole_q), oracle.bias(whole_q, whole_qd)
        left = tau - bias[6:] - M[6:, :6] @ rate
        expected = np.linalg.solve(M[6:, 6:], left)
        # what the terms give one by one: they cancel, and M may be ill-conditioned
        scale = (np.abs(np.linalg.inv(M[6:, 6:])) @ (np.abs(tau) + np.abs(bias[6:]) + np.abs(M[6:, :6] @ rate))).max()
        found = rne.forward_dynamics(fixed, q, qd, tau, base_motion=motion)
        assert relative_error(found, expected, scale=scale) < 1e-11


def test_the_rotor_feels_the_joint_and_not_the_base():
    """J^a is in the joint's own equation only (2.1.7.2): a base that speeds up does not spin the rotor."""
    system = Pendulum()
    model = rne.assemble(system.tree(), gravity=(0, 0, 0))
    link = system.inertia + system.mass * system.c**2
    spin = rne.BaseMotion(angular_acceleration=(0.0, -2.5, 0.0))
    found = rne.forward_dynamics(model, [0.3], [0.0], [1.2], base_motion=spin)
    assert found == pytest.approx((1.2 - link * 2.5) / (link + system.rotor), rel=1e-14)


# --- control forces and torques at both joints of a link, (2.1.2) and (2.1.5.3)


@pytest.mark.parametrize("name", ["scara", "tiago_dual.urdf", "panda.urdf"])
def test_a_control_wrench_at_a_joint_moves_the_arm_as_its_component_along_the_axis(name):
    """(f, n) on link i at its proximal joint and (−f, −n) there on link i − 1, at all joints at once."""
    model = robot(name)
    rng = np.random.default_rng(93)
    q = rne.random_configuration(model, rng)
    qd = rng.normal(size=model.n)
    poses = rne.forward_kinematics(model, q)
    wrenches = {link: np.zeros(6) for link in model.link_names}
    tau = np.zeros(model.n)
    for joint in model.tree.joints:
        if joint.kind is JointKind.FIXED:
            continue
        control = rng.normal(size=6) * 10.0  # at the child's origin, which is on the axis, in the child's axes
        body = model.body_names.index(joint.name)
        part = joint.axis @ (control[:3] if joint.kind is JointKind.PRISMATIC else control[3:])
        tau[model.topology[body, VELOCITY_INDEX]] += model.parameters[body, MULTIPLIER] * part
        wrenches[joint.child] += control
        there = np.linalg.inv(poses[joint.parent]) @ poses[joint.child]
        force, moment = there[:3, :3] @ control[:3], there[:3, :3] @ control[3:]
        wrenches[joint.parent] -= np.concatenate([force, moment + np.cross(there[:3, 3], force)])
    scale = one_by_one(model, q, qd, tau)
    by_torque = rne.forward_dynamics(model, q, qd, tau)
    by_wrench = rne.forward_dynamics(model, q, qd, np.zeros(model.n), wrenches=wrenches)
    assert relative_error(by_wrench, by_torque, scale=scale) < 1e-11
    if model.n <= 10:  # where nothing cancels much the plain relative error shows the same
        assert relative_error(by_wrench, by_torque) < 1e-10


def random_tree(rng: np.random.Generator, joints: int) -> KinematicTree:
    """A random tree: all kinds of joints anywhere, rotors, joints that follow others, followers without mass."""
    links, made = [TreeLink("root", Inertia(3.0, rng.normal(size=3), np.diag([1.0, 1.2, 0.9])))], []
    for k in range(joints):
        kind = rng.choice([JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC, JointKind.FLOATING],
                          p=[0.45, 0.15, 0.3, 0.1])  # fmt: skip
        leaders = [j.name for j in made if j.kind is not JointKind.FLOATING and j.mimic is None]
        mimic, body = (
            None,
            Inertia(rng.uniform(0.2, 3.0), 0.3 * rng.normal(size=3), np.diag(rng.uniform(0.02, 0.03, 3))),
        )
        if leaders and kind is not JointKind.FLOATING and rng.random() < 0.35:
            mimic = Mimic(str(rng.choice(leaders)), rng.normal(), rng.normal())
        parents = [link.name for link in links if link.inertia is not None]
        made.append(TreeJoint(
            f"j{k}", kind, str(rng.choice(parents)), f"l{k}", rotation=rotation_about(*unit_and_angle(rng)),
            position=0.5 * rng.normal(size=3), axis=rng.normal(size=3), mimic=mimic,
            rotor_inertia=float(rng.choice([0.0, 0.3])),
        ))  # fmt: skip
        links.append(TreeLink(f"l{k}", None if mimic and rng.random() < 0.3 else body))
    return KinematicTree("random", tuple(links), tuple(made))


@pytest.mark.parametrize("seed", range(40))
def test_random_trees_against_walker_orin_and_there_and_back(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(1, 16)))
    model = rne.assemble(tree, base="floating" if seed % 4 == 0 else "fixed")
    q = rne.random_configuration(model, rng)
    qd, qdd = rng.normal(size=(2, model.n))
    base = None if model.base == "floating" else random_base_motion(rng)
    load = {str(link): rng.normal(size=6) for link in rng.choice(model.link_names, 2)}
    tau = rne.inverse_dynamics(model, q, qd, qdd, wrenches=load, base_motion=base)
    nasser = rne.forward_dynamics(model, q, qd, tau, wrenches=load, base_motion=base)
    other = rne.forward_dynamics(model, q, qd, tau, wrenches=load, base_motion=base, method="walker_orin_columns")
    scale = one_by_one(model, q, qd, tau)
    assert relative_error(nasser, other, scale=scale) < 1e-12
    assert relative_error(nasser, qdd, scale=scale) < 1e-12


# --- trees of any kind


# --- mimic joints


@pytest.mark.parametrize("ratio", [-1.6, 0.0])
def test_a_two_link_arm_with_a_mimic_joint_in_closed_form(ratio):
    system = GearedTwoLink(ratio=ratio)
    model = rne.assemble(system.tree())
    q, qd, qdd = np.array([0.7]), np.array([-1.3]), np.array([2.1])
    assert rne.forward_dynamics(model, q, qd, system.efforts(q, qd, qdd)) == pytest.approx(qdd, rel=1e-12)


@pytest.mark.parametrize(("finger", "mass"), [("left_finger", 0.0), ("right_finger", 1e-12)])
def test_a_finger_of_no_weight_that_leads_or_follows(finger, mass):
    tree = gripper().tree
    light = Inertia(mass, np.array([0.03, 0.0, 0.02]), mass * 1e-4 * np.eye(3))
    links = tuple(replace(x, inertia=light) if x.name == finger else x for x in tree.links)
    model = rne.assemble(replace(tree, links=links))
    rng = np.random.default_rng(95)
    q, qd, tau = rng.normal(size=(3, 2))
    other = rne.forward_dynamics(model, q, qd, tau, method="walker_orin_columns")
    assert relative_error(rne.forward_dynamics(model, q, qd, tau), other) < 1e-12
