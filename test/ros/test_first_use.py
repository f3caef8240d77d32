"""What a controller imports before it is ready."""

from __future__ import annotations

import json
import subprocess
import sys

#: No controller of a rigid arm described by a URDF needs these, which take long: formulations of other programs, the
#: generator of messages with its parsers, tables for terminals, libraries for figures and analyses.
UNUSED = {
    "em", "http.client", "lark", "matplotlib", "pytest", "rich", "rosidl_generator_py.generate_py_impl",
    "rosidl_parser.parser", "scipy.linalg", "scipy.sparse", "xacro",
    "rne_dynamics.control.prediction", "rne_dynamics.dynamics.block_operators", "rne_dynamics.c_functions",
    "rne_dynamics.dynamics.free_bodies", "rne_dynamics.dynamics.lagrange", "rne_dynamics.model.flexible",
}  # fmt: skip
PACKAGES = (
    "rne_dynamics.cli", "rne_dynamics.description.flexible_", "rne_dynamics.flexible", "rne_dynamics.simulation",
    "rne_dynamics.verification",
)  # fmt: skip
PROGRAM = """
import json, sys
from rne_dynamics.ros import computed_torque_controller
from rne_dynamics.ros.node import robot
from rne_dynamics.ros.node.process import import_shared
import_shared()
robot.load_robot("", "puma560", (), ())
from sensor_msgs.msg import JointState
from rclpy.serialization import deserialize_message, serialize_message
assert deserialize_message(serialize_message(JointState(name=["a"])), JointState).name == ["a"]
print(json.dumps(sorted(sys.modules)))
from rosidl_generator_py import generate_py_impl
"""


def test_a_controller_imports_what_it_uses() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    imported = json.loads(done.stdout)
    assert "rne_dynamics.straight_line.state_code" in imported
    assert [name for name in imported if name in UNUSED or name.startswith(PACKAGES)] == []
