"""A user's own controller and integrator in one compiled loop: ten thousand milliseconds of a PUMA 560."""

from __future__ import annotations

import time

import numpy as np
from numba import njit
from numpy.typing import NDArray

import rne_dynamics as rne

Array = NDArray[np.float64]


@njit
def reach(arm: Array, q: Array, qd: Array, goal: Array, steps: int, dt: float) -> int:
    """Computed torque towards `goal` and semi-implicit Euler; `q` and `qd` are changed. `OK`, or what went wrong."""
    wanted, tau, qdd = np.empty_like(qd), np.empty_like(qd), np.empty_like(qd)
    for _ in range(steps):
        for j in range(qd.shape[0]):
            wanted[j] = 25.0 * (goal[j] - q[j]) - 10.0 * qd[j]
        code = rne.compiled.inverse_dynamics(arm, q, qd, wanted, tau)
        if code == 0:
            code = rne.compiled.forward_dynamics(arm, q, qd, tau, qdd)
        if code != 0:
            return code
        for j in range(qd.shape[0]):
            qd[j] += dt * qdd[j]
            q[j] += dt * qd[j]
    return 0


@njit
def repeat_inverse_dynamics(arm: Array, q: Array, qd: Array, qdd: Array, tau: Array, times: int) -> int:
    """The same inverse dynamics many times over, for a clock outside."""
    code = 0
    for _ in range(times):
        code |= rne.compiled.inverse_dynamics(arm, q, qd, qdd, tau)
    return code


def main() -> None:
    """Move the arm, and time its inverse dynamics in a loop."""
    robot = rne.load_urdf("puma560")
    arm = rne.compiled.pack(robot)
    goal = np.array([0.5, -0.8, 1.2, 0.3, 0.6, -0.4])

    q, qd = np.zeros(robot.nq), np.zeros(robot.n)
    reach(arm, q, qd, goal, 0, 1e-3)  # compiles
    start = time.perf_counter()
    code = reach(arm, q, qd, goal, 10_000, 1e-3)
    took = time.perf_counter() - start
    if code != rne.compiled.OK:
        raise SystemExit(f"the loop stopped with code {code}")
    print(f"10 s of the arm in {1e3 * took:.1f} ms; {np.abs(goal - q).max():.1e} rad from its goal")

    vectors = q, qd, np.zeros(robot.n), np.empty(robot.n)
    repeat_inverse_dynamics(arm, *vectors, 1)
    start = time.perf_counter()
    repeat_inverse_dynamics(arm, *vectors, 10_000)
    print(f"one inverse dynamics takes {100 * (time.perf_counter() - start):.2f} µs in a compiled loop")


if __name__ == "__main__":
    main()
