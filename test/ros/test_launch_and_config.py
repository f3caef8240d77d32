"""The parameter files that ship fit their robots; names and values: test_unknown_parameters.py."""

from __future__ import annotations

import pytest
import yaml
from support.hardware_files import flat

import rne_dynamics as rne
from rne_dynamics.description.share import share_file, shipped_models, shipped_robots


@pytest.mark.parametrize("name", [*shipped_robots(), *shipped_models()])
def test_the_shipped_parameters_fit_the_robot(name):
    robot = rne.load_model(name)
    sections = yaml.safe_load(share_file(f"config/{name}.yaml").read_text())
    assert set(sections) == {f"/**/{n}" for n in ("computed_torque_controller", "gravity_compensation", "simulator",
                                                  "move")}
    for content in sections.values():
        values = flat(content["ros__parameters"])
        assert values["joints"] == list(robot.joint_names)
        # without its model file a mechanism would be taken for its open tree
        assert values.get("model", "") == (name if name in shipped_models() else "")
        for j, limit in zip(robot.joint_names, robot.effort_limit, strict=True):
            assert values.get(f"limits.{j}.effort", limit) <= limit * (1 + 1e-9)
