"""Base trajectories through recorded poses, against the motion that was recorded."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, make_smoothing_spline
from support.moving_bases import Swell, quaternion

from rne_dynamics.errors import SimulationError
from rne_dynamics.simulation.plant.base_motion import SampledBase, check_base_trajectory, smoothing_spline

SWELL = Swell()
TIMES = np.arange(0.0, 20.0, 0.05)
POSITIONS = np.array([SWELL.position(t) for t in TIMES])
QUATERNIONS = np.array([quaternion(SWELL.motion(t).rotation) for t in TIMES])
VECTORS = ("linear_velocity", "angular_velocity", "linear_acceleration", "angular_acceleration")


def off(base: SampledBase, begin: float = 1.0, end: float = 19.0) -> dict[str, float]:
    """Largest errors against the recorded motion."""
    times = np.linspace(begin, end, 333).tolist()
    found = {
        name: max(np.abs(getattr(base.motion(t), name) - getattr(SWELL.motion(t), name)).max() for t in times)
        for name in (*VECTORS, "rotation")
    }
    return found | {"position": max(np.abs(base.position(t) - SWELL.position(t)).max() for t in times)}


def test_the_recorded_motion_comes_back_with_its_rates():
    signs = np.where(np.arange(len(TIMES)) % 3 == 0, -1.0, 1.0)[:, None]  # q and −q are the same turn
    base = SampledBase(TIMES, POSITIONS, signs * QUATERNIONS)
    error = off(base)
    assert error["position"] < 1e-7
    assert error["rotation"] < 1e-7
    assert max(error["linear_velocity"], error["angular_velocity"]) < 1e-5
    assert max(error["linear_acceleration"], error["angular_acceleration"]) < 1e-3
    assert base.duration == TIMES[-1]


def test_it_is_twice_differentiable_and_rests_before_and_after():
    base = SampledBase(TIMES, POSITIONS, QUATERNIONS)
    check_base_trajectory(base, -2.0, 22.0)
    for t in (-5.0, -1.0, 20.95, 30.0):
        motion = base.motion(t)
        assert not any(np.abs(getattr(motion, name)).max() > 1e-12 for name in VECTORS), t
    knots = [-1.0, 0.0, 0.05, 10.0, float(TIMES[-1]), float(TIMES[-1]) + 1.0]
    for t in knots:
        before, after = base.motion(t - 1e-9), base.motion(t + 1e-9)
        for name in (*VECTORS, "rotation"):
            np.testing.assert_allclose(getattr(before, name), getattr(after, name), atol=1e-6, err_msg=f"{name} {t}")


def test_noise_is_refused_and_smoothed():
    rng = np.random.default_rng(4)
    times = np.arange(0.0, 20.0, 0.02)
    positions = np.array([SWELL.position(t) for t in times]) + 0.002 * rng.normal(size=(len(times), 3))
    quaternions = np.array([quaternion(SWELL.motion(t).rotation) for t in times])
    quaternions += 0.001 * rng.normal(size=quaternions.shape)
    with pytest.raises(SimulationError, match=r"recorded: the base accelerates .* smooth them"):
        SampledBase(times, positions, quaternions, source="recorded")
    error = off(SampledBase(times, positions, quaternions, smoothing=1.0))
    assert error["position"] < 0.002
    assert error["linear_acceleration"] < 0.1
    assert error["angular_acceleration"] < 0.1


def test_the_spline_is_that_of_scipy():
    rng = np.random.default_rng(2)
    t = np.cumsum(rng.uniform(0.05, 0.2, 40))
    y = rng.normal(size=(40, 2))
    h = np.diff(t)
    weights = np.concatenate([[0.5 * h[0]], 0.5 * (h[1:] + h[:-1]), [0.5 * h[-1]]])
    through, smooth = smoothing_spline(t, y, 0.0), smoothing_spline(t, y, 1e-3)
    plain = CubicSpline(t, y, bc_type="natural")
    for order in range(3):
        scale = (1.0, 1.0, 0.5)[order]
        np.testing.assert_allclose(through[:, order], scale * plain(t[:-1], order), rtol=1e-9, atol=1e-9)
        for column in range(2):
            other = make_smoothing_spline(t, y[:, column], w=weights, lam=1e-3)
            np.testing.assert_allclose(
                smooth[:, order, column], scale * other.derivative(order)(t[:-1]), rtol=1e-7, atol=1e-7
            )


@pytest.mark.slow
def test_half_of_an_oscillation_at_the_smoothing_frequency_is_left():
    times = np.arange(0.0, 40.0, 0.01)
    wave = np.zeros((len(times), 3))
    wave[:, 2] = 0.01 * np.sin(2.0 * np.pi * 0.5 * times)
    upright = np.tile([0.0, 0.0, 0.0, 1.0], (len(times), 1))
    base = SampledBase(times, wave, upright, smoothing=0.5)
    assert max(base.position(t)[2] for t in np.arange(15.0, 25.0, 0.01)) == pytest.approx(0.005, rel=1e-3)


def test_files(tmp_path):
    table = np.column_stack([TIMES, POSITIONS, QUATERNIONS])
    csv = tmp_path / "base.csv"
    order = [7, 0, 1, 2, 3, 4, 5, 6]
    names = ["time", "x", "y", "z", "qx", "qy", "qz", "qw"]
    header = ", ".join([*(names[k] for k in order), "speed"])
    np.savetxt(csv, np.column_stack([table[:, order], TIMES]), delimiter=", ", header=header, comments="")
    base = SampledBase.load(csv)
    np.testing.assert_allclose(base.position(3.3), SampledBase(TIMES, POSITIONS, QUATERNIONS).position(3.3))


HEADER = "time,x,y,z,qx,qy,qz,qw\n"


def rows(row: str, times: tuple[int, ...] = (0, 1, 2, 3, 4)) -> str:
    """A file of rows; `row` says what follows the time, {odd} and {even} being 1 at odd and at even times."""
    return HEADER + "".join(f"{t}," + row.format(odd=t % 2, even=1 - t % 2) + "\n" for t in times)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column time, x, y, z, qx, qy, qz, qw"),
        ("time,x,y,z,qx,qy,qz\n", "no column qw"),
        (rows("0,0,0,0,0,0,1", (0,)), r"times have shape \(1,\)"),
        (rows("0,0,up,0,0,0,1"), "line 2: .*z 'up'.*must be a number"),
        (rows("0,0,0"), "line 2: .*must be a number"),
        (rows("0,0,nan,0,0,0,1"), "pose 0 is not finite"),
        (rows("0,0,0,0,0,0,1", (0, 1, 1, 2, 3)), "pose 2 is 1 s, after 1"),
        (rows("0,0,0,1,0,0,1"), "has the length 1.414"),
        (rows("0,0,0,{odd},0,0,{even}"), "turns by 180°"),
        (rows("0,0,{odd}00,0,0,0,1"), "units are wrong"),
    ],
)
def test_bad_files_are_refused_by_name_and_place(text, said, tmp_path):
    path = tmp_path / "base.csv"
    path.write_text(text)
    with pytest.raises(SimulationError, match=f"base.csv.*{said}"):
        SampledBase.load(path)


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(SimulationError, match=r"none.csv: the base motion cannot be read: No such file"):
        SampledBase.load(tmp_path / "none.csv")
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SimulationError, match=r"b.csv: it is not"):
        SampledBase.load(tmp_path / "b.csv")
    with pytest.raises(SimulationError, match="smoothing frequency is 0 Hz"):
        SampledBase(TIMES, POSITIONS, QUATERNIONS, smoothing=0)
