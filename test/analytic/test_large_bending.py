"""Range of the bending theory: compared with the elastica and chains of rigid segments, and warnings beyond it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc
from support.flexible_arms import LENGTH, cantilever, two_link_arm
from support.followed import follow
from support.segment_motion import motion, tip
from support.segments import segmented, settled

import rne_dynamics as rne
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.dynamics.kinematics.kinematics import LinkPoses, forward_kinematics
from rne_dynamics.errors import ModelError, SimulationError
from rne_dynamics.flexible import (
    BendingRangeWarning,
    flexible_forward_dynamics,
    flexible_forward_kinematics,
    quasi_static,
    static_deflection,
)
from rne_dynamics.flexible.theory_range import PLAIN, STIFFENED, deflections, range_findings
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import simulate
from rne_dynamics.simulation.runs.free_motion import free_motion
from rne_dynamics.simulation.stepping.stepping import integrate, step


def elastica(load: float) -> tuple[float, float]:
    """Tip x, y of a cantilever of length 1 under a force `load` = F L²/EI of fixed direction (Bisshopp, Drucker)."""

    def phase(p: float) -> float:
        return float(np.arcsin(np.sqrt(0.5) / p))

    p = brentq(lambda p: ellipk(p * p) - ellipkinc(phase(p), p * p) - np.sqrt(load), np.sqrt(0.5), 0.99999, xtol=1e-15)
    y = 1.0 - 2.0 * (ellipe(p * p) - ellipeinc(phase(p), p * p)) / np.sqrt(load)
    return float(np.sqrt(2.0 * (2.0 * p * p - 1.0) / load)), float(y)


def tip_error(deflection: float, stiffening: bool) -> float:
    """Distance of the tip from the elastica's, as a part of the length, where the plain theory has `deflection`."""
    beam = Beam("beam", 1.0, 1e-9, EI_y=1.0, modes=(3, 0, 0), shapes="polynomial", stiffening=stiffening)
    arm = cantilever(beam, Inertia(1.0, np.zeros(3), 1e-9 * np.eye(3)), (0.0, 3.0 * deflection, 0.0))  # 3 d = F L²/EI
    tip = flexible_forward_kinematics(arm, [0.0], static_deflection(arm, [0.0])).position[-1]
    return float(np.linalg.norm(tip[:2] - elastica(3.0 * deflection)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rne_dynamics.flexible.BendingRangeWarning")
def test_the_tip_of_a_loaded_beam_against_the_elastica() -> None:
    assert elastica(1.0) == pytest.approx((1.0 - 0.05643, 0.30172), abs=2e-5)  # the published table
    assert tip_error(PLAIN, stiffening=False) == pytest.approx(6.0e-3, abs=1e-4)
    assert tip_error(PLAIN, stiffening=True) == pytest.approx(2.8e-5, abs=1e-6)
    assert tip_error(STIFFENED, stiffening=True) == pytest.approx(3.1e-4, abs=1e-5)
    # halving the deflection leaves a quarter, and a sixteenth
    for stiffening, order in ((False, 2.0), (True, 4.0)):
        assert np.log2(tip_error(0.1, stiffening) / tip_error(0.05, stiffening)) == pytest.approx(order, abs=0.1)


def spatial_errors(deflection: float, mass: float, offset: float) -> np.ndarray:
    """How far the end of a beam of 1 m that bends both ways and twists is from, and turned to, rigid segments': m, rad.

    Its own `mass` is distributed, and the rest of 1 kg is at its end, `offset` off its axis.
    """
    beam = Beam(
        "beam", 1.0, mass, EI_y=1.0, EI_z=0.5, GJ=0.8, spread_y=1e-6 * mass, spread_z=1e-6 * mass, modes=(4, 4, 4),
        shapes="polynomial", stiffening=True,
    )  # fmt: skip
    load = Inertia(1.0 - mass, np.array([0.0, offset, 2.0 * offset]), 1e-9 * np.eye(3))
    force = deflection / (mass / 8.0 + (1.0 - mass) / 3.0)
    arm = cantilever(beam, load, tuple(force * np.array([0.1, 0.8, 0.6])))

    def end(poses: LinkPoses) -> np.ndarray:
        return np.hstack([poses["tip"][:3, 3:], poses["tip"][:3, :3] / np.sqrt(2.0)])

    tip = end(flexible_forward_kinematics(arm, [0.0], static_deflection(arm, [0.0])))
    chains = [segmented(arm, N) for N in (8, 16, 32)]
    found = [end(forward_kinematics(chain.robot, settled(chain, [0.0]))) for chain in chains]
    # springs one after the other in each part roll the segments by the order of 1/N
    once = [2.0 * fine - coarse for coarse, fine in pairwise(found)]
    off = tip - (4.0 * once[1] - once[0]) / 3.0
    return np.array([np.linalg.norm(off[:, 0]), np.linalg.norm(off[:, 1:])])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mass", "offset", "errors", "orders"),
    [
        (1e-6, 0.1, (1.3e-4, 4.2e-4), (3.0, 3.0)),
        (1.0 - 1e-6, 0.0, (6.3e-5, 2.6e-3), (2.8, 1.9)),
    ],
)
def test_a_beam_that_bends_both_ways_and_twists_against_rigid_segments(mass, offset, errors, orders) -> None:
    worst = spatial_errors(0.08, mass, offset)
    assert worst == pytest.approx(errors, rel=0.05)
    assert (np.log2(worst / spatial_errors(0.04, mass, offset)) > orders).all()


@pytest.mark.parametrize(
    ("torque", "bent", "errors"),
    [
        pytest.param(0.33, 0.035, (9.8e-4, 1.3e-5, 5.3e-7), marks=pytest.mark.soak),
        pytest.param(0.66, 0.07, (4.0e-3, 1.0e-4, 8.4e-6), marks=pytest.mark.soak),
        pytest.param(1.33, 0.14, (1.7e-2, 8.4e-4, 1.4e-4), marks=pytest.mark.slow),
    ],
)
def test_the_two_link_arm_against_rigid_segments(torque: float, bent: float, errors: tuple[float, ...]) -> None:
    """A second after a pulse of torque at joint 1; the segments bend as far as they like. The tip's error in m.

    Of the plain theory, of the shortening with the curvature y″, and of the shortening with the true curvature.
    """
    q, times, path = np.array([0.2, 0.5 * np.pi]), np.linspace(0.0, 1.0, 51), []

    def pulse(t: float) -> np.ndarray:
        return np.array([torque * np.sin(np.pi * t / 0.2) ** 2 if t < 0.2 else 0.0, 0.0])

    full = two_link_arm((3, 3), shapes="polynomial", stiffening=True)
    shortened = tuple(replace(link, hardening=np.zeros((3,) * 4)) for link in full.flexible_links)
    for arm in (two_link_arm((3, 3), shapes="polynomial"), FlexibleArm(full.robot, shortened), full):
        n, nz = arm.n, arm.nz

        def rate(t: float, s: np.ndarray, arm=arm, n=n, nz=nz) -> np.ndarray:
            parts = s[:n], s[n:nz], s[nz : nz + n], s[nz + n :]
            return np.concatenate([s[nz:], *flexible_forward_dynamics(arm, *parts, pulse(t))])

        start = np.concatenate([q, np.zeros(2 * nz - n)])
        s = solve_ivp(rate, (0.0, 1.0), start, method="DOP853", t_eval=times, rtol=1e-9, atol=1e-12).y.T
        path.append(flexible_forward_kinematics(arm, s[:, :n], s[:, n:nz]).position[:, -1])
        assert deflections(arm, s[:, n:nz]).max() == pytest.approx(bent, rel=0.02)
        found = range_findings(arm, s[:, :n], s[:, n:nz], s[:, nz : nz + n], times)
        assert bool(found) == (bent > PLAIN and len(path) == 1)
    chains = [segmented(arm, N) for N in (12, 24)]
    coarse, fine = (tip(chain, "link2", motion(chain, chain.posture(q), pulse, times)) for chain in chains)
    exact = (4.0 * fine - coarse) / 3.0
    assert [np.linalg.norm(tip - exact, axis=1).max() for tip in path] == pytest.approx(errors, rel=0.05)


#: A beam of 10 m whose first frequency is 3.8 rad/s.
LONG = Beam("beam", 10.0, 1.0, EI_y=1e4 * (3.8 / 3.5160) ** 2, modes=(2, 0, 0))


def long_beam(stiffening: bool):
    beam = Beam("beam", LONG.length, LONG.mass_per_length, EI_y=LONG.EI_y, modes=LONG.modes, stiffening=stiffening)
    return cantilever(beam)


def spun_up(speed: float, seconds: float = 15.0):
    """The manoeuvre of the literature: from rest to `speed`, rad/s, smoothly in `seconds`."""

    def at(t: float):
        w, T = 2.0 * np.pi / seconds, seconds
        if t >= T:
            return np.array([speed * (t - 0.5 * T)]), np.array([speed]), np.zeros(1)
        return (
            np.array([speed / T * (0.5 * t * t + (np.cos(w * t) - 1.0) / w**2)]),
            np.array([speed / T * (t - np.sin(w * t) / w)]), np.array([speed / T * (1.0 - np.cos(w * t))]),
        )  # fmt: skip

    return at


@pytest.mark.slow
def test_a_stiffened_beam_spun_beyond_its_frequency_deflects_as_published() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm = long_beam(True)
        found = follow(arm, spun_up(6.0), np.linspace(0.0, 25.0, 51), rtol=1e-5, atol=1e-8)
    tip = found.delta @ arm.flexible_links[0].at([10.0, 0.0, 0.0]).translation[:, 1]
    assert tip.min() == pytest.approx(-0.57, abs=0.02)  # on the way, as published (Kane, Ryan and Banerjee 1987)
    assert np.abs(tip[-18:]).max() < 5e-3
    with pytest.warns(BendingRangeWarning, match="turns at 2 rad/s"):
        quasi_static(long_beam(False), [0.0], [2.0], [0.0])
    with pytest.raises(ModelError, match="faster than they vibrate"):
        quasi_static(long_beam(False), [0.0], [6.0], [0.1])


def follow_plain(speed: float) -> tuple[str, ...]:
    q, qd = np.zeros((1, 1)), np.full((1, 1), speed)
    return range_findings(long_beam(False), q, np.zeros((1, 2)), qd)


@pytest.mark.slow
def test_a_simulation_that_bends_too_far_reports_it() -> None:
    arm = two_link_arm(stiffening=True)
    plant, tip = ArmPlant(arm), arm.flexible_links[0].at([LENGTH, 0, 0]).translation[0, 1]
    delta = np.array([0.095 / tip, 0.0, 0.0, 0.0])
    said = rf"'link1' is deflected by {0.095 / LENGTH:.2g}.* at t = 0 s; .*with stiffening"
    with pytest.warns(BendingRangeWarning, match=said):
        log = free_motion(plant, [0.0, 0.5], delta=delta, seconds=0.01)
    assert len(log.findings) == 1
    with pytest.warns(BendingRangeWarning, match=said) as caught:
        adaptive = free_motion(plant, [0.0, 0.5], delta=delta, seconds=0.01, record_dt=0.005, method="adaptive")
    assert len(caught) == len(adaptive.findings) == 1
    start = State(0.0, np.zeros(2), np.zeros(2), None, delta, np.zeros(4))
    with pytest.warns(BendingRangeWarning, match=said) as caught:
        integrate(plant, start, np.zeros(2), [0.0, 0.005], rtol=1e-6)
    assert [Path(one.filename) for one in caught] == [Path(__file__)]
    law = ComputedTorque(arm.robot, Gains.critically_damped(2, 0.1), None)
    with pytest.warns(BendingRangeWarning, match=said):
        simulate(plant, law, Quintic([0.0, 0.5], [0.0, 0.5], 0.01), delta=delta)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert free_motion(plant, [0.0, 0.5], delta=0.5 * delta, seconds=0.01).findings == ()


@pytest.mark.slow
def test_a_step_that_diverges_is_an_error() -> None:
    arm = long_beam(False)
    state = State(0.0, np.zeros(1), np.zeros(1), None, np.array([9.5, 0.0]), np.array([30.0, 0.0]))
    with pytest.raises(SimulationError, match=r"arm 'cantilever': .*'beam' diverges: .*t = 0.05 s"):
        step(ArmPlant(arm), state, np.zeros(1), 0.05)


def test_shipped_arms_have_stiffening() -> None:
    for name in ("flexible_beam", "flexible_arm", "flexible_arm6"):
        for link in rne.load_model(name).flexible_links:
            assert link.shortening.any()
