"""What commands that use ROS nodes share: the robot as parameters."""

from __future__ import annotations

from rne_dynamics.description.sources import Source, is_model_file


def node_parameters(source: Source) -> dict[str, str]:
    """Node parameters that name the robot: the path of a model file, which names other files, or the whole URDF."""
    from rne_dynamics.ros.description import description_text

    if not is_model_file(source):
        return {"robot_description": description_text(source)}
    return {"model": source.data.decode() if source.name.startswith("<") else source.name}
