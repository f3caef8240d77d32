"""Trajectories as files: the same after reading, as YAML that ros2 takes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

import rne_dynamics as rne
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.recording.yaml_files import read_trajectory, write_trajectory

NAMES = ("shoulder", "no", "elbow: 2")


@pytest.mark.parametrize("parts", [1, 3])
def test_a_trajectory_is_the_same_after_reading(parts, tmp_path):
    rng = np.random.default_rng(0)
    times = np.cumsum(rng.uniform(0.01, 2.0, 7))
    rows = [10.0 ** rng.uniform(-9.0, 3.0, (7, 3)) * rng.choice([-1.0, 1.0], (7, 3)) for _ in range(parts)]
    given = rne.SampledTrajectory(times, *rows, *(None,) * (3 - parts), NAMES)
    write_trajectory(tmp_path / "a.yaml", given, "rne excite arm.urdf\nsecond line")
    found = read_trajectory(tmp_path / "a.yaml")
    assert found.joint_names == NAMES
    for name in ("times", "positions", "velocities", "accelerations")[: 1 + parts]:
        np.testing.assert_allclose(getattr(found, name), getattr(given, name), atol=1e-9)
    assert (found.accelerations is None) == (parts < 3)
    text = (tmp_path / "a.yaml").read_text()
    assert text.startswith("# rne excite arm.urdf\n# second line\njoint_names: ")
    point = yaml.safe_load(text)["points"][3]  # as ros2 topic pub reads it: floats, not texts such as 1e-05
    assert all(isinstance(x, float) for x in point["positions"])
    assert 0 <= point["time_from_start"]["nanosec"] < 10**9


def test_empty_lists_are_what_a_message_does_not_give(tmp_path):
    point = "{positions: [%s], velocities: [], accelerations: [], effort: [], time_from_start: {sec: %s, nanosec: 0}}"
    text = "joint_names: [a]\npoints:\n" + "".join(f"- {point % (k, k)}\n" for k in range(3))
    (tmp_path / "a.yaml").write_text(text)  # as `ros2 topic echo` writes it
    found = read_trajectory(tmp_path / "a.yaml")
    assert (found.positions.tolist(), found.velocities, found.accelerations) == ([[0.0], [1.0], [2.0]], None, None)


@pytest.mark.parametrize(("text", "said"), [
    ("[]", "JointTrajectory in YAML"), ("", "JointTrajectory in YAML"), ("{", "JointTrajectory in YAML"),
    ("points: []", "JointTrajectory in YAML"),
    ("points: [{positions: [1], time_from_start: {sec: 1}}]", "has no 'joint_names'"),
    ("joint_names: [a]\npoints: [{time_from_start: {sec: 1}}]", "positions"),
    ("joint_names: [a]\npoints: [{positions: [1]}]", "has no 'time_from_start'"),
    ("joint_names: [a]\npoints: [{positions: [1], time_from_start: 2}]", "JointTrajectory in YAML"),
    ("joint_names: [a]\npoints: [{positions: [1], time_from_start: {sec: a}}]", "JointTrajectory in YAML"),
    ("joint_names: [a]\npoints: [{positions: [.nan], time_from_start: {sec: 1}}]", "must be finite"),
    ("joint_names: [a]\npoints: [{positions: [x], time_from_start: {sec: 1}}]", "not a table of numbers"),
    ("joint_names: [a, b]\npoints: [{positions: [1], time_from_start: {sec: 1}}]", "2 joint names"),
    ("joint_names: [a]\npoints: [{positions: [1], velocities: [1], time_from_start: {sec: 1}},"
     " {positions: [1], time_from_start: {sec: 2}}]", "has no 'velocities'"),
])  # fmt: skip
def test_what_is_no_trajectory_is_refused_with_the_file(text, said, tmp_path):
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(TrajectoryError, match=f"bad.yaml.*{said}"):
        read_trajectory(tmp_path / "bad.yaml")
