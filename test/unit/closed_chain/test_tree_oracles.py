"""Forward dynamics in tree coordinates against Pinocchio's constraintDynamics and MuJoCo, near singularities too.

Pinocchio is the whole peer: its own tree, constraints, drift and solver. MuJoCo gives inertia, bias and the Jacobian of
its equality constraints, which are solved exactly; its own soft solver is compared from rest.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.errors import relative_error
from support.mechanisms import five_bar, four_bar, ladder, rod_between_balls, states, stewart_platform

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.coordinates import motion_map
from rne_dynamics.closed_chain.tree_dynamics import tree_forward_dynamics
from rne_dynamics.errors import SingularPostureError
from rne_dynamics.model.assembly import assemble as assemble_tree
from rne_dynamics.model.inertia import Inertia

pytest.importorskip("pinocchio", reason="the oracle is Pinocchio: rosdep, or pip install '.[test]'")
pytest.importorskip("mujoco", reason="the oracle is MuJoCo: pip install '.[test]'")
from support.constrained_engines import ConstrainedMujoco, ConstrainedPinocchio, in_mujoco
from support.multipliers import Closed

#: Distances from the singular posture, rad.
NEAR = (0.3, 1e-4, 1e-8, 0.0)


def heavy(mechanism):
    """The same with mass on bodies that have none: MuJoCo takes no moving body without."""
    tree = mechanism.robot.tree
    small = Inertia(0.05, np.array([0.01, 0.02, 0.0]), 1e-4 * np.diag([1.0, 2.0, 2.5]))
    links = tuple(
        replace(link, inertia=small) if link.name != tree.root and not (link.inertia and link.inertia.mass) else link
        for link in tree.links
    )
    return replace(mechanism, robot=assemble_tree(replace(tree, links=links), gravity=mechanism.gravity))


REGULAR = {
    "crooked idle rod": lambda: rod_between_balls(axisymmetric=False),
    "one motor of two": lambda: five_bar(("left",)),
    "three motors of two": lambda: replace(five_bar(), joint_names=("left", "right", "left_rod")),
    "Stewart platform": stewart_platform,
}


@cache
def engines(name: str):
    mechanism = heavy({**REGULAR, **SINGULAR}[name]())
    return mechanism, ConstrainedPinocchio(mechanism), ConstrainedMujoco(mechanism) if in_mujoco(mechanism) else None


def velocity(mechanism, x: np.ndarray, seed: int) -> np.ndarray:
    """Velocities of all joints of the tree that the loops allow; independent of `closed_chain`."""
    K = Closed(mechanism).K(x)
    _, sizes, V = np.linalg.svd(K)
    free = V[int((sizes > 1e-7 * sizes[0]).sum()) :]
    return np.random.default_rng(seed).normal(size=len(free)) @ free


def disagreement(name: str, x: np.ndarray, xd: np.ndarray, seed: int) -> dict[str, float]:
    """Of accelerations of all joints, relative, with each engine; MuJoCo's own solver from rest."""
    mechanism, pinocchio, mujoco = engines(name)
    tau = np.random.default_rng(seed).normal(size=mechanism.n)
    ours = tree_forward_dynamics(mechanism, x, xd, tau)
    found = {"Pinocchio": relative_error(ours, pinocchio.forward(x, xd, tau))}
    if mujoco is not None:
        found["MuJoCo's terms"] = relative_error(ours, mujoco.forward(x, xd, tau))
        if mujoco.exact:
            still = tree_forward_dynamics(mechanism, x, np.zeros_like(xd), tau)
            found["MuJoCo's solver"] = relative_error(still, mujoco.soft_forward(x, tau))
    return found


#: What the peers' methods allow: round-off; MuJoCo's K̇ by differences; its soft constraints give way by 1e-4.
ALLOWED = {"Pinocchio": 1e-11, "MuJoCo's terms": 1e-11, "MuJoCo's solver": 1e-3}


@pytest.mark.parametrize("name", REGULAR)
def test_regular_postures(name):
    mechanism = engines(name)[0]
    for seed in range(2):
        x = np.array(mechanism.posture)
        if seed and name != "three motors of two":
            x = assemble(mechanism, states(mechanism, 3, seed)[0][seed] * 0.3 + 0.7 * mechanism.neutral)
        for peer, error in disagreement(name, x, velocity(mechanism, x, seed), seed).items():
            assert error < ALLOWED[peer], (peer, error)


def dead_point(distance: float) -> np.ndarray:
    """Four-bar with the angle `distance` between crank and coupler: at 0 its rocker cannot move the crank."""
    reach = 0.2 + 0.5 * np.exp(1j * distance)
    way = np.arccos((abs(reach) ** 2 + 0.45**2 - 0.4**2) / (2.0 * abs(reach) * 0.45))
    end = abs(reach) * np.exp(1j * way)
    return np.array([way - np.angle(reach), distance, np.angle(end - 0.45)])


def rods_in_line(distance: float) -> np.ndarray:
    """Five-bar, symmetric, its rods at the angle `distance` from one line: at 0 the cranks do not hold their pin."""
    left = np.arccos((0.2 - 0.45 * np.cos(distance)) / 0.3)
    return np.array([left, distance - left, np.pi - left, left - distance])


SINGULAR = {
    "four_bar driven at its rocker": lambda: replace(four_bar("coupler"), joint_names=("rocker",)),
    "five_bar with its rods in line": five_bar,
}
PLACED = {
    "four_bar driven at its rocker": (dead_point, ("crank", "coupler", "rocker")),
    "five_bar with its rods in line": (rods_in_line, ("left", "left_rod", "right", "right_rod")),
}


@pytest.mark.parametrize("distance", NEAR)
@pytest.mark.parametrize("name", SINGULAR)
def test_where_the_motors_lose_their_hold(name, distance):
    mechanism = engines(name)[0]
    place, joints = PLACED[name]
    x = np.empty(len(joints))
    x[[mechanism.robot.joint_index(joint) for joint in joints]] = place(distance)
    assert np.abs(Closed(mechanism).residual(x)).max() < 1e-15
    if distance > 1e-5:
        assert motion_map(mechanism, x).smallest < 2.0 * distance
    if distance == 0.0:
        with pytest.raises(SingularPostureError):
            rne.inverse_dynamics(mechanism.with_posture(x), x[mechanism.actuated], [0.0] * mechanism.n,
                                 [1.0] * mechanism.n)  # fmt: skip
    for seed in range(1):
        for peer, error in disagreement(name, x, velocity(mechanism, x, seed), seed).items():
            assert error < ALLOWED[peer], (peer, error)


@pytest.mark.parametrize("angle", [1.0, 1e-4, 0.0])
def test_where_the_constraints_lose_rank(angle):
    # a parallelogram as the one freedom that it is on its branch: top against left, right as left
    plane, way = ladder(1), np.array([1.0, -1.0, 1.0])
    places = [plane.robot.joint_index(name) for name in ("left0", "top0", "right0")]
    T = np.zeros(3)
    T[places] = way
    x, xd, tau = angle * T, 2.0 * T, np.array([0.7])
    mujoco = ConstrainedMujoco(plane)
    M, bias = mujoco.terms(x, xd)
    drive = np.zeros(3)
    drive[plane.actuated] = tau
    wanted = T * (T @ (drive - bias)) / (T @ M @ T)
    assert relative_error(tree_forward_dynamics(plane, x, xd, tau), wanted) < TURNING[angle]


#: Next to flat the mean of both sides, 1e-3 rad apart, takes over.
TURNING = {1.0: 1e-12, 1e-4: 2e-6, 0.0: 2e-6}
