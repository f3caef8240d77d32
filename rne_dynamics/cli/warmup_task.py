"""One part of `rne warmup` in a process of its own: calls public functions, and reports their kernels.

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

from rne_dynamics.cli.main import main as rne_command
from rne_dynamics.compiling.progress import Compiling, watch_compiling, watch_files
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.dispatch import (
    bias_torque,
    center_of_mass,
    forward_dynamics,
    forward_kinematics,
    gravity_torque,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
    potential_energy,
)
from rne_dynamics.dynamics.composite.momentum import centroidal_momentum_matrix, momentum
from rne_dynamics.dynamics.derivatives.coriolis import coriolis_matrix
from rne_dynamics.dynamics.derivatives.forward_derivatives import forward_dynamics_derivatives
from rne_dynamics.dynamics.derivatives.inverse_derivatives import inverse_dynamics_derivatives
from rne_dynamics.dynamics.derivatives.regressor import regressor
from rne_dynamics.dynamics.forward_dynamics import Method
from rne_dynamics.dynamics.free_bodies.reduced_equations import reduced_equations
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.dynamics.kinematics.configuration import integrate_configuration, random_configuration
from rne_dynamics.dynamics.kinematics.jacobian import jacobian, jacobian_rate
from rne_dynamics.dynamics.lagrange.lagrange import lagrange_terms
from rne_dynamics.dynamics.newton_euler.joint_reactions import joint_reactions
from rne_dynamics.errors import RneDynamicsError

#: A shipped machine of every kind that has kernels of its own.
ARM, MECHANISM, FLEXIBLE = "puma560", "pantograph", "flexible_arm"


def library() -> None:
    """Every public function, of one state and of many."""
    robot = load_urdf(ARM)
    rng = np.random.default_rng(0)
    many = random_configuration(robot, rng, 2)
    of_state: tuple[Callable[..., Any], ...] = (
        bias_torque, coriolis_matrix, kinetic_energy, momentum, lagrange_terms,
        integrate_configuration, reduced_equations,
    )
    of_posture: tuple[Callable[..., Any], ...] = (
        mass_matrix, gravity_torque, forward_kinematics, potential_energy, center_of_mass,
        centroidal_momentum_matrix,
    )
    of_motion: tuple[Callable[..., Any], ...] = (
        inverse_dynamics, inverse_dynamics_derivatives, regressor, joint_reactions,
        forward_dynamics_derivatives,
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
            forward_dynamics(robot, q, v, a, method=method)
        jacobian(robot, q, link)
        jacobian_rate(robot, q, v, link)
        friction_torque(robot, v)


def commands(machine: str, *more: Sequence[str]) -> None:
    """What commands compute of one machine."""
    simulations = ("simulate", "--seconds", "0.1"), ("simulate", "--free", "--seconds", "0.02")
    for command, *words in (("info",), *simulations, *more):
        code = rne_command([command, machine, *words])
        if code:
            raise RneDynamicsError(f"rne {command} {machine} {' '.join(words)} has ended with exit code {code}")


def nodes(machine: str, model: bool) -> None:
    """What controllers and simulator compute of one machine, where there is ROS."""
    if find_spec("rclpy") is not None:
        from rne_dynamics.ros.warm_up import configure_nodes

        configure_nodes(machine, model=model)


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
