"""Files of the simulator: what the arm touches, what happens, and how it differs from its description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rne_dynamics.errors import ArgumentError, ParameterError
from rne_dynamics.recording.yaml_files import read_mismatch, read_scene
from rne_dynamics.ros.parameters.schema import Parameter
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.surroundings.scene import Scene

PARAMETERS = (
    Parameter("scene", "", "File (.yaml) with what the arm touches, and a script, which begins with the first command. "
              "Empty for none.", read_only=True),
    Parameter("mismatch", "", "File (.yaml) with differences between arm and description. Empty for none.",
              read_only=True),
)  # fmt: skip


def scene_of(values: Mapping[str, Any]) -> tuple[Scene, Mismatch | None]:
    """Of the files of the parameters: the scene, and the mismatch with its script; raises ParameterError."""
    scene, mismatch, name = Scene(), None, "scene"
    try:
        if values[name]:
            scene = read_scene(values[name])
        name = "mismatch"
        if values[name]:
            mismatch = read_mismatch(values[name])
        return scene, scene.mismatch(mismatch)
    except ArgumentError as error:
        raise ParameterError(f"parameter {name}: {error}") from None
