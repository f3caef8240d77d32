"""The pantograph of document 002: its equations, torques and cut forces in closed form, its motions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from analytic.pantograph import Pantograph, assembled_angles, closed_form_of, cut_as_the_paper, turned
from analytic.pantograph_recursion import ANGLES, BEFORE, Recursion
from scipy.integrate import solve_ivp
from support.errors import relative_error

import rne_dynamics as rne
from rne_dynamics.cli.simulated.motion import PRESETS
from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.coordinates import motion_map
from rne_dynamics.closed_chain.inverse_dynamics import (
    ClosedMethod,
    closed_forward_dynamics,
    closed_gravity_torque,
    closed_inverse,
    closed_inverse_dynamics,
)
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.description.share import share_file
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.tree import Payload
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.free_motion import free_motion
from rne_dynamics.simulation.runs.log import Log

PAPER = cut_as_the_paper()
RNG = np.random.default_rng(2)
#: Both parallelograms well away from lying flat: q₂ and q₂ + q₃ about −90° as the paper has them.
Q = np.array([0.0, -1.3, -0.2]) + RNG.uniform(-0.6, 0.6, (20, 3))
QD, QDD = RNG.normal(size=(2, 20, 3))


def rows(f) -> np.ndarray:
    return np.array([f(*row) for row in zip(Q, QD, QDD, strict=True)])


def test_passive_joints_follow_the_paper() -> None:
    mechanism, _ = PAPER
    expected = np.array([assembled_angles(q) for q in Q])
    assert np.abs(assemble(mechanism, Q) - expected).max() < 1e-12


def test_paper_equations_8_to_16() -> None:
    mechanism, closed_form = PAPER
    answer = closed_inverse(mechanism, Q, QD, QDD)
    assert relative_error(answer.torque, rows(closed_form.efforts)) < 1e-12  # Lagrange
    for k, row in enumerate(zip(Q, QD, QDD, strict=True)):
        paper = closed_form.by_the_paper(*row)
        assert answer.torque[k, 1:] == pytest.approx([paper.tau2, paper.tau3], rel=1e-10, abs=1e-10)
        # the loop's force acts on the link that is cut off; the paper's is what that link exerts
        for name, force in (("N", paper.F_N), ("D", paper.F_D)):
            cut = answer.cut_force(name)[k]
            assert -cut[:2] == pytest.approx(force, rel=1e-9, abs=1e-9)
            assert np.abs(cut[2:]).max() < 1e-9  # what a pin in the plane does not block it does not carry


@pytest.fixture(scope="module")
def shipped() -> Mechanism:
    return rne.load_model("pantograph")


@pytest.fixture(scope="module")
def pinned() -> Mechanism:
    """The same links closed by their pins, as the paper cuts them."""
    return rne.load_model(Path(__file__).parents[2] / "examples" / "pantograph_pins.yaml")


def test_equations_1_to_18_as_printed_but_for_two_angles(pinned: Mechanism) -> None:
    """All three torques, whatever F_z, N_x and N_y at the cuts are. θ_NB or θ_K2 = θ₂, as printed, makes τ₂ wrong."""
    closed_form = replace(closed_form_of(pinned), more=())  # bar C is not in the equations
    rng = np.random.default_rng(3)
    wrong = {"NB": 0.0, "K2": 0.0}
    for q, qd, qdd in zip(Q, QD, QDD, strict=True):
        expected = closed_form.efforts(q, qd, qdd)
        state = Recursion.of(pinned, q, qd, qdd)
        for _ in range(3):
            open_at = 100.0 * rng.normal(size=(2, 3))
            assert state.torques(*open_at, q[2], q[2]) == pytest.approx(expected, rel=1e-11, abs=1e-11)
        size = np.abs(expected).max()
        off = np.abs(state.torques(*np.zeros((2, 3)), q[1], q[2]) - expected) / size
        assert off[2] < 1e-12  # the first mechanism is solved before
        wrong["NB"] = max(wrong["NB"], off[1])
        off = np.abs(state.torques(*np.zeros((2, 3)), q[2], q[1]) - expected) / size
        wrong["K2"] = max(wrong["K2"], off[1])
    assert min(wrong.values()) > 0.1


def test_table_1_places_the_links(pinned: Mechanism) -> None:
    """Denavit and Hartenberg's parameters and the angles of (7) and (16) against the assembled mechanism's poses."""
    for row in zip(Q, QD, QDD, strict=True):
        state = Recursion.of(pinned, *row)
        poses = rne.forward_kinematics(pinned.robot, assemble(pinned, row[0]))
        R, p = {"0": np.eye(3)}, {"0": np.zeros(3)}
        for i in ANGLES:
            R[i], p[i] = R[BEFORE[i]] @ state.R[i], p[BEFORE[i]] + R[BEFORE[i]] @ state.p[i]
            assert np.abs(poses[f"link{i}"][:3, :3] - R[i]).max() < 1e-12
            assert np.abs(poses[f"link{i}"][:3, 3] - p[i]).max() < 1e-12


def test_shipped_torques_are_lagrange_closed_form(shipped: Mechanism) -> None:
    expected = rows(closed_form_of(shipped).efforts)
    assert relative_error(closed_inverse_dynamics(shipped, Q, QD, QDD), expected) < 1e-12
    for method in get_args(ClosedMethod):
        assert relative_error(closed_forward_dynamics(shipped, Q, QD, expected, method=method), QDD) < 1e-10


@pytest.mark.parametrize("wrist_load", [False, True])
def test_shipped_first_mechanism_by_equations_8_to_10(pinned: Mechanism, wrist_load: bool) -> None:
    """Statics cannot determine bar C's share of the upper parallelogram's forces; the lower has none."""
    mechanism, closed_form = pinned, closed_form_of(pinned)
    if wrist_load:
        about = np.diag([0.02, 0.03, 0.04])
        mechanism = pinned.with_payload(Payload("wrist", 3.0, (0.05, 0.0, -0.1), about))
        closed_form = closed_form.loaded(3.0, 0.05, -0.1, about[2, 2])
    answer = closed_inverse(mechanism, Q, QD, QDD)
    assert relative_error(answer.torque, rows(closed_form.efforts)) < 1e-12
    for k, row in enumerate(zip(Q, QD, QDD, strict=True)):
        paper = closed_form.by_the_paper(*row)
        assert answer.torque[k, 2] == pytest.approx(paper.tau3, rel=1e-10, abs=1e-10)
        # the loop's frame A lies on link B, whose x axis points along −e(α)
        force = turned(-np.pi - row[0][1], answer.cut_force("N")[k, :2])
        assert -force == pytest.approx(paper.F_N, rel=1e-9, abs=1e-9)


@pytest.mark.slow
def test_round_off_grows_with_the_inverse_square_of_the_distance_where_pins_lie_flat(
    shipped: Mechanism, pinned: Mechanism
) -> None:
    rng = np.random.default_rng(4)
    closed_form = closed_form_of(shipped)
    for flat in (0.3, 3e-2, 1e-3, 1e-5):
        q = np.column_stack([np.zeros(20), -1.0 + 0.3 * rng.normal(size=20), np.zeros(20)])
        q[:, 2] = -flat - q[:, 1]
        qd, qdd = rng.normal(size=(2, 20, 3))
        tau = np.array([closed_form.efforts(*row) for row in zip(q, qd, qdd, strict=True)])
        size = np.abs(qdd).max(axis=1)
        off = np.abs(closed_forward_dynamics(pinned, q, qd, tau) - qdd).max(axis=1) / size
        expected = 5e-15 / motion_map(pinned, assemble(pinned, q)).smallest ** 2
        assert (off < 5.0 * expected).all()
        assert off.max() > 0.02 * np.median(expected)
        assert relative_error(closed_forward_dynamics(shipped, q, qd, tau), qdd) < 1e-12


def test_quintic_ends_in_static_torques(shipped: Mechanism) -> None:
    """From (0, −90°, 0) to (90°, −45°, −18°) in 5 s; the static torques computed by hand."""
    start, end = np.radians([0.0, -90.0, 0.0]), np.radians([90.0, -45.0, -18.0])
    motion = Quintic(start, end, 5.0)
    for t, q in ((0.0, start), (5.0, end)):
        point = motion.sample(t)
        assert point.q == pytest.approx(q, abs=1e-12)
        torque = closed_inverse_dynamics(shipped, point.q, point.qd, point.qdd)
        assert torque == pytest.approx(closed_gravity_torque(shipped, q), abs=1e-9)
        # halves of 2, B and C, and A; 3, M, L below: moments about the shoulder's and elbow's pins
        fore = 9.81 * 0.5 * (2.0 / 2 + 2.0 / 2 + 0.8) * np.cos(q[1] + q[2])
        upper = 9.81 * 0.5 * (2.0 / 2 + 2.6 / 2 + 7.2 + 0.001 / 2 + 2.0 + 2.0 + 0.8) * np.cos(q[1])
        assert torque == pytest.approx([0.0, upper + fore, fore], abs=1e-9)


STARTS = {name: np.array(preset.start) for name, preset in PRESETS["pantograph"].items() if not preset.to}
VISCOUS = 5.0
#: Starts of the second oscillation within half a degree of the printed one; the printed one first.
NEAR = np.radians(np.vstack([np.zeros(3), RNG.uniform(-0.5, 0.5, (59, 3))]) + np.array([0.0, 0.0, 50.0]))


def swing(closed_form: Pantograph, start: np.ndarray, viscous: float, seconds: float, rows: int) -> np.ndarray:
    """Positions of joints 1, 2, 3 let go at rest, by the closed form and SciPy's integrator; shape (rows, 3)."""

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        q, qd = state[:3], state[3:]
        bias = closed_form.efforts(q, qd, np.zeros(3))
        still = closed_form.efforts(q, np.zeros(3), np.zeros(3))
        M = np.array([closed_form.efforts(q, np.zeros(3), e) - still for e in np.eye(3)]).T
        return np.concatenate([qd, np.linalg.solve(M, -viscous * qd - bias)])

    times = np.linspace(0.0, seconds, rows)
    state = np.concatenate([start, np.zeros(3)])
    return solve_ivp(rate, (0.0, seconds), state, "DOP853", times, rtol=1e-11, atol=1e-12).y[:3].T


@pytest.mark.slow
def test_free_oscillations_follow_the_closed_form(shipped: Mechanism) -> None:
    """The second starts with the upper parallelogram flat and swings the lower one through flat, twice in 1 s."""
    seconds = 1.0
    log = free_motion(swinging(shipped), STARTS["second"], seconds=seconds, dt=1e-3, record_dt=0.05)
    expected = swing(closed_form_of(shipped), STARTS["second"], 0.0, seconds, 21)
    assert np.abs(log.q - expected).max() < 1e-8
    assert np.abs(log.energy - log.energy[0]).max() < 1e-9 * log.kinetic.max()


def swinging(mechanism: Mechanism) -> ArmPlant:
    return ArmPlant(mechanism, friction=False, stops=False)


def as_reported(log: Log) -> None:
    """Joints 2 and 3 swing about −90° and 0, and joint 3 does not turn over; energy is kept."""
    assert np.abs(log.energy - log.energy[0]).max() < 1e-6 * log.kinetic.max()
    q = np.degrees(log.q)
    assert np.ptp(q[:, 0]) < 1e-6
    assert q[:, 1].min() > -184.0
    assert q[:, 1].max() < 4.0
    assert np.abs(q[:, 2]).max() < 76.0


@pytest.mark.slow
def test_second_oscillation_as_the_paper_reports(shipped: Mechanism) -> None:
    for start in NEAR[:1]:
        as_reported(free_motion(swinging(shipped), start, seconds=5.0, dt=2e-3, record_dt=0.01))
    between = free_motion(swinging(shipped), STARTS["second-hanging"], seconds=5.0, dt=2e-3, record_dt=0.01)
    q = np.degrees(between.q)
    assert np.abs(q[:, 1] + 90.0).max() < 22.0
    assert np.abs(q[:, 2]).max() < 50.1


@pytest.mark.soak
def test_second_oscillation_over_40_s(shipped: Mechanism) -> None:
    log = free_motion(swinging(shipped), STARTS["second"], seconds=40.0, dt=1e-3, record_dt=0.01)
    as_reported(log)
    assert np.degrees(log.q.mean(axis=0)) == pytest.approx([0.0, -90.5, -0.4], abs=0.2)


@pytest.mark.soak
@pytest.mark.parametrize(("dt", "starts"), [(2e-3, 60), (1e-3, 20), (5e-4, 10)])
def test_many_starts_within_half_a_degree(shipped: Mechanism, dt: float, starts: int) -> None:
    """None stops, turns over or loses energy, wherever a stage of an integration step lands."""
    for start in NEAR[:starts]:
        as_reported(free_motion(swinging(shipped), start, seconds=10.0, dt=dt, record_dt=0.01))


@pytest.mark.slow
def test_with_friction_it_comes_to_rest_hanging() -> None:
    text = share_file("urdf/pantograph.yaml").read_text(encoding="utf-8")
    friction = "".join(f"  joint{k}: {{viscous: {VISCOUS}}}\n" for k in (1, 2, 3))
    text = text.replace("urdf: pantograph.urdf", "urdf: pantograph")  # as text it lies in no folder
    mechanism = rne.load_model(f"{text}\nfriction:\n{friction}")
    seconds = 10.0
    log = free_motion(ArmPlant(mechanism, stops=False), STARTS["second"], seconds=seconds, dt=2e-3, record_dt=0.5)
    assert log.q[-1] == pytest.approx(np.radians([0.0, -90.0, 0.0]), abs=0.02)
    expected = swing(closed_form_of(mechanism), STARTS["second"], VISCOUS, seconds, 21)
    assert np.abs(log.q - expected).max() < 1e-6
