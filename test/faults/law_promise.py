"""What the law of a controller promises about an arm that is loaded: how far it yields, and whether it comes back."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.control_law import ControlLaw, LawTolerances, Reference
from rne_dynamics.control.laws import DEFAULT_LAW, find_law
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: Deflection of which the law's answer is taken, rad; and part by which an arm may yield farther than that says, since
#: its load grows where it sinks.
SMALL, FARTHER = 1e-4, 0.25


def law_of(name: str, robot: RobotModel) -> ControlLaw:
    """The law of that name, the usual one if empty, with the defaults of a controller."""
    return find_law(name or DEFAULT_LAW).law(robot, friction=FrictionCompensation())


def keeps_place(law: ControlLaw) -> bool:
    """Whether an arm that was displaced comes back, from however far, as springs do."""
    return _tolerances(law).holding_error == 0.0


def learns(law: ControlLaw, q: Array) -> bool:
    """Whether it learns efforts that the model lacks at `q`, (n,), and goes on with them when they end."""
    still = np.zeros(len(q))
    return bool(law.law(q, still, Reference(q, still, still), np.full(len(q), SMALL)).feedback.any())


def _tolerances(law: ControlLaw) -> LawTolerances:
    return getattr(law, "tolerances", LawTolerances())


def compliance(law: ControlLaw, q: Array) -> Array:
    """Deflections of an arm held at `q`, (n,), for efforts from outside, rad/(N·m); shape (n, n)."""
    n, still = len(q), np.zeros(len(q))
    stiffness = np.empty((n, n))
    for j in range(n):
        aim = q + SMALL * (np.arange(n) == j)
        stiffness[:, j] = law.law(q, still, Reference(aim, still, still)).feedback / SMALL
    return np.asarray(np.linalg.inv(stiffness))


def yields(law: ControlLaw, q: Array, real: RobotModel) -> float:
    """How far an arm held at `q`, (n,), may sink that is `real` instead of the law's model, rad.

    Infinite beyond `holding_error`: the place where it is held follows the arm.
    """
    load = gravity_torque(real, q) - gravity_torque(law.robot.open_tree, q)
    away = (1.0 + FARTHER) * float(np.abs(compliance(law, q) @ load).max())
    return away if keeps_place(law) or away < _tolerances(law).holding_error else np.inf
