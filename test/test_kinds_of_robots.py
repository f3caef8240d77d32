"""Every public function with every kind of robot returns a result, or raises an error that says what to do."""

from __future__ import annotations

import contextlib
import copy
import inspect
import pickle
import re
from typing import Any

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics import flexible
from rne_dynamics.dispatch import closed, follower
from rne_dynamics.errors import ArgumentError, ModelError, RneDynamicsError
from rne_dynamics.model import protocol

ROBOTS = {"open arm": rne.load_urdf("puma560"), "mechanism": rne.load_model("four_bar"),
          "flexible arm": rne.load_model("flexible_arm")}  # fmt: skip
#: What is no function of a robot.
OTHERS = {
    "ArmPlant", "BaseMotion", "CFunction", "CartesianImpedance", "ComputedTorque", "ControlLaw", "DHLink",
    "EffortLimiter", "EffortLimits", "FlexibleArm", "ForwardDynamicsDerivatives", "FoundPayload", "FreeBody",
    "DisturbanceObserver", "FrictionCompensation",
    "Gains", "GravityCompensation", "Hold", "Inertia", "InputShaper", "InverseDynamicsDerivatives", "JointImpedance",
    "JointKind", "JointReactions", "KinematicTree", "LagrangeTerms", "LawTolerances", "LinkPoses", "LinkWrench", "Log",
    "Mechanism", "Mismatch", "Momentum", "MomentumObserver", "MomentumRate", "Observed", "OperatorMatrices",
    "Payload", "PdGravity", "Quintic", "ReducedEquations", "Reference", "RneDynamicsError",
    "RobotModel", "Rollout", "SampledBase", "SampledTrajectory", "Scene", "Shaped", "Simulator", "SpringyBody", "State",
    "Surroundings", "TouchingPoint", "read_scene", "TorqueTerms",
    "Trajectory", "TreeJoint", "TreeLink", "UnreachablePoseError", "assemble", "estimate_payload", "felt_inertia",
    "free_motion", "from_dh",
    "integrate", "joint_parameter", "law_parameter", "lint",
    "load_model", "load_urdf", "retimed", "shipped_models", "shipped_robots", "simulate", "sweep",
}  # fmt: skip
FLEXIBLE = [name for name in flexible.__all__ if name[0].islower()]


def argument(name: str, robot: Any) -> Any:
    """A value for a parameter of a public function."""
    link, tree = robot.link_names[1], robot.open_tree  # has mass
    return {
        "robot": robot, "arm": robot, "link": link, "payload": rne.Payload(link, 0.1), "name": "inverse_dynamics",
        "quantity": "inverse_dynamics", "rng": np.random.default_rng(0), "count": 2,
        "lock": {robot.joint_names[0]: 0.1}, "dt": 1e-3, "motion": lambda t: (np.zeros(robot.n),) * 3,
        "times": [0.0, 1e-3], "batch": 4,
        "pose": rne.forward_kinematics(tree, tree.neutral)[link],
    }.get(name, np.full(getattr(robot, "modes", 1) if name.startswith("delta") else robot.n, 0.05))  # fmt: skip


def call(function: Any, robot: Any) -> Any:
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    places = [argument(p.name, robot) for p in needed if p.kind is p.POSITIONAL_OR_KEYWORD]
    return function(*places, **{p.name: argument(p.name, robot) for p in needed if p.kind is p.KEYWORD_ONLY})


def test_every_public_name_is_a_function_of_a_robot_or_listed() -> None:
    assert set(rne.__all__) >= OTHERS
    for name in set(rne.__all__) - OTHERS:
        assert inspect.isfunction(getattr(rne, name)), name


@pytest.mark.parametrize("kind", ROBOTS)
@pytest.mark.parametrize("name", [*sorted(set(rne.__all__) - OTHERS), *(f"flexible.{name}" for name in FLEXIBLE)])
def test_an_answer_or_an_error_of_the_package(name: str, kind: str) -> None:
    function = getattr(flexible, name.removeprefix("flexible.")) if "." in name else getattr(rne, name)
    answered = kind == ("flexible arm" if "." in name else "open arm")  # the kind that a function is made for
    with contextlib.nullcontext() if answered else contextlib.suppress(RneDynamicsError):
        call(function, ROBOTS[kind])


@pytest.mark.parametrize("kind", ROBOTS)
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda robot: pickle.loads(pickle.dumps(robot))])
def test_every_kind_of_robot_is_copied_and_pickled(kind: str, way: Any) -> None:
    robot = ROBOTS[kind]
    again, q = way(robot), np.full(robot.n, 0.1)
    assert type(again) is type(robot)
    assert again.joint_names == robot.joint_names
    if kind == "flexible arm":
        delta = np.full(robot.modes, 1e-3)
        found_and_expected = (flexible.equations_of_motion(arm, q, delta, q, delta) for arm in (again, robot))
        for found, expected in zip(*found_and_expected, strict=True):
            np.testing.assert_array_equal(found, expected)
        assert not again.flexible_links[0].stiffness.flags.writeable
    else:
        np.testing.assert_array_equal(rne.inverse_dynamics(again, q, q, q), rne.inverse_dynamics(robot, q, q, q))


@pytest.mark.parametrize("kind", ROBOTS)
def test_every_kind_of_robot_has_the_shared_attributes(kind: str) -> None:
    robot = ROBOTS[kind]
    methods = [name for name in vars(rne.RobotModel) if name.startswith(("with_", "on_"))]
    for name in {*re.findall(r"(?<!`)`([a-z]\w*)`(?!`)", str(protocol.__doc__)), *methods, "joint_index"}:
        getattr(robot, name)
    n, tree = robot.n, robot.open_tree
    assert n + len(robot.passive) == tree.n
    assert robot.joint_names == tuple(tree.joint_names[k] for k in robot.actuated)
    assert robot.passive_names == tuple(tree.joint_names[k] for k in robot.passive)
    assert tuple(robot.links) == robot.link_names == tree.link_names
    assert robot.nz == n + robot.modes == n + len(robot.mode_names)
    assert (kind == "mechanism") == bool(robot.loops) == (robot.posture is not None)
    assert (kind == "mechanism") == (follower(robot.rigid) is not None)
    assert (kind == "flexible arm") == bool(robot.flexible_links) == bool(robot.modes)
    assert type(closed(robot)) is type(robot)


@pytest.mark.parametrize("kind", ROBOTS)
def test_changes_of_a_robot_give_a_new_one_of_its_kind(kind: str) -> None:
    robot = ROBOTS[kind]
    loaded = robot.with_payload(rne.Payload(robot.link_names[-1], 0.5))
    assert loaded.mass == pytest.approx(robot.mass + 0.5, rel=1e-12)
    assert robot.with_payload(None) is robot
    floating = robot.with_gravity([0.0, 0.0, 0.0])
    np.testing.assert_allclose(rne.gravity_torque(floating.rigid, floating.neutral), np.zeros(robot.n), atol=1e-12)
    limits, changed = np.arange(1.0, robot.n + 1.0), [loaded, floating]
    np.testing.assert_array_equal(robot.with_effort_limit(limits).effort_limit, limits)
    for wrong in (np.full(robot.n, np.nan), -limits, np.ones(robot.n + 1)):
        with pytest.raises(RneDynamicsError, match="effort limits"):
            robot.with_effort_limit(wrong)
    with pytest.raises(ModelError, match="gravity"):
        robot.with_gravity([0.0, np.nan, 0.0])
    if robot.n > 1:
        changed += [robot.with_lock({robot.joint_names[-1]: 0.2})]
        assert changed[-1].joint_names == robot.joint_names[:-1]
    assert {type(one) for one in changed} == {type(robot)}


#: Functions that read the robot's sizes before anything is checked.
UNCHECKED = {
    "coriolis_matrix", "forward_dynamics_derivatives", "integrate_configuration", "inverse_dynamics_derivatives",
    "jacobian", "jacobian_rate", "regressor",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(rne.__all__) - OTHERS - UNCHECKED))
def test_a_path_in_place_of_a_robot_is_refused_with_how_to_load_it(name: str) -> None:
    needed = [p for p in inspect.signature(getattr(rne, name)).parameters.values() if p.default is p.empty]
    arguments = {p.name: argument(p.name, ROBOTS["open arm"]) for p in needed} | {needed[0].name: "arm.urdf"}
    with pytest.raises(ArgumentError, match=r"robot is (the str 'arm\.urdf', not a loaded model; load it|a str; )"):
        getattr(rne, name)(**arguments)
