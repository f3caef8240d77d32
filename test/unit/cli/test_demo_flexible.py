"""The demo of arms with flexible links, without ROS: motions, gains, and figures from recordings made by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import expm

import rne_dynamics as rne
from rne_dynamics.cli.answer import Answer, console
from rne_dynamics.cli.with_ros.demo_report import (
    evaluate,
    evaluate_vibration,
    flexible_figures,
    flexible_parts,
    plot_flexible,
    tip_position,
)
from rne_dynamics.cli.with_ros.moves import (
    BENT,
    SAMPLED_GAIN,
    Plan,
    Programme,
    bends_little,
    lively,
    plan_moves,
    programmes,
    stable_bandwidth,
    vibrations,
)
from rne_dynamics.control.tracking_verdict import Reports
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.errors import ArgumentError
from rne_dynamics.flexible.energy import flexible_forward_kinematics, tip_deflections
from rne_dynamics.flexible.equations import equations_of_motion
from rne_dynamics.flexible.static import damping_matrix, elastic_matrix, quasi_static

ARMS = ("flexible_beam", pytest.param("flexible_arm6", marks=pytest.mark.slow))
#: Bandwidth of the controller, rad/s.
OMEGA = 20.0


@pytest.fixture(scope="module", params=ARMS)
def arm(request):
    return rne.load_model(request.param)


@pytest.fixture(scope="module")
def plan(arm):
    return plan_moves(arm.robot, lively(arm), bends_little(arm)).moves


def test_the_way_of_the_tip_is_that_of_the_equations(arm):
    rng = np.random.default_rng(1)
    q, delta = rng.uniform(-1.0, 1.0, (5, arm.n)), 0.01 * rng.normal(size=(5, arm.modes))
    there, stiff = (flexible_forward_kinematics(arm, q, bent).position[:, -1] for bent in (delta, 0.0 * delta))
    np.testing.assert_allclose(tip_position(arm, q, tip_deflections(arm, delta)), there, atol=1e-13)
    np.testing.assert_allclose(tip_position(arm, q), stiff, atol=1e-13)


def test_moves_bend_links_a_little_and_end_where_they_began(arm, plan):
    np.testing.assert_array_equal(plan[0].start, plan[-1].end)
    assert sum(m.duration for m in plan) == pytest.approx(8.0 * np.pi / vibrations(arm, arm.neutral, 1)[0][0])
    share = 0.0
    for move in plan:
        for t in np.linspace(0.0, move.duration, 7):
            q, qd, qdd = move.sample(t)
            delta = quasi_static(arm, q, qd, qdd).delta - quasi_static(arm, q, 0.0 * q, 0.0 * q).delta
            for link, tip in zip(arm.flexible_links, tip_deflections(arm, delta), strict=True):
                share = max(share, np.linalg.norm(tip[:3]) / np.linalg.norm(link.tip))
    assert 0.1 * BENT < share <= BENT  # effort limits come first where motors are weak


def test_shaped_and_slow_plans_make_the_same_moves(arm, plan):
    plain, zv, zvd, slow = programmes(arm, plan, None, 1, OMEGA, compare=True)
    assert plain.moves == plan
    for move, a, b, c in zip(plan, zv.moves, zvd.moves, slow.moves, strict=True):
        (omega,), (zeta,) = vibrations(arm, move.end, 1, OMEGA)
        period = 2.0 * np.pi / (omega * np.sqrt(1.0 - zeta**2))
        added = [x.duration - move.duration for x in (a, b, c)]
        assert added == pytest.approx([0.5 * period, period, period], abs=1e-8)
    with pytest.raises(ArgumentError, match="--modes is 99"):
        programmes(arm, plan, "zv", 99, OMEGA, compare=False)


def test_a_fast_controller_holds_the_joints(arm):
    held, there = (vibrations(arm, arm.neutral, 1, omega)[0] for omega in (None, 1e5))
    np.testing.assert_allclose(there, held, rtol=1e-4)
    slower, damped = vibrations(arm, arm.neutral, 1, OMEGA)
    assert slower < held
    assert damped > vibrations(arm, arm.neutral, 1)[1]


def growth(arm, q, omega, rate):
    """Largest eigenvalue of arm and controller from sample to sample, the effort a period old when it acts."""
    n, nz = arm.n, arm.nz
    J = equations_of_motion(arm, q, np.zeros(arm.modes), np.zeros(n), np.zeros(arm.modes)).J
    K, D = np.zeros((nz, nz)), np.zeros((nz, nz))
    K[n:, n:], D[n:, n:] = elastic_matrix(arm), damping_matrix(arm)
    inverse = np.linalg.inv(J)
    A = np.zeros((2 * nz + n, 2 * nz + n))
    A[:nz, nz : 2 * nz] = np.eye(nz)
    A[nz : 2 * nz] = np.hstack([-inverse @ K, -inverse @ D, inverse[:, :n]])
    step = expm(A / rate)[: 2 * nz]
    M = rne.mass_matrix(arm.robot, q)
    answer = np.zeros((n, 2 * nz + n))
    answer[:, :n], answer[:, nz : nz + n] = -(omega**2) * M, -2.0 * omega * M
    return np.abs(np.linalg.eigvals(np.vstack([step, answer]))).max()


def test_the_default_gains_are_stable_where_the_arm_is_sampled(arm, plan):
    rate = 500.0
    postures = np.array([move.end for move in plan])
    omega = stable_bandwidth(arm, postures, rate)
    assert max(growth(arm, q, omega, rate) for q in postures) < 1.0
    # and not for want of trying: where the bound says so, they are not
    assert max(growth(arm, q, 1.2 * omega / SAMPLED_GAIN, rate) for q in postures) > 1.0


@pytest.fixture(scope="module")
def recorded():
    """A recording of the two-link arm whose joints follow exactly, and whose second link swings after each move."""
    arm = rne.load_model("flexible_arm")
    moves = (Quintic(np.zeros(2), np.array([0.5, 0.2]), 1.0), Quintic(np.array([0.5, 0.2]), np.zeros(2), 1.0))
    settle, amplitude = 0.5, (0.004, 0.001)
    begins = (10**18, 10**18 + 1_700_000_000)
    stamps = 10**18 + 1_000_000 * np.arange(3500)
    since = [(stamps - b) * 1e-9 for b in begins]
    first = stamps < begins[1]
    q = np.where(first[:, None], [moves[0].sample(t).q for t in since[0]], [moves[1].sample(t).q for t in since[1]])
    tips = np.zeros((len(stamps), 2, 6))
    for t, size, own in zip(since, amplitude, (first, ~first), strict=True):
        tips[:, 1, 1] += np.where(own & (t > 1.0), size * np.sin(8.0 * np.pi * t), 0.0)
    received = slice(None, None, 4)
    recording = SimpleNamespace(
        stamps=stamps, sent=stamps, q=q, qd=np.zeros_like(q), efforts=np.ones((len(stamps), 2)), begins=begins,
        terms={},
        simulator={"answered": 3500.0, "missed": 0.0, "overruns": 0.0, "p50": 1e-4, "p99": 2e-4}, ready={},
        reports=Reports(),
        deflections=(stamps[received], tips[received]),
    )
    return arm, moves, settle, recording


def test_residual_vibration_is_what_is_left_after_each_move(recorded):
    arm, moves, settle, recording = recorded
    seen = evaluate_vibration(arm, recording, moves, settle)
    np.testing.assert_allclose(seen.residual, [0.008, 0.002], rtol=1e-3)
    assert seen.ends == pytest.approx((1.0, 2.7))
    assert seen.largest_bend == pytest.approx(0.004 / 0.5, rel=1e-3)
    assert seen.bent.max() == pytest.approx(0.004, rel=1e-3)
    # a joint state that was lost leaves no place to put its deflections
    fewer = SimpleNamespace(**{**vars(recording), "stamps": recording.stamps[5:], "q": recording.q[5:]})
    assert len(evaluate_vibration(arm, fewer, moves, settle).time) == len(seen.time) - 2


def test_figures_table_and_picture(recorded, capsys, tmp_path):
    arm, moves, settle, recording = recorded
    plans = (Programme("plain", moves), Programme("zv", moves))
    trackings, seen = ([f(r) for r in (recording, recording)] for f in (
        lambda r: evaluate(r, moves, Plan(moves, np.ones(2)), 1000.0, settle),
        lambda r: evaluate_vibration(arm, r, moves, settle),
    ))
    figures = flexible_figures(arm, moves, 20.0, plans, trackings, seen)
    np.testing.assert_allclose(figures["plans"][1]["residual"], [0.008, 0.002], rtol=1e-3)
    assert figures["frequencies"][0][0] == pytest.approx(0.44, abs=0.03)
    Answer({}, flexible_parts(figures)).show(console())
    table = capsys.readouterr().out
    assert all(word in table for word in ("8.00 mm", "2.00 mm", "100.0 %", "20.0 rad/s", "0.8 %"))
    plot_flexible(tmp_path / "plot.png", arm, plans, trackings, seen)
    assert (tmp_path / "plot.png").stat().st_size > 10_000
