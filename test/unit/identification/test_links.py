"""Identified bodies in the links of descriptions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.robots import robot as named

import rne_dynamics as rne
from rne_dynamics.identification.consistent_fit import corrected, pseudo_inertia
from rne_dynamics.identification.models import links_with


@pytest.mark.parametrize("name", ["puma560", "tiago_dual.urdf"])
@pytest.mark.parametrize("spread", [0.1, 0.9])
def test_links_make_the_bodies_and_are_bodies(name, spread):
    robot = named(name)
    rng = np.random.default_rng(0)
    P, _ = corrected(rne.inertial_parameters(robot), robot.body_names)
    A = np.eye(4) + spread * rng.uniform(-0.4, 0.4, P.shape)  # masses down to 1 %, so that no one link can change alone
    new = rng.uniform(1.0 - 1.1 * spread, 1.0, (len(P), 1, 1)).clip(0.01) * (A @ P @ A.swapaxes(1, 2))
    links = links_with(robot, new)
    tree = replace(robot.tree, links=tuple(links.get(x.name, x) for x in robot.tree.links))
    found = pseudo_inertia(rne.inertial_parameters(rne.assemble(tree)))
    assert (np.abs(found - new).max(axis=(1, 2)) < 1e-9 * np.abs(new).max(axis=(1, 2))).all()
    every = np.array([x.inertia.second_moments for x in links.values()])
    assert (np.linalg.eigvalsh(every)[:, 0] > 0.0).all()
