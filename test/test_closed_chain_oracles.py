"""Closed loops against engines that share nothing with `closed_chain`.

Multipliers: our Lagrangian engine's terms of the open tree and loops in complex arithmetic (support/multipliers.py).
Pinocchio: its `constraintDynamics`. MuJoCo: its inertia, bias and constraint Jacobian, solved here; and its own solver.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support import mechanisms
from support.constrained_engines import ConstrainedMujoco, ConstrainedPinocchio, expressible, in_mujoco
from support.errors import relative_error
from support.multipliers import Closed, link_poses

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.inverse_dynamics import closed_forward_dynamics, closed_inverse_dynamics
from rne_dynamics.model.assembly import assemble as assemble_tree
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.mechanism import Loop, LoopFrame, LoopKind, Mechanism
from rne_dynamics.model.tree import JointKind, KinematicTree, Limits, TreeJoint, TreeLink, rotation_about

#: Where only round-off separates two engines.
ROUND_OFF = 1e-11
#: MuJoCo's impedance ends at 0.9999: its constraints yield by 1e-4 of their load.
SOFT = 1e-2
STATES = 5
ROOT = Path(__file__).parents[1]


def between_two_arms(kind: LoopKind) -> Mechanism:
    """Two arms in general position that hold each other's ends by a joint of any kind.

    Two motors, and as many passive joints as the joint blocks directions, one or two of them slides. Of random arms the
    first that is well away from a singular posture.
    """
    return next(m for seed in range(1000) if (m := _two_arms(kind, seed)) is not None)


def _two_arms(kind: LoopKind, seed: int) -> Mechanism | None:
    rng = np.random.default_rng(seed)
    count = len(kind.value) + 2
    ends = {"left": (count + 1) // 2, "right": count // 2}
    links, joints = [TreeLink("base")], []
    for arm, length in ends.items():
        below = "base"
        for k in range(length):
            points = rng.uniform(-0.1, 0.1, (6, 3))
            spread = points.T @ points  # second moments of six particles of 1 kg
            inertia = Inertia(6.0, rng.uniform(-0.1, 0.1, 3), np.trace(spread) * np.eye(3) - spread)
            joints.append(
                TreeJoint(
                    f"{arm}{k}", JointKind.PRISMATIC if k == 2 else JointKind.REVOLUTE, below, f"{arm} link {k}",
                    rotation=rotation_about(np.array([0.6, 0.0, 0.8]), rng.uniform(-1.0, 1.0)),
                    position=rng.uniform(-0.4, 0.4, 3), axis=rng.normal(size=3), limits=Limits(-0.25, 0.25),
                    rotor_inertia=0.1 if k == 0 else 0.0,
                )
            )  # fmt: skip
            below = f"{arm} link {k}"
            links.append(TreeLink(below, inertia))
    robot = assemble_tree(KinematicTree(f"two arms, {kind.name.lower()}", tuple(links), tuple(joints)))
    a, b = (f"{arm} link {length - 1}" for arm, length in ends.items())
    turn, place = rotation_about(np.array([0.0, 0.6, 0.8]), 0.7), np.array([0.1, 0.05, -0.1])
    poses = link_poses(robot, np.zeros(robot.n))
    (R_a, p_a), (R_b, p_b) = poses[a], poses[b]
    there = LoopFrame(b, R_b.T @ R_a @ turn, R_b.T @ (p_a + R_a @ place - p_b))
    loop = Loop.of_kind("hold", kind, LoopFrame(a, turn, place), there)
    mechanism = Mechanism(robot, (loop,), ("left0", "right0"), np.zeros(robot.n))
    K = Closed(mechanism).K(mechanism.posture)
    carried = np.linalg.lstsq(K[:, mechanism.passive], K[:, mechanism.actuated], rcond=None)[0]
    return mechanism if np.abs(carried).max() < 2.0 else None


#: Every mechanism that ships and those of other kinds, by name; made when asked for, since making compiles kernels.
CASES: dict[str, Callable[[], Mechanism]] = {
    **{name: partial(rne.load_model, name) for name in ("five_bar", "delta")},
    **{f"built {name}": mechanisms.MECHANISMS[name] for name in ("geared_five_bar", "space_linkage")},
    "built four_bar, cut at coupler": partial(mechanisms.four_bar, "coupler"),
    "two parallelograms": partial(mechanisms.ladder, 2),
    "pantograph with its pins": partial(rne.load_model, ROOT / "examples" / "pantograph_pins.yaml"),
    **{f"two arms, {kind.name.lower()}": partial(between_two_arms, kind) for kind in LoopKind},
}


class States:
    """Random states near a mechanism's posture, closed by the oracle itself; `x` of the tree, `q` actuated."""

    def __init__(self, mechanism: Mechanism) -> None:
        rng = np.random.default_rng(0)
        self.mechanism, self.oracle = mechanism, Closed(mechanism)
        k = mechanism.actuated
        reach = np.minimum(0.2, 0.1 * (mechanism.upper - mechanism.lower))
        shape = (STATES, mechanism.n)
        near = mechanism.neutral + reach * rng.uniform(-1.0, 1.0, shape)
        speeds, self.tau = rng.normal(size=shape), 10.0 * rng.normal(size=shape)
        self.x = np.array([self.oracle.close(q) for q in near])
        self.xd = np.array([self.oracle.T(x) @ v for x, v in zip(self.x, speeds, strict=True)])
        self.xdd = self.each(self.oracle.forward, self.x, self.xd, self.tau)
        self.q, self.qd, self.qdd = self.x[:, k], self.xd[:, k], self.xdd[:, k]

    def each(self, f: Callable[..., np.ndarray], *rows: np.ndarray) -> np.ndarray:
        return np.array([f(*row) for row in zip(*rows, strict=True)])


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.slow] * (name == "delta")) for name in CASES
])
def test_every_engine_agrees(name: str) -> None:
    s = States(CASES[name]())
    m, k = s.mechanism, s.mechanism.actuated
    assert relative_error(assemble(m, s.q), s.x) < ROUND_OFF
    inverse = closed_inverse_dynamics(m, s.q, s.qd, s.qdd)
    forward = [
        closed_forward_dynamics(m, s.q, s.qd, s.tau, method=method) for method in ("walker_orin", "constraint_forces")
    ]
    engines = [s.oracle, *([ConstrainedPinocchio(m)] if expressible(m) else [])]
    if in_mujoco(m):
        mujoco = ConstrainedMujoco(m)
        engines.append(mujoco)
        if expressible(m):
            resting = closed_forward_dynamics(m, s.q, 0.0 * s.qd, s.tau)
            assert relative_error(s.each(mujoco.soft_forward, s.x, s.tau)[:, k], resting) < SOFT
    for engine in engines:
        assert relative_error(inverse, s.each(engine.inverse, s.x, s.xd, s.xdd)) < ROUND_OFF, engine
        qdd = s.each(engine.forward, s.x, s.xd, s.tau)[:, k]
        assert all(relative_error(found, qdd) < ROUND_OFF for found in forward), engine
