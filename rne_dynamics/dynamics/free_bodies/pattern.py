"""Sparsity of the differential-algebraic equations, from the topology alone.

The unknowns of one state are, for every body i, the wrench F_i that its parent exerts on it through the joint and the
acceleration a_i of its frame (each 6), and the joint accelerations q̈ (n). The equations are, for every body, the
balance of forces and moments (Euler's two laws) and the motion that its joint allows (each 6), and what the drives
give (n):

    balance    𝓜 a − Kᵀ F       = wrenches − gyroscopic terms
    joints    −K a        + S q̈ = −drift
    drives          Sᵀ F + J q̈ = τ

K is the identity less the transfer of motion from every parent, S the joint axes (times the gear ratio where several
joints share a coordinate), J the rotor inertia. Bodies are put in from the tips to the base, F before a before q̈, so
that elimination down the diagonal meets only −1 and inertias felt by joints: no pivot search, and fill that stays
between a body and its parent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.model.layout import FLOATING, KIND, PARENT, PRISMATIC, VELOCITY_INDEX

Integers = NDArray[np.int64]

_ROW, _COLUMN = np.divmod(np.arange(9), 3)

#: Entries (row, column) of a body's 6×6 inertia that are not always zero: m, ∓h̃, I; shape (24,) each.
_OFF = np.flatnonzero(_ROW != _COLUMN)
INERTIA_ROWS: Integers = np.concatenate([np.arange(3), _ROW[_OFF], 3 + _ROW[_OFF], 3 + _ROW])
INERTIA_COLUMNS: Integers = np.concatenate([np.arange(3), 3 + _COLUMN[_OFF], _COLUMN[_OFF], 3 + _COLUMN])

#: Entries of the transfer X = [Rᵀ, −Rᵀp̃; 0, Rᵀ], and which of the 18 numbers Rᵀ, −Rᵀp̃ each is; shape (27,).
TRANSFER_ROWS: Integers = np.concatenate([_ROW, _ROW, 3 + _ROW])
TRANSFER_COLUMNS: Integers = np.concatenate([_COLUMN, 3 + _COLUMN, 3 + _COLUMN])
TRANSFER_NUMBERS: Integers = np.concatenate([np.arange(18), np.arange(9)])


@dataclass(frozen=True, eq=False)
class MaximalPattern:
    """Numbering and sparsity of the equations of one topology."""

    #: Number of each component of F (and of the balance that it enters with −1), and of a (and of its joint equation);
    #: shape (bodies, 6).
    force: Integers
    motion: Integers
    #: Number of each q̈ (and of its drive equation); shape (n,).
    coordinate: Integers
    #: One entry a joint axis: its body, the component (0–5) it moves, its place in q̈.
    axis_body: Integers
    axis_component: Integers
    axis_coordinate: Integers
    #: Bodies whose parent is not the base.
    children: Integers
    #: Rows and columns of the whole matrix's entries: those of inertias (bodies, 24), −1 (12·bodies,), axes twice
    #: (axes,) and rotors (n,); then those of the transfer to children (children, 27), and the same transposed.
    system: tuple[Integers, Integers]
    #: Those of K alone, bodies from the base outward: 1 (6·bodies,) and transfer (children, 27).
    constraint: tuple[Integers, Integers]

    @property
    def size(self) -> int:
        """Number of unknowns, all together."""
        return 2 * self.force.size + len(self.coordinate)


def maximal_pattern(topology: Integers) -> MaximalPattern:
    """The pattern of a topology (bodies, 4); made once for each and kept."""
    return _pattern(np.ascontiguousarray(topology, dtype=np.int64).tobytes())


@lru_cache(maxsize=64)
def _pattern(key: bytes) -> MaximalPattern:
    topology = np.frombuffer(key, dtype=np.int64).reshape(-1, 4)
    bodies = len(topology)
    force, motion, coordinate = _numbering(topology)
    axes = np.array(
        [
            (i, k, iv + (k if kind == FLOATING else 0))
            for i, (_, kind, _, iv) in enumerate(topology.tolist())
            for k in (range(6) if kind == FLOATING else (2,) if kind == PRISMATIC else (5,))
        ],
        dtype=np.int64,
    ).reshape(-1, 3)
    body, component, place = axes.T
    children = np.flatnonzero(topology[:, PARENT] >= 0)
    parents = topology[children, PARENT]
    both, outward = np.concatenate([force.ravel(), motion.ravel()]), np.arange(6 * bodies).reshape(bodies, 6)
    system = _entries(
        (force[:, INERTIA_ROWS], motion[:, INERTIA_COLUMNS]), (both, both),
        (motion[body, component], coordinate[place]), (coordinate[place], force[body, component]),
        (coordinate, coordinate), (motion[children][:, TRANSFER_ROWS], motion[parents][:, TRANSFER_COLUMNS]),
        (force[parents][:, TRANSFER_COLUMNS], force[children][:, TRANSFER_ROWS]),
    )
    constraint = _entries(
        (outward, outward), (outward[children][:, TRANSFER_ROWS], outward[parents][:, TRANSFER_COLUMNS])
    )
    return MaximalPattern(force, motion, coordinate, body, component, place, children, system, constraint)


def _numbering(topology: Integers) -> tuple[Integers, Integers, Integers]:
    """Numbers of F, a and q̈: from the tips to the base, a coordinate after the last of the bodies it moves."""
    bodies = len(topology)
    n = max((iv + (6 if kind == FLOATING else 1) for _, kind, _, iv in topology.tolist()), default=0)
    last = {iv: i for i, iv in reversed(list(enumerate(topology[:, VELOCITY_INDEX].tolist())))}
    force = np.empty((bodies, 6), dtype=np.int64)
    motion = np.empty((bodies, 6), dtype=np.int64)
    coordinate = np.empty(n, dtype=np.int64)
    number = 0
    for i in range(bodies - 1, -1, -1):
        force[i] = number + np.arange(6)
        motion[i] = number + 6 + np.arange(6)
        number += 12
        iv = int(topology[i, VELOCITY_INDEX])
        if last[iv] == i:
            freedoms = 6 if topology[i, KIND] == FLOATING else 1
            coordinate[iv : iv + freedoms] = number + np.arange(freedoms)
            number += freedoms
    return force, motion, coordinate


def _entries(*blocks: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
    rows, columns = (np.concatenate([block[k].ravel() for block in blocks]) for k in range(2))
    return rows, columns
