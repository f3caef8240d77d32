"""External efforts by the generalised momentum: terms by Pinocchio, exact steps, wrenches, refusals."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from scipy.signal import StateSpace, lsim
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.dynamics.declared.arguments import arm_of
from rne_dynamics.dynamics.newton_euler.newton_euler import momentum_terms_kernel
from rne_dynamics.errors import ControlError, ModelError, RneDynamicsError

PANDA = rne.load_urdf("panda")
RNG = np.random.default_rng(5)


def ur10() -> tuple[str, rne.RobotModel]:
    path = wheel_urdf("ur10_robot.urdf")
    return path.read_text(encoding="utf-8"), rne.load_urdf(path)


def test_momentum_and_its_known_rate_are_pinocchios() -> None:
    text, robot = ur10()
    model = pin.buildModelFromXML(text)
    data = model.createData()
    order = [model.joints[model.getJointId(name)].idx_v for name in robot.joint_names]
    for _ in range(20):
        q, qd, rows = RNG.uniform(-2, 2, 6), RNG.uniform(-2, 2, 6), np.empty((4, 6))
        momentum_terms_kernel(arm_of(robot), q, qd, np.zeros(6), rows)
        there, rate = np.empty(6), np.empty(6)
        there[order], rate[order] = q, qd
        C = pin.computeCoriolisMatrix(model, data, there, rate).copy()
        g = pin.computeGeneralizedGravity(model, data, there)
        M = pin.crba(model, data, there)
        M = np.triu(M) + np.triu(M, 1).T
        np.testing.assert_allclose(rows[0], (M @ rate)[order], atol=1e-11)
        np.testing.assert_allclose(rows[1], (C.T @ rate)[order], atol=1e-11)
        np.testing.assert_allclose(rows[2], g[order], atol=1e-11)


@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_terms_with_rotors_and_fingers(name: str) -> None:
    robot = rne.load_urdf(name)
    n = robot.n
    q, qd, qdd, rows = *RNG.uniform(-1, 1, (3, n)), np.empty((4, n))
    momentum_terms_kernel(arm_of(robot), q, qd, qdd, rows)
    expected = rne.coriolis_matrix(robot, q, qd).T @ qd
    np.testing.assert_allclose(rows[0], rne.mass_matrix(robot, q) @ qd, atol=1e-12)
    np.testing.assert_allclose(rows[1], expected, atol=1e-12)
    np.testing.assert_allclose(rows[2], rne.gravity_torque(robot, q), atol=1e-12)
    parts = rne.regressor(robot, q, qd, qdd) * rne.inertial_parameters(robot)
    np.testing.assert_allclose(rows[3], np.abs(parts.reshape(n, -1, 10).sum(axis=2)).sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("ratio", [0.8, 1.0])
def test_a_step_is_exact_at_any_period(ratio: float) -> None:
    """A slider that gravity does not move: r is the filter's answer to the force, whatever the times of the states."""
    text = """<robot name="slider"><link name="base"/><link name="cart"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="slide" type="prismatic">
    <parent link="base"/><child link="cart"/><axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="9" velocity="9"/>
    </joint></robot>"""
    observer = rne.MomentumObserver(rne.load_urdf(text), 40.0, ratio, friction=None)
    times = np.concatenate([[0.0], np.cumsum(RNG.uniform(0.0005, 0.03, 40))])
    force, motor, mass = 3.0, -1.0, 2.0
    state, seen = observer.start([0.0], [0.0]), [0.0]
    before = state.memory.copy()
    for t0, t in pairwise(times):
        v = (force + motor) / mass * t
        state = observer.update(state, [0.5 * v * t], [v], [motor], t - t0)
        seen.append(state.external[0])
    w = 40.0
    plant = StateSpace([[0, 1], [-w * w, -2 * ratio * w]], [[0], [w * w]], [[1, 0]], [[0]])
    even = np.linspace(0.0, times[-1], 20001)
    _, y, _ = lsim(plant, np.full(20001, force), even)
    np.testing.assert_allclose(seen, np.interp(times, even, y), atol=1e-5)
    np.testing.assert_array_equal(before, observer.start([0.0], [0.0]).memory)


def test_a_wrench_at_the_hand_is_found_and_what_the_arm_cannot_see_is_said() -> None:
    q, force = np.array([0.2, -0.4, 0.3, -2.0, 0.2, 1.7, 0.5]), np.array([5.0, -8.0, 12.0, 0.4, -0.3, 0.2])
    observer = rne.MomentumObserver(PANDA)
    J = rne.jacobian(PANDA, q, "panda_link8")
    found = observer.wrench(J.T @ force, q, "panda_link8", damping=1e-9)
    np.testing.assert_allclose(found.wrench, force, atol=1e-7)
    np.testing.assert_allclose(found.seen, 1.0, atol=1e-9)
    np.testing.assert_allclose(found.rest, 0.0, atol=1e-7)
    near = observer.wrench(np.eye(7)[0], q, "panda_link2")
    assert abs(near.seen.sum() - 2.0) < 0.1  # two joints before it: two of six directions
    assert np.abs(near.wrench).max() < 1e3


def test_gravity_that_the_arm_compensates_is_no_external_effort() -> None:
    q, zero = np.array([0.2, -0.4, 0.3, -2.0, 0.2, 1.7, 0.5]), np.zeros(7)
    for names, effort in (((), rne.gravity_torque(PANDA, q)), (("gravity",), zero)):
        observer = rne.MomentumObserver(PANDA, compensated=frozenset(names))
        state = observer.start(q, zero)
        for _ in range(20):
            state = observer.update(state, q, zero, effort, 1e-3)
        np.testing.assert_allclose(state.external, 0.0, atol=1e-9)
        assert state.allowance[1] > 1.0  # gravity by wrong masses


@pytest.mark.parametrize(
    ("robot", "values", "said"),
    [
        (PANDA, {"bandwidth": 0.0}, "bandwidth"), (PANDA, {"ratio": 1.2}, "at most 1"),
        (PANDA, {"model_error": -0.1}, "model_error"),
        (PANDA, {"compensated": frozenset({"coriolis"})}, "allowed are gravity and friction"),
        (rne.load_model("four_bar"), {}, "open arm"),
        (rne.load_urdf("panda", base="floating"), {}, "floating"),
    ],
    ids=["bandwidth", "ratio", "error", "compensated", "mechanism", "floating"],
)
def test_what_is_refused(robot: Any, values: dict[str, float], said: str) -> None:
    with pytest.raises(ControlError, match=said):
        rne.MomentumObserver(robot, **values)


def test_wrong_shapes_and_links_are_refused() -> None:
    observer = rne.MomentumObserver(PANDA)
    with pytest.raises(ControlError, match="position"):
        observer.start(np.zeros(3), np.zeros(7))
    with pytest.raises((ModelError, RneDynamicsError), match="nowhere"):
        observer.wrench(np.zeros(7), np.zeros(7), "nowhere")
