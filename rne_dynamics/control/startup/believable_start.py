"""First effort of a controller: the reported one where it is plausible."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.startup.payload_estimate import friction_bound
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

#: Besides Coulomb friction: fraction of the effort limit, and of gravity, that a true report may be off by.
FRICTION, MODEL_ERROR = 0.02, 0.1


def believable_start(reported: Array, gravity: Array, tolerance: Array) -> Array:
    """What the motors give now, joint by joint, as far as the report of it is plausible for an arm at rest.

    An arm that brakes hold reports about zero, one that another controller holds about gravity, one that rests on
    something any effort between them. A report outside of that by more than `tolerance` has a wrong unit, sign or
    offset: the nearer end of what is plausible is taken instead. So the start never goes against gravity, nor beyond
    it, by more than `tolerance`. A report that is far too large starts from gravity, one of the wrong sign from zero.

    Parameters
    ----------
    reported
        N·m or N, NaN where nothing is reported, which starts from zero; shape (n,).
    gravity
        The model's, in the measured posture; shape (n,).
    tolerance
        How far a true report can be outside, see `start_tolerance`; shape (n,).
    """
    known = np.where(np.isfinite(reported), reported, 0.0)
    plausible = np.clip(known, np.minimum(gravity, 0.0), np.maximum(gravity, 0.0))
    return np.asarray(np.where(np.abs(known - plausible) <= tolerance, known, plausible))


def start_tolerance(robot: RigidRobot, gravity: Array, effort_limit: Array) -> Array:
    """How far a true report can be from gravity or zero: friction and model error, N·m or N; shape (n,).

    Parameters
    ----------
    robot
        The model: Coulomb friction and the size of the drives.
    gravity
        The model's, in the measured posture; shape (n,).
    effort_limit
        The controller's, shape (n,): of joints to which the model gives no limit.
    """
    return friction_bound(robot, FRICTION, FRICTION * effort_limit) + MODEL_ERROR * np.abs(gravity)
