"""Loops close as their joint holds them, and not half a turn off, from whatever posture one starts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.mechanisms import X, Y, Z, bar, four_bar, revolute, tree

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble, assembled
from rne_dynamics.closed_chain.coordinates import mobility
from rne_dynamics.errors import AssemblyError
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.mechanism import Loop, LoopFrame, LoopKind, Mechanism
from rne_dynamics.model.tree import TreeJoint, rotation_about


def chain_of_four(kind: LoopKind, last: TreeJoint | None = None) -> Mechanism:
    """Crank 0.2, coupler 0.5, rocker 0.4 m in a plane and a fourth joint at the ground, where the loop is cut."""
    inertias = {"crank": bar(0.2), "coupler": bar(0.5, 2.0), "rocker": bar(0.4, 1.5), "foot": bar(0.1)}
    joints = [
        revolute("crank", "base", "crank", rotor=0.02),
        revolute("coupler", "crank", "coupler", (0.2, 0, 0)),
        revolute("knee", "coupler", "rocker", (0.5, 0, 0)),
        last or revolute("ankle", "rocker", "foot", (0.4, 0, 0)),
    ]
    robot = tree("chain_of_four", inertias, joints)
    loop = Loop.of_kind("ground", kind, LoopFrame("base", position=0.45 * X), LoopFrame("foot"))
    values = {"crank": 0.8, "coupler": -0.4, "knee": -1.6, "ankle": 1.2}
    posture = np.array([values.get(name, 0.0) for name in robot.joint_names])
    return assembled(Mechanism(robot, (loop,), ("crank",), posture))


def slider_crank_cut_at_the_slide() -> Mechanism:
    """Crank 0.15, rod 0.4 m, and a slider that a prismatic loop holds on the base."""
    inertias = {"crank": bar(0.15), "rod": bar(0.4), "slider": bar(0.1)}
    joints = [
        revolute("crank", "base", "crank"),
        revolute("rod", "crank", "rod", (0.15, 0, 0)),
        revolute("wrist", "rod", "slider", (0.4, 0, 0)),
    ]
    robot = tree("slider_crank", inertias, joints)
    along_x = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    ends = LoopFrame("base", along_x, np.array([0.0, 0.05, 0.0])), LoopFrame("slider", along_x)
    slide = Loop.of_kind("slide", LoopKind.PRISMATIC, *ends)
    return assembled(Mechanism(robot, (slide,), ("crank",), np.array([1.0, -1.2, 0.2])))


def arm_in_space(kind: LoopKind, joints_: int) -> Mechanism:
    """An arm of skew revolute joints whose hand the loop holds on the base, where it is at zero."""
    inertias, joints, below = {}, [], "base"
    rng = np.random.default_rng(5)
    for k in range(joints_):
        link, axis = f"link{k}", rng.normal(size=3)
        inertias[link] = bar(0.3)
        joints.append(revolute(f"joint{k}", below, link, rng.uniform(-0.3, 0.3, 3), axis / np.linalg.norm(axis)))
        below = link
    robot = tree("arm_in_space", inertias, joints)
    there = rne.forward_kinematics(robot, np.zeros(robot.n))[below]
    turn = rotation_about(np.array([0.0, 0.6, 0.8]), 0.7)
    ends = LoopFrame("base", there[:3, :3] @ turn, there[:3, 3]), LoopFrame(below, turn)
    return Mechanism(robot, (Loop.of_kind("hand", kind, *ends),), ("joint0",), np.zeros(robot.n))


def parallel_motion() -> Mechanism:
    """A lever whose plate one blocked turn keeps level, as a rod between two lugs would."""
    robot = tree("level", {"lever": bar(0.5), "plate": bar(0.2)},
                 [revolute("lever", "base", "lever"), revolute("plate", "lever", "plate", (0.5, 0, 0))])  # fmt: skip
    level = Loop("level", LoopFrame("base"), LoopFrame("plate"), np.array([0, 0, 0, 0, 0, 1]))
    return Mechanism(robot, (level,), ("lever",), np.zeros(2))


CASES = {
    "weld in a plane": lambda: chain_of_four(LoopKind.WELD),
    "weld in space": lambda: arm_in_space(LoopKind.WELD, 7),
    "prismatic in a plane": slider_crank_cut_at_the_slide,
    "prismatic in space": lambda: arm_in_space(LoopKind.PRISMATIC, 6),
    "revolute": lambda: arm_in_space(LoopKind.REVOLUTE, 6),
    "cylindrical": lambda: arm_in_space(LoopKind.CYLINDRICAL, 5),
    "one turn": parallel_motion,
}  # fmt: skip


@cache
def case(name: str) -> Mechanism:
    return CASES[name]()


def open_by(mechanism: Mechanism, posture: np.ndarray) -> float:
    """How far the loop is from how its joint holds it, rad or m, from poses alone."""
    (loop,) = mechanism.loops
    poses = rne.forward_kinematics(mechanism.robot, posture)
    A, B = (poses[frame.link] for frame in (loop.a, loop.b))
    (R_a, p_a), (R_b, p_b) = ((T[:3, :3] @ f.rotation, T[:3, :3] @ f.position + T[:3, 3])
                              for T, f in ((A, loop.a), (B, loop.b)))  # fmt: skip
    E, gap = R_a.T @ R_b, R_a.T @ (p_b - p_a)
    turns = loop.blocked[3:]
    if turns.sum() == 3:
        off = np.linalg.norm(E - np.eye(3))
    elif turns.sum() == 2:
        free = int(np.flatnonzero(~turns)[0])
        off = np.linalg.norm(E[:, free] - np.eye(3)[free])
    else:
        off = np.linalg.norm(E[:, 0] - X)  # in a plane
    return max(float(off), float(np.abs(gap[loop.blocked[:3]]).max(initial=0.0)))


@pytest.mark.parametrize("starts", [30, pytest.param(1000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", CASES)
def test_no_loop_closes_half_a_turn_off(name: str, starts: int) -> None:
    mechanism = case(name)
    rng = np.random.default_rng(1)
    closed = 0
    for _ in range(starts):
        start = mechanism.posture.copy()
        start[mechanism.passive] = rng.uniform(-np.pi, np.pi, len(mechanism.passive))
        try:
            posture = assemble(mechanism, mechanism.neutral, start=start)
        except AssemblyError:
            continue
        assert open_by(mechanism, posture) < 1e-9, start
        closed += 1
    assert closed > 0.05 * starts


@pytest.mark.parametrize("name", ["weld in a plane", "cylindrical", "one turn"])
def test_a_frame_declared_half_a_turn_off_is_seen_and_not_accepted(name: str) -> None:
    mechanism = case(name)
    (loop,) = mechanism.loops
    for axis in (Z,) if loop.blocked[5] else (X, Y):  # about Z where that turn is blocked
        wrong = replace(loop, b=replace(loop.b, rotation=loop.b.rotation @ rotation_about(axis, np.pi)))
        turned = replace(mechanism, loops=(wrong,))
        ((_, _, turn),) = mobility(turned).gaps
        assert turn == pytest.approx(np.pi, abs=1e-5)
        try:
            posture = assembled(turned).posture
        except AssemblyError:
            continue
        assert open_by(turned, posture) < 1e-9


def test_a_universal_joint_bends_either_way_and_turns_round() -> None:
    """One blocked turn with the point held: the cross of a shaft. It closes at every bend below a right angle."""
    robot = tree("shafts", {"in": bar(0.1), "fork": Inertia(), "out": bar(0.2)},
                 [revolute("in", "base", "in", axis=Z), revolute("fork", "base", "fork", axis=X),
                  revolute("out", "fork", "out", axis=Z)])  # fmt: skip
    cross = Loop.of_kind("cross", LoopKind.UNIVERSAL, LoopFrame("in"), LoopFrame("out"))
    shafts = Mechanism(robot, (cross,), ("in", "fork"), np.zeros(3))
    for bend in (-1.2, 0.0, 1.2):
        angle = np.linspace(0.0, 2.0 * np.pi, 60)
        out = assemble(shafts, np.column_stack([angle, np.full(60, bend)]), start="previous")[:, 2]
        # A's y is square to B's x: tan(out) = tan(in) / cos(bend) or its inverse, by which axis is in the plane
        error = np.sin(angle) * np.cos(out) - np.cos(angle) * np.sin(out) * np.cos(bend)
        assert np.abs(error).max() < 1e-12
        assert abs(out[-1] - 2.0 * np.pi) < 1e-9


def test_the_error_of_antiparallel_axes_says_what_to_turn() -> None:
    mechanism = four_bar("coupler")
    (loop,) = mechanism.loops
    turned = replace(loop, b=replace(loop.b, rotation=loop.b.rotation @ rotation_about(X, np.pi)))
    with pytest.raises(AssemblyError, match=r"180 deg remain.* turn one of the loop's frames by half a turn"):
        assemble(replace(mechanism, loops=(turned,)), mechanism.neutral)
