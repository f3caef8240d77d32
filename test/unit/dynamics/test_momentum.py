"""Momentum against particles, against Euler's laws along a motion, against Pinocchio, and against the mass matrix."""

from __future__ import annotations

import pytest

from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.stepping.stepping import integrate

pytest.importorskip("pinocchio", reason="the oracle is Pinocchio: rosdep, or pip install '.[test]'")

import numpy as np
import pinocchio as pin
from support.arms import floating_arm
from support.differences import rate
from support.errors import relative_error
from support.pinocchio_oracle import Oracle
from support.robots import robot as model
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.errors import ModelError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink

MODELS = (
    ("scara", "fixed"),
    ("gripper", "fixed"),
    ("floating_arm", "floating"),
)


def particles(
    robot: RobotModel, q: np.ndarray, qd: np.ndarray, links: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Masses, places and velocities of point masses with the same inertia as the links, six of them a link.

    At ±√(3 λ / m) along the principal axes of the second moment, λ its values: mass, mass centre and inertia are exact.
    Velocities by differences of places along the motion.
    """
    masses, local, index = [], [], []
    for k, link in enumerate(robot.tree.links):
        if link.name not in links or link.inertia is None or link.inertia.mass == 0.0:
            continue
        inertia = link.inertia
        second = 0.5 * np.trace(inertia.inertia) * np.eye(3) - inertia.inertia
        values, axes = np.linalg.eigh(second)
        assert values[0] > -1e-12, "these robots' links are possible bodies"
        for value, axis in zip(values, axes.T, strict=True):
            reach = np.sqrt(3.0 * max(value, 0.0) / inertia.mass)
            for side in (1.0, -1.0):
                masses.append(inertia.mass / 6.0)
                local.append(inertia.com + side * reach * axis)
                index.append(k)

    def places(t: float) -> np.ndarray:
        poses = rne.forward_kinematics(robot, rne.integrate_configuration(robot, q, t * qd))
        return poses.position[index] + np.einsum("pij,pj->pi", poses.rotation[index], np.array(local))

    return np.array(masses), places(0.0), rate(places, 4e-3)


def sets(robot: RobotModel, rng: np.random.Generator) -> list[list[str]]:
    some = rng.choice(robot.link_names, size=max(1, len(robot.link_names) // 2), replace=False)
    heaviest = max(robot.tree.links, key=lambda x: x.inertia.mass if x.inertia else 0.0)
    return [list(robot.link_names), [*map(str, some), heaviest.name], [heaviest.name]]


@pytest.mark.parametrize(("name", "base"), MODELS)
def test_momentum_is_the_sum_over_particles(name: str, base: str) -> None:
    """Definitions 4.1 and 4.3, and the relative momentum about a moving point, particle by particle."""
    robot = model(name, base)
    rng = np.random.default_rng(1)
    q, qd = rne.random_configuration(robot, rng), rng.normal(size=robot.n)
    P, v_P = rng.normal(size=3), rng.normal(size=3)
    for links in sets(robot, rng):
        m, r, v = particles(robot, q, qd, links)
        size = (np.abs(m) @ np.linalg.norm(v, axis=1)) + 1e-3
        centre = m @ r / m.sum()
        h, about_origin = rne.momentum(robot, q, qd, links=links)
        assert relative_error(h, m @ v, scale=size) < 1e-9
        assert relative_error(about_origin, m @ np.cross(r, v), scale=size) < 1e-9
        about = {
            "fixed": (rne.momentum(robot, q, qd, P, links=links), m @ np.cross(r - P, v)),
            "centre": (rne.momentum(robot, q, qd, "com", links=links), m @ np.cross(r - centre, v)),
            "moving": (
                rne.momentum(robot, q, qd, P, links=links, point_velocity=v_P),
                m @ np.cross(r - P, v - v_P),
            ),
        }
        for found, expected in about.values():
            assert relative_error(found.linear, m @ v, scale=size) < 1e-9
            assert relative_error(found.angular, expected, scale=size + m.sum()) < 1e-9
        # the two definitions differ by m r_PC × v_P (theorem 4.4), and about the mass centre not at all (theorem 4.5)
        difference = about["fixed"][0].angular - about["moving"][0].angular
        assert relative_error(difference, np.cross(m.sum() * (centre - P), v_P), scale=m.sum()) < 1e-9
        own = rne.momentum(robot, q, qd, centre, links=links, point_velocity=m @ v / m.sum())
        assert relative_error(own.angular, about["centre"][0].angular, scale=size) < 1e-9


def test_about_a_point_of_one_link_relative_momentum_is_inertia_times_spin() -> None:
    """Theorems 4.4 and 4.5: H_P^rel = I_P ω for any point P of the body."""
    robot = model("puma560", "fixed")
    rng = np.random.default_rng(2)
    q, qd = rng.normal(size=6), rng.normal(size=6)
    for link in robot.tree.links[1:]:
        if link.inertia is None or link.inertia.mass == 0.0:
            continue
        pose, J = rne.forward_kinematics(robot, q)[link.name], rne.jacobian(robot, q, link.name)
        R, p, (v, w) = pose[:3, :3], pose[:3, 3], (J @ qd).reshape(2, 3)
        found = rne.momentum(robot, q, qd, p, links=[link.name], point_velocity=v)
        expected = R @ link.inertia.about_origin @ R.T @ w
        assert relative_error(found.angular, expected, scale=1e-3) < 1e-12


@pytest.mark.parametrize(("name", "base"), MODELS)
def test_rate_of_momentum_is_what_acts_from_outside(name: str, base: str) -> None:
    """Euler's laws for the whole robot: base reaction, weight and loads; fixed, mass-centre and moving points."""
    robot = model(name, base)
    rng = np.random.default_rng(3)
    q, qd, qdd = rne.random_configuration(robot, rng), rng.normal(size=robot.n), rng.normal(size=robot.n)
    link = robot.link_names[-1]
    wrench = rng.normal(size=6) * 10.0
    P, v_P, a_P = rng.normal(size=(3, 3))

    def at(t: float, **how) -> np.ndarray:
        there = rne.integrate_configuration(robot, q, t * qd + 0.5 * t * t * qdd)
        return np.concatenate(rne.momentum(robot, there, qd + t * qdd, **how))

    poses = rne.forward_kinematics(robot, q)
    root, there = poses[robot.tree.root], poses[link]
    base_force = rne.joint_reactions(robot, q, qd, qdd, wrenches={link: wrench}).base
    centre, mass = rne.center_of_mass(robot, q), robot.mass
    force = root[:3, :3] @ base_force[:3] + there[:3, :3] @ wrench[:3] + mass * robot.gravity

    def moment(about: np.ndarray) -> np.ndarray:
        total = np.cross(centre - about, mass * robot.gravity)
        for pose, x in ((root, base_force), (there, wrench)):
            total = total + pose[:3, :3] @ x[3:] + np.cross(pose[:3, 3] - about, pose[:3, :3] @ x[:3])
        return total

    size = np.abs(base_force).max() + mass * 9.81
    laws = (
        (at, moment(np.zeros(3))),
        (lambda t: at(t, point=P), moment(P)),
        (lambda t: at(t, point="com"), moment(centre)),
        # the point moves as P + v t + a t²/2
        (
            lambda t: at(t, point=P + t * v_P + 0.5 * t * t * a_P),
            moment(P) - np.cross(v_P, rne.momentum(robot, q, qd).linear),
        ),
        (
            lambda t: at(t, point=P + t * v_P + 0.5 * t * t * a_P, point_velocity=v_P + t * a_P),
            moment(P) - np.cross(mass * (centre - P), a_P),
        ),
    )
    for f, expected in laws:
        assert relative_error(rate(f, 4e-3), np.concatenate([force, expected]), scale=size) < 1e-9


def test_a_floating_robot_left_alone_keeps_both() -> None:
    """Nothing from outside, efforts inside: linear momentum and angular momentum about any fixed point stay."""
    robot = floating_arm()
    rng = np.random.default_rng(4)
    q, qd = rne.random_configuration(robot, rng), rng.normal(size=robot.n)

    def effort(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(6), [3.0 * np.sin(5.0 * t), -2.0 * qd[7]]])

    start = rne.kinetic_energy(robot, q, qd)
    before = np.concatenate(rne.momentum(robot, q, qd))
    about_centre = rne.momentum(robot, q, qd, "com").angular
    states = integrate(ArmPlant(robot), State(0.0, q, qd), effort, [0.5, 1.0, 2.0])
    for state in states:
        after = np.concatenate(rne.momentum(robot, state.q, state.qd))
        assert relative_error(after, before) < 1e-8
        assert relative_error(rne.momentum(robot, state.q, state.qd, "com").angular, about_centre) < 1e-8
    assert abs(rne.kinetic_energy(robot, states[-1].q, states[-1].qd) - start) > 0.1 * start, "the efforts did work"


@pytest.mark.parametrize("name", ["talos_full_v2.urdf", "panda.urdf"])
def test_centroidal_momentum_agrees_with_pinocchio(name: str) -> None:
    path = wheel_urdf(name)
    robot = rne.load_urdf(path, base="floating")
    oracle = Oracle(robot, path)
    rng = np.random.default_rng(5)
    for _ in range(3):
        q, qd = rne.random_configuration(robot, rng), rng.normal(size=robot.n)
        hg = pin.computeCentroidalMomentum(oracle.model, oracle.data, oracle.q(q), oracle.G @ qd)
        found = rne.momentum(robot, q, qd, "com")
        assert relative_error(found.linear, hg.linear) < 1e-11
        assert relative_error(found.angular, hg.angular) < 1e-11
        A = pin.ccrba(oracle.model, oracle.data, oracle.q(q), oracle.G @ qd) @ oracle.G
        assert relative_error(rne.centroidal_momentum_matrix(robot, q), A) < 1e-11


@pytest.mark.parametrize(("name", "base"), MODELS)
def test_the_matrix_times_the_velocities_is_the_momentum(name: str, base: str) -> None:
    robot = model(name, base)
    rng = np.random.default_rng(6)
    q, qd = rne.random_configuration(robot, rng, 3), rng.normal(size=(3, robot.n))
    A = rne.centroidal_momentum_matrix(robot, q)
    assert A.shape == (3, 6, robot.n)
    found = (A @ qd[..., None])[..., 0]
    assert relative_error(found, np.concatenate(rne.momentum(robot, q, qd, "com"), axis=-1)) < 1e-12


@pytest.mark.parametrize("name", ["floating_arm", "talos_full_v2.urdf"])
def test_the_matrix_is_the_floating_rows_of_the_mass_matrix(name: str) -> None:
    """A = X M[:6]: momentum at the base frame in its axes, seen from the mass centre in world axes; rank six.

    Its first six columns are the robot's composite inertia: mass, and inertia about the mass centre.
    """
    robot = model(name, "floating")
    rng = np.random.default_rng(7)
    q = rne.random_configuration(robot, rng)
    A, M = rne.centroidal_momentum_matrix(robot, q), rne.mass_matrix(robot, q)
    pose = rne.forward_kinematics(robot, q)[robot.tree.root]
    R, arm = pose[:3, :3], pose[:3, 3] - rne.center_of_mass(robot, q)
    linear = R @ M[:3]
    angular = R @ M[3:6] + np.cross(arm, linear.T).T
    assert relative_error(A, np.concatenate([linear, angular])) < 1e-12
    assert np.linalg.matrix_rank(A) == 6
    assert relative_error(A[:3, :3], robot.mass * R) < 1e-12
    inertia = A[3:, 3:6] @ R.T  # about the mass centre, world axes
    assert relative_error(inertia, inertia.T) < 1e-12
    assert np.linalg.eigvalsh(inertia)[0] > 0.0
    # what M keeps when the base is free to follow: A's own part of the kinetic energy, hᵀ 𝓘⁻¹ h / 2, is never more
    qd = rng.normal(size=robot.n)
    h = A @ qd
    locked = 0.5 * (h[:3] @ h[:3] / robot.mass + h[3:] @ np.linalg.solve(inertia, h[3:]))
    assert locked <= rne.kinetic_energy(robot, q, qd) * (1.0 + 1e-12)


def test_koenig_kinetic_energy_of_a_rigid_body() -> None:
    """T = ½ h·v_C + ½ H_C·ω link by link, which is all of it where no rotor turns (König)."""
    robot = model("baxter.urdf", "fixed")
    rng = np.random.default_rng(8)
    q, qd = rne.random_configuration(robot, rng), rng.normal(size=robot.n)
    total = 0.0
    for link in robot.tree.links:
        if link.inertia is None or link.inertia.mass == 0.0:
            continue
        h, H = rne.momentum(robot, q, qd, "com", links=[link.name])
        w = rne.jacobian(robot, q, link.name)[3:] @ qd
        total += 0.5 * (h @ h / link.inertia.mass + H @ w)
    assert total == pytest.approx(float(rne.kinetic_energy(robot, q, qd)), rel=1e-12)


def test_sets_add_up_and_batches_are_their_rows() -> None:
    robot = model("talos_full_v2.urdf", "floating")
    rng = np.random.default_rng(9)
    q, qd = rne.random_configuration(robot, rng, 6).reshape(2, 3, -1), rng.normal(size=(3, robot.n))
    P, v_P = rng.normal(size=(2, 1, 3)), rng.normal(size=3)
    whole = rne.momentum(robot, q, qd, P, point_velocity=v_P)
    assert whole.linear.shape == whole.angular.shape == (2, 3, 3)
    parts = [rne.momentum(robot, q, qd, P, links=[x], point_velocity=v_P) for x in robot.link_names]
    for k in range(2):
        summed = np.sum([part[k] for part in parts], axis=0)
        assert relative_error(whole[k], summed) < 1e-12
    one = rne.momentum(robot, q[1, 2], qd[2], P[1, 0], point_velocity=v_P)
    assert relative_error(np.concatenate([whole.linear[1, 2], whole.angular[1, 2]]), np.concatenate(one)) < 1e-12
    assert not np.any(rne.momentum(robot, q, qd, links=[]))


def test_far_from_the_origin_nothing_is_lost() -> None:
    robot = floating_arm()
    rng = np.random.default_rng(10)
    q, qd = rne.random_configuration(robot, rng), rng.normal(size=robot.n)
    far = q.copy()
    far[:3] += 2.0**20  # a thousand kilometres; the step is exact
    near = q.copy()
    near[:3] = far[:3] - 2.0**20
    assert (
        relative_error(rne.momentum(robot, far, qd, "com").angular, rne.momentum(robot, near, qd, "com").angular) < 1e-9
    )
    assert (
        relative_error(rne.centroidal_momentum_matrix(robot, far), rne.centroidal_momentum_matrix(robot, near)) < 1e-9
    )


def test_robots_without_mass_or_joints() -> None:
    ghost = assemble(
        KinematicTree("ghost", (TreeLink("a"), TreeLink("b")), (TreeJoint("j", JointKind.REVOLUTE, "a", "b"),))
    )
    assert not np.any(rne.momentum(ghost, [0.0], [1.0]))
    with pytest.raises(ModelError, match="no mass"):
        rne.momentum(ghost, [0.0], [1.0], "com")
    with pytest.raises(ModelError, match="no mass"):
        rne.centroidal_momentum_matrix(ghost, [0.0])
    block = assemble(KinematicTree("block", (TreeLink("block", Inertia(1.0)),), ()))
    assert rne.centroidal_momentum_matrix(block, []).shape == (6, 0)
    assert not np.any(rne.momentum(block, [], [], "com"))
