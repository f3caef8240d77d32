from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.errors import relative_error
from support.mechanisms import crank_and_rocker_in_space, four_bar, states

import rne_dynamics as rne
from rne_dynamics.closed_chain.inverse_dynamics import (
    closed_forward_dynamics,
    closed_inverse,
    closed_inverse_dynamics,
    closed_mass_matrix,
)
from rne_dynamics.errors import ArgumentError, SingularInertiaError


def test_over_actuated_efforts_give_the_motion_back():
    one = four_bar("coupler")
    two = replace(one, joint_names=("crank", "rocker"))
    q, qd, qdd = states(one, 3)
    single = closed_inverse(one, q, qd, qdd)
    columns = [0, 2]
    motion = single.q[:, columns], single.qd[:, columns], single.qdd[:, columns]
    tau = closed_inverse_dynamics(two, *motion)
    found = closed_forward_dynamics(two, motion[0], motion[1], tau, method="constraint_forces")
    assert relative_error(found, motion[2]) < 1e-10


def test_refusals():
    mechanism = four_bar()
    with pytest.raises(ArgumentError, match="method is 'nasser'; it must be one of 'walker_orin', 'constraint_forces'"):
        closed_forward_dynamics(mechanism, [0.8], [0.0], [0.0], method="nasser")
    with pytest.raises(ArgumentError, match="method is 'rows'; it must be 'composite' or 'columns'"):
        closed_mass_matrix(mechanism, [0.8], method="rows")
    with pytest.raises(ArgumentError, match=r"leading dimensions do not broadcast: q \(2, 1\), qd \(3, 1\)"):
        closed_forward_dynamics(mechanism, np.zeros((2, 1)), np.zeros((3, 1)), [0.0])
    weightless = crank_and_rocker_in_space()
    tree = weightless.robot.tree
    bare = replace(tree, links=tuple(replace(link, inertia=None) for link in tree.links),
                   joints=tuple(replace(joint, rotor_inertia=0.0) for joint in tree.joints))  # fmt: skip
    with pytest.raises(SingularInertiaError, match="joint 'crank'"):
        closed_forward_dynamics(replace(weightless, robot=rne.assemble(bare)), [0.4], [0.0], [0.0])
