"""Document 000 in its own 6 × 6 notation, compared with the production recursion, and its misprints."""

from __future__ import annotations

import numpy as np
import pytest
from analytic import nasser
from analytic.systems import PlanarTwoLink
from support.errors import relative_error
from support.robots import robot

import rne_dynamics as rne
from rne_dynamics.dynamics.declared.arguments import bodies_wrenches
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink, rotation_about

#: Chains, trees, prismatic joints and actuator inertia, none geared to another: the document has no mimic joints.
ROBOTS = (
    "puma560", "scara", "solo12.urdf",
)  # fmt: skip


def random_tree(seed: int, bodies: int = 12) -> RobotModel:
    """A tree of both kinds of joints about any axes, two of three with actuator inertia."""
    rng = np.random.default_rng(seed)
    links, joints = [TreeLink("l0")], []
    for i in range(1, bodies + 1):
        axis, about = rng.normal(size=(2, 3))
        turn = rotation_about(about / np.linalg.norm(about), rng.uniform(0.0, 3.0))
        inertia = np.diag([0.02, 0.03, 0.04] * rng.uniform(0.8, 1.2, 3))
        links.append(TreeLink(f"l{i}", Inertia(rng.uniform(0.5, 2.0), rng.normal(size=3) * 0.2, inertia)))
        joints.append(TreeJoint(
            f"j{i}", JointKind.PRISMATIC if i % 4 == 2 else JointKind.REVOLUTE,
            f"l{rng.integers(max(0, i - 3), i)}", f"l{i}", turn, rng.normal(size=3) * 0.4, axis,
            rotor_inertia=0.0 if i % 3 == 0 else rng.uniform(0.05, 0.5),
        ))  # fmt: skip
    return rne.assemble(KinematicTree(f"tree{seed}", tuple(links), tuple(joints)))


def models() -> list[RobotModel]:
    return [*(robot(name) for name in ROBOTS), *(random_tree(seed) for seed in range(2))]


def at_rest(model: RobotModel) -> nasser.Base:
    return nasser.Base(np.zeros(3), np.zeros(3), np.zeros(3), model.gravity)


def controls(model: RobotModel, tau: np.ndarray) -> nasser.Loads:
    """Drives along and about the joints' axes alone, no external load."""
    turns = np.array([link.rotational for link in nasser.links_of(model)])
    axis, none = tau[:, None] * nasser.z, np.zeros((model.n, 3))
    return nasser.Loads(np.where(turns[:, None], 0.0, axis), np.where(turns[:, None], axis, 0.0), none, none)


def scale_of(model: RobotModel, q, qd, tau) -> float:
    """Accelerations that efforts and bias would give one by one, before they cancel in the sum."""
    inverse = np.abs(np.linalg.inv(rne.mass_matrix(model, q)))
    return float((inverse @ (np.abs(tau) + np.abs(rne.bias_torque(model, q, qd)))).max())


@pytest.mark.parametrize("model", models(), ids=lambda m: m.name)
def test_the_recursion_as_written_is_the_one_that_runs(model):
    """On a base in prescribed motion (2.1.2), with weight, forces and torques on every link at its mass centre."""
    rng = np.random.default_rng(2)
    links = nasser.links_of(model)
    for _ in range(2):
        q, qd, tau = rne.random_configuration(model, rng), *rng.normal(size=(2, model.n)) * [[2.0], [20.0]]
        turned = rotation_about(np.array([2.0, 3.0, 6.0]) / 7.0, rng.uniform(0.0, 3.0))
        motion = rne.BaseMotion(*rng.normal(size=(3, 3)), rotation=turned)
        wrenches = {name: rng.normal(size=6) * 10.0 for name in model.link_names}
        at_origins = bodies_wrenches(model, wrenches, ())[0]
        force = at_origins[:, :3]
        torque = at_origins[:, 3:] - np.cross([link.cg for link in links], force)
        base = nasser.Base(
            np.asarray(motion.linear_acceleration), np.asarray(motion.angular_velocity),
            np.asarray(motion.angular_acceleration), model.gravity @ turned,
        )  # fmt: skip
        drives = controls(model, tau)
        loads = nasser.Loads(drives.fc, drives.nc, force, torque)
        found = nasser.hinge_accelerations(links, base, q, qd, loads)
        expected = rne.forward_dynamics(model, q, qd, tau, wrenches=wrenches, base_motion=motion, method="nasser")
        bias = rne.inverse_dynamics(model, q, qd, np.zeros(model.n), wrenches=wrenches, base_motion=motion)
        size = (np.abs(np.linalg.inv(rne.mass_matrix(model, q))) @ (np.abs(tau) + np.abs(bias))).max()
        assert relative_error(found, expected, scale=float(size)) < 1e-12


@pytest.mark.parametrize("model", models(), ids=lambda m: m.name)
def test_control_forces_and_torques_of_any_direction_at_both_joints_of_a_link(model):
    """(2.1.2), (2.1.5.3): five of six components act on both links as the bearing does, and move nothing."""
    rng = np.random.default_rng(3)
    links = nasser.links_of(model)
    q, qd, tau = rne.random_configuration(model, rng), *rng.normal(size=(2, model.n))
    drives = controls(model, tau)
    fc, nc = rng.normal(size=(2, model.n, 3)) * 5.0
    for i, link in enumerate(links):
        (nc if link.rotational else fc)[i, 2] = tau[i]
    plain = nasser.hinge_accelerations(links, at_rest(model), q, qd, drives)
    found = nasser.hinge_accelerations(links, at_rest(model), q, qd, nasser.Loads(fc, nc, drives.F, drives.N))
    size = np.abs(np.linalg.inv(rne.mass_matrix(model, q))).sum(axis=1).max() * 100.0
    assert relative_error(found, plain, scale=max(size, scale_of(model, q, qd, tau))) < 1e-12


def test_the_planar_two_link_arm_as_the_document_verified():
    system = PlanarTwoLink()
    model = rne.assemble(system.tree())
    for seed in range(5):
        q, qd, qdd = np.random.default_rng(seed).normal(size=(3, 2)) * 2.0
        drives = controls(model, system.efforts(q, qd, qdd))
        found = nasser.hinge_accelerations(nasser.links_of(model), at_rest(model), q, qd, drives)
        assert relative_error(found, qdd, scale=1.0) < 1e-12


def test_the_frames_of_denavit_and_hartenberg():
    """(A.1.1) to (A.1.3): what the recursion takes of a joint is R_{i−1,i} = Rot_z(θ) Rot_x(φ) and P*."""
    theta, phi, a, s = np.random.default_rng(4).normal(size=4)
    R, P = nasser.from_denavit_hartenberg(theta, phi, a, s)
    about_x = rotation_about(np.array([1.0, 0.0, 0.0]), phi)
    child = nasser.Link(0, True, about_x, np.array([a, 0.0, s]), 1.0, np.zeros(3), np.eye(3), 0.0)
    step = nasser.Step(child, theta, 0.0, np.zeros(3), np.zeros(3))
    assert relative_error(nasser.distal(step, child)[0], R.T) < 1e-15
    assert relative_error(nasser.distal(step, child)[1], P) < 1e-15


@pytest.mark.parametrize(("slip", "least"), list(zip(nasser.SLIPS, (0.02, 0.02, 0.8), strict=True)))
def test_what_the_print_gets_wrong(slip, least):
    """By how much of the largest acceleration each slip changes those of a moving arm."""
    model = robot("puma560")
    rng = np.random.default_rng(6)
    links, worst = nasser.links_of(model), 0.0
    for _ in range(20):
        q, qd, tau = rne.random_configuration(model, rng), *rng.normal(size=(2, model.n)) * [[2.0], [20.0]]
        found = nasser.hinge_accelerations(links, at_rest(model), q, qd, controls(model, tau), printed=(slip,))
        worst = max(worst, relative_error(found, rne.forward_dynamics(model, q, qd, tau)))
    assert worst > least


def response(model: RobotModel, q: np.ndarray, printed: tuple[str, ...] = ()) -> np.ndarray:
    """∂θ̈/∂τ column by column: the inverse of the mass matrix that the equations imply."""
    links, rest = nasser.links_of(model), np.zeros(model.n)
    ground = nasser.Base(*np.zeros((4, 3)))
    return np.stack(
        [
            nasser.hinge_accelerations(links, ground, q, rest, controls(model, unit), printed=printed)
            for unit in np.eye(model.n)
        ],
        axis=1,
    )


@pytest.mark.parametrize(("name", "least"), [("puma560", 0.8), ("scara", 0.01), ("cylindrical", 0.05)])
def test_as_printed_actuator_inertia_makes_the_mass_matrix_unsymmetric(name, least):
    """γ with a zero passes the whole control torque to link i − 1; with −J^a there it passes n^c − J^a θ̈.

    Without actuator inertia both are the same.
    """
    model = robot(name)
    assert (rne.rotor_inertia(model) > 0.0).any()
    rng = np.random.default_rng(5)
    worst = 0.0
    for _ in range(5):
        q = rne.random_configuration(model, rng)
        M = rne.mass_matrix(model, q)
        right, printed = response(model, q), response(model, q, ("gamma without J^a",))
        assert relative_error(right, np.linalg.inv(M)) < 1e-11
        assert relative_error(right, right.T) < 1e-11
        worst = max(worst, relative_error(printed, printed.T))
    assert worst > least
    bare = rne.load_urdf(name, rotors=False)
    q = rne.random_configuration(bare, rng)
    assert relative_error(response(bare, q, ("gamma without J^a",)), response(bare, q)) < 1e-13
