"""What commands that use ROS nodes share: whether ROS is there, and the robot as parameters."""

from __future__ import annotations

from importlib.util import find_spec

from rne_dynamics.description.sources import Source, is_model_file
from rne_dynamics.errors import MissingDependencyError


def need_ros(what: str) -> None:
    """Refuse to go on without rclpy; `what` needs it."""
    if find_spec("rclpy") is None:
        raise MissingDependencyError(
            f"{what} runs on ROS 2 and rclpy is not installed: pip install 'rne_dynamics[ros]', or source a ROS 2"
        )


def node_parameters(source: Source) -> dict[str, str]:
    """Node parameters that name the robot: the path of a model file, which names other files, or the whole URDF."""
    from rne_dynamics.ros.description import description_text

    if not is_model_file(source):
        return {"robot_description": description_text(source)}
    return {"model": source.data.decode() if source.name.startswith("<") else source.name}
