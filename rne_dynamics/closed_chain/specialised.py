"""Machine code of a quantity for one mechanism alone: the recipe, and what the plain functions do with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.closed_chain.branch_free import (
    SETTLED,
    advance,
    closed_bias,
    closed_forward,
    closed_gravity,
    closed_inverse,
    closed_mass,
    closed_posture,
)
from rne_dynamics.closed_chain.closing import BRANCHES_MEET, DONE, assemble_kernel, motion_map_kernel
from rne_dynamics.closed_chain.constraints import constraints_kernel
from rne_dynamics.closed_chain.independence import generic_rank
from rne_dynamics.closed_chain.packed import Packed, pack, workspace
from rne_dynamics.compiling.plain import PlainKernels
from rne_dynamics.dynamics.declared import specialised
from rne_dynamics.dynamics.declared.arguments import state_arrays
from rne_dynamics.dynamics.declared.specialised import kept_code, rounded_turns
from rne_dynamics.model.dice import Dice
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import ROTATION_A, ROTATION_B, Mechanism
from rne_dynamics.spatial.householder import to_front
from rne_dynamics.spatial.rows import product
from rne_dynamics.straight_line.recipe import Iteration, Recipe

if TYPE_CHECKING:  # with LLVM
    from rne_dynamics.straight_line.state_code import StateCode


F = TypeVar("F", bound=Callable[..., Any])
#: Distance of the samples from the mechanism's posture, rad or lengths of the mechanism, and how many are tried.
_AWAY, _TRIALS = 0.1, 8
#: Difference of motion maps up to which passive joints count as moving in proportion to the actuated ones.
_STRAIGHT = 1e-12
#: Steps along the branch after which a state is refused; a full turn takes about 35.
_STEPS = 400


class _Quantity(NamedTuple):
    """A function of `branch_free`, its inputs besides the posture, and the shape of its output."""

    function: Callable[..., int]
    inputs: tuple[str, ...]
    shape: Callable[[Mechanism], tuple[int, ...]]


def _joints(mechanism: Mechanism) -> tuple[int, ...]:
    return (mechanism.n,)


WITH_CODE = {
    "inverse_dynamics": _Quantity(closed_inverse, ("q", "qd", "qdd"), _joints),
    "forward_dynamics": _Quantity(closed_forward, ("q", "qd", "tau"), _joints),
    "bias_torque": _Quantity(closed_bias, ("q", "qd"), _joints),
    "gravity_torque": _Quantity(closed_gravity, ("q",), _joints),
    "mass_matrix": _Quantity(closed_mass, ("q",), lambda mechanism: (mechanism.n, mechanism.n)),
    "assemble": _Quantity(closed_posture, ("q",), lambda mechanism: (mechanism.robot.n,)),
}


def code_of(
    mechanism: Mechanism, quantity: str, base: Array | None = None, *, quick: bool = False
) -> StateCode | None:
    """Machine code for one state without loads, kept with the mechanism; the base (12,) is at rest by default.

    None for actuated joints that are no coordinates, and for a mechanism that is singular at its posture.
    """
    if quantity not in WITH_CODE or not generic_rank(mechanism).coordinates:
        return None
    return kept_code(mechanism, (quantity,), lambda: recipe_of(mechanism, quantity, base), base, quick=quick)


def by_own_code(quantity: str) -> Callable[[F], F]:
    """Decorator of a function of a mechanism and states, see `declared.specialised.by_own_code`."""
    return specialised.by_own_code(
        quantity, WITH_CODE[quantity].inputs, state_arrays,
        lambda mechanism: code_of(mechanism, quantity, quick=True) if mechanism.specialised else None,
    )  # fmt: skip


def recipe_of(mechanism: Mechanism, quantity: str, base: Array | None = None) -> Recipe | None:
    """Recipe of a quantity's straight-line code; None without regular postures near the mechanism's own."""
    found = _samples(mechanism)
    if found is None:
        return None
    start, here, there, straight = found
    declared, rng, actuated = WITH_CODE[quantity], Dice(2), mechanism.actuated
    on_the_way = there + 1e-3 * pack(mechanism).column_scale * rng.normal(size=len(there))
    packed = sparse_order(_rounded(pack(mechanism)), on_the_way)
    return Recipe(
        quantity,
        mechanism.name,
        _rows(declared.function),
        (packed, mechanism.robot.base_at_rest if base is None else base, straight),
        tuple(here[actuated] if name == "q" else rng.normal(size=mechanism.n) for name in declared.inputs),
        declared.shape(mechanism),
        iteration=Iteration(_step_rows, start, on_the_way, here, SETTLED, _STEPS),
        instead={to_front: _in_order},
    )


@lru_cache(maxsize=16)
def _samples(mechanism: Mechanism) -> tuple[Array, Array, Array, bool] | None:
    """The closed posture, two regular ones nearby, and whether passive joints move in proportion to the actuated ones.

    In plain Python: the general kernels, which take seconds to compile, may never be needed.
    """
    packed, rng, found = pack(mechanism), Dice(1), []
    work, python, q = workspace(packed), PlainKernels({}, np.zeros), mechanism.posture[mechanism.actuated]
    start = np.array(mechanism.posture)
    if python(assemble_kernel)(packed, work, q, start) != DONE:
        return None
    for _ in range(_TRIALS):
        posture, T = start.copy(), np.zeros((len(start), len(q)))
        target = q + _AWAY * packed.column_scale[mechanism.actuated] * rng.normal(size=len(q))
        if python(assemble_kernel)(packed, work, target, posture) == DONE:
            status, distance = python(motion_map_kernel)(packed, work, T)
            if status == DONE and distance > BRANCHES_MEET:
                found.append((posture, T))
    if len(found) < 2:
        return None
    (here, of_here), (there, _), *_ = found
    return start, here, there, all(np.abs(T - of_here).max() < _STRAIGHT for _, T in found)


def _rows(function: Callable[..., int]) -> Callable[..., int]:
    """A function of `branch_free` as a kernel over rows, of which there is one."""

    def rows(packed: Packed, base: Array, straight: bool, *arrays: Any) -> int:
        status = function(packed, workspace(packed), base, *(array[0] for array in arrays))
        return -1 if status == DONE else status

    return rows


def _step_rows(packed: Packed, base: Array, straight: bool, target: Any, q: Any, out: Any) -> int:
    status = advance(packed, workspace(packed), straight, target[0], q[0], out[0])
    return -1 if status == DONE else status


def _rounded(packed: Packed) -> Packed:
    """With entries of rotations within round-off of 0 or ±1 rounded."""
    frames = rounded_turns(rounded_turns(packed.loop_frames, ROTATION_A), ROTATION_B)
    return packed._replace(parameters=rounded_turns(packed.parameters), loop_frames=frames)


def _in_order(A: Array, top: int, m: int, n: int, j: int, pivots: NDArray[np.int64], place: int) -> float:
    """As `to_front` without exchanging columns, which the factorization of a full rank does not need."""
    return product(A[top + j : top + m, j], A[top + j : top + m, j])


#: Part of the largest entry below which an entry is zero at every posture.
_ZERO = 1e-12


def sparse_order(packed: Packed, posture: Array) -> Packed:
    """The same mechanism with passive joints and constraints of every cluster in another order.

    A Householder reflection fills all rows of its column in all columns that share a row with it. So, as Markowitz has
    it for pivots, the next column is the one with the least product of rows and columns that are filled. Which entries
    of the constraints' Jacobian are zero is read at a generic `posture` (tree n,).
    """
    work = workspace(packed)
    PlainKernels({}, np.zeros)(constraints_kernel)(packed, work, posture, np.zeros(len(posture)))
    nonzero = np.abs(work.K) > _ZERO * np.abs(work.K).max(initial=0.0)
    passive, constraints = packed.passive.copy(), packed.constraints.copy()
    for (p0, a0, r0), (p1, a1, r1) in zip(packed.clusters[:-1], packed.clusters[1:], strict=True):
        columns, rows, drivers = slice(p0, p1), slice(r0, r1), packed.actuated[packed.drivers[a0:a1]]
        chosen = np.ix_(constraints[rows], np.concatenate([passive[columns], drivers]))
        heads, order = _order(nonzero[chosen], len(passive[columns]))
        constraints[rows], passive[columns] = constraints[rows][heads], passive[columns][order]
    return packed._replace(passive=passive, constraints=constraints)


def _order(filled: NDArray[np.bool_], n: int) -> tuple[list[int], list[int]]:
    """Orders of all rows and of the first n columns of a pattern, which is filled on the way."""
    rows, columns = list(range(len(filled))), list(range(n))
    heads: list[int] = []
    order: list[int] = []
    while columns and rows:
        meeting = filled[rows].astype(np.int64).T @ filled[rows]  # rows that two columns share
        work = {k: meeting[k, k] * np.count_nonzero(meeting[k]) for k in columns}
        column = min(columns, key=lambda k: work[k] or len(filled) * filled.shape[1])
        mine = [row for row in rows if filled[row, column]] or rows[:1]
        head = min(mine, key=lambda row: np.count_nonzero(filled[row, columns]))
        together = filled[mine].any(axis=0)
        filled[mine] |= together
        order.append(column)
        heads.append(head)
        columns.remove(column)
        rows.remove(head)
        filled[:, column] = False
    return heads + rows, order + columns
