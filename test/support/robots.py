"""The robots that the identity tests run over, loaded once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from support.arms import floating_arm, gripper
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.description.share import share_file
from rne_dynamics.model.layout import BASE, PARENT

#: Trees, hands, mimic grippers, legs and arms from the wheel; a spread rather than a census.
WHEEL = (
    "baxter.urdf",
    "icub_reduced.urdf",
    "panda.urdf",
    "solo12.urdf",
    "talos_full_v2.urdf",
    "tiago_dual.urdf",
    "ur5_robot.urdf",
    "hextilt_flying_arm_5.urdf",
)
#: Those with mimic joints.
MIMIC = ("baxter.urdf", "panda.urdf", "talos_full_v2.urdf")
#: Robots built in code, also by name.
BUILT = {"gripper": gripper, "floating_arm": floating_arm}
#: One of each kind: a chain, one that slides, a hand that mimics, a flying arm, a humanoid with all of these.
CASES = (
    ("puma560", "fixed"), ("scara", "fixed"), ("panda.urdf", "fixed"), ("hextilt_flying_arm_5.urdf", "floating"),
    ("talos_full_v2.urdf", "floating"),
)  # fmt: skip


def file_of(name: str) -> Path:
    """The URDF of a shipped robot or of the wheel."""
    return wheel_urdf(name) if name.endswith(".urdf") else share_file(f"urdf/{name}.urdf")


@cache
def robot(name: str, base: str = "fixed") -> rne.RobotModel:
    """One of `BUILT`, a shipped robot, or a URDF of the wheel by file name, computed by the general kernels."""
    return BUILT[name]() if name in BUILT else with_own_code(name, base).with_own_code(False)


@cache
def with_own_code(name: str, base: str = "fixed") -> rne.RobotModel:
    """The same robot as `load_urdf` gives it, with machine code of its own."""
    return rne.load_urdf(wheel_urdf(name) if name.endswith(".urdf") else name, base=base)


def random_state(model: rne.RobotModel, seed: int | np.random.Generator, *count: int) -> tuple[np.ndarray, ...]:
    """Random positions, velocities, and accelerations or efforts; (n,) each, or (count, n)."""
    rng = np.random.default_rng(seed)
    return rne.random_configuration(model, rng, *count), *rng.normal(size=(2, *count, model.n))


def deepest(arm: rne.RobotModel) -> str:
    """The link behind the most joints."""

    def depth(link: str) -> int:
        body, joints = arm.links[link].body, 0
        while body != BASE:
            body, joints = int(arm.topology[body, PARENT]), joints + 1
        return joints

    return max(arm.link_names, key=depth)
