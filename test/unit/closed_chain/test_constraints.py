from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.differences import rate
from support.errors import relative_error
from support.mechanisms import X, Y, Z, bar, revolute, tree

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
