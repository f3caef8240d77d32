"""What of rclpy is used without being documented: one table names it, and nodes do without each of it."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from pathlib import Path

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

import rne_dynamics as rne
from rne_dynamics.ros.computed_torque_controller import ComputedTorqueController
from rne_dynamics.ros.effort_gate import EffortGateNode
from rne_dynamics.ros.gravity_compensation import GravityCompensationNode
from rne_dynamics.ros.loop.hot_loop import NodeExecutor
from rne_dynamics.ros.loop.messages import LoopNode
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.move import MoveNode
from rne_dynamics.ros.node import private_parts
from rne_dynamics.ros.sessions.processes import wait_until
from rne_dynamics.ros.simulator import SimulatorNode

from .peer import PATIENCE, SEES_AGAIN, START

ROOT = Path(__file__).resolve().parents[2]
#: Runs a node on an rclpy with other names; see test/support/renamed_rclpy.py.
PROGRAM = f"""
import runpy, sys
sys.argv[1:1] = ["{{names}}", "rne_dynamics.ros.{{module}}"]
runpy.run_path("{ROOT / 'test' / 'support' / 'renamed_rclpy.py'}", run_name="__main__")
"""
ROBOT = rne.load_urdf("planar2")
Q = [0.3, -0.5]
NODE = "computed_torque_controller"
#: What is renamed, and how many parts are missing then.
USED = [("all", 3), ("WaitSet", 1), ("take_message", 1), ("rclpy_implementation", 2), ("_parameter_overrides", 1)]
#: What was used once, or is used by rclpy only: nothing is missing without it.
UNUSED = (
    "_tasks", "_state_machine", "_service_change_state", "_set_parameters_callback",
    "_set_parameters_atomically_callback", "_get_node", "_executor_event", "_services", "_take_subscription",
    "_wait_for_ready_callbacks",
)
NAMES = [
    USED[0], *(pytest.param(*case, marks=pytest.mark.soak) for case in USED[1:]),
    *(pytest.param(name, 0, marks=pytest.mark.soak) for name in UNUSED),
]


def run(starter, names, module, **parameters):
    """A node without the parts of these names."""
    program = PROGRAM.format(names=names, module=module)
    return starter(module, script=program, fresh=True, robot_description="planar2", **parameters)


def reported(process) -> list[str]:
    return [line for line in process.output().splitlines() if "as this package uses it" in line]


@pytest.mark.parametrize(("names", "missing"), NAMES)
def test_a_controller_does_without(start, make_peer, names, missing):
    peer = make_peer(ROBOT.joint_names)
    process = run(start, names, NODE, state_timeout=60.0, **SEES_AGAIN)
    peer.connect(process)
    np.testing.assert_allclose(peer.answer(Q), rne.gravity_torque(ROBOT, np.array(Q)), rtol=1e-9)
    assert peer.set_parameters(NODE, gains__joint1__p=900).successful
    assert peer.get_double(NODE, "gains.joint1.p") == 900.0
    assert not peer.set_parameters(NODE, gains__joint1__p="900").successful
    assert not peer.transition(NODE, Transition.TRANSITION_CONFIGURE), "it is configured already"
    assert "transition 1 is refused: state 'active' has 4, 7" in process.output()
    np.testing.assert_allclose(peer.answer(Q), rne.gravity_torque(ROBOT, np.array(Q)), rtol=1e-9)
    assert process.stop() == 0
    lines = reported(process)
    assert len(lines) == missing, "each is reported once"
    assert all(sum(part.name in line for line in lines) <= 1 for part in private_parts.PARTS)


@pytest.mark.slow
@pytest.mark.parametrize("names", ["all", "_parameter_overrides"])
def test_settings_that_no_parameter_takes_are_refused_without(start, names):
    process = run(start, names, NODE, gain={"joint1": {"p": 5}})
    assert process.wait(START) == 1
    assert "parameter gain.joint1.p does not exist" in process.output()


@pytest.mark.parametrize("names", [
    pytest.param("all", marks=pytest.mark.slow),
    *(pytest.param(name, marks=pytest.mark.soak) for name in ("WaitSet", "take_message", "_parameter_overrides")),
])
def test_a_simulator_does_without(start, make_peer, names):
    peer = make_peer(ROBOT.joint_names)
    process = run(start, names, "simulator", rate=200.0)
    states = TopicRecorder(peer.node, JointState, "joint_states")
    efforts = peer.node.create_publisher(Float64MultiArray, "effort_controller/commands", 1)
    wait_until(efforts.get_subscription_count, START, "the simulator", [process])
    wait_until(lambda: states.latest() is not None, START, "a state", [process])
    began = list(states.latest().position)

    def pushed() -> bool:
        efforts.publish(Float64MultiArray(data=[5.0, 0.0]))
        return abs(states.latest().position[0] - began[0]) > 0.1

    wait_until(pushed, PATIENCE, "an arm that moves as it is pushed", [process])
    assert peer.call(SetBool, "simulator/pause", SetBool.Request(data=True)).success
    states.drain()
    states.samples.clear()
    assert states.latest() is None, "paused"
    assert process.stop() == 0


# -- the table ---------------------------------------------------------------------------------------------------------


def our_sources():
    for file in sorted((ROOT / "rne_dynamics" / "ros").rglob("*.py")):
        yield file, ast.parse(file.read_text(encoding="utf-8"))


def test_nothing_else_reads_what_is_private():
    """Every attribute with an underscore is one of ours, and no handle or implementation module is read elsewhere."""
    trees = dict(our_sources())
    ours = {"_fields", "_replace", "_exit"}  # named tuples, os
    for tree in trees.values():
        for part in ast.walk(tree):
            if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
                ours.add(part.name)
            elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                ours.add(part.attr)
            elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                ours.add(part.target.id)
    for file, tree in trees.items():
        if file.name == "private_parts.py":
            continue
        for part in ast.walk(tree):
            place = f"{file.name}:{getattr(part, 'lineno', 0)}"
            if isinstance(part, ast.Attribute):
                private = part.attr.startswith("_") and not part.attr.startswith("__")
                assert not private or part.attr in ours, f"{place}: {part.attr}"
                assert part.attr != "handle", f"{place}: a handle"
            elif isinstance(part, ast.ImportFrom):
                assert not (part.module or "").startswith("rclpy.impl"), place
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                assert not part.value.startswith("_parameter_overrides"), place


@functools.cache
def assigned_in(cls: type) -> set[str]:
    """Attributes that the methods of a class assign to self, and its methods."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    stores = {x.attr for x in ast.walk(tree) if isinstance(x, ast.Attribute) and isinstance(x.ctx, ast.Store)
              and isinstance(x.value, ast.Name) and x.value.id == "self"}  # fmt: skip
    return stores | set(vars(cls))


def test_none_of_our_names_is_one_of_rclpy_s():
    """What our nodes keep for themselves would replace what rclpy keeps under the same name."""
    nodes = (ComputedTorqueController, GravityCompensationNode, EffortGateNode, SimulatorNode, MoveNode, LoopNode)
    for cls, base in (*((node, LifecycleNode) for node in nodes), (NodeExecutor, SingleThreadedExecutor)):
        theirs = {name for c in base.__mro__[:-1] for name in assigned_in(c)}
        ours = {n for c in cls.__mro__ if c.__module__.startswith("rne_dynamics") for n in assigned_in(c)}
        both = {n for n in ours & theirs if n.startswith("_") and not n.startswith(("__", "_abc_"))}
        assert not both, f"{cls.__name__}: {sorted(both)}"
