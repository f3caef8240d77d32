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
    center_of_mass,
    forward_dynamics,
    kinetic_energy,
    potential_energy,
)
from rne_dynamics.dynamics.composite.momentum import centroidal_momentum_matrix, momentum
from rne_dynamics.dynamics.forward_dynamics import Method
from rne_dynamics.dynamics.free_bodies.reduced_equations import reduced_equations
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.dynamics.kinematics.random_configuration import random_configuration
from rne_dynamics.dynamics.lagrange.terms import lagrange_terms
from rne_dynamics.dynamics.newton_euler.joint_reactions import joint_reactions
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import RneDynamicsError

#: A shipped machine of every kind that has kernels of its own.
ARM, MECHANISM, FLEXIBLE = "puma560", "pantograph", "flexible_arm"


def library() -> None:
    """Every public function, of one state and of many."""
    robot = load_urdf(ARM).with_own_code(False)
    rng = np.random.default_rng(0)
    many = random_configuration(robot, rng, 2)
    of_state: tuple[Callable[..., Any], ...] = (kinetic_energy, momentum, lagrange_terms, reduced_equations)
    of_posture: tuple[Callable[..., Any], ...] = (potential_energy, center_of_mass, centroidal_momentum_matrix)
    for q in (many[0], many):
        v, a = rng.normal(size=q.shape), rng.normal(size=q.shape)
        for quantity in QUANTITIES.values():
            link = (robot.link_names[-1],) if "link" in quantity.options else ()
            quantity.plain(robot, *(q, v, a)[: len(quantity.inputs)], *link)
        for function in of_posture:
            function(robot, q)
        for function in of_state:
            function(robot, q, v)
        joint_reactions(robot, q, v, a)
        for method in get_args(Method):
            forward_dynamics(robot, q, v, a, method=method)
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
        if not model:  # with all its joints an arm has machine code of its own, else general kernels
            configure_nodes(machine, model=model, joints=load_urdf(machine).joint_names[:-1])


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
