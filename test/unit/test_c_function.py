"""Quantities as functions of C: their answers, statuses, threads, lifetime, errors, and the two examples."""

from __future__ import annotations

import ctypes
import gc
import runpy
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.c_compiler import CXX
from support.errors import relative_error
from support.mechanisms import rod_between_balls
from support.robots import with_own_code

import rne_dynamics as rne
from rne_dynamics import flexible
from rne_dynamics.closed_chain import assembly
from rne_dynamics.closed_chain.specialised import WITH_CODE as CLOSED
from rne_dynamics.compiling import processor as processors
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import ArgumentError, ModelError, RneDynamicsError
from rne_dynamics.flexible.specialised import WITH_CODE as FLEXIBLE
from rne_dynamics.straight_line import machine_code

with_code = pytest.mark.skipif(processors.processor() is None, reason="no machine code on this computer")

LINKS = {"puma560": "tool0", "floating panda": "panda_link5"}
CASES = [
    *(("puma560", name) for name in QUANTITIES),
    *(("floating panda", name) for name in ("inverse_dynamics", "jacobian", "forward_kinematics")),
    *(("pantograph", name) for name in CLOSED),
    *(("flexible_arm", name) for name in FLEXIBLE),
]
#: One of each kind of robot.
KINDS = [
    ("puma560", "forward_dynamics"), ("floating panda", "inverse_dynamics"), ("pantograph", "forward_dynamics"),
    ("flexible_arm", "flexible_forward_dynamics"),
]  # fmt: skip
kinds = pytest.mark.parametrize(("name", "quantity"), KINDS)


@cache
def robot(name: str) -> Any:
    if name == "floating panda":
        return with_own_code("panda.urdf", "floating")
    return rne.load_model(name)


def made(name: str, quantity: str) -> rne.CFunction:
    return rne.c_function(robot(name), quantity, **options(name, quantity))


def options(name: str, quantity: str) -> dict[str, str]:
    return {"link": LINKS[name]} if quantity.startswith("jacobian") else {}


def state(name: str, function: rne.CFunction, seed: int = 0) -> list[np.ndarray]:
    rng, given = np.random.default_rng(seed), []
    for argument, shape in function.inputs.items():
        if argument == "q" and name == "pantograph":
            given.append(robot(name).neutral + 0.1 * rng.normal(size=shape))
        elif argument == "q":
            given.append(rne.random_configuration(robot(name).open_tree, rng))
        else:
            given.append((0.05 if argument == "delta" else 1.0) * rng.normal(size=shape))
    return given


def call(function: rne.CFunction, *inputs: np.ndarray) -> tuple[int, np.ndarray]:
    out = np.full(function.output, np.nan)
    return function.ctypes(*(np.ctypeslib.as_ctypes(x.reshape(-1)) for x in (*inputs, out))), out


def plain(name: str, quantity: str, inputs: list[np.ndarray]) -> np.ndarray:
    """The public function's answer as the C function has it."""
    module = flexible if quantity in FLEXIBLE else assembly if quantity == "assemble" else rne
    answer = getattr(module, quantity)(robot(name), *inputs, **options(name, quantity))
    if quantity == "equations_of_motion":
        return np.vstack(answer)
    if quantity in FLEXIBLE:
        return np.concatenate(answer)
    if quantity == "forward_kinematics":
        return np.concatenate([answer.rotation.ravel(), answer.position.ravel()])
    return np.array(answer)


@with_code
@pytest.mark.parametrize(("name", "quantity"), CASES)
def test_answers_are_those_of_the_public_function(name: str, quantity: str) -> None:
    function = made(name, quantity)
    assert function.quantity == quantity
    for seed in range(3):
        inputs = state(name, function, seed)
        status, out = call(function, *inputs)
        assert status == rne.CFunction.DONE == 0
        expected = plain(name, quantity, inputs)
        assert out.shape == expected.shape
        assert relative_error(out, expected) < 1e-12


@with_code
@kinds
def test_an_input_that_is_not_finite_is_reported(name: str, quantity: str) -> None:
    function = made(name, quantity)
    for k in range(len(function.inputs)):
        for bad in (np.nan, np.inf, -np.inf):
            inputs = state(name, function)
            inputs[k][-1] = bad
            assert call(function, *inputs)[0] & (function.NOT_FINITE | function.REFUSED)
            if name != "pantograph":  # whose loops do not close there
                assert call(function, *inputs)[0] & function.NOT_FINITE


@with_code
@kinds
def test_a_large_angle_is_refused(name: str, quantity: str) -> None:
    function = made(name, quantity)
    inputs = state(name, function)
    inputs[0][8 if name == "floating panda" else 1] = 1e10
    assert call(function, *inputs)[0] == function.REFUSED == 2


@with_code
def test_a_mechanism_refuses_where_its_loops_do_not_close() -> None:
    function = rne.c_function(rne.load_model("five_bar"), "assemble")
    status, out = call(function, np.array([3.1, 0.0]))
    assert status == function.REFUSED
    assert np.isnan(out).all()


@with_code
def test_signature_and_shapes_say_what_the_pointers_are() -> None:
    function = made("floating panda", "inverse_dynamics_derivatives")
    arm = robot("floating panda")
    assert function.signature == (
        f"int inverse_dynamics_derivatives(const double q[{arm.nq}], const double qd[{arm.n}], "
        f"const double qdd[{arm.n}], double out[{3 * arm.n**2}])"
    )
    assert dict(function.inputs) == {"q": (arm.nq,), "qd": (arm.n,), "qdd": (arm.n,)}
    assert function.output == (3, arm.n, arm.n)


@with_code
def test_arrays_of_another_kind_are_refused_by_the_pointer() -> None:
    function = made("puma560", "gravity_torque")
    q, out = (np.ctypeslib.as_ctypes(x) for x in (np.zeros(6, np.float32), np.zeros(6)))
    with pytest.raises(ctypes.ArgumentError, match="LP_c_double"):
        function.ctypes(q, out)


@with_code
@kinds
def test_threads_call_it_at_once(name: str, quantity: str) -> None:
    """ctypes does not hold the interpreter's lock in a call."""
    function = made(name, quantity)
    states = [state(name, function, seed) for seed in range(8)]
    expected = [call(function, *inputs)[1] for inputs in states]

    def check(first: int) -> bool:
        found = [call(function, *states[k % 8])[1] for k in range(first, first + 400)]
        return all(np.array_equal(out, expected[(first + k) % 8]) for k, out in enumerate(found))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(check, range(4)))


@with_code
def test_the_machine_code_outlives_the_robot() -> None:
    arm = rne.load_urdf("puma560", gravity=(0.0, 0.0, -3.0))
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 6))
    expected = rne.inverse_dynamics(arm, q, qd, qdd)
    function = rne.c_function(arm, "inverse_dynamics")
    run = function.ctypes
    del arm, function
    gc.collect()
    out = np.empty(6)
    pointers = [np.ctypeslib.as_ctypes(x) for x in (q, qd, qdd, out)]
    assert run(*pointers) == 0
    assert relative_error(out, expected) < 1e-13


@with_code
@pytest.mark.parametrize("name", ["puma560", "flexible_arm"])
def test_the_bases_motion_is_in_the_code(name: str) -> None:
    motion = rne.BaseMotion(angular_velocity=(0.1, 0.2, 0.3), linear_acceleration=(1.0, 0.0, -2.0))
    quantity = "flexible_inverse_dynamics" if name == "flexible_arm" else "inverse_dynamics"
    function = rne.c_function(robot(name), quantity, base_motion=motion)
    inputs = state(name, function)
    status, out = call(function, *inputs)
    module = flexible if name == "flexible_arm" else rne
    expected = getattr(module, quantity)(robot(name), *inputs, base_motion=motion)
    assert status == function.DONE
    assert relative_error(out, np.concatenate(expected) if name == "flexible_arm" else expected) < 1e-9


@with_code
def test_robots_made_from_others_and_all_links_have_functions() -> None:
    arm = rne.load_urdf("puma560").with_payload(rne.Payload("tool0", 2.0))
    status, out = call(rne.c_function(arm, "gravity_torque"), np.full(6, 0.3))
    assert status == 0
    assert relative_error(out, rne.gravity_torque(arm, np.full(6, 0.3))) < 1e-12
    hand = robot("panda")
    q = hand.neutral + 0.2
    for link in hand.link_names:
        status, out = call(rne.c_function(hand, "jacobian", link=link), q)
        assert status == 0
        assert relative_error(out, rne.jacobian(hand, q, link=link), 1.0) < 1e-12


def massless() -> rne.RobotModel:
    joints = "".join(
        f'<joint name="{k}" type="continuous"><axis xyz="0 1 0"/><parent link="l{k}"/><child link="l{k + 1}"/></joint>'
        for k in range(2)
    )
    links = "".join(f'<link name="l{k}"/>' for k in range(3))
    return rne.load_urdf(f'<robot name="light">{links}{joints}</robot>')


@pytest.mark.parametrize(
    ("model", "quantity", "given", "error", "message"),
    [
        ("puma560", "inverse_dynamic", {}, ArgumentError, "did you mean 'inverse_dynamics'"),
        ("puma560", "jacobian", {}, ArgumentError, "name it: link="),
        ("puma560", "jacobian", {"link": "tool9"}, ModelError, "tool9"),
        ("puma560", "mass_matrix", {"link": "tool0"}, ArgumentError, "link is given, but 'mass_matrix' has no"),
        ("puma560", "mass_matrix", {"base_motion": rne.BaseMotion()}, ArgumentError, "base_motion is given, but"),
        ("puma560", "inverse_dynamics", {"base_motion": rne.BaseMotion(linear_velocity=np.zeros((2, 3)))},
         ArgumentError, "does not broadcast"),
        ("floating panda", "inverse_dynamics", {"base_motion": rne.BaseMotion()}, ArgumentError, "floating base"),
        ("pantograph", "jacobian", {}, ArgumentError, "'pantograph', a mechanism, has no quantity named 'jacobian'"),
        ("flexible_arm", "inverse_dynamics", {}, ArgumentError, "a flexible arm, .* 'flexible_inverse_dynamics'"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(
    model: str, quantity: str, given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        rne.c_function(robot(model), quantity, **given)


@with_code
def test_a_robot_without_machine_code_is_refused_with_the_reason() -> None:
    with pytest.raises(RneDynamicsError, match=r"no machine code of its forward_dynamics: .* moves no inertia"):
        rne.c_function(massless(), "forward_dynamics")
    with pytest.raises(RneDynamicsError, match=r"no machine code of its mass_matrix: .* are no coordinates"):
        rne.c_function(rod_between_balls(), "mass_matrix")


def test_a_computer_without_machine_code_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (processors, machine_code):
        monkeypatch.setattr(module, "processor", lambda: None)
    with pytest.raises(RneDynamicsError, match=r"this computer makes none\. It needs Linux"):
        rne.c_function(rne.load_urdf("puma560"), "inverse_dynamics")


@with_code
@pytest.mark.parametrize("example", [pytest.param("compiled_loop.py", marks=pytest.mark.slow), "cpp_loop.py"])
def test_the_example_moves_its_arm(example: str, root: Any, capsys: pytest.CaptureFixture[str]) -> None:
    if example == "cpp_loop.py" and CXX is None:
        pytest.skip("no C++ compiler: sudo apt install g++")
    if example == "compiled_loop.py":
        pytest.importorskip("numba", reason="pip install '.[test]'")
    runpy.run_path(str(root / "examples" / example), run_name="__main__")
    assert "e-1" in capsys.readouterr().out, "the arm did not reach its goal"
