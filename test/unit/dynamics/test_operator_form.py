"""The operator form: what its matrices are, and that they give the equations of motion of every robot."""

from __future__ import annotations

import numpy as np
import pytest
from support.errors import relative_error
from support.robots import robot as model

import rne_dynamics as rne
from rne_dynamics.dynamics.block_operators import (
    joint_map,
    operator_matrices,
)
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.layout import PARENT
from rne_dynamics.model.tree import KinematicTree, TreeLink

MODELS = (
    ("scara", "fixed"),
    ("gripper", "fixed"),
    ("talos_full_v2.urdf", "floating"),
)


@pytest.mark.parametrize(("name", "base"), MODELS)
def test_the_same_matrix_transposed_carries_velocities_out_and_forces_in(name: str, base: str) -> None:
    """Γ itself, as SciPy holds it: Γ V = H q̇ against the links' Jacobians, Γᵀ F against a wrench pushed at one body."""
    robot = model(name, base)
    rng = np.random.default_rng(3)
    q, qd = rne.random_configuration(robot, rng), rng.normal(size=robot.n)
    matrices = operator_matrices(robot, q, qd)
    gamma = matrices.gamma
    H = matrices.joint_map.toarray()
    # unit lower triangular, one block a row at most besides the diagonal
    dense = gamma.toarray()
    assert np.array_equal(np.diag(dense), np.ones(len(dense)))
    assert not np.triu(dense, 1).any()
    filled = np.abs(dense.reshape(robot.bodies, 6, robot.bodies, 6)).max(axis=(1, 3)) > 0.0
    expected = np.eye(robot.bodies, dtype=bool)
    for i, parent in enumerate(robot.topology[:, PARENT]):
        if parent >= 0:
            expected[i, parent] = True
    assert np.array_equal(filled, expected)

    V = matrices.outward(matrices.joint_map @ qd)
    assert relative_error(gamma @ V, matrices.joint_map @ qd) < 1e-13
    poses = rne.forward_kinematics(robot, q)
    for link in rng.choice(robot.link_names, size=min(6, len(robot.link_names)), replace=False):
        frame = robot.link(str(link))
        if frame.body < 0:
            continue
        J = rne.jacobian(robot, q, str(link))
        R = poses[str(link)][:3, :3] @ frame.rotation.T  # the body's axes in the world
        v, w = V.reshape(-1, 2, 3)[frame.body]
        there = np.concatenate([R @ (v + np.cross(w, frame.position)), R @ w])
        assert relative_error(there, J @ qd, scale=np.linalg.norm(qd)) < 1e-12
        # a push at that body alone: the same Γ, transposed, finds every joint's share; Hᵀ the efforts: Jᵀ f
        push = np.zeros(6 * robot.bodies)
        push[6 * frame.body : 6 * frame.body + 6] = rng.normal(size=6)
        F = matrices.inward(push)
        assert relative_error(gamma.T @ F, push) < 1e-12
        force, moment = push.reshape(-1, 2, 3)[frame.body]
        world = np.concatenate([R @ force, R @ (moment - np.cross(frame.position, force))])
        assert relative_error(matrices.joint_map.T @ F, J.T @ world, scale=np.linalg.norm(world)) < 1e-12
        # duality, whatever the numbers: power put in is power that arrives
        assert F @ (matrices.joint_map @ qd) == pytest.approx(push @ V, rel=1e-11, abs=1e-11)
    assert np.array_equal(H, joint_map(robot))


@pytest.mark.parametrize(("name", "base"), MODELS)
def test_the_matrices_give_mass_matrix_and_bias(name: str, base: str) -> None:
    """Equations 4.76 and 4.78 written out with SciPy's matrices."""
    robot = model(name, base)
    rng = np.random.default_rng(4)
    q, qd = rne.random_configuration(robot, rng), rng.normal(size=robot.n)
    wrenches = {robot.link_names[-1]: rng.normal(size=6)}
    matrices = operator_matrices(robot, q, qd, wrenches=wrenches)
    assert relative_error(matrices.mass_matrix, rne.mass_matrix(robot, q)) < 1e-13
    expected = rne.inverse_dynamics(robot, q, qd, np.zeros(robot.n), wrenches=wrenches)
    assert relative_error(matrices.bias, expected) < 1e-11
    if robot.base == "fixed":
        motion = rne.BaseMotion(rng.normal(size=3), rng.normal(size=3), rng.normal(size=3), rng.normal(size=3))
        moved = operator_matrices(robot, q, qd, base_motion=motion)
        expected = rne.inverse_dynamics(robot, q, qd, np.zeros(robot.n), base_motion=motion)
        assert relative_error(moved.bias, expected) < 1e-11


def test_a_robot_without_joints() -> None:
    bolted = assemble(KinematicTree("block", (TreeLink("block", Inertia(1.0)),), ()))
    with pytest.raises(ArgumentError, match="no joint that moves"):
        operator_matrices(bolted, [], [])
