"""One part of `rne warmup` in a process of its own: does what nodes, commands and library functions do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import get_args

import numpy as np

from rne_dynamics.cli.main import main as rne_command
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.dispatch import forward_dynamics
from rne_dynamics.dynamics.forward_dynamics import Method
from rne_dynamics.dynamics.kinematics.random_configuration import random_configuration
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import RneDynamicsError

#: A shipped machine of every kind that has kernels of its own.
ARM, MECHANISM, FLEXIBLE = "puma560", "pantograph", "flexible_arm"


def library() -> None:
    """General kernels of all quantities, for models without machine code of their own."""
    robot = load_urdf(ARM).with_own_code(False)
    rng = np.random.default_rng(0)
    many = random_configuration(robot, rng, 2)
    for q in (many[0], many):
        v, a = rng.normal(size=q.shape), rng.normal(size=q.shape)
        for quantity in QUANTITIES.values():
            link = (robot.link_names[-1],) if "link" in quantity.options else ()
            quantity.plain(robot, *(q, v, a)[: len(quantity.inputs)], *link)
        for method in get_args(Method):
            forward_dynamics(robot, q, v, a, method=method)


def commands(machine: str, *more: tuple[str, ...]) -> None:
    """What commands compute of one machine."""
    simulations = ("simulate", "--seconds", "1"), ("simulate", "--free", "--seconds", "0.02")
    for command, *words in (("info",), *simulations, *more):
        code = rne_command([command, machine, *words])
        if code:
            raise RneDynamicsError(f"rne {command} {machine} {' '.join(words)} has ended with exit code {code}")


def nodes(machine: str, parameter: str) -> None:
    """What controllers, gate and simulator compute of one machine, where there is ROS."""
    if find_spec("rclpy") is not None:
        from rne_dynamics.ros.node.warm_up import configure_nodes

        configure_nodes(machine, parameter)
        if machine == ARM:  # with all its joints it has machine code of its own, else general kernels
            configure_nodes(machine, parameter, load_urdf(machine).joint_names[:-1])


_VERIFY = ("verify", "--states", "2")
#: Parts and what each does; the longest first, so that two processes end about together.
TASKS: dict[str, Callable[[], None]] = {
    "flexible": lambda: commands(FLEXIBLE, _VERIFY),
    "library": library,
    "mechanisms": lambda: commands(MECHANISM),
    "arm-nodes": lambda: nodes(ARM, "robot_description"),
    "mechanism-nodes": lambda: nodes(MECHANISM, "model"),
    "arms": lambda: commands(ARM, _VERIFY),
    "flexible-nodes": lambda: nodes(FLEXIBLE, "model"),
}


if __name__ == "__main__":
    TASKS[sys.argv[1]]()
