from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.errors import relative_error
from support.mechanisms import MECHANISMS, crank_and_rocker_in_space, four_bar, states

import rne_dynamics as rne
from rne_dynamics.closed_chain.forward_dynamics import closed_forward_dynamics
from rne_dynamics.closed_chain.independence import evaluated
from rne_dynamics.closed_chain.inverse_dynamics import closed_inverse, closed_inverse_dynamics
from rne_dynamics.closed_chain.mass_matrix import closed_mass_matrix
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.terms import closed_terms_kernel
from rne_dynamics.errors import ArgumentError, SingularInertiaError


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("method", ["walker_orin", "constraint_forces"])
def test_forward_undoes_inverse(name, method):
    mechanism = MECHANISMS[name]()
    q, qd, qdd = states(mechanism, 6, seed=5)
    circumstances = {
        "wrenches": {mechanism.robot.link_names[-1]: np.array([1.0, -2.0, 3.0, 0.2, 0.1, -0.3])},
        "base_motion": rne.BaseMotion((0.3, 0.1, -0.5), (0.2, -0.4, 0.3), (0.5, 0.1, -0.2)),
    }
    tau = closed_inverse_dynamics(mechanism, q, qd, qdd, **circumstances)
    found = closed_forward_dynamics(mechanism, q, qd, tau, method=method, **circumstances)
    assert relative_error(found, qdd) < 1e-10


@pytest.mark.parametrize("name", MECHANISMS)
def test_mass_matrix_both_ways_symmetric_and_positive(name):
    mechanism = MECHANISMS[name]()
    q, qd, _ = states(mechanism, 5)
    M = closed_mass_matrix(mechanism, q)
    assert relative_error(closed_mass_matrix(mechanism, q, method="columns"), M) < 1e-12
    np.testing.assert_array_equal(M, M.swapaxes(1, 2))
    assert (np.linalg.eigvalsh(M) > 0.0).all()
    twice = np.einsum("bi,bij,bj->b", qd, M, qd)
    assert relative_error(0.5 * twice, rne.kinetic_energy(mechanism, q, qd)) < 1e-12


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


def test_loops_stay_closed_over_a_minute_of_coarse_steps():
    """Passive joints come from assembly, so that no step, however coarse, opens a loop: drift has no place to be."""
    mechanism = four_bar()
    packed = pack(mechanism)
    work, posture = workspace(packed), mechanism.posture.copy()
    T, M, bias = np.empty((mechanism.robot.n, 1)), np.empty((1, 1)), np.empty(1)
    base, unloaded = mechanism.robot.base_at_rest, np.empty((0, 6))

    def acceleration(q: float, qd: float) -> float:
        status = closed_terms_kernel(
            packed, work, base, np.array([q]), np.array([qd]), unloaded, posture, T, M, bias
        )  # fmt: skip
        assert status == 0
        return -bias[0] / M[0, 0]

    h, x, worst = 0.01, np.array([0.8, 0.0]), 0.0
    for _ in range(6000):
        k1 = np.array([x[1], acceleration(*x)])
        y = x + 0.5 * h * k1
        k2 = np.array([y[1], acceleration(*y)])
        y = x + 0.5 * h * k2
        k3 = np.array([y[1], acceleration(*y)])
        y = x + h * k3
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + np.array([y[1], acceleration(*y)]))
        worst = max(worst, np.abs(work.residual).max())
    assert worst < 1e-13
    acceleration(*x)
    assert np.abs(evaluated(packed, work, posture).residual).max() < 1e-10
