"""The recursions of flexible arms against Lagrange's equations derived from the energies of particles."""

from __future__ import annotations

import numpy as np
import pytest
from support.flexible_energy import arm_particles, energy_equations
from support.flexible_links import cloud_arm, two_beams

import rne_dynamics as rne
from rne_dynamics.flexible.equations import equations_of_motion
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink, rotation_about
from rne_dynamics.verification import agreement

KINDS = (JointKind.REVOLUTE, JointKind.FIXED, JointKind.PRISMATIC, JointKind.CONTINUOUS, JointKind.PLANAR)


def _random_tree(rng, links=9):
    """Links in general position on earlier ones, with every kind of joint, so that bent links carry several bodies."""
    made, joints = [TreeLink("base")], []
    for k in range(links):
        root = 0.05 * rng.normal(size=(3, 3))
        about = root @ root.T + 0.01 * np.eye(3)
        about = np.trace(about) * np.eye(3) - about  # of positive second moments
        made.append(TreeLink(f"link{k}", rne.Inertia(1.0 + rng.random(), 0.1 * rng.normal(size=3), about)))
        kind = KINDS[k % len(KINDS)] if k else JointKind.REVOLUTE
        parent = "base" if k == 0 else f"link{rng.integers(max(0, k - 3), k)}"
        joints.append(
            TreeJoint(
                f"joint{k}", kind, parent, f"link{k}", rotation_about(_unit(rng), rng.normal()),
                0.3 * rng.normal(size=3), rng.normal(size=3), rotor_inertia=0.0 if kind is JointKind.FIXED else 0.3,
            )
        )  # fmt: skip
    return rne.assemble(KinematicTree("random", tuple(made), tuple(joints)))


def _unit(rng):
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def _base_motion(rng):
    a, w, dw, v = rng.normal(size=(4, 3))
    return rne.BaseMotion(a, w, dw, v, rotation_about(_unit(rng), rng.normal()))


def _assert_same(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-12 * np.abs(b).max())


def _state(arm, rng, *lead):
    return (
        rng.normal(size=(*lead, arm.n)), 0.3 * rng.normal(size=(*lead, arm.modes)),
        rng.normal(size=(*lead, arm.n)), rng.normal(size=(*lead, arm.modes)),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "modes", "stiffening"),
    [
        ("puma560", {"link2": 2, "link4": 3}, False),
        ("puma560", {"link1": 1, "link2": 1, "link3": 2, "link4": 1, "link5": 1, "link6": 1}, True),
        ("cylindrical", {"link1": 2, "link2": 1}, True),
    ],
)
def test_shipped_arms(name, modes, stiffening):
    rng = np.random.default_rng(3)
    arm, particles = cloud_arm(rne.load_urdf(name), modes, rng, stiffening=stiffening)
    state = _state(arm, rng, 2)
    _assert_same(equations_of_motion(arm, *state), energy_equations(arm, particles, *state))


@pytest.mark.parametrize("seed", range(2))
def test_random_trees_with_loads_on_a_moving_base(seed):
    rng = np.random.default_rng(seed)
    robot = _random_tree(rng)
    chosen = rng.choice(robot.link_names[1:], size=4, replace=False)
    arm, particles = cloud_arm(robot, {str(k): 1 + i % 3 for i, k in enumerate(chosen)}, rng, stiffening=seed % 2 == 1)
    state = _state(arm, rng)
    wrenches = {link: 10.0 * rng.normal(size=6) for link in robot.link_names}
    for given in ({}, {"wrenches": wrenches, "base_motion": _base_motion(rng)}):
        expected = energy_equations(arm, particles, *state, **given)
        _assert_same(equations_of_motion(arm, *state, **given), expected)
        _assert_same(agreement.energy_equations(arm, *state, **given), expected)


def test_two_arms_and_a_fixed_body_on_a_bent_link():
    rng = np.random.default_rng(7)
    body = rne.Inertia(1.0, np.array([0.1, 0.02, 0.0]), np.diag([0.02, 0.03, 0.03]))
    links = (TreeLink("base"), *(TreeLink(name, body) for name in ("trunk", "left", "right", "sensor", "hand")))
    tip = np.array([0.4, 0.05, 0.0])
    joints = (
        TreeJoint("yaw", JointKind.REVOLUTE, "base", "trunk"),
        TreeJoint("left", JointKind.REVOLUTE, "trunk", "left", position=tip, axis=np.array([0.0, 1.0, 0.0])),
        TreeJoint("right", JointKind.PRISMATIC, "trunk", "right", position=-tip, axis=np.array([1.0, 0.0, 0.0])),
        TreeJoint("mount", JointKind.FIXED, "trunk", "sensor", position=0.5 * tip),
        TreeJoint("flange", JointKind.FIXED, "left", "hand", position=tip),
    )
    robot = rne.assemble(KinematicTree("two_arms", links, joints))
    arm, particles = cloud_arm(robot, {"trunk": 3, "left": 2}, rng, stiffening=True)
    assert arm.fixed_bodies == {"mount", "flange"}
    state = _state(arm, rng)
    loads = {"wrenches": {"sensor": rng.normal(size=6), "hand": rng.normal(size=6), "right": rng.normal(size=6)}}
    _assert_same(equations_of_motion(arm, *state, **loads), energy_equations(arm, particles, *state, **loads))


@pytest.mark.parametrize(("shapes", "stiffening"), [
    pytest.param("clamped_mass", True, marks=pytest.mark.slow), ("finite_element", False),
])  # fmt: skip
def test_beams_of_every_shape(shapes, stiffening):
    arm, _ = two_beams(shapes, stiffening=stiffening)
    rng = np.random.default_rng(11)
    q, delta, qd, deltad = _state(arm, rng)
    particles = arm_particles(arm)
    for name, matter in particles.items():  # the beam is all there
        inertia = arm.flexible_link(name).inertia
        assert matter.mass.sum() == pytest.approx(inertia.mass, rel=1e-13)
        np.testing.assert_allclose(matter.mass @ matter.position, inertia.first_moment, rtol=1e-12)
    state = (q, 0.1 * delta, qd, deltad)
    _assert_same(equations_of_motion(arm, *state), energy_equations(arm, particles, *state))
