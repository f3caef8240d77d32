"""Generated combs of any size; chains and trees are in `rne_dynamics.model.generated`."""

from __future__ import annotations

import math

from rne_dynamics.model.generated import generated
from rne_dynamics.model.robot import RobotModel


def comb(n: int, seed: int = 0) -> RobotModel:
    """A comb of `n` revolute joints: about √n links in a chain, each with a tooth as long; else as `chain`."""
    pitch = max(1, math.isqrt(max(n, 0)))
    return generated(f"comb{n}", n, lambda i: i - 1 if i % pitch else i - pitch, seed)
