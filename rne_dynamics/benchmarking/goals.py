"""Goals of the ratios."""

from __future__ import annotations

from dataclasses import dataclass

#: Number of joints from which a robot is large: some goals are higher then.
LARGE = 19


@dataclass(frozen=True)
class Goal:
    """One line of the table in docs/performance.md.

    Parameters
    ----------
    what, wanted
        Texts.
    bound
        The number in `wanted`.
    bound_large
        The number from `LARGE` joints on.
    slower
        True: the ratio is our time over theirs and must not exceed the bound. False: it is their time over ours and
        must reach the bound.
    """

    what: str
    wanted: str
    bound: float
    bound_large: float | None = None
    slower: bool = False

    def bound_at(self, n: int) -> float:
        """The number for a robot of `n` joints."""
        return self.bound if self.bound_large is None or n < LARGE else self.bound_large

    def ratio(self, ours: float, theirs: float) -> float:
        """The ratio of two times as this goal defines it."""
        return ours / theirs if self.slower else theirs / ours

    def met(self, ratio: float, n: int) -> bool:
        """Whether a ratio meets the goal; False for NaN."""
        bound = self.bound_at(n)
        return ratio <= bound if self.slower else ratio >= bound


DRIVEN = "inverse dynamics, forward dynamics, mass matrix, gravity from Python, against pin"
INSIDE = "inverse dynamics inside compiled code, against"
BATCH = "batch of 100,000 states, per state and core, against"

GOALS = {
    "bound": Goal(
        f"{DRIVEN}: bound form", f"at least 1.5× faster on each robot, 2× from {LARGE} joints on", 1.5, 2.0
    ),
    "plain": Goal(
        f"{DRIVEN}: plain checked functions", f"at least equal on each robot, 1.5× from {LARGE} joints on", 1.0, 1.5
    ),
    "derivatives": Goal("derivatives and regressor from Python, against pin", "at least equal", 1.0),
    "compiled": Goal(f"{INSIDE} pin called from Python", "at least 4× faster", 4.0),
    "compiled-c": Goal(f"{INSIDE} straight-line generated C for that robot", "at most 3× slower", 3.0, slower=True),
    "batch": Goal(
        f"{BATCH} pin: its pool or its call less call overhead, whichever is faster", "at least 8× faster", 8.0
    ),
    "batch-c": Goal(f"{BATCH} straight-line generated C, scalar", "at least 2× faster", 2.0),
    "mechanism": Goal(
        "mechanisms from Python, machine code of one alone against the general kernels", "at least 10× faster", 10.0
    ),
    "flexible": Goal(
        "flexible arms from Python, machine code of one alone against the general kernels", "at least 3× faster", 3.0
    ),
    "rollout": Goal(
        "closed-loop simulation of a Panda at 1 ms with RK4 and computed torque, against mujoco.mj_step alone at 1 ms",
        "at least 2× faster", 2.0,
    ),
    "loading": Goal(
        "load_urdf of a path, checks included, against pin.buildModelFromUrdf", "at most 8× slower", 8.0, slower=True
    ),
    "scaling": Goal("time per link at n = 1000 over n = 10", "at most 1.3", 1.3, slower=True),
}  # fmt: skip
