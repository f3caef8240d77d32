"""Parameters with masses moved to parents: the same efforts and accelerations, and no mass where none is needed."""

import numpy as np
import pytest
from support.arms import docked_vehicle, floating_arm, gripper, slider
from support.errors import relative_error
from support.robots import robot as shipped

import rne_dynamics as rne
from rne_dynamics.dynamics.composite.mass_matrix import MASS_MATRIX
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.derivatives.inverse_derivatives import INVERSE_DYNAMICS_DERIVATIVES
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.dynamics.newton_euler.newton_euler import INVERSE_DYNAMICS
from rne_dynamics.model.body_inertia import kept_inertia, with_moved_masses
from rne_dynamics.model.layout import INERTIA, KIND, MASS, MOMENT, PRISMATIC, REVOLUTE, ROTOR

SHIPPED = {"puma560": "fixed", "scara": "fixed", "solo12.urdf": "floating", "talos_full_v2.urdf": "floating"}
ARMS = {
    **{f"{name}, {base}": lambda name=name, base=base: shipped(name, base) for name, base in SHIPPED.items()},
    **{made.__name__: made for made in (slider, gripper, floating_arm, docked_vehicle)},
}


def answers(quantity, robot, parameters, base, *rows, loads):
    """What the general kernel gives with these parameters for rows of states; and what moves no inertia, or −1."""
    chosen = quantity.for_robot(robot)
    out = np.zeros((len(rows[0]), *quantity.shape(robot)))
    return out, chosen.batch(Arm(robot.topology, parameters, base, loads), (), *rows, out)


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in ARMS.items()])
def test_efforts_and_accelerations_stay_as_they_are(make):
    robot, rng, count = make(), np.random.default_rng(3), 3
    q = np.array([rne.random_configuration(robot, rng) for _ in range(count)])
    qd, x = rng.normal(size=(2, count, robot.n))
    base, loads = robot.base_at_rest + rng.normal(size=(count, 12)), rng.normal(size=(count, robot.bodies, 6))
    moved = with_moved_masses(robot.topology, robot.parameters)
    none = np.empty((1, 0, 6))
    for quantity, rows, given in (
        (INVERSE_DYNAMICS, (q, qd, x), loads), (FORWARD_DYNAMICS, (q, qd, x), loads), (MASS_MATRIX, (q,), none),
        (INVERSE_DYNAMICS_DERIVATIVES, (q, qd, x), loads),
    ):  # fmt: skip
        motion = base if len(given) == count else robot.base_at_rest.reshape(1, 12)
        (expected, fault), (found, fault_found) = (
            answers(quantity, robot, parameters, motion, *rows, loads=given)
            for parameters in (robot.parameters, moved)
        )
        assert fault_found == fault
        assert fault >= 0 or relative_error(found, expected) < 1e-11, quantity.name


@pytest.mark.parametrize("name", ["puma560", "scara", "panda"])
def test_what_joints_leave_at_rest_is_zero(name):
    robot = shipped(name)
    moved = with_moved_masses(robot.topology, robot.parameters)
    kinds = robot.topology[:, KIND]
    assert not moved[kinds == REVOLUTE][:, [MASS, MOMENT + 2]].any()
    assert not moved[kinds == PRISMATIC][:, INERTIA : INERTIA + 6].any()
    assert not moved[:, MASS:ROTOR][~kept_inertia(robot.topology)].any()
    others = np.delete(np.arange(moved.shape[1]), np.s_[MASS:ROTOR])
    assert np.array_equal(moved[:, others], robot.parameters[:, others])


def test_a_floating_base_keeps_the_mass_of_all():
    robot = shipped("solo12.urdf", "floating")
    moved = with_moved_masses(robot.topology, robot.parameters)
    assert moved[0, MASS] == pytest.approx(robot.parameters[:, MASS].sum(), rel=1e-15)
