"""Symbolic execution of the kernels of `closed_chain/`: straight-line code for one mechanism.

The loops are closed by repeating a step until it changes nothing; so a quantity has two programs, the step and
the answer, with a loop around the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.closed_chain.branch_free import (
    advance,
    closed_bias,
    closed_forward,
    closed_gravity,
    closed_inverse,
    closed_mass,
    closed_posture,
)
from rne_dynamics.closed_chain.closing import BRANCHES_MEET, DONE, assemble_kernel, motion_map_helper
from rne_dynamics.closed_chain.packed import Packed, pack, workspace
from rne_dynamics.compiling.plain import PlainKernels
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import ROTATION
from rne_dynamics.model.mechanism import ROTATION_A, ROTATION_B, Mechanism
from rne_dynamics.spatial.householder import to_front
from rne_dynamics.straight_line.graph import TooLargeError
from rne_dynamics.straight_line.trace import Program, round_turns, traced

#: Distance of the samples from the mechanism's posture, rad or lengths of the mechanism, and how many are tried.
_AWAY, _TRIALS = 0.1, 8
#: Difference of motion maps up to which passive joints count as moving in proportion to the actuated ones.
_STRAIGHT = 1e-12


class Quantity(NamedTuple):
    """A function of `branch_free` and its inputs besides the posture; the output is (n,) times `columns`."""

    function: Callable[..., int]
    inputs: tuple[str, ...]
    shape: Callable[[Mechanism], tuple[int, ...]]


def _joints(mechanism: Mechanism) -> tuple[int, ...]:
    return (mechanism.n,)


QUANTITIES = {
    "inverse_dynamics": Quantity(closed_inverse, ("q", "qd", "qdd"), _joints),
    "forward_dynamics": Quantity(closed_forward, ("q", "qd", "tau"), _joints),
    "bias_torque": Quantity(closed_bias, ("q", "qd"), _joints),
    "gravity_torque": Quantity(closed_gravity, ("q",), _joints),
    "mass_matrix": Quantity(closed_mass, ("q",), lambda m: (m.n, m.n)),
    "assemble": Quantity(closed_posture, ("q",), lambda m: (m.robot.n,)),
}


@dataclass(frozen=True)
class ClosedProgram:
    """Straight-line code for one quantity of one mechanism.

    Attributes
    ----------
    start
        Posture of all joints from which the first step goes, (tree n,).
    step
        From (q, posture) to the next posture and by how much it may change still.
    answer
        From (posture, *inputs) to the result.
    regular
        Whether the kernels computed the samples without a fault; if not, the program is invalid.
    """

    start: Array
    step: Program
    answer: Program

    @property
    def regular(self) -> bool:
        return self.step.regular and self.answer.regular


def trace_mechanism(mechanism: Mechanism, quantity: str) -> ClosedProgram:
    """Record the operations of a quantity, without loads and with the base at rest.

    Raises
    ------
    TooLargeError
        Too many operations, actuated joints that are no coordinates, or no regular posture near the mechanism's own.
    """
    start, here, there, straight = _samples(mechanism)
    declared, packed, base = QUANTITIES[quantity], _symbolic(mechanism), mechanism.robot.base_at_rest.astype(object)
    function, shape, size = declared.function, declared.shape(mechanism), mechanism.robot.n

    def step(target: Any, q: Any, out: Any) -> int:
        return advance(packed, workspace(packed), straight, target, q, out)

    def answer(posture: Any, *arrays: Any) -> int:
        return function(packed, workspace(packed), base, posture, *arrays[:-1], arrays[-1].reshape(shape))

    rng, in_order = np.random.default_rng(2), {to_front: _in_order}
    sample = [here[mechanism.actuated] if name == "q" else rng.normal(size=mechanism.n) for name in declared.inputs]
    open_posture = here + 1e-3 * packed.column_scale * rng.normal(size=size)
    return ClosedProgram(
        start,
        traced(step, [there[mechanism.actuated], open_posture.astype(float)], size + 1, in_order),
        traced(answer, [here, *sample], math.prod(shape), in_order),
    )


def _samples(mechanism: Mechanism) -> tuple[Array, Array, Array, bool]:
    """The closed posture, two regular ones nearby, and whether passive joints move in proportion to the actuated.

    In plain Python: the general kernels, which take seconds to compile, may never be needed.
    """
    packed, rng, found, maps = pack(mechanism), np.random.default_rng(1), [], []
    work, python, q = workspace(packed), PlainKernels({}, np.zeros), mechanism.posture[mechanism.actuated]
    start = np.array(mechanism.posture)
    if python(assemble_kernel)(packed, work, q, start) != DONE:
        raise TooLargeError(f"mechanism {mechanism.name!r} does not close at its posture")
    for _ in range(_TRIALS):
        posture, T = start.copy(), np.zeros((len(start), len(q)))
        target = q + _AWAY * packed.column_scale[mechanism.actuated] * rng.normal(size=len(q))
        if python(assemble_kernel)(packed, work, target, posture) == DONE:
            status, distance = python(motion_map_helper)(packed, work, T)
            if status == DONE and distance > BRANCHES_MEET:
                found.append(posture)
                maps.append(T)
    if len(found) < 2:
        raise TooLargeError(f"mechanism {mechanism.name!r} has no regular posture near its own")
    return start, found[0], found[1], all(np.abs(T - maps[0]).max() < _STRAIGHT for T in maps)


def _symbolic(mechanism: Mechanism) -> Packed:
    """What the kernels read besides the state, to be calculated with; rotations within round-off rounded."""
    packed = pack(mechanism)
    parameters, frames = packed.parameters.copy(), packed.loop_frames.copy()
    round_turns(parameters[:, ROTATION : ROTATION + 9])
    for first in (ROTATION_A, ROTATION_B):
        round_turns(frames[:, first : first + 9])
    rounded = packed._replace(parameters=parameters, loop_frames=frames)
    return Packed(*(x.astype(object) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x for x in rounded))


def _in_order(A: Array, top: int, m: int, n: int, j: int, pivots: NDArray[np.int64], place: int) -> float:
    """As `to_front` without exchanging columns, which the factorization of a full rank does not need."""
    square = 0.0
    for i in range(top + j, top + m):
        square += A[i, j] * A[i, j]
    return square
