"""Computed torque in closed loop without ROS: a SCARA carries a load that the controller knows of, or does not."""

from __future__ import annotations

import numpy as np

import rne_dynamics as rne


def main() -> None:
    """Print the largest tracking error of one move, joint by joint."""
    empty = rne.load_urdf("scara")
    loaded = rne.with_payload(empty, rne.Payload("tool0", mass=3.0, com=(0.0, 0.0, 0.05)))
    start, end = np.array([0.5, -1.0, 0.05, 0.0]), np.array([-0.7, 1.2, 0.18, 1.5])
    move = rne.Quintic(start, end, duration=1.0)
    gains = rne.Gains.critically_damped(empty.n, bandwidth=40.0)

    print("largest error (mrad, mm)  ", *(f"{name:>9}" for name in empty.joint_names))
    for label, model in (("controller knows the load", loaded), ("controller does not", empty)):
        law = rne.ComputedTorque(model, gains)
        log = rne.simulate(rne.ArmPlant(loaded), law, move, dt=1e-3, control_dt=1e-3)
        worst = 1e3 * np.abs(log.error).max(axis=0)
        print(f"{label:26}", *(f"{value:9.3f}" for value in worst))


if __name__ == "__main__":
    main()
