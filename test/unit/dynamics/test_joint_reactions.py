"""Joint reactions against F = ma, against Pinocchio, against efforts, and at rest."""

from __future__ import annotations

import numpy as np
import pytest
from support.errors import relative_error
from support.pinocchio_oracle import Oracle
from support.robots import file_of, robot
from support.trees import joint as placed
from support.trees import tree
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia, skew
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, KinematicTree, Payload, TreeJoint, TreeLink

#: First and second derivative from values at ±1, ±2, ±3 steps, sixth order.
FIRST = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
SECOND = {0: -49 / 18, 1: 3 / 2, 2: -3 / 20, 3: 1 / 90}


def everything() -> RobotModel:
    """A tree with every kind of joint, fixed ones between massive links at the root, in the middle and at a tip."""
    return tree(
        placed("column", JointKind.FIXED, "base"),
        placed("swing", JointKind.REVOLUTE, "column_link"),
        placed("sensor", JointKind.FIXED, "swing_link"),
        placed("bracket", JointKind.FIXED, "sensor_link"),
        placed("slide", JointKind.PRISMATIC, "bracket_link"),
        placed("spin", JointKind.CONTINUOUS, "swing_link"),
        placed("puck", JointKind.PLANAR, "sensor_link"),
        placed("disc_sensor", JointKind.FIXED, "puck_link"),
        placed("hover", JointKind.FLOATING, "spin_link"),
        placed("rotor", JointKind.REVOLUTE, "hover_link"),
        placed("frame_only", JointKind.FIXED, "rotor_link"),
        massless=("frame_only_link",),
    ).with_gravity((0.3, -1.0, -9.0))


def model(name: str, base: str) -> RobotModel:
    if name == "everything":
        fixed = everything()
        return fixed if base == "fixed" else assemble(fixed.tree, base="floating", gravity=fixed.gravity)
    return robot(name, base)


MODELS = (
    ("everything", "fixed"),
    ("everything", "floating"),
    ("gripper", "fixed"),
)


def loads(robot: RobotModel, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> dict[str, np.ndarray]:
    names = [robot.tree.root, *rng.choice(robot.link_names, size=min(4, len(robot.link_names)), replace=False)]
    return {str(name): rng.normal(size=(*shape, 6)) * 10.0 for name in names}


def differences(f, h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value, rate and second rate of f(t) at t = 0."""
    at = {k: np.asarray(f(k * h)) for k in range(-3, 4)}
    rate = sum(w * (at[k] - at[-k]) for k, w in FIRST.items()) / h
    second = (SECOND[0] * at[0] + sum(SECOND[k] * (at[k] + at[-k]) for k in (1, 2, 3))) / h**2
    return at[0], rate, second


def wrench_in_world(R: np.ndarray, p: np.ndarray, about: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """A link-frame wrench as (force, moment about a point) in world axes."""
    force = R @ wrench[:3]
    return np.concatenate([force, R @ wrench[3:] + np.cross(p - about, force)])


@pytest.mark.parametrize(("name", "base"), MODELS)
def test_every_link_obeys_force_is_mass_times_acceleration(name: str, base: str) -> None:
    """Nothing but positions at seven instants, masses and Euler's two laws about each link's mass centre."""
    robot = model(name, base)
    rng = np.random.default_rng(3)
    q, qd, qdd = rne.random_configuration(robot, rng), rng.normal(size=robot.n), rng.normal(size=robot.n)
    wrenches = loads(robot, rng)
    found = rne.joint_reactions(robot, q, qd, qdd, wrenches=wrenches)

    def poses(t: float) -> rne.LinkPoses:
        # velocity qd and acceleration qdd at t = 0 exactly: the exponential of t·qd + t²/2·qdd commutes to this order
        return rne.forward_kinematics(robot, rne.integrate_configuration(robot, q, t * qd + 0.5 * t * t * qdd))

    now = poses(0.0)
    R, p = now.rotation, now.position
    h = 4e-3
    _, R_rate, R_second = differences(lambda t: poses(t).rotation, h)
    _, _, p_second = differences(lambda t: poses(t).position, h)
    index = {link: k for k, link in enumerate(robot.link_names)}
    held = {link: np.zeros(6) for link in robot.link_names}  # what a link's joints, loads and weight come to
    size = np.abs(found.wrench).max() + np.abs(found.base).max()
    centre = {}
    for link in robot.tree.links:
        inertia = link.inertia or Inertia()
        k = index[link.name]
        centre[link.name] = p[k] + R[k] @ inertia.com
        held[link.name][:3] += inertia.mass * robot.gravity
        if link.name in wrenches:
            held[link.name] += wrench_in_world(R[k], p[k], centre[link.name], wrenches[link.name])
    for joint in robot.tree.joints:
        k = index[joint.child]
        held[joint.child] += wrench_in_world(R[k], p[k], centre[joint.child], found[joint.name])
        held[joint.parent] -= wrench_in_world(R[k], p[k], centre[joint.parent], found[joint.name])
    k = index[robot.tree.root]
    held[robot.tree.root] += wrench_in_world(R[k], p[k], centre[robot.tree.root], found.base)

    for link in robot.tree.links:
        inertia = link.inertia or Inertia()
        k = index[link.name]
        force = inertia.mass * (p_second[k] + R_second[k] @ inertia.com)
        # Ḣ_C = d/dt (R I Rᵀ ω), from the second moment S = R s Rᵀ of the masses: H̃ = ṘsRᵀ − (ṘsRᵀ)ᵀ
        s = 0.5 * np.trace(inertia.inertia) * np.eye(3) - inertia.inertia
        spin = R_second[k] @ s @ R[k].T + R_rate[k] @ s @ R_rate[k].T
        antisymmetric = spin - spin.T
        moment = np.array([antisymmetric[2, 1], antisymmetric[0, 2], antisymmetric[1, 0]])
        expected = np.concatenate([force, moment])
        assert relative_error(held[link.name], expected, scale=size) < 1e-9, link.name


def test_a_prescribed_base_motion_reaches_every_joint_and_the_base() -> None:
    """A base that moves as a floating one would carries the same reactions, and its own holding wrench."""
    fixed, floating = model("everything", "fixed"), model("everything", "floating")
    rng = np.random.default_rng(8)
    for _ in range(3):
        q, qd, qdd = rne.random_configuration(fixed, rng), rng.normal(size=fixed.n), rng.normal(size=fixed.n)
        position = rne.random_configuration(floating, rng)[:7]
        R = rne.forward_kinematics(floating, np.concatenate([position, q])).rotation[0]
        V, A = rng.normal(size=6), rng.normal(size=6)
        motion = rne.BaseMotion(A[:3] + np.cross(V[3:], V[:3]), V[3:], A[3:], V[:3], R)
        wrenches = loads(fixed, rng)
        held = rne.joint_reactions(fixed, q, qd, qdd, wrenches=wrenches, base_motion=motion)
        free = rne.joint_reactions(
            floating,
            np.concatenate([position, q]),
            np.concatenate([V, qd]),
            np.concatenate([A, qdd]),
            wrenches=wrenches,
        )
        assert relative_error(held.wrench, free.wrench) < 1e-12
        assert relative_error(held.base, free.base) < 1e-12


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("panda.urdf", "fixed"),
        ("icub_reduced.urdf", "floating"),
    ],
)
def test_moving_joints_agree_with_pinocchio(name: str, base: str) -> None:
    path = file_of(name)
    robot_ = rne.load_urdf(path, base=base)
    oracle = Oracle(robot_, path)
    rng = np.random.default_rng(1)
    for _ in range(3):
        q, qd, qdd = rne.random_configuration(robot_, rng), rng.normal(size=robot_.n), rng.normal(size=robot_.n)
        wrenches = {str(x): rng.normal(size=6) * 10.0 for x in rng.choice(robot_.link_names, size=4, replace=False)}
        oracle.inverse_dynamics(q, qd, qdd, wrenches)
        found = rne.joint_reactions(robot_, q, qd, qdd, wrenches=wrenches)
        for joint in robot_.tree.joints:
            if joint.kind is JointKind.FIXED:
                continue
            force = oracle.data.f[oracle.model.getJointId(joint.name)]  # at the joint, in the child link's axes
            expected = np.concatenate([force.linear, force.angular])
            assert relative_error(found[joint.name], expected, scale=np.abs(found.wrench).max()) < 1e-10, joint.name
        if base == "floating":
            force = oracle.data.f[1]
            assert relative_error(found.base, np.concatenate([force.linear, force.angular])) < 1e-10


@pytest.mark.parametrize("kind", list(JointKind))
def test_a_joint_splits_into_constraint_and_actuated_components(kind: JointKind) -> None:
    """Theorem 4.17: 6 − d constraint components and d actuated ones, which share no work."""
    freedom = {JointKind.FIXED: 0, JointKind.PLANAR: 3, JointKind.FLOATING: 6}.get(kind, 1)
    body = Inertia(1.0, np.array([0.1, 0.2, -0.1]), np.diag([0.1, 0.2, 0.15]))
    joint = TreeJoint("joint", kind, "ground", "load", axis=np.array([1.0, 2.0, -2.0]))
    robot = assemble(KinematicTree("one", (TreeLink("ground"), TreeLink("load", body)), (joint,)))
    rng = np.random.default_rng(0)
    q = rne.random_configuration(robot, rng, 20)
    qd, qdd = rng.normal(size=(20, robot.n)), rng.normal(size=(20, robot.n))
    wrenches = {"load": rng.normal(size=(20, 6)) * 5.0}
    found = rne.joint_reactions(robot, q, qd, qdd, wrenches=wrenches)
    constraint, actuated = found.constraint("joint"), found.actuated("joint")
    np.testing.assert_allclose(constraint + actuated, found["joint"], rtol=0.0, atol=1e-14)
    assert np.linalg.matrix_rank(constraint, tol=1e-9) == 6 - freedom
    assert np.linalg.matrix_rank(actuated, tol=1e-9) == freedom
    # the actuated part alone drives the joint: its power on the child's velocity is that of the efforts
    J = rne.jacobian(robot, q, "load")
    R = rne.forward_kinematics(robot, q).rotation[:, 1]
    twist = (J @ qd[..., None])[..., 0].reshape(20, 2, 3) @ R  # in child axes
    power = (actuated * twist.reshape(20, 6)).sum(axis=1)
    tau = rne.inverse_dynamics(robot, q, qd, qdd, wrenches=wrenches)
    assert relative_error(power, (tau * qd).sum(axis=1)) < 1e-12
    assert relative_error((constraint * twist.reshape(20, 6)).sum(axis=1), np.zeros(20), scale=1.0) < 1e-12


def test_at_rest_the_base_carries_the_weight() -> None:
    robot = model("everything", "fixed")
    rng = np.random.default_rng(4)
    q = rne.random_configuration(robot, rng, 5)
    still = np.zeros(robot.n)
    base = rne.joint_reactions(robot, q, still, still).base
    np.testing.assert_allclose(base[:, :3], np.broadcast_to(-robot.mass * robot.gravity, (5, 3)), rtol=1e-12)
    lever = rne.center_of_mass(robot, q)
    np.testing.assert_allclose(base[:, 3:], np.cross(lever, base[:, :3]), rtol=1e-11, atol=1e-11)


def test_a_force_sensor_at_the_flange_reads_the_payload() -> None:
    """The wheel's Panda has fixed joints after its last link; the sensor reads what accelerates what it holds."""
    path = wheel_urdf("panda.urdf")
    com = np.array([0.02, -0.01, 0.05])
    bare = rne.load_urdf(path)
    loaded = rne.with_payload(bare, Payload("panda_hand", 1.5, com, np.diag([1e-3, 2e-3, 3e-3])))
    sensor = next(j for j in bare.tree.joints if j.child == "panda_hand")
    assert sensor.kind is JointKind.FIXED
    rng = np.random.default_rng(9)
    q, qd, qdd = rne.random_configuration(bare, rng), rng.normal(size=bare.n), rng.normal(size=bare.n)
    R = rne.forward_kinematics(bare, q)["panda_hand"][:3, :3]
    reading = rne.joint_reactions(loaded, q, qd, qdd)[sensor.name] - rne.joint_reactions(bare, q, qd, qdd)[sensor.name]
    J, dJ = rne.jacobian(bare, q, "panda_hand"), rne.jacobian_rate(bare, q, qd, "panda_hand")
    w, (a, dw) = R.T @ (J @ qd)[3:], ((J @ qdd + dJ @ qd).reshape(2, 3) @ R)
    force = 1.5 * (a - R.T @ bare.gravity + skew(dw) @ com + skew(w) @ skew(w) @ com)
    about_centre = np.diag([1e-3, 2e-3, 3e-3])
    moment = about_centre @ dw + np.cross(w, about_centre @ w) + np.cross(com, force)
    np.testing.assert_allclose(reading, np.concatenate([force, moment]), rtol=1e-9, atol=1e-10)


def test_a_robot_of_fixed_joints_only() -> None:
    links = (TreeLink("ground"), TreeLink("post", Inertia(2.0, np.array([0.1, 0.0, 0.0]))))
    joint = TreeJoint("bolt", JointKind.FIXED, "ground", "post", position=np.array([0.0, 0.0, 1.0]))
    robot = assemble(KinematicTree("post", links, (joint,)))
    found = rne.joint_reactions(robot, [], [], [], wrenches={"post": [0, 0, 0, 1.0, 0, 0]})
    np.testing.assert_allclose(found["bolt"], [0, 0, 19.62, -1.0, -1.962, 0], atol=1e-12)
    np.testing.assert_allclose(found.base, [0, 0, 19.62, -1.0, -1.962, 0], atol=1e-12)
