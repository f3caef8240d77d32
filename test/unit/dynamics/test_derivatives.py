from __future__ import annotations

import numpy as np
import pytest
from support.arms import chain, docked_vehicle, floating_arm, gripper, slider
from support.differences import gradient
from support.errors import relative_error
from support.pinocchio_oracle import Oracle
from support.robots import CASES, MIMIC, file_of, robot

import rne_dynamics as rne
from rne_dynamics.compiling.processor import processor
from rne_dynamics.dynamics.derivatives.forward_derivatives import FORWARD_DYNAMICS_DERIVATIVES
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink

SMALL = {
    "chain": lambda: chain(3, rotor=0.4), "gripper": gripper, "slider": slider, "floating_arm": floating_arm,
    "docked_vehicle": docked_vehicle,
}  # fmt: skip
#: Pinocchio's own articulated-body derivatives treat mimic joints as independent.
INDEPENDENT = [case for case in CASES if case[0] not in MIMIC]


@pytest.fixture(params=SMALL)
def small(request: pytest.FixtureRequest) -> rne.RobotModel:
    return SMALL[request.param]()


def oracle(name: str, base: str) -> Oracle:
    return Oracle(robot(name, base), file_of(name))


def state(model: rne.RobotModel, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    links = rng.choice(model.link_names, size=min(4, len(model.link_names)), replace=False)
    wrenches = {str(link): 10.0 * rng.normal(size=6) for link in links}
    return rne.random_configuration(model, rng), rng.normal(size=model.n), rng.normal(size=model.n), wrenches


def moving(model: rne.RobotModel) -> rne.BaseMotion | None:
    return rne.BaseMotion(*np.random.default_rng(4).normal(size=(4, 3))) if model.base == "fixed" else None


@pytest.mark.parametrize(("name", "base"), CASES)
def test_inverse_against_pinocchio(name, base):
    model, pinocchio = robot(name, base), oracle(name, base)
    q, qd, qdd, wrenches = state(model)
    found = rne.inverse_dynamics_derivatives(model, q, qd, qdd, wrenches=wrenches)
    dq, dqd = pinocchio.inverse_derivatives(q, qd, qdd, wrenches)
    assert relative_error(found.q, dq) < 1e-11
    assert relative_error(found.qd, dqd) < 1e-11
    assert relative_error(found.qdd, rne.mass_matrix(model, q)) < 1e-13


@pytest.mark.parametrize(("name", "base"), INDEPENDENT)
def test_forward_against_pinocchio(name, base):
    model, pinocchio = robot(name, base), oracle(name, base)
    q, qd, tau, wrenches = state(model)
    found = rne.forward_dynamics_derivatives(model, q, qd, tau, wrenches=wrenches)
    dq, dqd = pinocchio.forward_derivatives(q, qd, tau, wrenches)
    assert relative_error(found.q, dq) < 1e-9
    assert relative_error(found.qd, dqd) < 1e-9
    assert relative_error(found.tau, np.linalg.inv(rne.mass_matrix(model, q))) < 1e-11


def test_inverse_against_differences(small):
    q, qd, qdd, wrenches = state(small)
    outside = {"wrenches": wrenches, "base_motion": moving(small)}
    found = rne.inverse_dynamics_derivatives(small, q, qd, qdd, **outside)
    dq = gradient(small, lambda x: rne.inverse_dynamics(small, x, qd, qdd, **outside), q)
    # the efforts are quadratic in q̇: two values give the derivative exactly
    at = [rne.inverse_dynamics(small, q, qd + s * np.eye(small.n), qdd, **outside) for s in (1.0, -1.0)]
    scale = np.abs(at).max()
    assert relative_error(found.q, dq, scale=scale) < 1e-11
    assert relative_error(found.qd, 0.5 * (at[0] - at[1]).T, scale=scale) < 1e-13
    assert relative_error(found.qdd, rne.mass_matrix(small, q)) < 1e-13


def test_forward_against_differences(small):
    q, qd, qdd, wrenches = state(small)
    outside = {"wrenches": wrenches, "base_motion": moving(small)}
    tau = rne.inverse_dynamics(small, q, qd, qdd, **outside)
    found = rne.forward_dynamics_derivatives(small, q, qd, tau, **outside)
    dq = gradient(small, lambda x: rne.forward_dynamics(small, x, qd, tau, **outside), q)
    at = [rne.forward_dynamics(small, q, qd + s * np.eye(small.n), tau, **outside) for s in (1.0, -1.0)]
    scale = np.abs(at).max()
    assert relative_error(found.q, dq, scale=scale) < 1e-10
    assert relative_error(found.qd, 0.5 * (at[0] - at[1]).T, scale=scale) < 1e-12
    assert relative_error(found.tau @ rne.mass_matrix(small, q), np.eye(small.n)) < 1e-11


def test_shifting_a_floating_base_changes_nothing_and_costs_no_digits():
    model = robot("talos_full_v2.urdf", "floating")
    q, qd, qdd, wrenches = state(model)
    near = rne.inverse_dynamics_derivatives(model, q, qd, qdd, wrenches=wrenches)
    assert not near.q[:, :3].any()
    q[:3] = 1e6, -2e6, 3e5
    far = rne.inverse_dynamics_derivatives(model, q, qd, qdd, wrenches=wrenches)
    for a, b in zip(far, near, strict=True):
        assert relative_error(a, b) < 1e-12


def test_small_links_far_out_keep_their_digits():
    """Referred to one common point, a finger's 1e-8 kg·m² would drown in the m r² of the arm that carries it."""
    long_arm = Inertia(20.0, np.array([1.0, 0.1, 0.0]), np.eye(3))
    fingertip = Inertia(1e-3, np.full(3, 1e-3), np.eye(3) * 1e-8)
    joints = (
        TreeJoint("shoulder", JointKind.REVOLUTE, "base", "arm", axis=np.array([0.0, 1.0, 0.0])),
        TreeJoint("finger", JointKind.REVOLUTE, "arm", "tip", position=np.array([3.0, 0.2, 0.4])),
    )
    links = (TreeLink("base"), TreeLink("arm", long_arm), TreeLink("tip", fingertip))
    arm = assemble(KinematicTree("long_arm", links, joints))
    q, qd, qdd, _ = state(arm)
    D = rne.inverse_dynamics_derivatives(arm, q, qd, qdd)
    assert relative_error(D.qdd / rne.mass_matrix(arm, q), np.ones((2, 2))) < 1e-14
    # what the finger feels, relative to its own size
    carried = rne.regressor(arm, q, qd, qdd)[1] @ rne.inertial_parameters(arm)
    assert carried == pytest.approx(rne.inverse_dynamics(arm, q, qd, qdd)[1], rel=1e-13)
    dq = gradient(arm, lambda x: rne.inverse_dynamics(arm, x, qd, qdd), q)
    assert relative_error(D.q[1], dq[1]) < 1e-11
    twice = 2.0 * rne.coriolis_matrix(arm, q, qd)[1] @ qd
    assert (D.qd @ qd)[1] == pytest.approx(twice, rel=1e-13)


def test_batches_with_loads_and_moving_bases():
    model = docked_vehicle()
    rng = np.random.default_rng(0)
    q, qd, x = rne.random_configuration(model, rng, 3)[:, None], rng.normal(size=(2, model.n)), rng.normal(size=model.n)
    wrenches = {"le": rng.normal(size=(3, 1, 6))}
    motion = rne.BaseMotion(angular_velocity=rng.normal(size=(2, 3)))
    for function in (rne.inverse_dynamics_derivatives, rne.forward_dynamics_derivatives):
        whole = function(model, q, qd, x, wrenches=wrenches, base_motion=motion)
        turning = rne.BaseMotion(angular_velocity=motion.angular_velocity[1])
        one = function(model, q[2, 0], qd[1], x, wrenches={"le": wrenches["le"][2, 0]}, base_motion=turning)
        for a, b in zip(whole, one, strict=True):
            assert a.shape == (3, 2, model.n, model.n)
            assert np.array_equal(a[2, 1], b)


@pytest.mark.skipif(processor() is None, reason="no straight-line code on this processor")
@pytest.mark.parametrize("n", [1, 4, *(pytest.param(n, marks=pytest.mark.slow) for n in (7, 9))])
def test_columns_of_any_number_by_machine_code(n):
    arm = chain(n, rotor=0.1).with_own_code()
    assert FORWARD_DYNAMICS_DERIVATIVES.code(arm) is not None
    q, qd, tau = np.random.default_rng(n).normal(size=(3, 5, n))
    found = rne.forward_dynamics_derivatives(arm, q, qd, tau)
    for got, known in zip(found, rne.forward_dynamics_derivatives(arm.with_own_code(False), q, qd, tau), strict=True):
        assert relative_error(got, known) < 1e-10
    one = rne.bind(arm, "forward_dynamics_derivatives")(q[3], qd[3], tau[3])
    for got, known in zip(one, found, strict=True):
        assert relative_error(got, known[3]) < 1e-13
