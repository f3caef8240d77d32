"""Cost of closed loops: inverse and forward dynamics compared with the open chain of the same joints.

    python benchmarks/closed_loops.py
    python benchmarks/closed_loops.py --loops 1 2 5 --json
    python benchmarks/closed_loops.py --plot closed_loops.png

The ladder is a stack of parallelograms (`test/support/parallelograms.py`): each adds three joints and one freedom. Cut
open, it is a tree of the same joints, which the open-chain functions take. A closed call starts from the actuated
joints alone: assembly from the posture, velocities and accelerations of the passive joints are part of its time. One
thread computes.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core's time; threads fight where cores are shared

import numpy as np
from script import options, print_table

import rne_dynamics as rne
from rne_dynamics.closed_chain.inverse_dynamics import closed_forward_dynamics, closed_inverse_dynamics
from rne_dynamics.figures.style import canvas, color_of, figure_file, legend_right

sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))
from support.parallelograms import ladder

LOOPS = (1, 2, 3, 5, 8, 12, 20, 30, 50)
STATES = 16
#: What is timed, and how the table calls it.
TITLES = {
    "open inverse": "inverse, open",
    "closed inverse": "inverse, closed",
    "open forward": "forward, open",
    "closed forward, walker_orin": "forward, closed, Walker-Orin",
    "closed forward, constraint_forces": "forward, closed, constraint forces",
}


def states(mechanism: rne.Mechanism) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions about the posture, velocities and a third set of numbers for accelerations or torques."""
    rng = np.random.default_rng(0)
    shape = (STATES, mechanism.n)
    q = mechanism.neutral + rng.uniform(-0.1, 0.1, shape) * np.minimum(1.0, mechanism.upper - mechanism.lower)
    return q, rng.uniform(-1.0, 1.0, shape), rng.uniform(-1.0, 1.0, shape)


def seconds(call: Callable[[], object], enough: float) -> float:
    """Smallest time of several repeats, s."""
    call()  # compiled, allocated, warm
    times: list[float] = []
    while len(times) < 5 or sum(times) < enough:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(mechanism: rne.Mechanism, enough: float) -> dict[str, Any]:
    """Times for one state (µs): in a batch of `STATES`, and of one call from Python."""
    q, qd, drive = states(mechanism)
    tree = mechanism.robot
    rng = np.random.default_rng(1)
    x = mechanism.posture + rng.uniform(-0.1, 0.1, (STATES, tree.n))
    xd, open_drive = rng.uniform(-1.0, 1.0, (2, STATES, tree.n))
    calls: dict[str, Callable[[Any], object]] = {
        "open inverse": lambda k: rne.inverse_dynamics(tree, x[k], xd[k], open_drive[k]),
        "closed inverse": lambda k: closed_inverse_dynamics(mechanism, q[k], qd[k], drive[k]),
        "open forward": lambda k: rne.forward_dynamics(tree, x[k], xd[k], open_drive[k]),
        "closed forward, walker_orin": lambda k: closed_forward_dynamics(mechanism, q[k], qd[k], drive[k]),
        "closed forward, constraint_forces": lambda k: closed_forward_dynamics(
            mechanism, q[k], qd[k], drive[k], method="constraint_forces"
        ),
    }
    batch, single = {}, {}
    for name, call in calls.items():
        batch[name] = 1e6 * seconds(lambda call=call: call(slice(None)), enough) / STATES  # type: ignore[misc]
        single[name] = 1e6 * seconds(lambda call=call: call(0), enough)  # type: ignore[misc]
    return {
        "mechanism": mechanism.name,
        "loops": len(mechanism.loops),
        "joints": tree.n,
        "freedoms": mechanism.n,
        "batch_us": batch,
        "call_us": single,
    }


def growth(rows: list[dict[str, Any]], name: str) -> float:
    """Exponent of the time over the number of loops, between the last of the ladder and the one nearest half of it."""
    last = rows[-1]
    half = min(rows[:-1], key=lambda row: abs(row["loops"] - last["loops"] / 2))
    return float(np.log(last["batch_us"][name] / half["batch_us"][name]) / np.log(last["loops"] / half["loops"]))


def show(rows: list[dict[str, Any]], exponents: dict[str, float]) -> None:
    """Print the times, µs, of one row a mechanism, and the powers of the number of loops with which they grow."""
    cells = [
        (row["mechanism"], *(str(row[key]) for key in ("loops", "joints", "freedoms")),
         *(f"{row['batch_us'][name]:.1f} ({row['call_us'][name]:.0f})" for name in TITLES))
        for row in rows
    ]  # fmt: skip
    if exponents:
        cells.append(("growth at the end", "", "", "", *(f"loops^{exponents[name]:.1f}" for name in TITLES)))
    title = f"time for one state in a batch of {STATES} (one call from Python), µs"
    print_table(title, ("mechanism", "loops", "joints", "freedoms", *TITLES.values()), cells)


def draw(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a figure of the times, µs, over the number of loops; raises as `canvas`."""
    with canvas(path, 8.0, 5.0) as figure:
        axes = figure.subplots()
        loops = [row["loops"] for row in rows]
        looks = ((0, ":"), (0, "-"), (1, ":"), (1, "-"), (2, "-"))
        for (name, title), (color, style) in zip(TITLES.items(), looks, strict=True):
            times = [row["batch_us"][name] for row in rows]
            axes.loglog(loops, times, style, marker=".", color=color_of(color), label=title)
        for power in (1, 2):
            guide = [rows[0]["batch_us"]["open inverse"] * n**power for n in loops]
            axes.loglog(loops, guide, "--", color="0.7", linewidth=0.8)
            word = "loops" if power == 1 else f"loops^{power}"
            axes.annotate(word, (loops[-1], guide[-1]), ha="right", va="bottom", fontsize="small", color="0.5")
        axes.set_xticks(loops, [str(n) for n in loops])
        axes.minorticks_off()
        axes.set_xlabel("loops (parallelograms in the ladder)")
        axes.set_ylabel("time for one state (µs)")
        legend_right(axes)


def main() -> int:
    """Measure and print."""
    parser = options(__doc__, seconds=0.05)
    parser.add_argument("--loops", type=int, nargs="+", default=LOOPS, help="sizes of the ladder (default: 1 to 50)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw times over loops")
    args = parser.parse_args()
    if args.plot:
        figure_file(args.plot, "--plot")
    ladders = [measure(ladder(n), args.seconds) for n in sorted(set(args.loops))]
    exponents = {name: growth(ladders, name) for name in TITLES} if len(ladders) > 1 else {}
    models = [rne.load_model(name) for name in rne.shipped_models()]
    shipped = [measure(model, args.seconds) for model in models if isinstance(model, rne.Mechanism)]
    if args.plot:
        draw(args.plot, ladders)
    if args.json:
        print(json.dumps({"ladder": ladders, "growth": exponents, "shipped": shipped}, indent=2))
    else:
        show([*shipped, *ladders], exponents)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
