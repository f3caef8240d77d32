from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.differences import rate
from support.errors import relative_error
from support.mechanisms import X, Y, Z, bar, revolute, tree

import rne_dynamics as rne
from rne_dynamics.closed_chain.constraints import FORCE, MOMENT
from rne_dynamics.closed_chain.independence import evaluated
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.model.mechanism import Loop, LoopFrame, Mechanism
from rne_dynamics.model.tree import JointKind, Mimic, TreeJoint, rotation_about

BLOCKED = [flags for flags in product((False, True), repeat=6) if any(flags)]


def branches(blocked, end: str = "c") -> Mechanism:
    """Two branches in space on one turning body, one with a slide and a geared joint; a loop between their ends."""
    inertias = {name: bar(0.3) for name in ("waist", "a", "b", "c", "d")}
    joints = [
        revolute("waist", "base", "waist", (0.1, 0.2, 0.0), Y),
        revolute("a", "waist", "a", (0.0, 0.1, 0.3), X),
        TreeJoint("b", JointKind.PRISMATIC, "a", "b", position=np.array([0.2, 0.0, 0.1]), axis=Y),
        revolute("c", "waist", "c", (0.3, -0.1, 0.0), Z),
        TreeJoint("d", JointKind.REVOLUTE, "c", "d", position=0.2 * X, axis=Y, mimic=Mimic("a", -1.5, 0.3)),
    ]
    robot = tree("branches", inertias, joints)
    a = LoopFrame("b", rotation_about(X, 0.7), np.array([0.1, 0.05, -0.02]))
    b = LoopFrame(end, rotation_about(Z, -0.4), np.array([-0.03, 0.2, 0.1]))
    return Mechanism(robot, (Loop("loop", a, b, np.array(blocked)),), ("waist",), np.zeros(robot.n))


@pytest.mark.parametrize("end", ["d", "base"])
def test_rates_of_every_choice_of_directions_against_differences(end):
    rng = np.random.default_rng(0)
    for blocked in BLOCKED:
        mechanism = branches(blocked, end)
        packed = pack(mechanism)
        work = workspace(packed)
        q, qd, qdd = rng.normal(size=(3, mechanism.robot.n))

        def residual(t: float, packed=packed, work=work, q=q, qd=qd, qdd=qdd) -> np.ndarray:
            return evaluated(packed, work, q + t * qd + 0.5 * t * t * qdd).residual.copy()

        def velocity(t: float, packed=packed, work=work, q=q, qd=qd, qdd=qdd) -> np.ndarray:
            return evaluated(packed, work, q + t * qd + 0.5 * t * t * qdd).K @ (qd + t * qdd)

        first, second = rate(residual), rate(velocity)
        evaluated(packed, work, q, qd)
        assert relative_error(work.K @ qd, first, scale=1.0) < 1e-10, blocked
        assert relative_error(work.K @ qdd + work.drift, second, scale=1.0) < 1e-10, blocked


def test_rows_are_wrenches_that_do_the_constraints_work():
    mechanism = branches((True,) * 6, "d")
    robot, packed = mechanism.robot, pack(mechanism)
    rng = np.random.default_rng(1)
    q = rng.normal(size=robot.n)
    work = evaluated(packed, workspace(packed), q)
    poses = rne.forward_kinematics(robot, q)
    frame = mechanism.loops[0].b
    at = robot.link_names.index("d")
    place = poses.position[at] + poses.rotation[at] @ frame.position
    motions = []
    for link in ("b", "d"):  # of the point at B's origin, moving with either link
        k = robot.link_names.index(link)
        J = rne.jacobian(robot, q, link)
        motions.append((J[:3] + np.cross(J[3:].T, place - poses.position[k]).T, J[3:]))
    (v_a, w_a), (v_b, w_b) = motions
    expected = work.rows[:, FORCE : FORCE + 3] @ (v_b - v_a) + work.rows[:, MOMENT : MOMENT + 3] @ (w_b - w_a)
    assert relative_error(work.K, expected) < 1e-13


def test_joints_below_the_loop_do_not_enter():
    mechanism = branches((True,) * 6, "d")
    packed = pack(mechanism)
    work = evaluated(packed, workspace(packed), np.array([0.3, -0.2, 0.1, 0.5]))
    assert not work.K[:, mechanism.robot.joint_index("waist")].any()
