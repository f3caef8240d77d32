"""Torque-free motion of a rigid body against Jacobi's elliptic functions (theorem 4.16, Euler's equations)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ellipj
from support.errors import relative_error

import rne_dynamics as rne
from rne_dynamics.dynamics.free_bodies.state import body_states
from rne_dynamics.model.tree import KinematicTree, TreeLink, rotation_about
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.free_motion import simulate_maximal
from rne_dynamics.simulation.stepping.stepping import integrate

MOMENTS = np.array([0.2, 0.5, 0.6])  # principal moments, kg·m²
#: Angular velocities along the principal axes at the start, the middle one zero: about the axis of the largest moment
#: mostly, then about that of the smallest.
STARTS = ([0.8, 0.0, 3.0], [3.0, 0.0, 0.8])
TURN = rotation_about(np.array([0.48, -0.6, 0.64]), 0.9)  # principal axes in the body's frame
CENTRE = np.array([0.1, -0.2, 0.05])


def stone() -> rne.RobotModel:
    """One free body whose frame is neither at its mass centre nor along its principal axes."""
    body = rne.Inertia(2.0, CENTRE, TURN @ np.diag(MOMENTS) @ TURN.T)
    return rne.assemble(KinematicTree("stone", (TreeLink("stone", body),), ()), base="floating", gravity=(0, 0, 0))


def start(spin) -> np.ndarray:
    """Velocities of the floating base with the mass centre at rest."""
    w = TURN @ np.array(spin)
    return np.concatenate([-np.cross(w, CENTRE), w])


def jacobi(spin, t) -> np.ndarray:
    """ω along the principal axes at time t by Landau and Lifshitz §37 (I₁ < I₂ < I₃), ω₂ = 0 at t = 0; (…, 3)."""
    energy, square = 0.5 * MOMENTS @ np.square(spin), np.square(MOMENTS * spin).sum()  # E, M²
    # M² > 2 E I₂ is turning about the axis of the largest moment; the other case with 1 and 3 exchanged
    a, b, c = (0, 1, 2) if square > 2.0 * energy * MOMENTS[1] else (2, 1, 0)
    A, B, C = MOMENTS[[a, b, c]]
    over, under = 2.0 * energy * C - square, square - 2.0 * energy * A
    rate = np.sqrt((C - B) * under / (A * B * C))
    sn, cn, dn, _ = ellipj(rate * np.asarray(t), (B - A) * over / ((C - B) * under))
    w = np.empty((*np.shape(t), 3))
    w[..., a] = np.sqrt(over / (A * (C - A))) * cn
    w[..., b] = np.sqrt(over / (B * (C - B))) * sn
    w[..., c] = np.sqrt(under / (C * (C - A))) * dn
    return w


@pytest.mark.parametrize("spin", STARTS)
def test_a_free_body_turns_as_jacobi_says(spin) -> None:
    """Its spin all the time, and its attitude after 12 s.

    Around the fixed angular momentum the third axis goes φ̇ = M (I₁ω₁² + I₂ω₂²) / (I₁²ω₁² + I₂²ω₂²).
    """
    robot, t = stone(), np.linspace(0.5, 20.0, 40)
    states = integrate(ArmPlant(robot), State(0.0, robot.neutral, start(spin)), np.zeros(6), t, rtol=1e-12)
    w = np.array([TURN.T @ state.qd[3:] for state in states])
    assert np.abs(w - jacobi(spin, t)).max() < 1e-10
    state = states[23]
    H = TURN @ (MOMENTS * spin)
    up = H / np.linalg.norm(H)

    def speed(s: float) -> float:
        w = jacobi(spin, s)
        return float(np.linalg.norm(H) * (MOMENTS[:2] @ w[:2] ** 2) / (np.square(MOMENTS[:2]) @ w[:2] ** 2))

    turned, _ = quad(speed, 0.0, t[23], limit=500, epsabs=1e-11)
    before = TURN[:, 2]
    pose = rne.forward_kinematics(robot, state.q)["stone"]
    after = pose[:3, :3] @ TURN[:, 2]
    height = MOMENTS[2] * jacobi(spin, t[23])[2] / np.linalg.norm(H)  # the axis' own component along H
    flat = rotation_about(up, turned) @ (before - (before @ up) * up)
    expected = height * up + flat * np.sqrt((1.0 - height**2) / (flat @ flat))
    assert np.abs(after - expected).max() < 1e-10
    centre = pose[:3, :3] @ CENTRE + pose[:3, 3]
    assert np.abs(centre - CENTRE).max() < 1e-10  # the mass centre stays
    found = rne.momentum(robot, state.q, state.qd, "com").angular
    assert relative_error(found, H) < 1e-10


@pytest.mark.slow
def test_the_differential_algebraic_equations_turn_alike() -> None:
    """The same body in maximal coordinates, Runge–Kutta steps of 1 ms."""
    robot, spin = stone(), STARTS[0]
    log = simulate_maximal(robot, body_states(robot, robot.neutral, start(spin)), 0.1, 1e-3, record_every=50)
    assert np.abs(log.qd[:, 3:] @ TURN - jacobi(spin, log.time)).max() < 1e-10
