"""What a controller imports before it is ready."""

from __future__ import annotations

import json
import subprocess
import sys

#: Nothing that a controller does needs these: formulations of other programs, the generator of messages with its
#: parsers, tables for terminals.
UNUSED = (
    "em", "lark", "rich", "rosidl_generator_py.generate_py_impl", "rosidl_parser.parser",
    "rne_dynamics.control.prediction", "rne_dynamics.dynamics.block_operators", "rne_dynamics.c_functions",
    "rne_dynamics.dynamics.free_bodies", "rne_dynamics.dynamics.lagrange", "rne_dynamics.model.flexible",
    "rne_dynamics.simulation",
)  # fmt: skip
PROGRAM = """
import json, sys
from rne_dynamics.ros import computed_torque_controller
from rne_dynamics.ros.node.process import import_shared
import_shared()
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
    assert [name for name in imported if name in UNUSED] == []
