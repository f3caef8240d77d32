from __future__ import annotations

import numpy as np
import pytest
from support.arms import chain

import rne_dynamics as rne
from rne_dynamics.dynamics.free_bodies.reduced_equations import (
    newton_euler_dae_forward,
    newton_euler_dae_inverse,
    newton_euler_dae_reactions,
)
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink


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
