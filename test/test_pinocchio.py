"""Every dynamics function against Pinocchio, on every robot of the example-robot-data wheel and every shipped one.

One robot of each kind is in every run, by the general kernels and by machine code of its own; the others with the slow
tests by the general kernels, and by hand by machine code, which is compiled for minutes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.errors import relative_error
from support.pinocchio_oracle import Oracle, condition
from support.robots import CASES, file_of
from support.wheel import wheel_robots

import rne_dynamics as rne
from rne_dynamics.description.share import share_file, shipped_robots
from rne_dynamics.errors import SingularInertiaError

TOLERANCE = 1e-10
METHODS = ("nasser", "walker_orin", "walker_orin_columns", "lagrange")
STATES = 2
ROBOTS = [*wheel_robots(), *(share_file(f"urdf/{name}.urdf") for name in shipped_robots())]


def case(path: Path, base: str, code: str) -> object:
    """A parameter of `pair`, with its mark."""
    kinds = [(file_of(name), of) for name, of in CASES]
    marks = () if (path, base) in kinds[:-1] or ((path, base) in kinds and code == "general") else (
        pytest.mark.slow if code == "general" else pytest.mark.soak
    )
    return pytest.param((path, base, code), id=f"{path.stem}-{base}-{code}", marks=marks)


@pytest.fixture(
    scope="module",
    params=[case(p, base, code) for p in ROBOTS for base in ("fixed", "floating") for code in ("general", "own")],
)
def pair(request: pytest.FixtureRequest) -> tuple[rne.RobotModel, Oracle]:
    path, base, code = request.param
    robot = rne.load_urdf(path, base=base)
    return robot.with_own_code(code == "own"), Oracle(robot, path)


def states(robot: rne.RobotModel) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]]:
    rng = np.random.default_rng(7)
    links = list(rng.choice(robot.link_names, size=min(5, len(robot.link_names)), replace=False))
    return [
        (
            rne.random_configuration(robot, rng),
            rng.normal(size=robot.n),
            rng.normal(size=robot.n),
            {str(link): rng.normal(size=6) * 10.0 for link in links},
        )
        for _ in range(STATES)
    ]


def test_inverse_dynamics_bias_and_gravity(pair: tuple[rne.RobotModel, Oracle]) -> None:
    robot, oracle = pair
    for q, qd, qdd, wrenches in states(robot):
        tau = rne.inverse_dynamics(robot, q, qd, qdd, wrenches=wrenches)
        assert relative_error(tau, oracle.inverse_dynamics(q, qd, qdd, wrenches)) < TOLERANCE
        assert relative_error(rne.bias_torque(robot, q, qd), oracle.bias(q, qd)) < TOLERANCE
        # where gravity loads no joint at all, what remains is round-off of weight times reach
        weight = np.linalg.norm(robot.gravity) * robot.mass
        assert relative_error(rne.gravity_torque(robot, q), oracle.gravity(q), scale=1e-5 * weight) < TOLERANCE


def test_mass_matrix_and_energies(pair: tuple[rne.RobotModel, Oracle]) -> None:
    robot, oracle = pair
    for q, qd, _, _ in states(robot):
        assert relative_error(rne.mass_matrix(robot, q), oracle.mass_matrix(q)) < TOLERANCE
        assert relative_error(rne.kinetic_energy(robot, q, qd), oracle.kinetic_energy(q, qd)) < TOLERANCE
        weight = np.linalg.norm(robot.gravity) * robot.mass
        assert relative_error(rne.potential_energy(robot, q), oracle.potential_energy(q), scale=weight) < TOLERANCE


def test_forward_dynamics(pair: tuple[rne.RobotModel, Oracle]) -> None:
    robot, oracle = pair
    rng = np.random.default_rng(11)
    for q, qd, qdd, wrenches in states(robot):
        if robot.n == 0:
            for method in METHODS:
                assert rne.forward_dynamics(robot, q, qd, qdd, method=method).shape == (0,)
            continue
        tau = rng.normal(size=robot.n)
        M = oracle.mass_matrix(q)
        if condition(M) > 1e12:
            for method in METHODS:
                with pytest.raises(SingularInertiaError, match="moves no inertia"):
                    rne.forward_dynamics(robot, q, qd, tau, wrenches=wrenches, method=method)
            continue
        # iCub's eyes make M so ill-conditioned in a few states that round-off alone separates any two solvers by more
        tolerance = max(TOLERANCE, np.finfo(float).eps * condition(M))
        expected = oracle.forward_dynamics(q, qd, tau, wrenches)
        # There and back. Loads chosen at random all but cancel in q̈, so the error is taken relative to the
        # accelerations that the efforts would give one by one (Pinocchio's own round trip loses as much).
        loaded = rne.inverse_dynamics(robot, q, qd, qdd, wrenches=wrenches)
        one_by_one = np.abs(np.linalg.inv(M)) @ (np.abs(loaded) + np.abs(rne.bias_torque(robot, q, qd)))
        for method in METHODS:
            found = rne.forward_dynamics(robot, q, qd, tau, wrenches=wrenches, method=method)
            assert relative_error(found, expected) < tolerance, method
            back = rne.forward_dynamics(robot, q, qd, loaded, wrenches=wrenches, method=method)
            assert relative_error(back, qdd, scale=one_by_one.max()) < 1e-14 * robot.n, method


def test_kinematics(pair: tuple[rne.RobotModel, Oracle]) -> None:
    robot, oracle = pair
    for q, qd, _, wrenches in states(robot):
        poses = rne.forward_kinematics(robot, q)
        for link in wrenches:
            assert relative_error(poses[link], oracle.pose(q, link)) < TOLERANCE
            J = rne.jacobian(robot, q, link)
            assert relative_error(J, oracle.jacobian(q, link)) < TOLERANCE
            dJ = rne.jacobian_rate(robot, q, qd, link)
            assert relative_error(dJ, oracle.jacobian_rate(q, qd, link), scale=np.linalg.norm(qd)) < TOLERANCE
