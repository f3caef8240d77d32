"""Straight-line code of mechanisms against the general kernels, which compute what it refuses."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.errors import relative_error
from support.mechanisms import MECHANISMS, SHIPPED, rod_between_balls
from support.parallelograms import ladder

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble, assembled
from rne_dynamics.closed_chain.coordinates import motion_map
from rne_dynamics.closed_chain.inverse_dynamics import CLOSED_QUANTITIES
from rne_dynamics.closed_chain.specialised import code_of
from rne_dynamics.compiling.processor import processor
from rne_dynamics.errors import ArgumentError, AssemblyError, RneDynamicsError
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.straight_line import machine_code, state_code

EXAMPLES = Path(__file__).parents[3] / "examples"
FUNCTIONS = {**CLOSED_QUANTITIES, "assemble": assemble}
INPUTS = {"inverse_dynamics": 3, "forward_dynamics": 3, "bias_torque": 2}
ROBOTS = {**MECHANISMS, **{name: lambda name=name: rne.load_model(name) for name in SHIPPED}}
#: Smallest distance to a singular posture for which states must be accepted.
REGULAR = 0.1

with_code = pytest.mark.skipif(processor() is None, reason="no straight-line code on this processor")


@cache
def robot(name: str) -> Mechanism:
    return ROBOTS[name]().with_own_code()


def states(mechanism: Mechanism, count: int, away: float = 0.6, seed: int = 0) -> list[np.ndarray]:
    """Positions within limits, velocities, and accelerations or efforts; (count, n) each."""
    rng = np.random.default_rng(seed)
    q = mechanism.neutral + away * rng.uniform(-1.0, 1.0, (count, mechanism.n))
    return [np.clip(q, mechanism.lower, mechanism.upper), *rng.normal(size=(2, count, mechanism.n))]


def general(name: str, mechanism: Mechanism, *vectors: np.ndarray) -> np.ndarray:
    """By the general kernel."""
    return FUNCTIONS[name].__wrapped__(mechanism, *vectors)


def rows(name: str, mechanism: Mechanism, vectors: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """What the machine code answers, and which states it refuses."""
    code = code_of(mechanism, name)
    assert code is not None
    shape = {"mass_matrix": (mechanism.n, mechanism.n), "assemble": (mechanism.robot.n,)}.get(name, (mechanism.n,))
    return code.rows(tuple(vectors), shape)


@with_code
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("which", [
    "five_bar", *(pytest.param(name, marks=pytest.mark.slow) for name in ("four_bar", "two_parallelograms"))
])  # fmt: skip
def test_answers_are_those_of_the_general_kernel(which: str, name: str) -> None:
    mechanism = robot(which)
    vectors = states(mechanism, 60)[: INPUTS.get(name, 1)]
    out, refused = rows(name, mechanism, vectors)
    accepted = 0
    for b, state in enumerate(zip(*vectors, strict=True)):
        try:
            expected = general(name, mechanism, *state)
        except RneDynamicsError:
            assert refused[b]
            continue
        accepted += not refused[b]
        if motion_map(mechanism, assemble(mechanism, state[0])).smallest > REGULAR:
            assert not refused[b] or which == "two_parallelograms"  # it lies flat on the way
        if not refused[b]:
            assert relative_error(out[b], expected) < 1e-10
    assert accepted > 40


@with_code
def test_singular_postures_are_left_to_the_general_kernel() -> None:
    """The parallelograms of the pantograph with its pins pass flat within its limits."""
    mechanism = assembled(rne.load_model(EXAMPLES / "pantograph_pins.yaml"))
    rng = np.random.default_rng(3)
    q = rng.uniform(mechanism.lower - 0.5, mechanism.upper + 0.5, (150, mechanism.n))
    qd, qdd = rng.normal(size=(2, *q.shape))
    _, refused = rows("inverse_dynamics", mechanism, [q, qd, qdd])
    assert 0.02 < refused.mean() < 0.4
    expected = general("inverse_dynamics", mechanism, q, qd, qdd)
    assert relative_error(rne.inverse_dynamics(mechanism, q, qd, qdd), expected) < 1e-9
    for b in np.flatnonzero(refused)[:5]:
        assert relative_error(rne.inverse_dynamics(mechanism, q[b], qd[b], qdd[b]), expected[b]) < 1e-9


@with_code
@pytest.mark.parametrize("which", ["four_bar", "slider_crank"])
def test_many_turns_of_a_crank_keep_the_assembly(which: str) -> None:
    mechanism = robot(which)
    turns = np.linspace(-20.0, 20.0, 801)[:, None]
    postures, refused = rows("assemble", mechanism, [turns])
    assert not refused.any()
    assert np.abs(np.diff(postures, axis=0)).max() < 0.2
    assert np.abs(postures - assemble(mechanism, turns, start="previous")).max() < 1e-11


def test_mechanisms_without_coordinates_have_no_code() -> None:
    mechanism = rod_between_balls().with_own_code()
    assert code_of(mechanism, "inverse_dynamics") is None
    q, zeros = mechanism.neutral, np.zeros(mechanism.n)
    expected = general("inverse_dynamics", mechanism, q, zeros, zeros)
    assert np.array_equal(rne.inverse_dynamics(mechanism, q, zeros, zeros), expected)
    assert np.array_equal(rne.bind(mechanism, "inverse_dynamics")(q, zeros, zeros), expected)


def test_mechanisms_beyond_the_limit_have_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = ladder(2).with_own_code()
    with monkeypatch.context() as few:
        few.setattr(state_code, "STATE", replace(state_code.STATE, largest=500))
        few.setattr(machine_code.store, "load", lambda _: None)
        few.setattr(machine_code.store, "save", lambda *_: None)
        assert code_of(mechanism, "forward_dynamics") is None
    q, zeros = mechanism.neutral, np.zeros(mechanism.n)
    assert np.isfinite(rne.forward_dynamics(mechanism, q, zeros, zeros)).all()


@with_code
@pytest.mark.parametrize("name", CLOSED_QUANTITIES)
def test_bound_functions(name: str) -> None:
    mechanism = robot("five_bar")
    vectors = [v[0] for v in states(mechanism, 1)[: INPUTS.get(name, 1)]]
    expected = general(name, mechanism, *vectors)
    f, out = rne.bind(mechanism, name), np.empty_like(expected)
    assert f(*vectors, out=out) is out
    for answer in (out, f(*vectors), f(*(v.tolist() for v in vectors)), getattr(rne, name)(mechanism, *vectors)):
        assert relative_error(answer, expected) < 1e-12
    with pytest.raises(ArgumentError):
        f(*(np.append(v, 0.0) for v in vectors))
    with pytest.raises(ArgumentError, match="must be finite"):
        f(np.full_like(vectors[0], np.nan), *vectors[1:])


@with_code
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_a_bound_base_motion(name: str) -> None:
    mechanism = robot("five_bar")
    motion = rne.BaseMotion(angular_velocity=(0.1, 0.2, 0.3), linear_acceleration=(1.0, 0.0, -2.0))
    vectors = [v[0] for v in states(mechanism, 1)]
    expected = getattr(rne, name)(mechanism, *vectors, base_motion=motion)
    assert relative_error(rne.bind(mechanism, name, base_motion=motion)(*vectors), expected) < 1e-12


@with_code
def test_energies_and_poses() -> None:
    own, other = robot("five_bar"), robot("five_bar").with_own_code(False)
    q, qd, _ = states(own, 6)
    assert relative_error(rne.kinetic_energy(own, q, qd), rne.kinetic_energy(other, q, qd)) < 1e-11
    assert relative_error(rne.kinetic_energy(own, q[0], qd), rne.kinetic_energy(other, q[0], qd)) < 1e-11
    assert relative_error(rne.potential_energy(own, q), rne.potential_energy(other, q)) < 1e-11
    found, expected = (rne.forward_kinematics(x, q).position for x in (own, other))
    assert relative_error(found, expected) < 1e-11


@with_code
@pytest.mark.parametrize(("name", "count"), [("inverse_dynamics", 2001), ("forward_dynamics", 3), ("mass_matrix", 8)])
def test_batches(name: str, count: int) -> None:
    """Lanes that settle wait for others; states that are refused do not change the answers of the others."""
    mechanism = robot("five_bar")
    vectors = states(mechanism, count)[: INPUTS.get(name, 1)]
    expected = general(name, mechanism, *vectors)
    f = rne.bind(mechanism, name, batch="straight_line", threads=2)
    assert f.engine == "straight_line"
    assert relative_error(f(*vectors), expected) < 1e-10
    assert relative_error(rne.bind(mechanism, name, batch="general", threads=2)(*vectors), expected) < 1e-12
    alone = rne.bind(mechanism, name, batch="straight_line", threads=1)
    out = np.empty(expected.shape)
    assert alone(*vectors, out=out) is out
    assert np.array_equal(out, f(*vectors))
    code = code_of(mechanism, name)
    assert code is not None
    assert np.array_equal(out, code.rows(tuple(vectors), out.shape[1:])[0])


@with_code
def test_batches_with_states_that_are_refused() -> None:
    mechanism = assembled(rne.load_model(EXAMPLES / "pantograph_pins.yaml"))
    rng = np.random.default_rng(5)
    q = rng.uniform(mechanism.lower - 0.5, mechanism.upper + 0.5, (203, mechanism.n))
    f = rne.bind(mechanism, "gravity_torque", batch="straight_line")
    assert relative_error(f(q), general("gravity_torque", mechanism, q)) < 1e-9
    q[17, 0] = np.nan
    with pytest.raises(ArgumentError, match=r"q\[17, 0\] is nan"):
        f(q)
    crank = robot("geared_five_bar")
    with pytest.raises(AssemblyError):
        rne.bind(crank, "gravity_torque", batch="straight_line")(crank.neutral + np.array([[0.0], [1.2]]))
    with pytest.raises(ArgumentError, match="it must be one of 'inverse_dynamics'"):
        rne.bind(crank, "regressor", batch="straight_line")
