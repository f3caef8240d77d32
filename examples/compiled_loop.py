"""A user's own controller and integrator in one loop compiled by numba: ten thousand milliseconds of a PUMA 560."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

import rne_dynamics as rne

Array = NDArray[np.float64]
Function = Callable[..., Any]


@njit
def reach(
    inverse_dynamics: Function, forward_dynamics: Function, q: Array, qd: Array, goal: Array, steps: int, dt: float
) -> int:
    """Computed torque towards `goal` and semi-implicit Euler; `q` and `qd` are changed. 0, or what went wrong."""
    wanted, tau, qdd = np.empty_like(qd), np.empty_like(qd), np.empty_like(qd)
    for _ in range(steps):
        for j in range(qd.shape[0]):
            wanted[j] = 25.0 * (goal[j] - q[j]) - 10.0 * qd[j]
        status = inverse_dynamics(q.ctypes, qd.ctypes, wanted.ctypes, tau.ctypes)
        if status == 0:
            status = forward_dynamics(q.ctypes, qd.ctypes, tau.ctypes, qdd.ctypes)
        if status != 0:
            return status
        for j in range(qd.shape[0]):
            qd[j] += dt * qdd[j]
            q[j] += dt * qd[j]
    return 0


@njit
def repeat(inverse_dynamics: Function, q: Array, qd: Array, qdd: Array, tau: Array, times: int) -> int:
    """The same inverse dynamics many times over, for a clock outside."""
    status = 0
    for _ in range(times):
        status |= inverse_dynamics(q.ctypes, qd.ctypes, qdd.ctypes, tau.ctypes)
    return status


def main() -> None:
    """Move the arm, and time its inverse dynamics in a loop."""
    robot = rne.load_urdf("puma560")
    inverse_dynamics = rne.c_function(robot, "inverse_dynamics").ctypes
    forward_dynamics = rne.c_function(robot, "forward_dynamics").ctypes
    goal = np.array([0.5, -0.8, 1.2, 0.3, 0.6, -0.4])

    q, qd = np.zeros(robot.nq), np.zeros(robot.n)
    reach(inverse_dynamics, forward_dynamics, q, qd, goal, 0, 1e-3)  # compiles
    start = time.perf_counter()
    status = reach(inverse_dynamics, forward_dynamics, q, qd, goal, 10_000, 1e-3)
    took = time.perf_counter() - start
    if status != 0:
        raise SystemExit(f"the loop stopped with status {status}")
    print(f"10 s of the arm in {1e3 * took:.1f} ms; {np.abs(goal - q).max():.1e} rad from its goal")

    vectors = q, qd, np.zeros(robot.n), np.empty(robot.n)
    repeat(inverse_dynamics, *vectors, 1)
    start = time.perf_counter()
    repeat(inverse_dynamics, *vectors, 10_000)
    print(f"one inverse dynamics takes {100 * (time.perf_counter() - start):.3f} µs in a compiled loop")


if __name__ == "__main__":
    main()
