"""Motion of a chain of rigid segments, and the place of its tips."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from rne_dynamics.dynamics.forward_dynamics import forward_dynamics
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics


def tip(chain, link, q):
    """Position of a flexible link's tip in the root link's frame, m, for all coordinates (…, n); shape (…, 3)."""
    segment, place = chain.tips[link]
    poses = forward_kinematics(chain.robot, q)
    k = chain.robot.link_names.index(segment)
    return poses.position[..., k, :] + poses.rotation[..., k, :, :] @ place


def motion(chain, start, tau, times):
    """All coordinates at the given times from rest at `start`, under `tau(t)` of the arm's own joints; (times, n)."""
    n = chain.robot.n

    def rate(time, state):
        efforts = -chain.stiffness * state[:n]
        efforts[chain.joints] += tau(time)
        return np.concatenate([state[n:], forward_dynamics(chain.robot, state[:n], state[n:], efforts)])

    first = np.concatenate([np.asarray(start, dtype=np.float64), np.zeros(n)])
    found = solve_ivp(rate, (times[0], times[-1]), first, method="DOP853", t_eval=times, rtol=1e-9, atol=1e-13)
    assert found.success, found.message
    return found.y[:n].T
