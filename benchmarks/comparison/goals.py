"""Goals of the ratios."""

from __future__ import annotations

from dataclasses import dataclass

#: Number of joints from which a robot is large: some goals are higher then.
LARGE = 19


@dataclass(frozen=True)
class Goal:
    """One line of the table in benchmarks/README.md.

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


CALLED = "from Python, against pin"
INSIDE = "inverse dynamics inside compiled code, against"
BATCH = "batch of 100,000 states, per state and core, against"
CLOSED_LOOP = "closed-loop simulation of a 2 s move at 1 ms with RK4 and computed torque, against mujoco.mj_step alone"
MANY = "the same for 64 samples, per sample and core, against mujoco.mj_step alone"

GOALS = {
    "bound": Goal(f"inverse and forward dynamics {CALLED}: bound form", "at least 6× faster", 6.0),
    "bound-mass": Goal(f"mass matrix {CALLED}: bound form", "at least 4× faster", 4.0),
    "bound-gravity": Goal(f"gravity {CALLED}: bound form", "at least 10× faster", 10.0),
    "plain": Goal(
        f"inverse and forward dynamics, mass matrix, gravity {CALLED}: plain checked functions", "at least 3× faster",
        3.0,
    ),
    "derivatives": Goal(
        f"derivatives of inverse dynamics, regressor {CALLED}: bound form",
        f"at least 5× faster, 2× from {LARGE} joints on", 5.0, 2.0,
    ),
    "forward-derivatives": Goal(
        f"derivatives of forward dynamics {CALLED}: bound form",
        f"at least 3× faster, 2× from {LARGE} joints on", 3.0, 2.0,
    ),
    "jacobian": Goal(f"Jacobian {CALLED}: bound form", "at least 6× faster", 6.0),
    "compiled": Goal(f"{INSIDE} pin called from Python", "at least 8× faster", 8.0),
    "compiled-c": Goal(f"{INSIDE} straight-line generated C for that robot", "at most as slow", 1.0, slower=True),
    "batch": Goal(
        f"{BATCH} pin: its pool or its call less call overhead, whichever is faster", "at least 25× faster", 25.0
    ),
    "batch-derivatives": Goal(
        "batch of derivatives of inverse dynamics up to 9 joints, per state and core, against pin: its call less call "
        "overhead", "at least 10× faster", 10.0,
    ),
    "batch-c": Goal(f"{BATCH} straight-line generated C, scalar", "at least 2× faster", 2.0),
    "exported-c": Goal(
        "C of `rne export`, tests of states included, against CasADi's C of the same algorithm, compiled alike",
        "at least equal", 1.0,
    ),
    "mechanism": Goal(
        "mechanisms from Python, machine code of one alone against the general kernels", "at least 10× faster", 10.0
    ),
    "flexible": Goal(
        "flexible arms from Python, machine code of one alone against the general kernels", "at least 3× faster", 3.0
    ),
    "rollout": Goal(f"{CLOSED_LOOP}, Euler", f"at least 2× faster, equal from {LARGE} joints on", 2.0, 1.0),
    "rollout-rk4": Goal(f"{CLOSED_LOOP}, RK4", f"at least 5× faster, 4× from {LARGE} joints on", 5.0, 4.0),
    "rollout-many": Goal(f"{MANY}, Euler", "at least 4× faster", 4.0),
    "rollout-many-rk4": Goal(f"{MANY}, RK4", "at least 18× faster", 18.0),
    "loading": Goal(
        "load_urdf of a path, checks included, against pin.buildModelFromUrdf", "at most 8× slower", 8.0, slower=True
    ),
    "scaling": Goal("time per link at n = 1000 over n = 10", "at most 1.3", 1.3, slower=True),
}  # fmt: skip
