"""The operator form: what its matrices are, and that they give the equations of motion of every robot."""

from __future__ import annotations

import numpy as np
import pytest
from operation_counter import OperationCounter, Operations
from operation_counts import matrix_operations, solve_operations
from support.arms import chain, gripper
from support.errors import relative_error
from support.robots import robot as model

import rne_dynamics as rne
from rne_dynamics.dynamics.block_operators import (
    inward,
    joint_map,
    operator_forward,
    operator_inverse,
    operator_matrices,
    outward,
    transfer_kernel,
    velocity_terms_kernel,
)
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.layout import MULTIPLIER, PARENT, ROTOR, VELOCITY_INDEX
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


def test_mimic_joints_share_a_column_and_rotors_their_gear_squared() -> None:
    robot = gripper()
    H = joint_map(robot).reshape(robot.bodies, 6, robot.n)
    assert np.count_nonzero(H) == 3
    assert H[1, 5, 1] == 1.0
    assert H[2, 5, 1] == robot.parameters[2, MULTIPLIER] == -1.5
    arm = chain(4, rotor=0.3)
    matrices = operator_matrices(arm, np.zeros(4), np.zeros(4))
    np.testing.assert_allclose(matrices.rotor, arm.parameters[:, ROTOR][arm.topology[:, VELOCITY_INDEX]])


def test_two_hundred_joints() -> None:
    robot = chain(200, rotor=0.1)
    rng = np.random.default_rng(5)
    q, qd, qdd = rng.normal(size=(2, 200)), rng.normal(size=(2, 200)), rng.normal(size=(2, 200))
    tau = operator_inverse(robot, robot.base_at_rest.reshape(1, 12), q, qd, qdd, np.empty((1, 0, 6)))
    assert relative_error(tau, rne.inverse_dynamics(robot, q, qd, qdd)) < 1e-11
    matrices = operator_matrices(robot, q[0], qd[0])
    assert matrices.gamma.nnz < 200 * 40, "Γ is sparse"
    assert relative_error(matrices.mass_matrix, rne.mass_matrix(robot, q[0])) < 1e-11
    # a batch too large for one piece is the same as its rows
    many = np.repeat(q[:1], 20, axis=0)
    found = operator_forward(
        robot, robot.base_at_rest.reshape(1, 12), many, np.zeros_like(many), np.zeros_like(many), np.empty((1, 0, 6))
    )
    assert np.array_equal(found, np.broadcast_to(found[:1], found.shape))


def test_counts_of_solves_and_kernels() -> None:
    """The kernels and the solves themselves, run on numbers that count."""
    arm = chain(6)
    counter = OperationCounter()
    q, qd, parameters = counter.array(np.ones(6)), counter.array(np.ones(6)), counter.array(arm.parameters)
    transfer, p = counter.zeros(6, 6, 6), counter.zeros(6, 3)
    counter.run(transfer_kernel, arm.topology, parameters, q, transfer, p)
    reference = np.empty((6, 6, 6)), np.empty((6, 3))
    transfer_kernel(arm.topology, arm.parameters, np.ones(6), *reference)
    np.testing.assert_allclose(transfer.astype(float), reference[0], rtol=1e-15, atol=1e-15)
    filled = counter.operations.multiplications
    assert filled == 6 * (1 + 12 + 18), "gear, turn about z, three cross products a body"
    velocity = counter.array(np.ones((6, 6)))
    found = counter.zeros(6, 6), counter.zeros(6, 6)
    base = counter.zeros(12)
    counter.run(velocity_terms_kernel, arm.topology, parameters, base, qd, transfer, p, velocity, *found)
    assert counter.operations.multiplications - filled == 6 * (12 + 9 + 1 + 2 + 12 + 9 + 6), "and one product for −ω q̇"

    for columns in (1, 7):
        for solve in (outward, inward):
            solving = OperationCounter()
            right = solving.array(np.ones((1, 6, 6, columns)))
            solve(arm.topology[:, PARENT], solving.array(reference[0])[None], right)
            expected = Operations(36 * 5 * columns, 36 * 5 * columns)
            assert solving.operations == solve_operations(arm, columns) == expected

    inverse, forward = matrix_operations(arm, "inverse"), matrix_operations(arm, "forward")
    # three solves, H q̇, H q̈ and Hᵀ F, the base's share twice, 𝓜 A, rotors
    assert inverse.multiplications == 3 * 180 + 3 * 6 + 2 * 36 + 36 * 6 + 6
    assert forward.multiplications - inverse.multiplications == 2 * 6 * 180 + 36 * 36 + 36


def test_a_robot_without_joints() -> None:
    bolted = assemble(KinematicTree("block", (TreeLink("block", Inertia(1.0)),), ()))
    with pytest.raises(ArgumentError, match="no joint that moves"):
        operator_matrices(bolted, [], [])
