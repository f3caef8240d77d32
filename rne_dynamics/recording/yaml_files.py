"""YAML files of scenes, mismatches and trajectories (trajectory_msgs/JointTrajectory as `ros2 topic pub` takes it)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import yaml

from rne_dynamics.advice import rne
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.description.yaml_nodes import MOST_BYTES, plain
from rne_dynamics.errors import ArgumentError, TrajectoryError
from rne_dynamics.input_file import read_limited
from rne_dynamics.model.protocol import Robot
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.plant.surroundings import Scene

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
        rows: Any = {part: [point[part] for point in points] for part in _PARTS
                     if any(point.get(part) for point in points)}
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


Made = TypeVar("Made")


def read_scene(path: str | Path) -> Scene:
    """Surroundings and script of a YAML file.

    Parameters
    ----------
    path
        With the keys ``bodies``, ``touching`` and ``script``, each of which may be left out.

    Raises
    ------
    ArgumentError
        A file that cannot be read, or values that are not allowed; names both.
    """
    return _named(path, lambda: Scene.of(read_values(path)))


def read_mismatch(path: str | Path) -> Mismatch:
    """The mismatch of a YAML file; raises as `read_scene`."""
    return _named(path, lambda: Mismatch.of(read_values(path)))


def read_values(path: str | Path) -> dict[str, Any]:
    """The mapping in a YAML file; `ArgumentError` names the file."""
    try:
        values = plain(read_limited(path, MOST_BYTES))
    except (OSError, yaml.YAMLError, UnicodeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"{path} cannot be read: {' '.join(str(error).split())}") from None
    if not (isinstance(values, dict) and all(isinstance(key, str) for key in values)):
        raise ArgumentError(f"{path} holds no mapping; write lines such as `delay: 0.004`")
    return dict(number(values))


def number(value: Any) -> Any:
    """A number that YAML 1.1 takes for text (1e-3), as a number; lists and mappings likewise, item by item."""
    if isinstance(value, dict):
        return {key: number(part) for key, part in value.items()}
    if isinstance(value, list):
        return [number(part) for part in value]
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _named(path: str | Path, make: Callable[[], Made]) -> Made:
    try:
        return make()
    except ArgumentError as error:
        text = str(error)
        raise ArgumentError(text if text.startswith(str(path)) else f"{path}: {text}") from None
