"""Real nodes with settings that would be lost: what they say, and that they do not run with them."""

from __future__ import annotations

import pytest
import yaml
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from support.forked import ForkedNode

from rne_dynamics.ros.sessions.processes import wait_until

from .peer import AT_ONCE, START

CTC = "computed_torque_controller"


@pytest.mark.slow
def test_a_node_with_an_unknown_setting_ends_and_names_the_nearest(start):
    common = {"robot_description": "planar2"}
    processes = {
        "initial_position.joint9 does not exist; nearest: initial_position.joint2, initial_position.joint1":
            start("simulator", initial_position={"joint9": 1.0}, **common),
        "velocity_scal does not exist; nearest: velocity_scale": start("move", ["1", "1"], velocity_scal=0.1, **common),
    }
    for said, process in processes.items():
        assert process.wait(START) == 1
        assert said in process.output()


def test_a_controller_says_what_of_its_settings_is_not_used(namespace, tmp_path, make_peer):
    lost, taken = tmp_path / "lost.yaml", tmp_path / "taken.yaml"
    lost.write_text(yaml.safe_dump({CTC: {"ros__parameters": {"limits": {"joint1": {"effort": 3.0}}}}}))
    values = {**AT_ONCE, "robot_description": "planar2", "state_interfaces": ["position"],
              "gains": {"joint1": {"i_clamp_max": 4.0}}}  # fmt: skip
    taken.write_text(yaml.safe_dump({f"/**/{CTC}": {"ros__parameters": values}}))
    arguments = ["--ros-args", "--params-file", str(lost), "--params-file", str(taken), "-r", f"__ns:={namespace}"]
    with ForkedNode(CTC, arguments) as process:
        peer = make_peer(["joint1", "joint2"])
        peer.connect(process)
        wait_until(lambda: "configured in" in process.output(), START, "the controller", [process])
        said = process.output()
        assert str(taken) not in said
        for part in (f"no parameter in {lost}", f"{namespace}/{CTC}", f"/**/{CTC}", "state_interfaces ("):
            assert part in said
        assert peer.get_double(CTC, "gains.joint1.i_clamp") == 4.0
        changes = {"limits.joint1.efort": 3.0, "effort_scale.joint1": 3.0, "limits.joint1.effort": 3.0}
        request = SetParameters.Request(parameters=[
            Parameter(name, value=value).to_parameter_msg() for name, value in changes.items()
        ])
        results = peer.call(SetParameters, f"{CTC}/set_parameters", request).results
        assert [result.successful for result in results] == [False, False, True]
        assert "limits.joint1.efort does not exist; nearest: limits.joint1.effort" in results[0].reason
        assert "deactivate it and clean it up" in results[1].reason
