"""Warm-started loop closure for 1 kHz control.

The one mutable object of this package: it keeps the last posture of all joints, so that the loops stay on their branch
and close in one or two iterations, and its work memory, so that nothing is allocated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.arguments import posture_rows
from rne_dynamics.closed_chain.closing import DONE
from rne_dynamics.closed_chain.coordinates import passive_singular_value
from rne_dynamics.closed_chain.generic_rank import generic_rank
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.refusals import refusal
from rne_dynamics.closed_chain.rows import MOVE, States, empty_rows, rows_kernel
from rne_dynamics.closed_chain.tree_motion import nearest_state
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism


class Follower:
    """Positions and velocities of a mechanism's tree from those of its actuated joints, from `posture` (tree n,) on."""

    def __init__(self, mechanism: Mechanism, posture: ArrayLike | None = None) -> None:
        self.mechanism = mechanism
        self._packed = pack(mechanism)
        self._work = workspace(self._packed)
        self._rows = empty_rows(mechanism, 1)
        self._start = posture_rows(mechanism, mechanism.posture if posture is None else posture)
        self._q, self._qd, qdd = (np.zeros((1, mechanism.n)) for _ in range(3))
        self._states = States(self._start, np.zeros((1, 12)), self._q, self._qd, qdd, np.empty((1, 0, 6)))
        self.velocity: Array = np.zeros(mechanism.robot.n)
        self.smallest = np.nan
        self._coordinates = generic_rank(mechanism).coordinates

    @property
    def posture(self) -> Array:
        """Positions of all joints of the tree after the last call that succeeded, (tree n,); not to be written to."""
        posture: Array = self._start[0]
        return posture

    def follow(self, q: Array, qd: Array) -> None:
        """Bring `posture`, `velocity` and `smallest` to a state of the actuated joints, shape (n,) each.

        `velocity` is that of all joints of the tree, (tree n,); `smallest` a lower bound of `MotionMap.smallest`.

        Raises AssemblyError, SingularPostureError: the loops do not close there, or the actuated joints do not hold the
        mechanism. The posture stays.
        """
        if not self._coordinates:
            self._start[0], self.velocity = nearest_state(self.mechanism, self._start[0], q, qd)
            self.smallest = passive_singular_value(self.mechanism, self._work, self._start[0])
            return
        self._q[0], self._qd[0] = q, qd
        rows = self._rows
        status, _ = rows_kernel(self._packed, self._work, MOVE, False, self._states, rows)
        if status != DONE:
            raise refusal(self.mechanism, status, self._q[0], rows.postures[0])
        self._start[0] = rows.postures[0]
        self.velocity, self.smallest = rows.velocity[0], float(rows.smallest[0])
