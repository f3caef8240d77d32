from __future__ import annotations

import importlib.util
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from support.differences import along, rate
from support.errors import relative_error
from support.robots import CASES, robot
from support.trees import TREES

import rne_dynamics as rne
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.model import layout

STATES = 4


@pytest.fixture(scope="module", params=[*CASES, *((name, "") for name in TREES)], ids=lambda x: "-".join(x).strip("-"))
def model(request: pytest.FixtureRequest) -> rne.RobotModel:
    name, base = request.param
    return TREES[name]() if name in TREES else robot(name, base)


def states(model: rne.RobotModel, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = np.array([rne.random_configuration(model, rng) for _ in range(STATES)])
    return q, rng.normal(size=(STATES, model.n)), rng.normal(size=(STATES, model.n))


def test_terms_agree_with_newton_euler(model):
    q, qd, _ = states(model)
    terms = rne.lagrange_terms(model, q, qd)
    assert np.array_equal(terms.W, terms.W.swapaxes(-1, -2))
    assert relative_error(terms.W, rne.mass_matrix(model, q)) < 1e-13
    assert relative_error(terms.V, -rne.bias_torque(model, q, qd)) < 1e-12
    weight = 1e-3 * np.linalg.norm(model.gravity) * model.mass
    assert relative_error(terms.Y, -rne.gravity_torque(model, q), scale=weight) < 1e-12
    assert np.array_equal(terms.W_dot, terms.W_dot.swapaxes(-1, -2))


def test_rate_of_the_inertia_matrix(model):
    q, qd, _ = states(model, 3)
    W_dot = along(model, lambda x: rne.lagrange_terms(model, x, qd).W, q, qd)
    terms = rne.lagrange_terms(model, q, qd)
    assert relative_error(terms.W_dot, W_dot, scale=np.abs(terms.W).max()) < 1e-10


def displaced(model: rne.RobotModel, q: np.ndarray, qd: np.ndarray, s: int, h: float) -> float:
    """Kinetic energy after a displacement h of coordinate s, each joint's twist kept in its parent's axes."""
    step = np.zeros(model.n)
    step[s] = h
    there, rates = rne.integrate_configuration(model, q, step), qd.copy()
    for _, kind, _, iv in model.topology.tolist():
        if kind == layout.FLOATING and iv <= s < iv + 6:
            v, w = qd[iv : iv + 3], qd[iv + 3 : iv + 6]
            if s < iv + 3:
                rates[iv : iv + 3] = v + np.cross(w, step[iv : iv + 3])
            else:
                e = np.eye(3)[s - iv - 3]
                for k, vector in ((iv, v), (iv + 3, w)):
                    across = vector - (vector @ e) * e
                    rates[k : k + 3] = vector - across + across * np.cos(h) - np.cross(e, vector) * np.sin(h)
    return float(rne.kinetic_energy(model, there, rates))


def test_partial_derivatives_of_the_kinetic_energy(model):
    q, qd, _ = states(model, 4)
    expected = [rate(partial(displaced, model, q[0], qd[0], s)) for s in range(model.n)]
    size = float(rne.kinetic_energy(model, q[0], qd[0]))
    assert relative_error(rne.lagrange_terms(model, q[0], qd[0]).dT_dq, expected, scale=size) < 1e-9


def test_terms_on_a_moving_base_are_those_of_a_floating_base_that_moves_so():
    """Against the whole system with the base's coordinates among the others, in the world's pose and gravity."""
    fixed, floating = robot("puma560"), robot("puma560", "floating")
    rng = np.random.default_rng(5)
    q, qd, qdd, V, A = rng.normal(size=(5, 6))
    place = np.concatenate([rng.normal(size=3), rng.normal(size=4)])
    place[3:] /= np.linalg.norm(place[3:])
    R = rne.forward_kinematics(floating, np.concatenate([place, q])).rotation[0]
    motion = BaseMotion(A[:3] + np.cross(V[3:], V[:3]), V[3:], A[3:], V[:3], R)
    terms = rne.lagrange_terms(fixed, q, qd, base_motion=motion)
    whole = rne.lagrange_terms(floating, np.concatenate([place, q]), np.concatenate([V, qd]))
    size = float(np.abs(whole.V).max())
    assert relative_error(terms.W, whole.W[6:, 6:]) < 1e-13
    assert relative_error(terms.W_dot, whole.W_dot[6:, 6:]) < 1e-13
    for name in ("dT_dq", "Y"):
        assert relative_error(getattr(terms, name), getattr(whole, name)[6:], scale=size) < 1e-13, name
    s_dot = whole.W_dot[6:, :6] @ V + whole.W[6:, :6] @ A
    assert relative_error(terms.s_dot, s_dot, scale=size) < 1e-13
    assert relative_error(terms.V, terms.Y + terms.dT_dq - terms.W_dot @ qd - terms.s_dot, scale=size) < 1e-13
    tau = rne.inverse_dynamics(fixed, q, qd, qdd, base_motion=motion)  # by recursive Newton–Euler
    assert relative_error(terms.W @ qdd - terms.V, tau, scale=size) < 1e-12
    still = rne.lagrange_terms(fixed, q, qd, base_motion=BaseMotion())
    for a, b in zip(still, rne.lagrange_terms(fixed, q, qd), strict=True):
        assert relative_error(a, b, scale=size) < 1e-13
    assert not rne.lagrange_terms(fixed, q, qd).s_dot.any()


@cache
def three_joint_lift():
    """The module examples/three_joint_lift.py."""
    path = Path(__file__).resolve().parents[3] / "examples" / "three_joint_lift.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    lift = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lift)
    return lift


def test_the_three_joint_lift_of_the_document():
    lift = three_joint_lift()
    arm = lift.manipulator()
    t = np.linspace(0.0, 1.0, 2001)
    q, qd, qdd = lift.motion(arm, t)
    assert relative_error(q[0], lift.START) < 1e-15
    assert not qd[0].any()
    tip = rne.forward_kinematics(arm, q)["tip"][:, :3, 3]
    assert relative_error(tip - tip[0], np.outer(t**2, [0.0, 0.0, 1.0])) < 1e-14
    torques = lift.driving_torques(arm, q, qd, qdd)
    assert relative_error(torques, rne.inverse_dynamics(arm, q, qd, qdd)) < 1e-13
    # what the torques do is what the arm gains: Simpson's rule over their power
    power = np.einsum("tj,tj->t", torques, qd)
    work = (power[0] + power[-1] + 4.0 * power[1::2].sum() + 2.0 * power[2:-1:2].sum()) / 6000.0
    gain = rne.kinetic_energy(arm, q[-1], qd[-1]) + np.diff(rne.potential_energy(arm, q[[0, -1]]))[0]
    assert work == pytest.approx(gain, rel=1e-11)
    assert lift.tip_deviation(arm, lift.simulate(arm, torques, runge_kutta=True), t[::2]) < 1e-10
    # accelerations held for a step of 1 ms, as the document proposes: the tip ends 2.1 mm from its line of 1 m
    coarse = lift.tip_deviation(arm, lift.simulate(arm, torques, runge_kutta=False), t[::2])
    assert coarse == pytest.approx(2.1e-3, abs=1e-4)


def test_forming_the_equations_takes_a_hundredth_of_the_documents_time_at_most():
    """0.3 s on a PDP-11/45; here microseconds, measured by the example, and 3 ms even on a busy machine."""
    lift = three_joint_lift()
    arm = lift.manipulator()
    q, qd, _ = lift.motion(arm, np.linspace(0.0, 1.0, 101))
    inside, call = lift.forming_times(arm, q, qd)
    assert lift.PAPER == 0.3
    assert max(inside, call) < lift.PAPER / 100.0


def test_the_start_is_the_one_printed():
    """φ = (π, −π/2, −π/2) at rest, masses 0.1, 2 and 2 kg, 2 m/s² upward for one second."""
    lift = three_joint_lift()
    arm = lift.manipulator()
    assert lift.START.tolist() == [np.pi, -np.pi / 2, -np.pi / 2]
    assert [link.inertia.mass for link in arm.tree.links if link.inertia] == [0.1, 2.0, 2.0]
    assert (lift.LIFT, lift.DURATION) == (2.0, 1.0)
    q, qd, qdd = lift.motion(arm, np.array([0.0, 0.5, 1.0]))
    lifted = np.einsum("tij,tj->ti", rne.jacobian(arm, q, "tip")[:, :3], qdd)
    lifted += np.einsum("tij,tj->ti", rne.jacobian_rate(arm, q, qd, "tip")[:, :3], qd)
    assert relative_error(lifted, np.tile([0.0, 0.0, 2.0], (3, 1))) < 1e-12
