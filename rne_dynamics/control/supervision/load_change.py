"""The change from one load to another while the arm is held or guided: gravity fades from that of the model before."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.model_terms import holding_terms
from rne_dynamics.control.reference import TorqueTerms
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import MASS, ROTOR
from rne_dynamics.model.mechanism import RigidRobot

#: Time of a change of the load, s, and fastest change of an effort by it, N·m/s or N/s.
LOAD_TIME, FASTEST_FADE = 0.2, 500.0


def other_load(robot: RigidRobot, former: RigidRobot) -> bool:
    """Whether two models differ in what their bodies weigh, and in nothing else."""
    a, b = robot.open_tree.parameters, former.open_tree.parameters
    if robot is former or a.shape != b.shape or np.array_equal(a, b):
        return False
    rest = np.r_[:MASS, ROTOR : a.shape[1]]
    return np.array_equal(a[:, rest], b[:, rest])


class LoadChange:
    """Models whose gravity has not faded yet, each with its share; without a change there is none."""

    def __init__(self) -> None:
        #: Of the models before, while something of them is left.
        self.former: list[tuple[float, RigidRobot]] = []
        self._left, self._difference = 0.0, 0.0

    def begin(self, former: RigidRobot) -> None:
        """Let the gravity of the model before fade, and what is left of those before it."""
        self.former = [(share * self._left, robot) for share, robot in self.former] + [(1.0 - self._left, former)]
        self._left = 1.0

    def apply(
        self, terms: TorqueTerms, q: Array, qd: Array, posture: Array | None, base: BaseMotion | None
    ) -> TorqueTerms:
        """Efforts at a state with as much gravity of the models before as is left."""
        if not self.former:
            return terms
        more = np.zeros(len(q))
        for share, robot in self.former:
            more += share * (holding_terms(robot, q, qd, posture, base)[0] - terms.gravity)
        self._difference = float(np.abs(more).max())
        return terms._replace(gravity=terms.gravity + self._left * more)

    def inertia(self, robot: RigidRobot) -> Array:
        """Mass, first moment and inertia of the bodies with what is left of those before; columns of `parameters`."""
        now: Array = robot.open_tree.parameters[:, MASS:ROTOR]
        before = sum(share * (former.open_tree.parameters[:, MASS:ROTOR] - now) for share, former in self.former)
        return np.asarray(now + self._left * before)

    def advance(self, dt: float) -> None:
        """Let them fade over `dt`, s."""
        if self.former:
            self._left -= dt * min(1.0 / LOAD_TIME, FASTEST_FADE / max(self._difference, 1e-9))
            if self._left <= 0.0:
                self.__init__()  # type: ignore[misc]
