"""The dynamics of an arm as plain functions: torques of a motion, and what a payload changes."""

from __future__ import annotations

import numpy as np

import rne_dynamics as rne


def main() -> None:
    """Print torques of the PUMA 560 with and without 2 kg in its hand, and check energy against work."""
    robot = rne.load_urdf("puma560")
    q = np.array([0.0, 0.3, -0.5, 0.0, 0.4, 0.0])
    qd = np.array([0.5, -0.4, 0.3, 0.0, 0.2, 0.0])
    qdd = np.zeros(robot.n)

    loaded = rne.with_payload(robot, rne.Payload("tool0", mass=2.0, com=(0.0, 0.0, 0.05)))
    print(f"{'joint':>8} {'empty':>10} {'2 kg':>10} {'limit':>10}   N·m")
    empty, full = rne.inverse_dynamics(robot, q, qd, qdd), rne.inverse_dynamics(loaded, q, qd, qdd)
    for j, name in enumerate(robot.joint_names):
        print(f"{name:>8} {empty[j]:10.3f} {full[j]:10.3f} {robot.effort_limit[j]:10.1f}")

    # the power put in at the joints is the rate at which the energy grows
    power = qd @ rne.inverse_dynamics(robot, q, qd, qdd)
    dt = 1e-6
    after = rne.kinetic_energy(robot, q + dt * qd, qd) + rne.potential_energy(robot, q + dt * qd)
    before = rne.kinetic_energy(robot, q - dt * qd, qd) + rne.potential_energy(robot, q - dt * qd)
    print(f"power {power:.6f} W, rate of energy {(after - before) / (2 * dt):.6f} W")

    tip = rne.forward_kinematics(robot, q)["tool0"]
    print("tool0 at", np.round(tip[:3, 3], 4).tolist(), "m")
    print("its velocity", np.round(rne.jacobian(robot, q, "tool0")[:3] @ qd, 4).tolist(), "m/s")


if __name__ == "__main__":
    main()
