"""One part of `rne warmup`, in a process of its own: calls what users call, and tells which kernels that took.

Every line on standard output is a JSON object: `{"begun": kernel}`, `{"kept": file}` or `{"found": file}`.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import numpy as np

import rne_dynamics as rne
from rne_dynamics.cli.main import main as rne_command
from rne_dynamics.dynamics.forward_dynamics import Method
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.spatial.compiling import Compiling, watch_compiling, watch_files

#: A shipped machine of every kind that has kernels of its own.
ARM, MECHANISM, FLEXIBLE = "puma560", "pantograph", "flexible_arm"


def library() -> None:
    """Every public function, of one state and of many."""
    robot = rne.load_urdf(ARM)
    rng = np.random.default_rng(0)
    many = rne.random_configuration(robot, rng, 2)
    of_state: tuple[Callable[..., Any], ...] = (
        rne.bias_torque, rne.coriolis_matrix, rne.kinetic_energy, rne.momentum, rne.lagrange_terms,
        rne.integrate_configuration, rne.reduced_equations,
    )
    of_posture: tuple[Callable[..., Any], ...] = (
        rne.mass_matrix, rne.gravity_torque, rne.forward_kinematics, rne.potential_energy, rne.center_of_mass,
        rne.centroidal_momentum_matrix,
    )
    of_motion: tuple[Callable[..., Any], ...] = (
        rne.inverse_dynamics, rne.inverse_dynamics_derivatives, rne.regressor, rne.joint_reactions,
        rne.forward_dynamics_derivatives,
    )
    link = robot.link_names[-1]
    for q in (many[0], many):
        v, a = rng.normal(size=q.shape), rng.normal(size=q.shape)
        for function in of_posture:
            function(robot, q)
        for function in of_state:
            function(robot, q, v)
        for function in of_motion:
            function(robot, q, v, a)
        for method in get_args(Method):
            rne.forward_dynamics(robot, q, v, a, method=method)
        rne.jacobian(robot, q, link)
        rne.jacobian_rate(robot, q, v, link)
        rne.friction_torque(robot, v)


def commands(machine: str, *more: Sequence[str]) -> None:
    """What commands compute of one machine."""
    simulations = ("simulate", "--seconds", "0.1"), ("simulate", "--free", "--seconds", "0.02")
    for command, *words in (("info",), *simulations, *more):
        code = rne_command([command, machine, *words])
        if code:
            raise RneDynamicsError(f"rne {command} {machine} {' '.join(words)} has ended with exit code {code}")


def nodes(machine: str, model: bool) -> None:
    """Controllers and simulator, configured as on a robot, but active never and on no network."""
    if find_spec("rclpy") is None:
        return
    import rclpy
    from rclpy.lifecycle import TransitionCallbackReturn

    from rne_dynamics.ros.computed_torque_controller import ComputedTorqueController
    from rne_dynamics.ros.gravity_compensation import GravityCompensationNode
    from rne_dynamics.ros.simulator import SimulatorNode

    parameter = "model" if model else "robot_description"
    rclpy.init(args=["--ros-args", "--log-level", "error", "-r", "__ns:=/rne_warmup", "-p", f"{parameter}:={machine}"])
    for make in (ComputedTorqueController, GravityCompensationNode, SimulatorNode):
        node = make()
        if node.trigger_configure() != TransitionCallbackReturn.SUCCESS:
            raise RneDynamicsError(f"node {node.get_name()} has refused {machine}")
        node.destroy_node()
    rclpy.shutdown()


_VERIFY = ("verify", "--states", "2")
#: Parts and what each does; the longest first, so that two processes end about together.
TASKS: dict[str, Callable[[], None]] = {
    "flexible": lambda: commands(FLEXIBLE, _VERIFY),
    "library": library,
    "mechanisms": lambda: commands(MECHANISM),
    "arm-nodes": lambda: nodes(ARM, model=False),
    "mechanism-nodes": lambda: nodes(MECHANISM, model=True),
    "arms": lambda: commands(ARM, _VERIFY),
    "flexible-nodes": lambda: nodes(FLEXIBLE, model=True),
}


def main(arguments: Sequence[str]) -> int:
    """Do the task of this name."""
    out = sys.stdout

    def say(**what: str) -> None:
        print(json.dumps(what), file=out, flush=True)

    def begun(now: Compiling) -> None:
        if now.kernel:
            say(begun=now.kernel)

    def file(path: Path, new: bool) -> None:
        say(**{"kept" if new else "found": str(path)})

    with watch_compiling(begun), watch_files(file), contextlib.redirect_stdout(io.StringIO()):
        TASKS[arguments[0]]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
