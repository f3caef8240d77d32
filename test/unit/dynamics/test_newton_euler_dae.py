from __future__ import annotations

import numpy as np
import pytest
from support.arms import chain, gripper

import rne_dynamics as rne
from rne_dynamics.dynamics.free_bodies.reduced_equations import (
    newton_euler_dae_forward,
    newton_euler_dae_inverse,
    newton_euler_dae_reactions,
)
from rne_dynamics.dynamics.free_bodies.system import MaximalSystem, maximal_pattern
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink


def pendulum(length: float = 0.7, mass: float = 2.0) -> rne.RobotModel:
    """A point mass on a light rod that hangs along −z at q = 0 and swings about y."""
    joint = TreeJoint("pivot", JointKind.REVOLUTE, "base", "rod", axis=np.array([0.0, 1.0, 0.0]))
    links = (TreeLink("base"), TreeLink("rod", Inertia(mass, np.array([0.0, 0.0, -length]))))
    return rne.assemble(KinematicTree("pendulum", links, (joint,)))


@pytest.mark.parametrize(("angle", "rate"), [(0.0, 0.0), (0.4, 1.3), (-2.0, -3.0), (np.pi, 0.0)])
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


def test_a_pattern_is_made_once_for_a_topology_and_its_fill_grows_with_the_bodies():
    assert maximal_pattern(chain(5).topology) is maximal_pattern(chain(5, rotor=1.0).topology)
    entries = [len(maximal_pattern(chain(n).topology).system[0]) for n in (10, 20, 30)]
    assert entries[2] - entries[1] == entries[1] - entries[0]


def test_the_system_is_symmetric_in_the_equations_own_order():
    """[[𝓜, −Kᵀ, 0], [−K, 0, S], [0, Sᵀ, J]]: the same numbers carry motion outward and forces inward."""
    model, rng = gripper(), np.random.default_rng(0)
    system = MaximalSystem.of(model)
    blocks = system.blocks(model.base_at_rest, *rng.normal(size=(2, model.n)), rng.normal(size=(model.bodies, 6)))
    matrix, pattern = system.matrix(blocks.transfer).toarray(), system.pattern
    F, a, q = pattern.force.ravel(), pattern.motion.ravel(), pattern.coordinate
    ordered = matrix[np.ix_([*F, *a, *q], [*a, *F, *q])]
    assert np.array_equal(ordered, ordered.T)
    assert np.array_equal(-matrix[np.ix_(a, a)], system.constraint_matrix(blocks.transfer).toarray())
