from __future__ import annotations

import numpy as np
import pytest
from support.kinds import kinds_of
from support.mechanisms import four_bar
from support.supervised import settings

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble, assembled
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.laws.pd_gravity import PdGravity
from rne_dynamics.control.model_terms import closed_law_kernel
from rne_dynamics.control.supervision.torques import Torques
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.errors import AssemblyError
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import simulate

Q, QD = np.radians([10.0, -80.0, 12.0]), np.array([0.3, -0.5, 0.7])
REST = Reference(Q, np.zeros(3), np.zeros(3))


@pytest.fixture(scope="module")
def pantograph():
    return assembled(rne.load_model("pantograph"))


def test_computed_torque_is_inverse_dynamics_of_the_acceleration_it_asks_for(pantograph):
    gains = Gains.critically_damped(3, 20.0)
    reference = Reference(Q + 0.01, QD - 0.1, np.array([1.0, 2.0, -3.0]))
    terms = ComputedTorque(pantograph, gains).law(Q, QD, reference)
    asked = reference.qdd + gains.p * 0.01 - gains.d * 0.1
    np.testing.assert_allclose(terms.total, rne.inverse_dynamics(pantograph, Q, QD, asked), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(terms.gravity, rne.gravity_torque(pantograph, Q), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(
        terms.coriolis + terms.gravity, rne.bias_torque(pantograph, Q, QD), rtol=1e-10, atol=1e-11
    )


def test_the_stop_of_a_runaway_motor_calls_the_kernel_of_the_law(pantograph):
    """Its arrays are partly read-only, for which another kernel would be compiled while the motor drives the arm."""
    robot = pantograph.with_effort_limit(np.full(3, 100.0))
    torques, qdd = Torques(settings(robot)), np.array([1.0, 2.0, -3.0])
    ComputedTorque(robot, Gains.critically_damped(3, 20.0)).law(Q, QD, REST)
    compiled = kinds_of(closed_law_kernel)
    torques.explaining(Q.copy(), np.zeros(3), np.zeros(3))  # as `Supervisor.warm_up` does
    effort = torques.explaining(Q, QD, qdd)
    assert kinds_of(closed_law_kernel) == compiled
    np.testing.assert_allclose(effort, rne.inverse_dynamics(robot, Q, QD, qdd), rtol=1e-10, atol=1e-10)


def test_pd_and_gravity_compensation_hold_the_mechanism(pantograph):
    weight = rne.gravity_torque(pantograph, Q)
    still = np.zeros(3)
    laws = (
        PdGravity(pantograph, Gains(np.full(3, 50.0))).law(Q, still, REST),
        GravityCompensation(pantograph, np.ones(3)).law(Q, still),
    )
    for terms in laws:
        np.testing.assert_allclose(terms.total, weight, rtol=1e-11, atol=1e-12)


def test_a_posture_handed_in_gives_the_same_torque(pantograph):
    law = ComputedTorque(pantograph, Gains.critically_damped(3, 20.0))
    near = assemble(pantograph, Q + 0.002)
    kept = near.copy()
    np.testing.assert_allclose(
        law.law(Q, QD, REST, posture=near).total, law.law(Q, QD, REST).total, rtol=1e-10, atol=1e-10
    )
    np.testing.assert_array_equal(near, kept)


def test_positions_out_of_reach_are_refused_and_nan_is_passed_on(pantograph):
    bars = four_bar(cut="coupler")
    law = GravityCompensation(Mechanism(bars.robot, bars.loops, ("rocker",), bars.posture), np.ones(1))
    with pytest.raises(AssemblyError, match="loop 'knee'"):
        law.law(np.array([3.0]), np.zeros(1))
    terms = ComputedTorque(pantograph, Gains.critically_damped(3, 20.0)).law(np.full(3, np.nan), QD, REST)
    assert np.isnan(terms.total).all()


def test_the_pantograph_tracks_the_quintic_of_document_002(pantograph):
    path = Quintic(np.radians([0.0, -90.0, 0.0]), np.radians([90.0, -45.0, -18.0]), 5.0)
    law = ComputedTorque(pantograph, Gains.critically_damped(3, 40.0), FrictionCompensation())
    log = simulate(ArmPlant(pantograph), law, path, control_dt=2e-3)
    assert log.rms_error.max() < 1e-5
    static = rne.gravity_torque(pantograph, log.q[[0, -1]])
    np.testing.assert_allclose(log.effort[[0, -1]], static, atol=2e-3)
