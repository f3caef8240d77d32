"""Whether a mechanism can follow a trajectory of its actuated joints: loops, singular postures, passive limits."""

from __future__ import annotations

import numpy as np

from rne_dynamics.closed_chain.coordinates import NEAR_SINGULAR
from rne_dynamics.closed_chain.following import Follower
from rne_dynamics.control.thresholds import ROUNDING
from rne_dynamics.control.trajectory import Trajectory
from rne_dynamics.errors import ModelError, TrajectoryError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism

#: Time between two checked points of a trajectory, s, and their smallest and largest number.
CHECK_EVERY, LEAST_CHECKS, MOST_CHECKS = 0.02, 20, 100


def check_loops(trajectory: Trajectory, mechanism: Mechanism, posture: Array, begin: float = 0.0) -> Array:
    """Follow a trajectory with a mechanism's loops; returns the posture at its end, all joints of the tree, (tree n,).

    Parameters
    ----------
    trajectory
        Of the actuated joints.
    mechanism
        The mechanism.
    posture
        Where the mechanism is, all joints of the tree, shape (tree n,).
    begin
        Where on the trajectory to begin, s.

    Raises
    ------
    TrajectoryError
        On the way a loop cannot close, a posture is nearer to a singular one than `NEAR_SINGULAR`, or a passive joint
        passes its position limits; says when. A mechanism that is there already may move, but no further that way.
    """
    tree, passive = mechanism.robot, mechanism.passive
    lower = np.minimum(tree.lower, posture) - ROUNDING
    upper = np.maximum(tree.upper, posture) + ROUNDING
    follower, allowed = Follower(mechanism, posture), NEAR_SINGULAR
    checks = int(np.clip((trajectory.duration - begin) / CHECK_EVERY, LEAST_CHECKS, MOST_CHECKS))
    for t in np.linspace(begin, trajectory.duration, checks + 1).tolist():
        now = trajectory.sample(t)
        try:
            follower.follow(now.q, now.qd)
        except ModelError as error:
            raise TrajectoryError(f"it cannot be followed beyond {t:.3f} s: {error}") from error
        if t == begin:
            allowed = min(allowed, follower.smallest * (1.0 - 1e-6))
        if follower.smallest < allowed:
            raise TrajectoryError(
                f"it leads at {t:.3f} s to {follower.smallest:.3g} from a singular posture, in which the actuated "
                f"joints do not hold the mechanism; allowed is {allowed:.3g} (`MotionMap.smallest`). Keep away from it"
            )
        outside = (follower.posture[passive] < lower[passive]) | (follower.posture[passive] > upper[passive])
        if outside.any():
            j = int(passive[np.argmax(outside)])
            raise TrajectoryError(
                f"passive joint {tree.joint_names[j]!r} would be at {follower.posture[j]:.6g} at {t:.3f} s; allowed is "
                f"[{tree.lower[j]:.6g}, {tree.upper[j]:.6g}]"
            )
    return np.array(follower.posture)
