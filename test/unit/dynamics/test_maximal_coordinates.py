from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.arms import chain, floating_arm, gripper
from support.robots import CASES, robot

import rne_dynamics as rne
from rne_dynamics.dynamics.free_bodies.state import (
    BodyStates,
    body_states,
    consistent,
    constraint_errors,
    displaced,
    joint_coordinates,
)
from rne_dynamics.dynamics.free_bodies.system import MaximalSystem
from rne_dynamics.errors import ArgumentError


@pytest.fixture(params=CASES, ids="-".join)
def model(request: pytest.FixtureRequest) -> rne.RobotModel:
    return robot(*request.param)


def random_states(model: rne.RobotModel, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, BodyStates]:
    q, qd = rne.random_configuration(model, rng), rng.normal(size=model.n)
    return q, qd, body_states(model, q, qd)


def kinetic(model: rne.RobotModel, states: BodyStates) -> float:
    system = MaximalSystem.of(model)
    _, qd = joint_coordinates(model, states)
    links = np.einsum("bi,bij,bj", states.twist, system.inertia, states.twist)
    return float(0.5 * links + 0.5 * system.rotor @ qd**2)


def largest(errors: tuple[np.ndarray, np.ndarray]) -> float:
    return max(np.abs(part).max() for part in errors)


def test_joint_coordinates_make_a_consistent_state_that_stays_and_come_back(model):
    q, qd, states = random_states(model, np.random.default_rng(0))
    assert largest(constraint_errors(model, states)) < 1e-14 * 10
    there, rate = joint_coordinates(model, states)
    assert np.abs(there - q).max() < 1e-14 * 10
    assert np.abs(rate - qd).max() < 1e-14 * 10
    assert kinetic(model, states) == pytest.approx(rne.kinetic_energy(model, q, qd), rel=1e-13)
    again = consistent(model, states)
    assert np.abs(again.position - states.position).max() < 1e-13
    assert np.abs(again.quaternion - states.quaternion).max() < 1e-13
    assert np.abs(again.twist - states.twist).max() < 1e-12


def test_bodies_thrown_apart_are_put_back_together(model):
    rng = np.random.default_rng(1)
    _, _, states = random_states(model, rng)
    shaken = replace(states, twist=rng.normal(size=states.twist.shape))
    apart = displaced(shaken, 0.1 * rng.normal(size=states.twist.shape))
    assert largest(constraint_errors(model, apart)) > 0.01
    together = consistent(model, apart)
    assert largest(constraint_errors(model, together)) < 1e-13
    assert np.abs(together.near - joint_coordinates(model, together)[0]).max() < 1e-14


@pytest.mark.parametrize("model", [gripper(), floating_arm(), chain(4, rotor=0.3)], ids=lambda m: m.name)
def test_fitting_the_twists_is_the_impact_of_least_energy(model):
    """Joint impulses cannot add energy, and what they take is the energy of the change (Carnot)."""
    rng = np.random.default_rng(3)
    _, _, states = random_states(model, rng)
    wild = replace(states, twist=states.twist + rng.normal(size=states.twist.shape))
    fitted = consistent(model, wild)
    change = replace(states, twist=wild.twist - fitted.twist)
    assert kinetic(model, fitted) < kinetic(model, wild)
    assert kinetic(model, wild) - kinetic(model, fitted) == pytest.approx(kinetic(model, change), rel=1e-10)
    momentum = np.einsum("bij,bj->bi", MaximalSystem.of(model).inertia, change.twist)
    # the impulses do no work in any motion that the joints allow
    q, _ = joint_coordinates(model, fitted)
    T = rne.reduced_equations(model, q, np.zeros(model.n)).motion
    rotor = MaximalSystem.of(model).rotor * joint_coordinates(model, change)[1]
    assert np.abs(np.einsum("bin,bi->n", T, momentum) + rotor).max() < 1e-12


def test_even_bodies_that_all_lie_at_the_origin_find_their_places():
    model = robot("puma560")
    heap = BodyStates(np.zeros((6, 3)), np.tile([0.0, 0.0, 0.0, 1.0], (6, 1)), np.zeros((6, 6)), model.neutral)
    assert largest(constraint_errors(model, consistent(model, heap))) < 1e-13


def test_full_turns_are_distinguished_by_the_last_reading():
    model = gripper()
    q = np.array([7.0, 0.3])
    states = body_states(model, q, np.zeros(2))
    assert np.allclose(joint_coordinates(model, states)[0], q, atol=1e-14)
    assert np.allclose(joint_coordinates(model, replace(states, near=np.zeros(2)))[0], [7.0 - 2.0 * np.pi, 0.3])
    # a finger that mimics at −1.5 has turned by a half when its leader has turned by one: it must not look open
    states = body_states(model, [0.0, 2.0 * np.pi + 0.3], np.zeros(2))
    assert largest(constraint_errors(model, states)) < 1e-14


def test_a_mimic_joint_off_its_gear_is_an_error_along_its_axis():
    model = gripper()
    states = body_states(model, [0.2, 0.1], [0.5, -0.3])
    states.twist[2, 5] += 0.25
    slipped = displaced(states, np.array([[0.0] * 6, [0.0] * 6, [0.0, 0.0, 0.0, 0.0, 0.0, 0.01]]))
    position, velocity = constraint_errors(model, slipped)
    assert position[2, 5] == pytest.approx(0.01, rel=1e-12)
    assert velocity[2, 5] == pytest.approx(0.25, rel=1e-12)
    assert np.abs(position[:2]).max() < 1e-15
    fitted = consistent(model, slipped)
    q, _ = joint_coordinates(model, fitted)
    assert largest(constraint_errors(model, fitted)) < 1e-14
    assert 0.0 < abs(q[1] - 0.1) < 0.01  # both fingers gave way


@pytest.mark.parametrize(("change", "said"), [
    (lambda s: {"position": s.position * np.nan}, "position of body 'joint1' is nan"),
    (lambda s: {"quaternion": s.quaternion * [[1.0], [0.0]]}, "quaternion of body 'joint2' is zero"),
    (lambda s: {"twist": s.twist[:1]}, "twist of the bodies has shape"),
])  # fmt: skip
def test_states_that_are_none_are_refused(change, said):
    model = chain(2)
    states = body_states(model, [0.1, 0.2], [0.0, 0.0])
    with pytest.raises(ArgumentError, match=said):
        consistent(model, replace(states, **change(states)))
    with pytest.raises(ArgumentError, match="one state at a time"):
        body_states(model, np.zeros((3, 2)), np.zeros(2))
