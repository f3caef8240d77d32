"""Straight-line code of arms with flexible links against the general kernels."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from support.errors import relative_error

import rne_dynamics as rne
from rne_dynamics import flexible
from rne_dynamics.compiling.processor import processor
from rne_dynamics.errors import ArgumentError, ModelError
from rne_dynamics.flexible import specialised
from rne_dynamics.model.flexible.arm import FlexibleArm

ARMS = ("flexible_arm", "flexible_beam", pytest.param("flexible_arm6", marks=pytest.mark.slow))
FUNCTIONS = {
    "equations": flexible.equations_of_motion,
    "inverse": flexible.flexible_inverse_dynamics,
    "forward": flexible.flexible_forward_dynamics,
}

with_code = pytest.mark.skipif(processor() is None, reason="no straight-line code on this processor")


@cache
def arm(name: str) -> FlexibleArm:
    return rne.load_model(name)


def states(robot: FlexibleArm, function: str, lead: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    """q, δ, q̇, δ̇, and q̈ or τ."""
    rng = np.random.default_rng(seed)
    joints, modes = (*lead, robot.n), (*lead, robot.modes)
    drawn = [rng.uniform(-3.0, 3.0, joints), 0.05 * rng.normal(size=modes), rng.normal(size=joints),
             rng.normal(size=modes), 5.0 * rng.normal(size=joints)]  # fmt: skip
    return drawn[: 4 if function == "equations" else 5]


def general(function: str, robot: FlexibleArm, vectors: list[np.ndarray]) -> Any:
    return FUNCTIONS[function](robot.with_own_code(False), *vectors)


@with_code
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ARMS)
def test_answers_are_those_of_the_general_kernel(name: str, function: str) -> None:
    vectors = states(arm(name), function, (40,))
    expected = general(function, arm(name), vectors)
    answers = FUNCTIONS[function](arm(name), *vectors)
    assert type(answers) is type(expected)
    for answer, wanted in zip(answers, expected, strict=True):
        assert relative_error(answer, wanted) < 1e-11
    for b in range(40):
        one = FUNCTIONS[function](arm(name), *(v[b] for v in vectors))
        assert type(one) is type(expected)
        for answer, wanted in zip(one, expected, strict=True):
            assert relative_error(answer, wanted[b]) < 1e-9


@with_code
@pytest.mark.parametrize("function", FUNCTIONS)
def test_leading_shapes_lists_and_other_arrays(function: str) -> None:
    robot = arm("flexible_arm")
    vectors = states(robot, function, (2, 3))
    expected = general(function, robot, vectors)
    for changed in (vectors, [v.tolist() for v in vectors], [np.asfortranarray(v) for v in vectors]):
        for answer, wanted in zip(FUNCTIONS[function](robot, *changed), expected, strict=True):
            assert relative_error(answer, wanted) < 1e-11
            assert answer.flags.c_contiguous


@with_code
def test_states_that_the_code_refuses_go_to_the_general_kernel() -> None:
    robot = arm("flexible_arm")
    vectors = states(robot, "forward", (3,))
    vectors[0][1] = 1e12  # larger than the sines take
    answers, expected = flexible.flexible_forward_dynamics(robot, *vectors), general("forward", robot, vectors)
    for answer, wanted in zip(answers, expected, strict=True):
        assert relative_error(answer, wanted) < 1e-9
    one = flexible.flexible_forward_dynamics(robot, *(v[1] for v in vectors))
    assert relative_error(one.qdd, expected.qdd[1]) < 1e-12


@with_code
@pytest.mark.parametrize("function", FUNCTIONS)
def test_errors_are_those_of_the_general_function(function: str) -> None:
    robot = arm("flexible_arm")
    vectors = states(robot, function, ())
    for k, value in enumerate(vectors):
        for wrong in (np.append(value, 0.0), np.where(np.arange(value.size) == 1, np.nan, value)):
            changed = [*vectors[:k], wrong, *vectors[k + 1 :]]
            with pytest.raises(ArgumentError) as expected:
                general(function, robot, changed)
            with pytest.raises(ArgumentError) as found:
                FUNCTIONS[function](robot, *changed)
            assert str(found.value) == str(expected.value)
    with pytest.raises(ModelError, match="has no flexible links"):
        FUNCTIONS[function](rne.load_urdf("puma560"), *vectors)


@with_code
def test_positions_and_energies_are_those_of_the_general_kernels() -> None:
    own, other = arm("flexible_arm"), arm("flexible_arm").with_own_code(False)
    q, delta, qd, deltad = states(own, "equations", (2, 3))
    q[0, 1] += 1e12  # refused
    for function, vectors in (
        (flexible.flexible_center_of_mass, (q, delta)), (flexible.flexible_potential_energy, (q, delta)),
        (flexible.flexible_kinetic_energy, (q, delta, qd, deltad)),
    ):  # fmt: skip
        assert relative_error(function(own, *vectors), function(other, *vectors)) < 1e-12
    found, expected = (flexible.flexible_forward_kinematics(x, q, delta) for x in (own, other))
    assert relative_error(found.rotation, expected.rotation) < 1e-12
    assert relative_error(found.position, expected.position) < 1e-12


@pytest.mark.parametrize(
    ("function", "lead", "has_code"), [("equations", (3,), True), ("forward", (), True), ("inverse", (3,), False)]
)
def test_bound_functions_have_all_answers_in_one_array(
    function: str, lead: tuple[int, ...], has_code: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = arm("flexible_arm")
    if not has_code:
        monkeypatch.setattr(specialised, "kept_code", lambda *_, **__: None)
    f, vectors = rne.bind(robot, FUNCTIONS[function].__name__), states(robot, function, lead)
    first, second = general(function, robot, vectors)
    if function == "equations":
        second, axis = second[..., None, :], -2
    else:
        axis = -1
    expected = np.concatenate([first, second], axis)
    out = np.empty(expected.shape)
    for found in (f(*vectors), f(*vectors, out=out), f(*(v.tolist() for v in vectors), out)):
        assert relative_error(found, expected) < 1e-10
    assert found is out
    with pytest.raises(ArgumentError, match="a flexible arm, has no quantity named 'mass_matrix'"):
        rne.bind(robot, "mass_matrix")
    with pytest.raises(ArgumentError, match="batches are computed for an open arm"):
        rne.bind(robot, FUNCTIONS[function].__name__, batch="general")
