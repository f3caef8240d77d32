from __future__ import annotations

import numpy as np
import pytest
from analytic.vukobratovic import Member, equations, relative_transition
from support.errors import relative_error

import rne_dynamics as rne
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink


def two_freedom_members(n: int, rng: np.random.Generator) -> tuple[Member, ...]:
    def unit() -> np.ndarray:
        v = rng.normal(size=3)
        return v / np.linalg.norm(v)

    def inertia() -> np.ndarray:
        half = rng.normal(size=(3, 3))
        return 0.05 * (half @ half.T + np.eye(3))

    return tuple(Member(unit(), rng.normal(size=3), unit(), unit(), rng.uniform(0.5, 2.0), inertia()) for _ in range(n))


def two_freedom_robot(members: tuple[Member, ...], gravity: np.ndarray) -> rne.RobotModel:
    """Each joint of the document as a revolute one, a body without mass and a prismatic one along the link."""
    links, joints, below = [TreeLink("base")], [], "base"
    for i, m in enumerate(members, 1):
        joints.append(
            TreeJoint(f"phi{i}", JointKind.REVOLUTE, below, f"carrier{i}",
                      rotation=relative_transition(m), position=-m.r_before, axis=m.e_own)
        )  # fmt: skip
        joints.append(TreeJoint(f"x{i}", JointKind.PRISMATIC, f"carrier{i}", f"member{i}", axis=m.r_own))
        below = f"member{i}"
        links += [TreeLink(f"carrier{i}"), TreeLink(below, Inertia(m.mass, np.zeros(3), m.J))]
    return rne.assemble(KinematicTree("two freedoms a joint", tuple(links), tuple(joints)), gravity=gravity)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_joints_of_two_freedoms_as_the_document_writes_them(n, seed):
    rng = np.random.default_rng((n, seed))
    members, gravity = two_freedom_members(n, rng), 9.81 * rng.normal(size=3)
    model = two_freedom_robot(members, gravity)
    q, qd = rng.normal(size=2 * n), rng.normal(size=2 * n)
    assert model.joint_names == tuple(name for i in range(1, n + 1) for name in (f"phi{i}", f"x{i}"))
    ours, theirs = rne.lagrange_terms(model, q, qd), equations(members, q, qd, gravity)
    for name in theirs._fields:
        assert relative_error(getattr(ours, name), getattr(theirs, name)) < 1e-12, name
