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


@pytest.mark.parametrize(("n", "seed"), [(1, 0), (3, 1)])
def test_joints_of_two_freedoms_as_the_document_writes_them(n, seed):
    rng = np.random.default_rng((n, seed))
    members, gravity = two_freedom_members(n, rng), 9.81 * rng.normal(size=3)
    model = two_freedom_robot(members, gravity)
    q, qd = rng.normal(size=2 * n), rng.normal(size=2 * n)
    assert model.joint_names == tuple(name for i in range(1, n + 1) for name in (f"phi{i}", f"x{i}"))
    ours, theirs = rne.lagrange_terms(model, q, qd), equations(members, q, qd, gravity)
    for name in theirs._fields:
        assert relative_error(getattr(ours, name), getattr(theirs, name)) < 1e-12, name


@pytest.mark.parametrize(
    ("slip", "terms"),
    [("(16)", {"W", "W_dot", "dT_dq"}), ("(33)", {"W_dot"}), ("(34)", {"W_dot"}), ("(45)", {"dT_dq"}), ("(54)", {"Y"})],
)
def test_slips_of_the_print(slip, terms):
    """With one equation as the print or its scan has it, the terms built on it are no longer those of the engine."""
    rng = np.random.default_rng(33)
    members, gravity = two_freedom_members(3, rng), 9.81 * rng.normal(size=3)
    q, qd = rng.normal(size=(2, 6))
    ours = rne.lagrange_terms(two_freedom_robot(members, gravity), q, qd)
    printed = equations(members, q, qd, gravity, (slip,))
    names = ("W", "W_dot", "dT_dq", "Y")
    errors = {name: relative_error(getattr(ours, name), getattr(printed, name)) for name in names}
    assert {name for name, error in errors.items() if error > 1e-3} == terms, errors
    assert all(error < 1e-12 for name, error in errors.items() if name not in terms)


def test_rates_of_one_link_by_the_recurrence():
    """(2), (3): ω, v, ε and w of every mass centre from those of the link before, against this package's kinematics."""
    rng = np.random.default_rng(0)
    members = two_freedom_members(3, rng)
    robot = two_freedom_robot(members, np.zeros(3))
    q, qd, qdd = rng.normal(size=(3, 6))
    poses = rne.forward_kinematics(robot, q)
    w, v, dw, a = np.zeros((4, 3))
    before = np.eye(3)
    for i, m in enumerate(members, 1):
        e, R = before @ m.e_before, poses[f"member{i}"][:3, :3]
        back, out = before @ m.r_before, R @ m.r_own
        (turn, slide), (dturn, dslide) = qd[2 * i - 2 : 2 * i], qdd[2 * i - 2 : 2 * i]
        # (2) up to the joint, then with the new ω and ε to the mass centre, (3) with the slide
        v, a = v - np.cross(w, back), a - np.cross(dw, back) - np.cross(w, np.cross(w, back))
        dw, w = dw + dturn * e + turn * np.cross(w, e), w + turn * e
        r = q[2 * i - 1] * out
        v = v + np.cross(w, r) + slide * out
        a = a + np.cross(dw, r) + np.cross(w, np.cross(w, r)) + dslide * out + 2.0 * slide * np.cross(w, out)
        J, rate = rne.jacobian(robot, q, f"member{i}"), rne.jacobian_rate(robot, q, qd, f"member{i}")
        assert relative_error(J @ qd, np.concatenate([v, w])) < 1e-12
        assert relative_error(J @ qdd + rate @ qd, np.concatenate([a, dw])) < 1e-12
        before = R
