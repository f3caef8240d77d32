"""One quantity of one robot as a function of C, for loops of users in numba, Cython, C++ or ctypes: `c_function`."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any, ClassVar

from rne_dynamics.advice import install
from rne_dynamics.bound import offered
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.protocol import Robot
from rne_dynamics.straight_line import recipe


@dataclass(frozen=True, eq=False)
class CFunction:
    """A quantity of a robot as a function of C, which `c_function` makes.

    It takes pointers to doubles: one for each input, then one for the output, which is filled row by row. The output
    must not lie in the memory of an input. The function keeps nothing between calls and holds no lock: any number of
    threads may call it at once. It is valid in this process, as long as this object or its `ctypes` is alive.

    Attributes
    ----------
    DONE, NOT_FINITE, REFUSED
        What the function returns: 0 where the output is filled, otherwise the sum of the reasons why it is not.
        `NOT_FINITE` (1): an input has NaN or infinity. `REFUSED` (2): the machine code does not compute this state: an
        angle beyond 2³⁰ rad, a mass matrix without an inverse; of a mechanism, loops that do not close or a singular
        posture.
    quantity
        Its name.
    address
        Where the function is.
    signature
        Its declaration in C.
    inputs, output
        Shapes of the inputs by name, in the function's order, and of the output.
    ctypes
        The function as a pointer of `ctypes`, which numba takes as well.
    """

    DONE: ClassVar[int] = recipe.VALID
    NOT_FINITE: ClassVar[int] = recipe.NOT_FINITE
    REFUSED: ClassVar[int] = recipe.REFUSED

    quantity: str
    address: int
    signature: str
    inputs: Mapping[str, tuple[int, ...]]
    output: tuple[int, ...]
    ctypes: Any


def c_function(
    robot: Robot, quantity: str, *, link: str | None = None, base_motion: BaseMotion | None = None
) -> CFunction:
    """A function of C that computes one quantity of one robot for one state, for loops in other compiled code.

    The machine code is compiled at the first call, in 0.02 to 1 s for most robots, and loaded from disk later.

    Parameters
    ----------
    robot
        An open arm, a mechanism, or an arm with flexible links.
    quantity
        Of an open arm any that `bind` has; the output of forward kinematics is all rotations, then all positions. Of a
        mechanism: ``"inverse_dynamics"``, ``"forward_dynamics"``, ``"mass_matrix"``, ``"bias_torque"``,
        ``"gravity_torque"``, and ``"assemble"``, the positions of all joints; loops are closed from its posture on in
        every call. Of a flexible arm: ``"equations_of_motion"``, the bias forces in the last row;
        ``"flexible_inverse_dynamics"`` and ``"flexible_forward_dynamics"``, the modes' numbers after the joints'.
    link
        Of the two Jacobians: whose.
    base_motion
        How the base moves in every call; at rest by default. Of the quantities whose plain function has this option.

    Raises
    ------
    ArgumentError
        No robot, an unknown quantity, an option that the quantity does not have or lacks, or a base motion as for
        `inverse_dynamics`.
    ModelError
        An unknown link.
    RneDynamicsError
        There is no machine code for this quantity of this robot: the message says why, and what to do.

    Examples
    --------
    >>> import numpy as np
    >>> import rne_dynamics as rne
    >>> f = rne.c_function(rne.load_urdf("puma560"), "gravity_torque")
    >>> f.signature
    'int gravity_torque(const double q[6], double out[6])'
    >>> q, tau = np.zeros(6), np.empty(6)
    >>> f.ctypes(np.ctypeslib.as_ctypes(q), np.ctypeslib.as_ctypes(tau)) == f.DONE
    True
    """
    offer, base = offered(robot, quantity, "c_function", link, base_motion)
    code = offer.code(base)
    if code is None:
        raise RneDynamicsError(f"robot {robot.name!r} has no machine code of its {quantity}: {_reason(robot)}")
    pointers = [ctypes.POINTER(ctypes.c_double)] * (len(offer.inputs) + 1)
    function: Any = ctypes.CFUNCTYPE(ctypes.c_int, *pointers)(code.address)
    function.code = code  # the memory of the machine code belongs to it
    sizes = dict(zip(offer.inputs, code.widths, strict=True))
    declared = ", ".join(f"const double {name}[{size}]" for name, size in sizes.items())
    return CFunction(
        quantity, code.address, f"int {quantity}({declared}, double out[{prod(code.shape)}])",
        MappingProxyType({name: (size,) for name, size in sizes.items()}), code.shape, function,
    )  # fmt: skip


def _reason(robot: Robot) -> str:
    """Why there is no machine code, and what to do."""
    from rne_dynamics.compiling.processor import processor

    if processor() is None:
        return (
            "this computer makes none. It needs Linux on x86-64 or aarch64, and llvmlite "
            f"({install('llvmlite', 'python3-llvmlite')}); otherwise call the function of Python"
        )
    if robot.loops:
        return (
            "it is too large, singular at its posture, or its actuated joints are no coordinates (rne check says so). "
            "Choose another posture or other actuated joints, or call the function of Python"
        )
    return (
        "it is too large, has no joints, or a joint moves no inertia (rne check names it). Give the links behind that "
        "joint mass and inertia or lock it, lock joints that are not needed, or call the function of Python"
    )
