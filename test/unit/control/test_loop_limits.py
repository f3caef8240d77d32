"""Trajectories of a mechanism are followed before they are begun, with its loops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.mechanisms import five_bar

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import Follower, assemble, assembled
from rne_dynamics.closed_chain.coordinates import NEAR_SINGULAR, motion_map, tree_velocity
from rne_dynamics.control.motion.limited_path import check_loops
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.errors import ModelError, TrajectoryError

#: Closed by its pins, with q2 + q3 near zero: a parallelogram is about to lie flat.
ARM = assembled(rne.load_model(Path(__file__).parents[3] / "examples" / "pantograph_pins.yaml"))
FLAT = np.array([0.0, -0.5, 0.45])


def test_what_can_be_followed_leads_to_the_posture_at_its_end():
    end = np.deg2rad([90.0, -45.0, -18.0])
    posture = check_loops(Quintic(ARM.neutral, end, 5.0), ARM, ARM.posture)
    np.testing.assert_allclose(posture, assemble(ARM, end), atol=1e-12)


def test_a_way_to_a_singular_posture_is_refused_and_the_way_out_is_not():
    with pytest.raises(TrajectoryError, match=r"from a singular posture"):
        check_loops(Quintic(ARM.neutral, FLAT, 5.0), ARM, ARM.posture)
    there = assemble(ARM, FLAT)
    assert motion_map(ARM, there).smallest < NEAR_SINGULAR * 1.1
    check_loops(Quintic(FLAT, ARM.neutral, 5.0), ARM, there)


def test_a_passive_joint_keeps_its_limits():
    k = ARM.robot.joint_index("jointC")
    upper = np.array(ARM.robot.upper)
    upper[k] = ARM.posture[k] + 0.1
    narrow = replace(ARM, robot=replace(ARM.robot, upper=upper))
    end = np.deg2rad([90.0, -45.0, -18.0])
    with pytest.raises(TrajectoryError, match=r"passive joint 'jointC' would be at .* allowed is"):
        check_loops(Quintic(ARM.neutral, end, 5.0), narrow, ARM.posture)
    outside = assemble(ARM, end)
    check_loops(Quintic(end, ARM.neutral, 5.0), narrow, outside)


def test_a_loop_that_cannot_close_on_the_way_is_refused_with_the_time():
    linkage = five_bar()
    apart = linkage.neutral + np.array([1.5, -1.5])
    with pytest.raises(TrajectoryError, match=r"cannot be followed beyond \d\.\d+ s|from a singular posture"):
        check_loops(Quintic(linkage.neutral, apart, 1.0), linkage, linkage.posture)


def test_only_what_is_left_of_a_trajectory_counts():
    there = assemble(ARM, FLAT)
    way = Quintic(FLAT, ARM.neutral, 5.0)
    check_loops(way, ARM, assemble(ARM, way.sample(2.5).q), 2.5)
    with pytest.raises(TrajectoryError):
        check_loops(Quintic(ARM.neutral, FLAT, 5.0), ARM, there, 0.0)


def test_a_follower_keeps_its_posture_where_it_cannot_follow():
    follower = Follower(ARM)
    q, qd = np.array([0.2, -1.2, 0.1]), np.array([0.5, -0.3, 0.4])
    follower.follow(q, qd)
    posture = follower.posture.copy()
    np.testing.assert_allclose(posture, assemble(ARM, q), atol=1e-13)
    np.testing.assert_allclose(follower.velocity, tree_velocity(ARM, posture, qd), atol=1e-13)
    assert 0.0 < follower.smallest <= motion_map(ARM, posture).smallest
    with pytest.raises(ModelError):
        follower.follow(np.array([np.nan, 0.0, 0.0]), qd)
    np.testing.assert_array_equal(follower.posture, posture)
