"""What a controller compiles or loads before it has a robot."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.guards.state_filter import StateFilter
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.motion.motion import warm_up as warm_up_motion
from rne_dynamics.control.streaming.setpoints import warm_up as warm_up_setpoints


def warm_up_general() -> None:
    """Compile or load those of `Supervisor.warm_up`'s kernels that need no settings: the same for every robot."""
    joints = ("one", "other")  # of a single joint, more arrays would be contiguous: other types, other machine code
    n = len(joints)
    StateFilter(StateLimits(np.ones(n), np.zeros(n, np.bool_), 0.0, 1.0, joints))
    warm_up_motion(n)
    warm_up_setpoints(n)
