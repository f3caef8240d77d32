"""The compiled functions as a user's own compiled code calls them, and what they do with what is wrong."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from support.errors import relative_error
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model import packed_arm

if not COMPILED:
    pytest.skip("numba is not installed", allow_module_level=True)

from numba import njit
from numba.core.errors import TypingError

PUMA = rne.load_urdf("puma560")
PANDA = rne.load_urdf(wheel_urdf("panda.urdf"), base="floating")
c = rne.compiled


@njit
def there_and_back(arm, q, qd, qdd, tau, found):
    """Forward dynamics of inverse dynamics."""
    code = c.inverse_dynamics(arm, q, qd, qdd, tau)
    return code if code != 0 else c.forward_dynamics(arm, q, qd, tau, found)


def vectors(robot: rne.RobotModel, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return rne.random_configuration(robot, rng), *rng.normal(size=(4, robot.n))


@pytest.mark.parametrize("robot", [PUMA, PANDA], ids=["puma560", "panda, floating, mimic"])
def test_a_users_compiled_function_calls_them(robot):
    q, qd, qdd, tau, found = vectors(robot)
    assert there_and_back(c.pack(robot), q, qd, qdd, tau, found) == c.OK
    assert relative_error(tau, rne.inverse_dynamics(robot, q[None], qd, qdd)[0]) < 1e-13
    assert relative_error(found, qdd) < 1e-9


def test_every_thread_takes_a_row():
    arms = np.tile(c.pack(PUMA), (3, 1))
    q, qd, qdd, tau, found = vectors(PUMA)
    for arm in arms:
        assert there_and_back(arm, q, qd, qdd, tau, found) == c.OK
    assert relative_error(found, qdd) < 1e-9


def test_derivatives_of_forward_dynamics_come_with_the_acceleration():
    q, qd, tau, qdd, _ = vectors(PUMA)
    out = np.empty((3, PUMA.n, PUMA.n))
    assert c.forward_dynamics_derivatives(c.pack(PUMA), q, qd, tau, qdd, out) == c.OK
    assert relative_error(qdd, rne.forward_dynamics(PUMA, q, qd, tau)) < 1e-13
    assert relative_error(out, np.array(rne.forward_dynamics_derivatives(PUMA, q, qd, tau))) < 1e-13


def test_integration_is_that_of_the_plain_function():
    q, step, out = *vectors(PANDA)[:2], np.empty(PANDA.nq)
    assert c.integrate_configuration(c.pack(PANDA), q, step, out) == c.OK
    assert relative_error(out, rne.integrate_configuration(PANDA, q[None], step)[0]) < 1e-13
    assert c.integrate_configuration(c.pack(PANDA), q, step, q) == c.OVERLAPPING


@pytest.mark.parametrize("seed", range(5))
def test_what_is_no_arm_is_not_read(seed):
    q, qd, qdd, tau, _ = vectors(PUMA)
    rng = np.random.default_rng(seed)
    arm = c.pack(PUMA)
    for wrong in (
        np.empty(0), np.zeros(1), np.zeros(arm.size), rng.normal(size=arm.size), arm[:-1].copy(), arm[1:].copy(),
        arm[:3].copy(), np.append(arm, 0.0), np.full(arm.size, np.nan), np.frombuffer(rng.bytes(8 * 64)).copy(),
    ):  # fmt: skip
        assert c.inverse_dynamics(wrong, q, qd, qdd, tau) == c.NOT_AN_ARM


def test_wrong_shapes_are_reported():
    arm = c.pack(PUMA)
    good = list(vectors(PUMA)[:4])
    for k in range(4):
        for size in (0, 5, 7, 600):
            wrong = list(good)
            wrong[k] = np.zeros(size)
            assert c.inverse_dynamics(arm, *wrong) == c.WRONG_SHAPE
    for shape in ((6, 5), (5, 6), (0, 0), (36, 1)):
        assert c.mass_matrix(arm, good[0], np.empty(shape)) == c.WRONG_SHAPE
    for link in (-1, len(PUMA.links), 2**40):
        assert c.jacobian(arm, link, good[0], np.empty((6, 6))) == c.NO_SUCH_LINK


def test_outputs_in_the_memory_of_inputs_are_reported():
    arm = c.pack(PUMA)
    q, qd, qdd, tau, _ = vectors(PUMA)
    for out in (q, qd, qdd, arm[-6:], arm[3:9]):
        assert c.inverse_dynamics(arm, q, qd, qdd, out) == c.OVERLAPPING
    assert c.inverse_dynamics(arm, q, q, q, tau) == c.OK


def test_a_checked_arm_refuses_what_is_not_finite():
    checked = c.pack(PUMA, checked=True)
    for k in range(3):
        for bad in (np.nan, np.inf, -np.inf):
            given = [v.copy() for v in vectors(PUMA)[:4]]
            given[k][2] = bad
            assert c.inverse_dynamics(checked, *given) == c.NOT_FINITE


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (1, np.zeros(6, np.float32)),
        (1, np.zeros(12)[::2]),
        (2, np.broadcast_to(0.0, 6)),
        (0, c.pack(PUMA).view(np.int64)),
    ],
    ids=["float32", "strided", "read-only output", "arm of integers"],
)
def test_arrays_of_another_kind_do_not_compile(place, wrong):
    arguments = [c.pack(PUMA), vectors(PUMA)[0], np.empty(PUMA.n)]
    arguments[place] = wrong
    with pytest.raises(TypingError, match="C-contiguous array of float64"):
        c.gravity_torque(*arguments)


def test_only_open_rigid_arms_are_packed():
    with pytest.raises(ArgumentError, match="only an open rigid arm"):
        c.pack(rne.load_model("flexible_arm"))
    with pytest.raises(ArgumentError, match="floating base"):
        c.pack(PANDA, base_motion=rne.BaseMotion())
    with pytest.raises(ArgumentError, match="does not broadcast"):
        c.pack(PUMA, base_motion=rne.BaseMotion(linear_velocity=np.zeros((2, 3))))


OWN = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity_torque", "inverse_dynamics_derivatives"]


def answers(arm: np.ndarray, robot: rne.RobotModel, seed: int = 0) -> list[np.ndarray]:
    """What each function of `OWN` fills for one state."""
    rng = np.random.default_rng(seed)
    q = rne.random_configuration(robot, rng)
    given = [q, rng.normal(size=robot.n), rng.normal(size=robot.n)]
    found = []
    for name in OWN:
        quantity = QUANTITIES[name]
        out = np.full(quantity.shape(robot), np.nan)
        assert getattr(rne.compiled, name)(arm, *given[: len(quantity.inputs)], out) == rne.compiled.OK
        found.append(out)
    return found


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_own_code_computes_the_same(base):
    robot = rne.load_urdf("puma560", base=base)
    plain, own = rne.compiled.pack(robot), rne.compiled.pack(robot, own_code=OWN)
    copy = np.tile(own, (2, 1))[1]
    for seed in range(5):
        for found, again, expected in zip(*(answers(x, robot, seed) for x in (own, copy, plain)), strict=True):
            assert relative_error(found, expected) < 1e-13
            assert np.array_equal(found, again)


def test_own_code_is_called_and_only_in_the_process_that_it_belongs_to(monkeypatch):
    robot = rne.load_urdf("puma560")
    other = rne.load_urdf("puma560", gravity=(0.0, 0.0, -1.0))
    arm, q, tau = rne.compiled.pack(robot), np.full(6, 0.3), np.empty(6)
    code = QUANTITIES["gravity_torque"].code(other)
    packed_arm.put_own_code(arm, {"gravity_torque": code.address})
    assert rne.compiled.gravity_torque(arm, q, tau) == rne.compiled.OK
    assert relative_error(tau, rne.gravity_torque(other, q)) < 1e-13, "the address was not called"
    monkeypatch.setattr(packed_arm, "PROCESS", packed_arm.PROCESS ^ 2)  # as in an array from another process
    packed_arm.put_own_code(arm, {"gravity_torque": 8})
    assert rne.compiled.gravity_torque(arm, q, tau) == rne.compiled.OK
    assert relative_error(tau, rne.gravity_torque(robot, q)) < 1e-13


def test_own_code_outlives_the_robot_and_leaves_what_it_cannot_do_to_the_kernel():
    robot = rne.load_urdf("puma560")
    arm, q = rne.compiled.pack(robot, own_code=["inverse_dynamics"]), np.full(6, 3e9)
    expected = rne.inverse_dynamics(robot.with_own_code(False), q, q, q)
    del robot
    gc.collect()
    tau = np.empty(6)
    assert rne.compiled.inverse_dynamics(arm, q, q, q, tau) == rne.compiled.OK
    assert relative_error(tau, expected) < 1e-12
    assert rne.compiled.inverse_dynamics(arm, q, q, q[:5], tau) == rne.compiled.WRONG_SHAPE
    assert rne.compiled.inverse_dynamics(arm, q, q, q, q) == rne.compiled.OVERLAPPING


def test_own_code_knows_the_bases_motion():
    robot, q = rne.load_urdf("puma560"), np.full(6, 0.4)
    motion = rne.BaseMotion(angular_velocity=(0.1, 0.2, 0.3), linear_acceleration=(1.0, 0.0, -2.0))
    arm, tau = rne.compiled.pack(robot, base_motion=motion, own_code=["inverse_dynamics"]), np.empty(6)
    assert rne.compiled.inverse_dynamics(arm, q, q, q, tau) == rne.compiled.OK
    assert relative_error(tau, rne.inverse_dynamics(robot, q, q, q, base_motion=motion)) < 1e-13


def test_own_code_of_functions_that_have_none_is_refused():
    with pytest.raises(ArgumentError, match="own_code has no function named 'jacobian'"):
        rne.compiled.pack(rne.load_urdf("puma560"), own_code=["jacobian"])
