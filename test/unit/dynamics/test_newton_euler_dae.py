from __future__ import annotations

import numpy as np
import pytest
from support.arms import chain, gripper
from support.robots import robot

import rne_dynamics as rne
from rne_dynamics.dynamics.declared.arguments import bodies_wrenches, packed_base
from rne_dynamics.dynamics.free_bodies.reduced_equations import (
    newton_euler_dae_forward,
    newton_euler_dae_inverse,
    newton_euler_dae_reactions,
)
from rne_dynamics.dynamics.free_bodies.system import MaximalSystem
from rne_dynamics.dynamics.kinematics.kinematics import POSE_COLUMNS, body_poses_kernel
from rne_dynamics.model import layout
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink, rotation_about

STATES = 4


class Case:
    """Random states of a robot with external loads on some links, and a moving base where it is not floating."""

    def __init__(self, model: rne.RobotModel, seed: int = 0, count: int = STATES) -> None:
        rng = np.random.default_rng(seed)
        self.model = model
        self.q = rne.random_configuration(model, rng, count)
        self.qd, self.qdd = rng.normal(size=(2, count, model.n))
        links = [model.link_names[-1], model.link_names[len(model.link_names) // 2]]
        self.given = {"wrenches": {link: 10.0 * rng.normal(size=(count, 6)) for link in links}}
        if model.base == "fixed":
            self.given["base_motion"] = rne.BaseMotion(*rng.normal(size=(4, count, 3)))
        self.base = packed_base(model, self.given.get("base_motion"), (count,))
        self.loads = bodies_wrenches(model, self.given["wrenches"], (count,))


def second_difference(values: np.ndarray, h: float) -> np.ndarray:
    """Eighth-order second derivative at the middle of nine samples."""
    weights = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
    return np.tensordot(weights, values, axes=1) / h**2


def motion(model: rne.RobotModel, rng: np.random.Generator, times: np.ndarray):
    """q at all times, and qd, qdd at time zero: sines; a floating base turns about a fixed axis on its way."""
    amplitude, rate, phase = rng.uniform(0.2, 0.8, (3, model.n))
    amplitude[0] += 0.2
    x = amplitude * np.sin(rate * times[:, None] + phase)
    xd, xdd = amplitude * rate * np.cos(phase), -amplitude * rate**2 * np.sin(phase)
    if model.base == "fixed":
        return x, xd, xdd
    axis = np.array([0.36, -0.48, 0.8])
    half = 0.5 * x[:, 3:4]
    q = np.hstack([x[:, :3], np.sin(half) * axis, np.cos(half), x[:, 6:]])
    R = rotation_about(axis, x[len(x) // 2, 3])
    w, dw = axis * xd[3], axis * xdd[3]
    v = R.T @ xd[:3]
    return q, np.hstack([v, w, xd[6:]]), np.hstack([R.T @ xdd[:3] - np.cross(w, v), dw, xdd[6:]])


@pytest.mark.parametrize(
    ("name", "base"),
    [("puma560", "fixed"), ("scara", "fixed"), ("baxter.urdf", "fixed"), ("solo12.urdf", "floating"),
     ("talos_full_v2.urdf", "floating"), ("gripper", "fixed")],
)  # fmt: skip
def test_every_particle_of_every_body_obeys_newton(name, base):
    """Force = mass × acceleration, summed over the particles of each body, with positions differenced in time.

    A body's particles lie at p + R ρ; of their masses only m, ∫ρ dm and ∫ρρᵀ dm are needed.
    """
    model = gripper() if name == "gripper" else robot(name, base)
    rng = np.random.default_rng(5)
    h = 0.02
    q, qd, qdd = motion(model, rng, h * np.arange(-4, 5))
    poses = np.empty((9, model.bodies, POSE_COLUMNS))
    for row, out in zip(q, poses, strict=True):
        body_poses_kernel(model.topology, model.parameters, row, out)
    R, p = poses[:, :, :9].reshape(9, -1, 3, 3), poses[:, :, 9:]
    R_dd, p_dd = second_difference(R, h), second_difference(p, h)
    R, p = R[4], p[4]

    m = model.parameters[:, layout.MASS]
    first = model.parameters[:, layout.MOMENT : layout.MOMENT + 3]
    second = np.empty((model.bodies, 3, 3))
    for i, (xx, xy, xz, yy, yz, zz) in enumerate(model.parameters[:, layout.INERTIA : layout.INERTIA + 6]):
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        second[i] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    # Σ m ẍ, and Σ m x × (ẍ − g) about the world's origin, out of Σ m ẍ xᵀ
    thrust = m[:, None] * p_dd + np.einsum("bij,bj->bi", R_dd, first) - m[:, None] * model.gravity
    moved = np.einsum("bij,bj->bi", R, first)
    spread = (
        np.einsum("bi,bj,b->bij", p_dd - model.gravity, p, m)
        + np.einsum("bi,bj->bij", p_dd - model.gravity, moved)
        + np.einsum("bik,bk,bj->bij", R_dd, first, p)
        + np.einsum("bik,bkl,bjl->bij", R_dd, second, R)
    )
    torque = np.stack([spread[:, (k + 2) % 3, (k + 1) % 3] - spread[:, (k + 1) % 3, (k + 2) % 3] for k in range(3)], 1)

    loads = rng.normal(size=(1, model.bodies, 6))
    force = newton_euler_dae_reactions(model, model.base_at_rest[None], q[4:5], qd[None], qdd[None], loads)[0]
    total = np.zeros((model.bodies, 6))
    for i, parent in enumerate(model.topology[:, layout.PARENT]):
        for k, (body, sign, wrench) in enumerate(((i, 1.0, force[i]), (i, 1.0, loads[0, i]), (parent, -1.0, force[i]))):
            if k == 2 and parent < 0:
                continue
            f = R[i] @ wrench[:3]
            total[body, :3] += sign * f
            total[body, 3:] += sign * (R[i] @ wrench[3:] + np.cross(p[i], f))
    size = np.abs(force).max()
    assert np.abs(total[:, :3] - thrust).max() < 1e-9 * size
    assert np.abs(total[:, 3:] - torque).max() < 1e-9 * size


def pendulum(length: float = 0.7, mass: float = 2.0) -> rne.RobotModel:
    """A point mass on a light rod that hangs along −z at q = 0 and swings about y."""
    joint = TreeJoint("pivot", JointKind.REVOLUTE, "base", "rod", axis=np.array([0.0, 1.0, 0.0]))
    links = (TreeLink("base"), TreeLink("rod", Inertia(mass, np.array([0.0, 0.0, -length]))))
    return rne.assemble(KinematicTree("pendulum", links, (joint,)))


@pytest.mark.parametrize(("angle", "rate"), [(0.4, 1.3), (np.pi, 0.0)])
def test_reactions_of_the_pendulum_in_closed_form(angle, rate):
    model, mass, length, g = pendulum(), 2.0, 0.7, 9.81
    q, qd, rest = np.array([[angle]]), np.array([[rate]]), np.empty((1, 0, 6))
    base = model.base_at_rest[None]
    qdd = newton_euler_dae_forward(model, base, q, qd, np.zeros((1, 1)), rest)
    assert qdd[0, 0] == pytest.approx(-g / length * np.sin(angle), rel=1e-13, abs=1e-14)
    force = newton_euler_dae_reactions(model, base, q, qd, qdd, rest)[0, 0]
    link = model.link("rod")
    f = link.rotation.T @ force[:3]
    # the rod pulls its mass upward along itself; swinging freely it carries nothing across and no moment
    assert f[2] == pytest.approx(mass * (length * rate**2 + g * np.cos(angle)), rel=1e-12)
    assert np.abs(f[:2]).max() < 1e-12
    assert np.abs(force[3:]).max() < 1e-12


def test_a_robot_without_joints_and_a_batch_without_rows():
    nothing = rne.assemble(KinematicTree("block", (TreeLink("base", Inertia(1.0)),), ()))
    assert rne.forward_dynamics(nothing, [], [], [], method="newton_euler_dae").shape == (0,)
    rows = (nothing.base_at_rest[None], *np.empty((3, 1, 0)), np.empty((1, 0, 6)))
    assert newton_euler_dae_inverse(nothing, *rows).shape == (1, 0)
    assert newton_euler_dae_reactions(nothing, *rows).shape == (1, 0, 6)
    model = chain(2)
    assert rne.forward_dynamics(model, *np.empty((3, 0, 2)), method="newton_euler_dae").shape == (0, 2)


def test_the_system_is_symmetric_in_the_equations_own_order():
    """[[𝓜, −Kᵀ, 0], [−K, 0, S], [0, Sᵀ, J]]: the same numbers carry motion outward and forces inward."""
    model = gripper()
    case = Case(model)
    system = MaximalSystem.of(model)
    blocks = system.blocks(case.base[0], case.q[0], case.qd[0], case.loads[0])
    matrix = system.matrix(blocks.transfer).toarray()
    F, a, q = system.force.ravel(), system.motion.ravel(), system.coordinate
    ordered = matrix[np.ix_([*F, *a, *q], [*a, *F, *q])]
    assert np.array_equal(ordered, ordered.T)
    assert np.array_equal(-matrix[np.ix_(a, a)], system.constraint_matrix(blocks.transfer).toarray())
