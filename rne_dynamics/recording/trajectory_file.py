"""Trajectories as files: trajectory_msgs/JointTrajectory in YAML, as `ros2 topic pub` takes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from rne_dynamics.advice import rne
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.description.yaml_nodes import MOST_BYTES, plain
from rne_dynamics.errors import ArgumentError, TrajectoryError
from rne_dynamics.input_file import read_limited
from rne_dynamics.model.protocol import Robot

#: What a point has besides its time.
_PARTS = ("positions", "velocities", "accelerations")


def write_trajectory(path: Path, trajectory: SampledTrajectory, comment: str = "") -> None:
    """Write a trajectory with joint names; `comment`: lines that the file begins with."""
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += [f"joint_names: {json.dumps(trajectory.joint_names)}", "points:"]
    given = {part: rows for part in _PARTS if (rows := getattr(trajectory, part)) is not None}
    for k, t in enumerate(trajectory.times.tolist()):
        whole, rest = divmod(round(1e9 * t), 1_000_000_000)
        numbers = [f"{part}: [{', '.join(f'{x:.9f}' for x in rows[k].tolist())}]" for part, rows in given.items()]
        lines.append(f"- {{{', '.join(numbers)}, time_from_start: {{sec: {whole}, nanosec: {rest}}}}}")
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def read_trajectory(path: str | Path) -> SampledTrajectory:
    """The trajectory of such a file, with joint names; `TrajectoryError`: another content, `OSError`: not readable."""
    try:
        message: Any = plain(read_limited(path, MOST_BYTES))
        points = message["points"]
        times: Any = [point["time_from_start"].get("sec", 0) + 1e-9 * point["time_from_start"].get("nanosec", 0)
                 for point in points]  # fmt: skip
        rows: Any = {part: [point[part] for point in points] for part in _PARTS if part in points[0]}
        return SampledTrajectory(times, **rows, joint_names=tuple(map(str, message["joint_names"])))
    except (yaml.YAMLError, TypeError, KeyError, AttributeError, IndexError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise TrajectoryError(
            f"{path} is no trajectory_msgs/JointTrajectory in YAML, as `{rne('excite')}` writes it: {why}"
        ) from None
    except TrajectoryError as error:
        raise TrajectoryError(f"{path}: {error}") from None


def read_trajectory_of(path: str | Path, robot: Robot) -> SampledTrajectory:
    """As `read_trajectory`, of all joints of an open arm in their order; `ArgumentError` for another robot."""
    given = read_trajectory(path)
    names = given.joint_names or ()
    if set(names) != set(robot.joint_names) or robot.kind != "arm":
        raise ArgumentError(
            f"--trajectory {path} has joints {', '.join(names)}; it must have those of the open arm "
            f"{robot.name!r}: {', '.join(robot.joint_names)}"
        )
    places = [names.index(name) for name in robot.joint_names]
    qd, qdd = (None if part is None else part[:, places] for part in (given.velocities, given.accelerations))
    return SampledTrajectory(given.times, given.positions[:, places], qd, qdd, robot.joint_names)
