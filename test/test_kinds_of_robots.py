"""Every public function with every kind of robot returns a result, or raises an error that says what to do."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics import flexible
from rne_dynamics.errors import RneDynamicsError

ROBOTS = {"open arm": rne.load_urdf("puma560"), "mechanism": rne.load_model("four_bar"),
          "flexible arm": rne.load_model("flexible_arm")}  # fmt: skip
#: What is no function of a robot.
OTHERS = {
    "BaseMotion", "DHLink", "ForwardDynamicsDerivatives", "FreeBody", "Inertia", "InverseDynamicsDerivatives",
    "JointReactions", "LagrangeTerms", "LinkPoses", "Momentum", "MomentumRate", "Payload", "ReducedEquations",
    "RneDynamicsError", "RobotModel", "Rollout", "assemble", "compiled", "from_dh", "load_model", "load_urdf",
    "sweep",
}  # fmt: skip
FLEXIBLE = [name for name in flexible.__all__ if name[0].islower()]


def argument(name: str, robot: Any) -> Any:
    """A value for a parameter of a public function."""
    link = robot.link_names[1]  # has mass
    return {
        "robot": robot, "arm": robot, "link": link, "payload": rne.Payload(link, 0.1), "name": "inverse_dynamics",
        "quantity": "inverse_dynamics", "rng": np.random.default_rng(0), "count": 2,
        "lock": {robot.joint_names[0]: 0.1}, "dt": 1e-3, "motion": lambda t: (np.zeros(robot.n),) * 3,
        "times": [0.0, 1e-3], "batch": 4,
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
    refused = ""
    try:
        call(function, ROBOTS[kind])
    except RneDynamicsError as error:
        refused = str(error)
    answered = kind == ("flexible arm" if "." in name else "open arm")  # the kind that a function is made for
    assert not (answered and refused)


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
        assert not again.links[0].stiffness.flags.writeable
        there, here = (arm.links[0].at([0.2, 0.0, 0.0]) for arm in (again, robot))
        np.testing.assert_array_equal(there.translation, here.translation)
    else:
        np.testing.assert_array_equal(rne.inverse_dynamics(again, q, q, q), rne.inverse_dynamics(robot, q, q, q))
