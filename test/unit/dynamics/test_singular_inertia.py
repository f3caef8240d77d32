"""Motions without inertia are refused by every engine and on every path, where round-off looks like inertia too.

A mass on the joint's own axis, oblique to all frames, leaves 1e-36 or 1e-17 on the diagonal of the mass matrix. All
engines but Nasser's answered with accelerations of 1e16 to 1e36.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from support.arms import chain, gripper
from support.flexible_arms import cantilever
from support.mechanisms import four_bar

import rne_dynamics as rne
from rne_dynamics.closed_chain.inverse_dynamics import closed_forward_dynamics
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale
from rne_dynamics.dynamics.forward_dynamics import FORWARD_ENGINES
from rne_dynamics.dynamics.free_bodies.state import body_states
from rne_dynamics.errors import ModelError, SingularInertiaError
from rne_dynamics.flexible.equations import flexible_forward_dynamics
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink, rotation_about
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.free_motion import simulate_maximal
from rne_dynamics.simulation.runs.simulator import Simulator

BODY = Inertia(1.0, np.array([0.1, 0.2, 0.3]), np.diag([0.02, 0.03, 0.04]))
TURN = rotation_about(np.array([1.0, 2.0, 2.0]) / 3.0, 0.7)
AXES = np.random.default_rng(2).normal(size=(2, 3))


def with_tool(tree: KinematicTree, parent: str, axis: np.ndarray, body: Inertia | None) -> KinematicTree:
    """The tree with a joint `spin` on a link, which carries a body."""
    spin = TreeJoint("spin", JointKind.REVOLUTE, parent, "tool", TURN, np.array([0.1, 0.2, 0.05]), axis)
    return replace(tree, links=(*tree.links, TreeLink("tool", body)), joints=(*tree.joints, spin))


def on_axis(axis: np.ndarray, kind: str) -> Inertia | None:
    """A body without inertia about an axis through the origin."""
    u = axis / np.linalg.norm(axis)
    rod = 0.02 * (np.eye(3) - np.outer(u, u))
    return {"point": Inertia(2.0, 0.3 * u), "rod": Inertia(2.0, 0.3 * u, rod), "nothing": None}[kind]


def same_twice(kind: JointKind, axis: np.ndarray) -> KinematicTree:
    """Two joints along one axis with nothing between them: only their sum moves anything."""
    links = (TreeLink("base"), TreeLink("arm", BODY), TreeLink("between"), TreeLink("end", BODY))
    u = axis / np.linalg.norm(axis)
    joints = (
        TreeJoint("shoulder", JointKind.REVOLUTE, "base", "arm", TURN, np.array([0.3, 0.1, 0.2]), AXES[0]),
        TreeJoint("first", kind, "arm", "between", TURN, np.array([0.3, 0.1, 0.2]), u),
        TreeJoint("second", kind, "between", "end", position=0.3 * u, axis=u),
    )
    return KinematicTree("twice", links, joints)


def singular_trees() -> dict[str, KinematicTree]:
    trees = {}
    for k, axis in enumerate(AXES):
        for kind in ("point", "rod", "nothing"):
            trees[f"{kind}{k}"] = with_tool(chain(3).tree, "link3", axis, on_axis(axis, kind))
        trees[f"turns{k}"] = same_twice(JointKind.REVOLUTE, axis)
        trees[f"slides{k}"] = same_twice(JointKind.PRISMATIC, axis)
    trees["grain"] = with_tool(chain(3).tree, "link3", AXES[0], Inertia(1e-30))
    fingers = gripper().tree
    for k, axis in enumerate(AXES):  # round-off of either sign
        rod = on_axis(axis, "rod")
        trees[f"fingers{k}"] = replace(
            fingers,
            links=tuple(replace(x, inertia=rod) if "finger" in x.name else x for x in fingers.links),
            joints=tuple(replace(j, axis=axis, rotation=TURN) if j.name != "wrist" else j for j in fingers.joints),
        )
    return trees


TREES = singular_trees()


@pytest.mark.parametrize("name", TREES)
def test_every_engine_refuses(name):
    rng = np.random.default_rng(3)
    for base in ("fixed", "floating"):
        tree = TREES[name] if base == "fixed" else replace(
            TREES[name], links=tuple(replace(x, inertia=BODY) if x.name == "base" else x for x in TREES[name].links)
        )  # fmt: skip
        robot = rne.assemble(tree, base=base)
        q, qd, tau = rne.random_configuration(robot, rng), *rng.normal(size=(2, robot.n))
        joint = "spin" if "tool" in robot.link_names else ".*"
        said = f"joint '{joint}' of robot '{robot.name}' moves no inertia of its own"
        for method in FORWARD_ENGINES:
            with pytest.raises(SingularInertiaError, match=said):
                rne.forward_dynamics(robot, q, qd, tau, method=method)


@pytest.mark.parametrize("name", ["point1", "rod0", "turns1", "slides1", "fingers0"])
def test_every_path_refuses(name):
    robot = rne.assemble(TREES[name])
    q, qd, tau = np.random.default_rng(4).normal(size=(3, robot.n))
    rows = [np.tile(x, (40, 1)) for x in (q, qd, tau)]
    simulator = Simulator(ArmPlant(robot), q)
    simulator.command(tau)
    for run in (
        lambda: rne.forward_dynamics(robot, *rows),
        lambda: rne.forward_dynamics_derivatives(robot, q, qd, tau),
        lambda: rne.bind(robot, "forward_dynamics")(q, qd, tau),
        lambda: rne.bind(robot, "forward_dynamics_derivatives")(q, qd, tau),
        lambda: simulator.advance(20),
        lambda: simulate_maximal(robot, body_states(robot, q, qd), 0.01, 1e-3, effort=tau),
    ):
        with pytest.raises(SingularInertiaError, match="moves no inertia of its own"):
            run()


def free_bodies() -> dict[str, rne.RobotModel]:
    """Bodies that move freely, and have less than the inertia of a solid one."""
    bodies = {kind: on_axis(AXES[0], kind) for kind in ("point", "rod", "nothing")}
    bodies["point at the origin"] = Inertia(2.0)
    one_joint = TreeJoint("free", JointKind.FLOATING, "base", "body")
    trees = {kind: KinematicTree(kind, (TreeLink("base", body),), ()) for kind, body in bodies.items()}
    found = {f"base is {kind}": rne.assemble(tree, base="floating") for kind, tree in trees.items()}
    for kind, body in bodies.items():
        tree = KinematicTree(kind, (TreeLink("base", BODY), TreeLink("body", body)), (one_joint,))
        found[f"joint carries {kind}"] = rne.assemble(tree)
        found[f"joint carries {kind}, in flight"] = rne.assemble(tree, base="floating")
    return found


FREE = free_bodies()


@pytest.mark.parametrize("machine_code", [False, True])
@pytest.mark.parametrize("name", FREE)
def test_free_bodies_without_full_inertia_are_refused(name, machine_code):
    robot = FREE[name].with_own_code(machine_code)
    rng = np.random.default_rng(4)
    q, (qd, tau) = rne.random_configuration(robot, rng), rng.normal(size=(2, robot.n))
    rows = [np.tile(x, (5, 1)) for x in (q, qd, tau)]
    link = robot.link_names[-1]
    for run in (
        *(partial(rne.forward_dynamics, robot, q, qd, tau, method=method) for method in FORWARD_ENGINES),
        lambda: rne.forward_dynamics(robot, *rows),
        lambda: rne.forward_dynamics(robot, q, qd, tau, wrenches={link: np.ones(6)}),
        lambda: rne.forward_dynamics_derivatives(robot, q, qd, tau),
        lambda: rne.bind(robot, "forward_dynamics")(q, qd, tau),
        lambda: rne.bind(robot, "forward_dynamics", batch="straight_line")(*rows),
        lambda: rne.bind(robot, "forward_dynamics_derivatives")(q, qd, tau),
        lambda: rne.free_motion(ArmPlant(robot), q, qd, seconds=2e-3),
    ):
        with pytest.raises(SingularInertiaError, match="moves no inertia of its own"):
            run()
    with pytest.raises(ModelError, match="no forward_dynamics"):
        rne.to_c(robot)


def test_mechanisms_and_flexible_arms_refuse():
    mechanism, beam = four_bar(), Beam("beam", 0.5, 0.2, 1.0, 1.0, modes=(1, 0, 0))
    arm = cantilever(beam)
    for axis in AXES:
        for kind in ("point", "rod", "nothing"):
            body = on_axis(axis, kind)
            robot = rne.assemble(with_tool(mechanism.robot.tree, "coupler", axis, body))
            posture = dict(zip(mechanism.robot.joint_names, mechanism.posture, strict=True))
            closed = Mechanism(
                robot, mechanism.loops, ("crank", "spin"), np.array([posture.get(j, 0.0) for j in robot.joint_names])
            )
            for method in ("walker_orin", "constraint_forces"):
                with pytest.raises(SingularInertiaError, match="joint 'spin'"):
                    closed_forward_dynamics(closed, [0.8, 0.1], [0.3, 0.2], [1.0, 2.0], method=method)
            bending = FlexibleArm(rne.assemble(with_tool(arm.robot.tree, "tip", axis, body)), arm.flexible_links)
            with pytest.raises(SingularInertiaError, match="joint 'spin'"):
                flexible_forward_dynamics(bending, [0.1, 0.2], [0.0], [0.3, 0.2], [0.0], [1.0, 2.0])
            for robot, q in ((closed, closed.posture[closed.actuated]), (bending, np.array([0.1, 0.2]))):
                simulator = Simulator(ArmPlant(robot), q)
                simulator.command(np.array([0.1, 0.01]))
                with pytest.raises(SingularInertiaError):
                    simulator.advance(5)


def test_a_little_inertia_is_enough():
    """A motor's rotor at the joint makes every motion defined, and a rod of 1e-9 of its length across is a body."""
    for name in ("point1", "rod0", "turns1", "slides1", "fingers1"):
        tree = TREES[name]
        geared = replace(tree, joints=tuple(replace(j, rotor_inertia=1e-6) for j in tree.joints))
        thin = replace(
            tree,
            links=tuple(
                x if x.name != "tool" else replace(x, inertia=Inertia(2.0, x.inertia.com, x.inertia.inertia + 1e-9))
                for x in tree.links
            ),
        )
        for found in (geared, thin) if name in ("point1", "rod0") else (geared,):
            robot = rne.assemble(found)
            q, qd, qdd = np.random.default_rng(5).normal(size=(3, robot.n))
            tau = rne.inverse_dynamics(robot, q, qd, qdd)
            for method in FORWARD_ENGINES:
                assert np.abs(rne.forward_dynamics(robot, q, qd, tau, method=method) - qdd).max() < 1e-4


def test_the_scale_bounds_the_diagonal_of_the_mass_matrix():
    """And is no more than what stretching the robot out would make of it."""
    rng = np.random.default_rng(6)
    for robot in (chain(6), gripper(), rne.load_urdf("puma560"), rne.load_urdf("scara")):
        q = rne.random_configuration(robot, rng, 20)
        scale, M = inertia_scale(robot, q), rne.mass_matrix(robot, q)
        diagonal = np.diagonal(M, axis1=1, axis2=2)
        assert (diagonal <= scale * (1.0 + 1e-12)).all()
        assert (scale < 1e4 * diagonal).all()
