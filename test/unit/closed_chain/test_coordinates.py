from __future__ import annotations

import numpy as np
import pytest
from support.differences import rate
from support.errors import relative_error
from support.mechanisms import MECHANISMS, five_bar, four_bar, ladder, states

from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.coordinates import NEAR_SINGULAR, motion_map, tree_velocity
from rne_dynamics.closed_chain.inverse_dynamics import closed_inverse
from rne_dynamics.closed_chain.tree_dynamics import tree_forward_dynamics
from rne_dynamics.errors import ArgumentError, SingularPostureError


@pytest.mark.parametrize("name", MECHANISMS)
def test_rates_against_differences(name):
    mechanism = MECHANISMS[name]()
    (q,), (qd,), (qdd,) = states(mechanism, 1)
    here = assemble(mechanism, q)

    def at(t: float) -> np.ndarray:
        return assemble(mechanism, q + t * qd + 0.5 * t * t * qdd, start=here)

    def velocity(t: float) -> np.ndarray:
        return tree_velocity(mechanism, at(t), qd + t * qdd)

    assert relative_error(tree_velocity(mechanism, here, qd), rate(at)) < 1e-9
    assert relative_error(closed_inverse(mechanism, q, qd, qdd).qdd, rate(velocity)) < 1e-9
    map_ = motion_map(mechanism, here)
    assert relative_error(map_.T @ qd, tree_velocity(mechanism, here, qd)) < 1e-13
    np.testing.assert_array_equal(map_.T[mechanism.actuated], np.eye(mechanism.n))


@pytest.mark.parametrize("call", [
    tree_velocity,
    lambda m, q, qd: tree_forward_dynamics(m, q, np.zeros(4), qd),
])  # fmt: skip
def test_leading_dimensions_that_do_not_broadcast_are_refused(call):
    mechanism = five_bar()
    with pytest.raises(ArgumentError, match=r"do not broadcast: q_tree \(2, 4\), .* \(3, 2\)"):
        call(mechanism, np.tile(mechanism.posture, (2, 1)), np.zeros((3, 2)))


def test_singular_posture_is_refused():
    # a parallelogram folded flat
    mechanism = ladder(1)
    with pytest.raises(SingularPostureError, match=r"passive ones \(top0, right0\) in the singular posture at left0 0"):
        motion_map(mechanism, np.zeros(3))


def test_scale_changes_no_distance():
    """The same four-bar measured in other lengths is as far from singular: metres and radians are scaled apart."""
    smallest = motion_map(four_bar(), four_bar().posture).smallest
    assert 0.1 < smallest < 2.0
    assert motion_map(four_bar(turned=False), four_bar(turned=False).posture).smallest == pytest.approx(smallest)


def test_distance_shrinks_before_a_five_bar_is_stretched():
    """The couplers in one line: their joints no longer hold the tip."""
    mechanism = five_bar()
    # symmetric, cranks at π − a and a: the tip is stretched where 0.4 + 0.6 cos a = 0.9
    stretched = np.arccos(0.5 / 0.6)
    distances = []
    for away in (0.3, 0.1, 0.01, 1e-4, 1e-8):
        a = stretched + away
        here = assemble(mechanism, [np.pi - a, a])
        distances.append(float(motion_map(mechanism, here).smallest))
    assert distances == sorted(distances, reverse=True)
    # it goes as the square root of what is left of the way: there is warning before any control fails
    assert distances[-1] == pytest.approx(1e-2 * distances[-2], rel=0.05)
    assert distances[0] > 3 * NEAR_SINGULAR
    assert motion_map(mechanism, here).smallest < NEAR_SINGULAR
    assert not motion_map(mechanism, mechanism.posture).smallest < NEAR_SINGULAR
