"""Identification against simulated arms whose parameters are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import butter, sosfiltfilt
from support.robots import robot as named
from support.secret_arms import PERIOD, SecretArm, fourier, secret

import rne_dynamics as rne
from rne_dynamics.dynamics.friction import OWN
from rne_dynamics.errors import RecordingError
from rne_dynamics.identification.consistent_fit import Prior, consistent_fit, corrected, parameters_of, pseudo_inertia
from rne_dynamics.identification.identify import identify
from rne_dynamics.identification.models import identified_robot
from rne_dynamics.identification.motion import motion_of, residual, rms
from rne_dynamics.identification.triangles import Layout, base_parameters, structure, triangles_of
from rne_dynamics.recording.recording import Recording

SECONDS = 20.0
T = np.arange(0.0, SECONDS, PERIOD)


@pytest.mark.parametrize(("name", "links", "rotors"), [
    ("puma560", 36, 40), ("panda", 43, 48), ("scara", 8, 11),
])  # fmt: skip
def test_number_of_base_parameters(name, links, rotors):
    robot = named(name)
    assert len(structure(robot).kept) == links
    assert len(structure(robot, rotors=True).kept) == rotors


def test_base_parameters_are_found_without_noise():
    arm = secret(named("puma560"), 0)
    base, W = structure(arm.robot), rne.regressor(arm.robot, *fourier(6, 0, SECONDS))
    links = slice(W.shape[2])
    x = np.linalg.lstsq(W.reshape(-1, W.shape[2])[:, base.kept], (W @ arm.parameters).ravel(), rcond=None)[0]
    expected = base.combinations[:, links] @ arm.parameters
    assert np.abs(x - expected).max() < 1e-8 * np.abs(expected).max()


def test_columns_that_depend_on_others_are_combined():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 7)) * 10.0 ** np.arange(-3, 4)
    base = base_parameters(A)
    assert len(base.kept) == 3
    assert np.allclose(A[:, base.kept] @ base.combinations, A, rtol=1e-9, atol=1e-9)


def test_pseudo_inertias_are_those_of_bodies():
    robot = named("puma560")
    parameters = rne.inertial_parameters(robot)
    assert np.allclose(parameters_of(pseudo_inertia(parameters)), parameters, rtol=1e-14, atol=1e-14)
    # ∫ ρ [r; 1][r; 1]ᵀ of point masses
    rng = np.random.default_rng(0)
    mass, r = rng.uniform(0.1, 1.0, 9), rng.normal(size=(9, 3))
    inertia = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(mass, r, strict=True))
    ten = np.r_[mass.sum(), mass @ r, inertia[np.triu_indices(3)]]
    h = np.c_[r, np.ones(9)]
    assert np.allclose(pseudo_inertia(ten)[0], (mass[:, None] * h).T @ h, rtol=1e-12)


def test_the_fit_is_where_its_cost_is_least():
    """Against the cost written out, at points around the solution and by its derivative there."""
    rng = np.random.default_rng(2)
    A, b = rng.normal(size=(40, 15)), rng.normal(size=40)
    prior = corrected(np.r_[1.0, 0.1, 0.0, 0.2, 0.3, 0.0, 0.0, 0.25, 0.0, 0.2], ("body",))[0]
    typical, positive = np.array([0.5, 0.2, 0.3, 0.4]), [10, 12, 13, 14]
    start = np.r_[parameters_of(prior), np.insert(typical, 1, 0.0)]
    x = consistent_fit(A, b, Prior(start, np.array([3.0, 2.0]), 1))

    def cost(x):
        X = np.linalg.solve(prior[0], pseudo_inertia(x[:10])[0])
        own = (x[positive] / typical - np.log(x[positive])).sum()
        return 0.5 * np.sum((A @ x - b) ** 2) + 3.0 * (np.trace(X) - np.log(np.linalg.det(X))) + 2.0 * own

    slope = [(cost(x + h) - cost(x - h)) / 2e-5 for h in 1e-5 * np.eye(15)]
    assert np.abs(slope).max() < 1e-4 * np.abs(A.T @ b).max()
    assert np.linalg.eigvalsh(pseudo_inertia(x[:10])[0])[0] > 0.0
    assert (x[positive] > 0.0).all()


def test_without_noise_efforts_of_another_motion_are_predicted_to_a_part_in_500():
    arm = secret(named("ur5_robot.urdf"), 0, 0.3)
    arm = arm._replace(rotors=np.zeros(6))
    layout = Layout(arm.robot, rotors=False)
    found = identify(triangles_of(layout, arm.motion(0, noise=0.0)), trust=1.0)
    left = residual(identified_robot(found), arm.motion(5, noise=0.0))
    assert rms(left.error).max() < 2e-3 * rms(left.measured).max()
    assert (np.linalg.eigvalsh(pseudo_inertia(found.parameters[: layout.links]))[:, 0] > 0.0).all()


def test_rates_are_those_of_the_positions():
    q, qd, qdd = fourier(2, 1, SECONDS)
    uneven = T + 1e-4 * np.random.default_rng(0).uniform(-1.0, 1.0, T.size)
    motion = motion_of(Recording("run", ("a", "b"), uneven, q, effort=q))
    assert 1.0 <= motion.band <= 4.0
    inside = slice(100, -100)
    assert np.abs(motion.qd - qd)[inside].max() < 0.02 * np.abs(qd).max()
    assert np.abs(motion.qdd - qdd)[inside].max() < 0.05 * np.abs(qdd).max()


def test_noise_of_encoders_does_not_widen_the_band():
    q, *_ = fourier(2, 1, SECONDS)
    noise = 1e-4 * np.random.default_rng(0).normal(size=q.shape)
    bands = [motion_of(Recording("run", ("a", "b"), T, x, effort=q)).band for x in (q, q + noise)]
    assert bands[1] < 2.0 * bands[0]


def test_logs_cut_out_of_a_motion_have_its_band():
    """They begin and end in motion; and the noise is less at high frequencies, since drivers filter."""
    q, *_ = fourier(2, 1, SECONDS)
    noise = sosfiltfilt(butter(4, 0.4, output="sos"), np.random.default_rng(0).normal(size=q.shape), axis=0)
    part = slice(1200, 3800)
    log = Recording("run", ("a", "b"), PERIOD * np.arange(2600.0), (q + 2e-5 * noise)[part], effort=q[part])
    assert motion_of(log).band <= 4.0
    white = 1e-4 * np.random.default_rng(0).normal(size=q.shape)
    bands = [motion_of(Recording("run", ("a", "b"), T, x, effort=q)).band for x in (q, q + white)]
    assert bands[1] < 2.0 * bands[0]


@pytest.mark.slow
def test_friction_that_the_model_lacks_is_known_from_data():
    robot = named("ur5_robot.urdf")
    coulomb = np.outer(np.random.default_rng(0).uniform(5.0, 20.0, 6), [0.0, 1.0, 0.0])
    arm = SecretArm(robot, rne.inertial_parameters(robot), coulomb, np.zeros(6))
    found = identify(triangles_of(Layout(robot, rotors=False), arm.motion(0)))
    assert found.from_data[found.layout.links :].reshape(-1, len(OWN))[:, OWN.index("coulomb")].all()


@pytest.mark.parametrize(("change", "words"), [
    ({"effort": None}, "0 states with efforts"),
    ({"q": np.zeros((500, 2))}, "no joint moves"),
    ({"t": np.arange(500.0)[:50], "q": np.zeros((50, 2)), "effort": np.zeros((50, 2))}, "at least 100"),
])  # fmt: skip
def test_recordings_that_show_nothing_are_refused(change, words):
    t = 0.01 * np.arange(500.0)
    good = Recording("run.csv", ("a", "b"), t, np.sin(t)[:, None] * [1.0, 2.0], effort=np.zeros((500, 2)))
    with pytest.raises(RecordingError, match=words):
        motion_of(replace(good, **change))


def test_bodies_that_are_none_get_a_prior():
    P, changed = corrected(np.concatenate((np.zeros(10), np.r_[1.0, np.zeros(9)])), ("nothing", "point"))
    assert changed == ("nothing", "point")
    assert (np.linalg.eigvalsh(P)[:, 0] > 0.0).all()
    assert P[1, 3, 3] == 1.0
