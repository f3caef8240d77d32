"""Robots from Denavit–Hartenberg tables against matrices multiplied by hand, published tables and other libraries."""

from __future__ import annotations

import itertools
from math import cos, pi, sin

import numpy as np
import pytest
from analytic.denavit_hartenberg import PUMA, inverse_dynamics
from support.errors import relative_error
from support.other_tools import in_mujoco, in_pinocchio

import rne_dynamics as rne
from rne_dynamics.errors import ModelError
from rne_dynamics.model.assembly import Convention

G = np.array([0.0, 0.0, -9.81])
Table = list[rne.DHLink]


def turn_x(angle: float) -> np.ndarray:
    T = np.eye(4)
    T[1:3, 1:3] = [[cos(angle), -sin(angle)], [sin(angle), cos(angle)]]
    return T


def turn_z(angle: float) -> np.ndarray:
    T = np.eye(4)
    T[:2, :2] = [[cos(angle), -sin(angle)], [sin(angle), cos(angle)]]
    return T


def shift(x: float, z: float) -> np.ndarray:
    T = np.eye(4)
    T[[0, 2], 3] = x, z
    return T


def frames(table: Table, convention: Convention, q: np.ndarray) -> list[np.ndarray]:
    """Frame 0 to frame n in frame 0: the products of the table's matrices."""
    found = [np.eye(4)]
    for row, x in zip(table, q, strict=True):
        theta, d = (row.theta + x, row.d) if row.kind == "revolute" else (row.theta, row.d + x)
        screw_z, screw_x = turn_z(theta) @ shift(0.0, d), shift(row.a, 0.0) @ turn_x(row.alpha)
        found.append(found[-1] @ (screw_z @ screw_x if convention == "standard" else screw_x @ screw_z))
    return found


def mass_matrix_and_gravity(table: Table, convention: Convention, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ m Jᵥᵀ Jᵥ + J_ωᵀ I J_ω, and −Σ m Jᵥᵀ g, from the axes and origins of `frames`."""
    T, n = frames(table, convention, q), len(table)
    M, g = np.diag([row.rotor_inertia for row in table]), np.zeros(n)
    for i, row in enumerate(table):
        if row.inertia is None:
            continue
        R, centre = T[i + 1][:3, :3], T[i + 1][:3, :3] @ row.inertia.com + T[i + 1][:3, 3]
        linear, angular = np.zeros((3, n)), np.zeros((3, n))
        for j in range(i + 1):
            frame = T[j] if convention == "standard" else T[j + 1]
            axis = frame[:3, 2]
            revolute = table[j].kind == "revolute"
            linear[:, j] = np.cross(axis, centre - frame[:3, 3]) if revolute else axis
            angular[:, j] = axis if revolute else 0.0
        M += row.inertia.mass * linear.T @ linear + angular.T @ R @ row.inertia.inertia @ R.T @ angular
        g -= row.inertia.mass * linear.T @ G
    return M, g


def random_table(seed: int, n: int = 5) -> Table:
    """Rows of both kinds, some lengths and angles zero or right, offsets, full inertias given about either point."""
    rng = np.random.default_rng(seed)
    table = []
    for _ in range(n):
        points = 0.3 * rng.normal(size=(6, 3))
        com, mass = points.mean(axis=0), rng.uniform(0.5, 5.0)
        r = points - com
        inertia = mass / 6.0 * (np.sum(r * r) * np.eye(3) - r.T @ r)
        body = rne.Inertia(mass, com, inertia)
        if rng.random() < 0.5:
            body = rne.Inertia.from_origin(mass, com, body.about_origin)
        table.append(
            rne.DHLink(
                a=rng.choice([0.0, rng.normal()]),
                alpha=rng.choice([0.0, pi / 2, -pi / 2, pi, rng.uniform(-3.0, 3.0)]),
                d=rng.choice([0.0, rng.normal()]),
                theta=rng.choice([0.0, pi / 2, rng.uniform(-3.0, 3.0)]),
                kind="prismatic" if rng.random() < 0.4 else "revolute",
                inertia=body,
                rotor_inertia=rng.choice([0.0, 0.3]),
            )
        )
    return table


CONVENTIONS: tuple[Convention, ...] = ("standard", "modified")
SEEDS = tuple(itertools.product(CONVENTIONS, range(2)))


@pytest.mark.parametrize(("convention", "seed"), SEEDS)
def test_random_tables_against_their_matrices(convention: Convention, seed: int) -> None:
    table = random_table(seed)
    robot = rne.from_dh(table, convention=convention, tool=(np.eye(3), [0.0, 0.1, 0.2]))
    rng = np.random.default_rng(100 + seed)
    for _ in range(4):
        q, qdd = rng.uniform(-2.0, 2.0, (2, robot.n))
        T, poses = frames(table, convention, q), rne.forward_kinematics(robot, q)
        for i, expected in enumerate(T[1:], 1):
            assert relative_error(poses[f"link{i}"], expected) < 1e-14
        tool = T[-1] @ [0.0, 0.1, 0.2, 1.0]
        assert relative_error(poses["tool0"][:3, 3], tool[:3], scale=1.0) < 1e-14
        M, g = mass_matrix_and_gravity(table, convention, q)
        assert relative_error(rne.mass_matrix(robot, q), M) < 1e-13
        assert relative_error(rne.gravity_torque(robot, q), g, scale=1.0) < 1e-13
        assert relative_error(rne.inverse_dynamics(robot, q, np.zeros(robot.n), qdd), M @ qdd + g) < 1e-12


@pytest.mark.parametrize(("convention", "seed"), SEEDS)
def test_written_urdfs_are_the_same_arms_in_pinocchio_and_mujoco(convention: Convention, seed: int) -> None:
    robot = rne.from_dh(random_table(seed), convention=convention)
    text = rne.to_urdf(robot)
    assert in_pinocchio(robot, text, seed) < 1e-12
    assert in_mujoco(robot, text, seed) < 1e-12
    again = rne.load_urdf(text)
    assert again.joint_names == robot.joint_names
    q, qd, qdd = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, robot.n))
    tau = rne.inverse_dynamics(robot, q, qd, qdd)
    assert relative_error(rne.inverse_dynamics(again, q, qd, qdd), tau) < 1e-13


def test_corkes_table_is_the_shipped_puma_and_the_recursion_of_luh_walker_and_paul() -> None:
    table = [
        rne.DHLink(
            a=link.a, alpha=link.alpha, d=link.d, rotor_inertia=link.gear**2 * link.rotor,
            inertia=rne.Inertia(link.mass, np.array(link.com), np.diag(link.inertia)),
        )
        for link in PUMA
    ]  # fmt: skip
    robot, shipped = rne.from_dh(table), rne.load_urdf("puma560")
    rng = np.random.default_rng(560)
    for _ in range(10):
        q, qd, qdd = rng.uniform(-3.0, 3.0, (3, 6))
        tau = rne.inverse_dynamics(robot, q, qd, qdd)
        assert relative_error(tau, inverse_dynamics(PUMA, q, qd, qdd)) < 1e-12
        assert relative_error(tau, rne.inverse_dynamics(shipped, q, qd, qdd)) < 1e-12
        assert relative_error(rne.mass_matrix(robot, q), rne.mass_matrix(shipped, q)) < 1e-12
        # frame 6 has no offset from the last joint, so both descriptions mean the same flange
        raised = rne.forward_kinematics(shipped, q)["link6"][:3, 3] - [0.0, 0.0, 0.672]
        assert relative_error(rne.forward_kinematics(robot, q)["link6"][:3, 3], raised) < 1e-12


def armstrongs_puma() -> rne.RobotModel:
    """Armstrong, Khatib and Burdick 1986, modified convention: α_{i−1}, a_{i−1}, d_i, mass, mass centre, moments."""
    rows = (
        (0.0, 0.0, 0.0, 0.0, (0, 0, 0), (0, 0, 0.35), 1.14),
        (-pi / 2, 0.0, 0.2435, 17.4, (0.068, 0.006, -0.016), (0.13, 0.524, 0.539), 4.71),
        (0.0, 0.4318, -0.0934, 4.8, (0, -0.070, 0.014), (0.066, 0.0125, 0.086), 0.827),
        (pi / 2, -0.0203, 0.4331, 0.82, (0, 0, -0.019), (1.8e-3, 1.8e-3, 1.3e-3), 0.2),
        (-pi / 2, 0.0, 0.0, 0.34, (0, 0, 0), (0.3e-3, 0.3e-3, 0.4e-3), 0.179),
        (pi / 2, 0.0, 0.0, 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3), 0.193),
    )
    return rne.from_dh(
        [
            rne.DHLink(
                a=a, alpha=alpha, d=d, rotor_inertia=rotor,
                inertia=rne.Inertia(mass, np.array(com), np.diag(inertia)),
            )
            for alpha, a, d, mass, com, inertia, rotor in rows
        ],
        convention="modified",
    )  # fmt: skip


def test_armstrongs_table_gives_the_constants_of_the_explicit_model() -> None:
    """Gravity and entries of the mass matrix in closed form, with the constants to the digits printed.

    The paper's gravity torques: τ₂ = g₁ c₂ + g₂ s₂₃ + g₃ s₂ + g₄ c₂₃ + g₅ (s₂₃ c₅ + c₂₃ c₄ s₅), τ₃ the terms in θ₂₃,
    τ₅ = g₅ (c₂₃ s₅ + s₂₃ c₄ c₅).
    """
    robot = armstrongs_puma()
    g1, g2, g3, g4, g5 = -37.2, -8.44, 1.02, 0.249, -0.0282
    for q in np.random.default_rng(6).uniform(-3.0, 3.0, (20, 6)):
        s2, c2, s4, c4, s5, c5 = (f(x) for x in (q[1], q[3], q[4]) for f in (sin, cos))
        s23, c23 = sin(q[1] + q[2]), cos(q[1] + q[2])
        forearm = g2 * s23 + g4 * c23 + g5 * (s23 * c5 + c23 * c4 * s5)
        printed = [0.0, g1 * c2 + g3 * s2 + forearm, forearm, -g5 * s23 * s4 * s5, g5 * (c23 * s5 + s23 * c4 * c5), 0.0]
        # half a unit of each constant's last digit, summed; g₂ is 0.014 N·m less than the masses printed give
        digits = [1e-12, 0.065, 0.02, 1e-4, 1e-4, 1e-12]
        assert (np.abs(rne.gravity_torque(robot, q) - printed) < digits).all()
    # the mass matrix as abbreviated in the paper, which leaves out small terms; its first entry is not compared
    rng = np.random.default_rng(86)
    for _ in range(20):
        q = np.concatenate([rng.uniform(-3.0, 3.0, 3), np.zeros(3)])
        M = rne.mass_matrix(robot, q)
        s2, c2, s3, c3 = sin(q[1]), cos(q[1]), sin(q[2]), cos(q[2])
        s23, c23 = sin(q[1] + q[2]), cos(q[1] + q[2])
        assert M[0, 1] == pytest.approx(0.69 * s2 - 0.134 * c23 + 0.0238 * c2, abs=0.005)
        assert M[0, 2] == pytest.approx(-0.134 * c23 - 3.97e-3 * s23, abs=0.001)
        assert M[1, 1] == pytest.approx(6.79 + 0.744 * s3, abs=0.03)
        assert M[1, 2] == pytest.approx(0.333 + 0.372 * s3 - 0.011 * c3, abs=0.005)
        assert M[2, 2] == pytest.approx(1.16, abs=0.005)
        assert np.diag(M)[3:] == pytest.approx([0.2, 0.18, 0.19], abs=0.005)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: rne.from_dh([]), "the Denavit-Hartenberg table is empty"),
        (lambda: rne.from_dh([rne.DHLink()], convention="craig"), "convention is 'craig'; it must be"),
        (lambda: rne.DHLink(a=float("nan")), "a is nan; it must be finite"),
        (lambda: rne.DHLink(kind="helical"), "kind is 'helical'"),
        (lambda: rne.from_dh([rne.DHLink(name="x"), rne.DHLink(name="x")]), "link 'x' is there twice"),
        (lambda: rne.from_dh([rne.DHLink()], tool=(np.eye(3), [0.0, 0.0])), "shape"),
        (lambda: rne.Inertia.from_origin(2.0, [0.5, 0, 0], 0.1 * np.eye(3)), "must not be negative; check whether"),
    ],
)
def test_what_is_no_table_is_refused(call, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        call()
