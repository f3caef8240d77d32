"""How many operations straight-line code of real arms takes: its time, and whether it fits the instruction cache."""

from __future__ import annotations

import pytest
from support.robots import with_own_code

from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.straight_line.trace import trace

#: At most, constants and inputs included. With axes common to all bodies a mass matrix took twice as many.
MOST = {
    ("ur5_robot.urdf", "inverse_dynamics"): 430,
    ("ur5_robot.urdf", "forward_dynamics"): 890,
    ("ur5_robot.urdf", "mass_matrix"): 255,
    ("ur5_robot.urdf", "inverse_dynamics_derivatives"): 1700,
    ("ur5_robot.urdf", "regressor"): 1290,
    ("panda.urdf", "mass_matrix"): 700,
    ("talos_reduced.urdf", "mass_matrix"): 2820,
}


@pytest.mark.parametrize(("robot", "quantity"), MOST)
def test_no_more_operations_than(robot, quantity):
    program = trace(QUANTITIES[quantity].recipe(with_own_code(robot)))
    assert len(program.needed()) <= MOST[robot, quantity]
