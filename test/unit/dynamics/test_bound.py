"""`bind`, quick calls of the plain functions and compiled functions: all compared with checked calls."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from support.errors import relative_error
from support.robots import random_state

import rne_dynamics as rne
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import ArgumentError, RneDynamicsError

#: how many vectors each quantity takes
INPUTS = {
    "inverse_dynamics": 3, "forward_dynamics": 3, "mass_matrix": 1, "bias_torque": 2, "gravity_torque": 1,
    "coriolis_matrix": 2, "jacobian": 1, "jacobian_rate": 2, "regressor": 3, "inverse_dynamics_derivatives": 3,
    "forward_dynamics_derivatives": 3, "forward_kinematics": 1, "integrate_configuration": 2,
}  # fmt: skip
PUMA = rne.load_urdf("puma560")


def options(robot: rne.RobotModel, quantity: str) -> dict[str, Any]:
    return {"link": robot.link_names[-1]} if "jacobian" in quantity else {}


def plain(robot: rne.RobotModel, quantity: str) -> Callable[..., Any]:
    return lambda *vectors: getattr(rne, quantity)(robot, *vectors, **options(robot, quantity))


def numbers(answer: Any) -> np.ndarray:
    """One array of an answer of any kind, a batch of one as no batch."""
    if isinstance(answer, rne.LinkPoses):
        answer = np.concatenate([answer.rotation, answer.position[..., None]], axis=-1)
        return answer[0] if answer.ndim > 3 and len(answer) == 1 else answer
    if isinstance(answer, tuple):
        return np.array([numbers(part) for part in answer])
    return answer[0] if answer.ndim > 1 and len(answer) == 1 and answer.shape[1:] else answer


def long_way(robot: rne.RobotModel, quantity: str, vectors: tuple[np.ndarray, ...]) -> np.ndarray:
    """The general kernels on a batch of one, which the quick way does not take."""
    return numbers(plain(robot.with_own_code(False), quantity)(*(v[None] for v in vectors)))


def test_every_quantity_is_here():
    assert INPUTS.keys() == QUANTITIES.keys()


@pytest.mark.parametrize("quantity", INPUTS)
def test_the_bound_and_the_plain_function_and_the_long_way_agree(quantity):
    f = rne.bind(PUMA, quantity, **options(PUMA, quantity))
    for seed in range(2):
        vectors = random_state(PUMA, seed)[: INPUTS[quantity]]
        expected = long_way(PUMA, quantity, vectors)
        assert relative_error(numbers(f(*vectors)), expected) < 1e-13
        for model in (PUMA, PUMA.with_own_code(False)):
            assert relative_error(numbers(plain(model, quantity)(*vectors)), expected) < 1e-13


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics_derivatives", "forward_kinematics"])
def test_an_output_is_filled_and_returned(quantity):
    f = rne.bind(PUMA, quantity, **options(PUMA, quantity))
    vectors = random_state(PUMA, 0)[: INPUTS[quantity]]
    expected = f(*vectors)
    if quantity == "forward_kinematics":
        out = f(*random_state(PUMA, 1)[:1])
        assert f(*vectors, out=out) is out
    else:
        out = np.full(np.shape(expected), np.nan)
        found = f(*vectors, out=out)
        assert found is out or all(np.shares_memory(part, out) for part in found)
    assert np.array_equal(numbers(out if not isinstance(out, tuple) else np.array(out)), numbers(expected))


class Subclass(np.ndarray):
    """Not exactly an array."""


def frozen(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "mass_matrix", "jacobian_rate", "forward_kinematics"])
def test_vectors_may_be_given_by_name(quantity):
    f, vectors = rne.bind(PUMA, quantity, **options(PUMA, quantity)), random_state(PUMA, 0)[: INPUTS[quantity]]
    named = dict(zip(QUANTITIES[quantity].inputs, vectors, strict=True))
    assert np.array_equal(numbers(f(**named)), numbers(f(*vectors)))
    out = f(*random_state(PUMA, 1)[: INPUTS[quantity]])
    assert np.array_equal(numbers(f(**named, out=out)), numbers(f(*vectors)))


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_kinematics"])
@pytest.mark.parametrize(
    "strange",
    [
        lambda x: x.tolist(),
        lambda x: x.astype(">f8"),
        lambda x: np.repeat(x, 2)[::2],
        lambda x: np.frombuffer(b"0" + x.tobytes(), np.uint8)[1:].view(np.float64),
        np.ma.masked_array,
        lambda x: x.view(Subclass),
        frozen,
    ],
    ids=["list", "big-endian", "strided", "unaligned, read-only", "masked", "subclass", "read-only"],
)
def test_other_inputs_go_the_long_way(quantity, strange):
    f = rne.bind(PUMA, quantity, **options(PUMA, quantity))
    vectors = random_state(PUMA, 0)[: INPUTS[quantity]]
    expected = numbers(f(*vectors))
    assert np.array_equal(numbers(f(*map(strange, vectors))), expected)
    assert np.array_equal(numbers(plain(PUMA, quantity)(*map(strange, vectors))), expected)


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "mass_matrix", "forward_kinematics"])
def test_wrong_lengths_are_refused_by_name(quantity):
    f = rne.bind(PUMA, quantity, **options(PUMA, quantity))
    vectors = random_state(PUMA, 0)[: INPUTS[quantity]]
    for k in range(len(vectors)):
        for wrong in (vectors[k][:-1].copy(), np.append(vectors[k], 0.0), np.empty(0), np.zeros((6, 6, 5)), [], 1.0):
            with pytest.raises(ArgumentError, match="has shape"):
                f(*vectors[:k], wrong, *vectors[k + 1 :])


@pytest.mark.parametrize("quantity", INPUTS)
def test_plain_functions_refuse_what_is_not_finite(quantity):
    vectors = random_state(PUMA, 0)[: INPUTS[quantity]]
    for k in range(len(vectors)):
        for bad in (np.nan, np.inf, -np.inf):
            hostile = [v.copy() for v in vectors]
            hostile[k][3] = bad
            with pytest.raises(ArgumentError, match=rf"\[3\] is {bad}"):
                plain(PUMA, quantity)(*hostile)


@pytest.mark.parametrize("quantity", sorted(INPUTS.keys() - {"forward_dynamics", "forward_dynamics_derivatives"}))
def test_bound_functions_pass_nan_on(quantity):
    vectors = [np.full_like(v, np.nan) for v in random_state(PUMA, 0)[: INPUTS[quantity]]]
    assert np.isnan(numbers(rne.bind(PUMA, quantity, **options(PUMA, quantity))(*vectors))).any()


@pytest.mark.parametrize("quantity", [rne.inverse_dynamics, "inverse_dynamic", ["inverse_dynamics"]])
def test_what_names_no_quantity_is_refused(quantity):
    near = "; did you mean 'inverse_dynamics'" if quantity in (rne.inverse_dynamics, "inverse_dynamic") else ""
    with pytest.raises(ArgumentError, match=rf"bind of .* has no quantity named .*{near}"):
        rne.bind(PUMA, quantity)


def test_nan_does_not_pass_as_a_joint_without_inertia():
    q, qd, tau = random_state(PUMA, 0)
    q[1] = np.nan
    with pytest.raises(ArgumentError, match=r"q\[1\] is nan"):
        rne.bind(PUMA, "forward_dynamics")(q, qd, tau)


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ([0.0] * 6, "out is a list"),
        (np.empty(5), r"out is float64 of shape \(5,\); it must be .* of shape \(6,\)"),
        (np.empty((6, 1)), r"of shape \(6, 1\)"),
        (np.empty(6, np.float32), "out is float32"),
        (np.empty(12)[::2], "it must be a writable C-contiguous"),
        (frozen(np.zeros(6)), "it must be a writable C-contiguous"),
    ],
    ids=["list", "short", "two dimensions", "float32", "strided", "read-only"],
)
def test_an_output_that_cannot_be_used_is_refused(out, said):
    with pytest.raises(ArgumentError, match=said):
        rne.bind(PUMA, "inverse_dynamics")(*random_state(PUMA, 0), out=out)
    if not isinstance(out, list) and not out.flags.writeable:
        assert not out.any()


def test_an_output_in_the_memory_of_an_input_is_refused():
    memory = np.random.default_rng(0).normal(size=40)
    f = rne.bind(PUMA, "forward_dynamics")
    for k in range(3):
        vectors = list(random_state(PUMA, 0))
        for shift in range(-5, 6):
            vectors[k] = memory[10:16]
            with pytest.raises(ArgumentError, match=f"out shares memory with argument {k}"):
                f(*vectors, out=memory[10 + shift : 16 + shift])
        f(*vectors, out=memory[16:22])
        f(*vectors, out=memory[4:10])


@pytest.mark.parametrize(("name", "quantity", "options", "said"), [
    ("puma560", "mass_matrix", {"link": "tool0"}, "'mass_matrix' has no such option"),
    ("puma560", "jacobian", {}, "'jacobian' is that of a link"),
    ("puma560", "jacobian", {"link": "nowhere"}, "no link named 'nowhere'"),
    ("pantograph", "regressor", {}, "'pantograph', a mechanism, has no quantity named 'regressor'"),
])  # fmt: skip
def test_unknown_quantities_and_options_are_refused(name, quantity, options, said):
    with pytest.raises(RneDynamicsError, match=said):
        rne.bind(rne.load_model(name), quantity, **options)


@pytest.mark.parametrize("quantity", ["forward_dynamics", "regressor"])
def test_a_bound_base_motion_enters_every_call(quantity):
    motion = rne.BaseMotion(angular_velocity=(0.1, 0.2, 0.3), linear_acceleration=(1.0, 0.0, -2.0))
    vectors = random_state(PUMA, 0)
    expected = getattr(rne, quantity)(PUMA, *vectors, base_motion=motion)
    f = rne.bind(PUMA, quantity, base_motion=motion)
    assert relative_error(f(*vectors), expected) < 1e-13
    assert relative_error(f(*(v.tolist() for v in vectors)), expected) < 1e-13


def test_threads_may_share_a_robot_and_a_bound_function():
    states = [random_state(PUMA, seed) for seed in range(8)]
    f = rne.bind(PUMA, "forward_dynamics_derivatives")
    expected = [(rne.inverse_dynamics(PUMA, *s), numbers(f(*s))) for s in states]

    def repeat(k: int) -> bool:
        same = True
        for _ in range(200):
            same &= np.array_equal(rne.inverse_dynamics(PUMA, *states[k]), expected[k][0])
            same &= np.array_equal(numbers(f(*states[k])), expected[k][1])
        return same

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(repeat, range(8)))
