"""Drives with servo loops on the arm of their model."""

from __future__ import annotations

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.errors import SimulationError
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import ServoDrives, Simulator

ROBOT = rne.load_urdf("puma560")
N, DT = ROBOT.n, 1e-3
START = np.array([0.1, -0.6, -0.4, 0.2, 0.3, -0.4])
NONE = np.full(N, np.nan)


class Arm:
    """A simulated arm with its drives; `log` is t, q, qd of each step."""

    def __init__(self, **options: object) -> None:
        self.simulator = Simulator(ArmPlant(ROBOT), START, dt=DT)
        self.drives = ServoDrives(ROBOT, 100.0, **options)
        self.log: list[tuple[float, np.ndarray, np.ndarray]] = []

    def command(self, position=NONE, velocity=NONE, effort=NONE) -> None:
        state = self.simulator.state
        given = (np.broadcast_to(values, N).astype(float) for values in (position, velocity, effort))
        self.drives.command(state.t, state.q, *given)

    def run(self, steps: int) -> np.ndarray:
        for _ in range(steps):
            state = self.simulator.state
            if self.drives.commanded:
                self.simulator.command(self.drives.effort(state.t, state.q, state.qd))
            state = self.simulator.advance()
            self.log.append((state.t, state.q, state.qd))
        return self.simulator.state.q


def test_a_stream_of_positions_is_followed_one_interval_late_and_smoothly():
    arm, asked, speed = Arm(), lambda t: START + 0.3 * (1.0 - np.cos(2.0 * np.minimum(t, np.pi / 2))), 0.6
    for k in range(0, 2000, 20):
        arm.command(asked(k * DT))
        arm.run(20)
    t, q, qd = (np.array(column) for column in zip(*arm.log, strict=True))
    after = t > 0.3  # the first interval is not known yet
    late = np.array([asked(max(s - 20 * DT, 0.0)) for s in t])
    assert np.abs(q - late)[after].max() < 2e-3
    assert np.abs(qd).max() < 1.1 * speed
    np.testing.assert_allclose(q[-1], asked(2.0), atol=1e-4)


def test_a_step_is_approached_at_the_velocity_limit():
    arm, goal = Arm(), START + np.array([1.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    arm.command(goal)
    needed = 1.5 / ROBOT.velocity_limit[0]
    arm.run(int(needed / DT) + 300)
    speeds = np.array([qd[0] for _, _, qd in arm.log])
    assert speeds.max() < 1.2 * ROBOT.velocity_limit[0]
    np.testing.assert_allclose(arm.simulator.state.q, goal, atol=2e-3)


def test_a_position_does_not_expire_and_is_kept_within_the_limits():
    arm = Arm(command_timeout=0.05)
    arm.command(np.where(np.arange(N) == 0, 100.0, START))
    arm.run(2000)
    assert arm.simulator.state.q[0] == pytest.approx(ROBOT.upper[0], abs=1e-3)


def test_velocities_expire():
    arm = Arm(command_timeout=0.1)
    for _ in range(50):
        arm.command(velocity=np.where(np.arange(N) == 0, 0.5, 0.0))
        arm.run(10)
    np.testing.assert_allclose(arm.simulator.state.qd, [0.5, 0, 0, 0, 0, 0], atol=2e-3)
    arm.run(150)
    there = arm.simulator.state.q[0]
    assert there == pytest.approx(START[0] + 0.5 * 0.59, abs=0.02)
    arm.run(300)
    np.testing.assert_allclose(arm.simulator.state.qd, 0.0, atol=1e-3)
    assert arm.simulator.state.q[0] == pytest.approx(there, abs=0.01)


def test_a_blocked_joint_does_not_catch_up_later():
    arm = Arm()
    top = ROBOT.upper[0]
    for _ in range(200):
        arm.command(velocity=np.where(np.arange(N) == 0, ROBOT.velocity_limit[0], 0.0))
        arm.run(10)
    assert arm.simulator.state.q[0] <= top + 1e-9
    for _ in range(30):
        arm.command(velocity=np.where(np.arange(N) == 0, -0.5, 0.0))
        arm.run(10)
    assert arm.simulator.state.q[0] == pytest.approx(top - 0.15, abs=0.02)


@pytest.mark.parametrize("hold", [False, True])
def test_efforts_go_to_the_plant_and_end_with_the_time_out(hold):
    arm, efforts = Arm(command_timeout=0.02, hold_on_timeout=hold), np.arange(1.0, N + 1)
    arm.command(effort=efforts)
    arm.run(5)
    np.testing.assert_array_equal(arm.simulator.applied_effort, efforts)
    arm.run(20)
    assert arm.simulator.applied_effort.any() == hold


def test_each_joint_has_its_own_kind_and_none_changes_nothing():
    arm, first = Arm(), np.arange(N) == 0
    arm.command(position=np.where(first, START + 0.2, np.nan), effort=np.where(first, np.nan, 1.0))
    arm.run(3)
    np.testing.assert_array_equal(arm.simulator.applied_effort[1:], 1.0)
    arm.command()
    arm.run(3)
    np.testing.assert_array_equal(arm.simulator.applied_effort[1:], 1.0)
    arm.command(position=np.where(first, np.nan, arm.simulator.state.q))  # back from effort: held where it is
    still = arm.simulator.state.q[1:]
    arm.run(500)
    np.testing.assert_allclose(arm.simulator.state.q[1:], still, atol=5e-3)
    assert arm.simulator.state.q[0] == pytest.approx(START[0] + 0.2, abs=1e-3)


def test_infinity_is_refused_and_the_former_command_stays():
    arm = Arm()
    arm.command(START + 0.1)
    with pytest.raises(SimulationError, match="velocity of joint 'joint2' is -inf; it must be finite, or NaN"):
        arm.command(START, velocity=np.where(np.arange(N) == 1, -np.inf, np.nan))
    np.testing.assert_allclose(arm.run(1000), START + 0.1, atol=1e-4)
