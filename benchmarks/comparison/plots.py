"""Figures of option --plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from comparison import batches, c_reference, calls, compiled_loops, scaling
from comparison.goals import GOALS, LARGE
from comparison.results import Ratio, Results
from comparison.summary import time_text

from rne_dynamics.figures.style import COLORS, GUIDE, canvas, color_of, legend_below

#: Markers of robots or shapes.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

#: Labels, markers and colours for many states: ours, C, Pinocchio.
DOTS = {
    batches.STRAIGHT: ("straight-line vector code (bind_batch)", "o", COLORS[0]),
    batches.GENERAL: ("general kernels (bind_batch)", "s", COLORS[5]),
    batches.PLAIN: ("plain function", "^", COLORS[5]),
    compiled_loops.OURS: ("state by state in compiled code", "D", COLORS[2]),
    c_reference.C: ("straight-line C, gcc -O3", "P", "0.45"),
    batches.CALL: ("pin, call without call overhead", "v", COLORS[3]),
    batches.POOL: ("pin, its pool", "X", COLORS[1]),
}  # fmt: skip


def plot(folder: Path, results: Results, suffix: str = ".png") -> list[Path]:
    """Write ``bench_calls``, ``bench_batch`` and ``bench_scaling`` as far as measured; return their paths.

    Raises as `canvas`.
    """
    written = []
    for section, size, draw in (
        (calls.SECTION, (12.0, 4.8), _draw_calls), (scaling.SECTION, (12.0, 7.5), _draw_scaling),
        (batches.SECTION, (12.0, 4.8), _draw_batches),
    ):  # fmt: skip
        if any(m.section == section for m in results.measurements):
            path = folder / f"bench_{section}{suffix}"
            with canvas(path, *size) as figure:
                draw(figure, results)
            written.append(path)
    return written


def _draw_calls(figure: Any, results: Results) -> None:
    ratios = [r for r in results.ratios if r.section == calls.SECTION]
    forms = list(dict.fromkeys(r.ours for r in ratios))
    robots = list(dict.fromkeys((r.robot, r.n) for r in ratios))
    quantities = list(dict.fromkeys(r.quantity for r in ratios))
    panels = figure.subplots(1, max(len(forms), 1), sharey=True, squeeze=False)[0]
    for axes, form in zip(panels, forms, strict=False):
        here = [r for r in ratios if r.ours == form]
        for k, (robot, n) in enumerate(robots):
            chosen = [r for r in here if r.robot == robot]
            x = [quantities.index(r.quantity) + 0.14 * (k - 0.5 * (len(robots) - 1)) for r in chosen]
            line = {"color": color_of(k), "label": f"{robot}, {n} joints", "marker": MARKERS[k % len(MARKERS)]}
            axes.plot(x, [r.ratio for r in chosen], linestyle="", **line)
        _draw_bounds(axes, here, quantities)
        axes.axhline(1.0, color="0.4", linewidth=0.8)
        axes.set_yscale("log")
        axes.set_xticks(range(len(quantities)), [_words(q) for q in quantities], rotation=35, ha="right")
        axes.set_title(f"{form} form")
        ticks = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        bounds = [bound for r in ratios if r.goal for bound in (GOALS[r.goal].bound, GOALS[r.goal].bound_at(LARGE))]
        values = [*(r.ratio for r in ratios), *bounds]
        axes.set_ylim(0.7 * min(*values, 1.0), 1.4 * max(*values, 2.0))
    panels[0].set_ylabel("times as fast as pin, called from Python")
    legend_below(figure, panels[0], 6)


def _words(quantity: str) -> str:
    """A name as words, shortened."""
    return quantity.replace("_", " ").replace("dynamics derivatives", "derivatives")


def _draw_bounds(axes: Any, ratios: Sequence[Ratio], quantities: Sequence[str]) -> None:
    """Draw goals as short lines, dotted for large robots."""
    for place, quantity in enumerate(quantities):
        goals = {r.goal for r in ratios if r.quantity == quantity and r.goal}
        for goal in (GOALS[key] for key in goals):
            for bound, style in ((goal.bound, "-"), (goal.bound_at(LARGE), ":")):
                axes.plot((place - 0.4, place + 0.4), (bound, bound), style, color=GUIDE, linewidth=1.5, zorder=1)
    axes.plot((), (), "-", color=GUIDE, label="goal")
    axes.plot((), (), ":", color=GUIDE, label=f"goal from {LARGE} joints on")


def _draw_batches(figure: Any, results: Results) -> None:
    """Draw the time of inverse dynamics for one state and core, by contender."""
    wanted = {batches.SECTION: "inverse_dynamics, 1 core", compiled_loops.SECTION: "inverse_dynamics"}
    rows = [m for m in results.measurements if wanted.get(m.section) == m.quantity and m.n]
    contenders = [c for c in DOTS if any(m.contender == c for m in rows)]
    robots = list(dict.fromkeys((m.robot, max(n.n for n in rows if n.robot == m.robot)) for m in rows))
    panels = figure.subplots(1, max(len(robots), 1), sharey=True, squeeze=False)[0]
    for axes, (robot, n) in zip(panels, robots, strict=False):
        for place, contender in enumerate(contenders):
            label, marker, color = DOTS[contender]
            here = [m for m in rows if (m.contender, m.robot) == (contender, robot)]
            found = [m.minimum for m in sorted(here, key=lambda m: m.section == batches.SECTION)][-1:]
            axes.plot([place] * len(found), found, marker, color=color, markersize=7, label=label)
            for ns in found:
                axes.annotate(time_text(ns), (place, ns), xytext=(0, 7), textcoords="offset points", ha="center",
                              fontsize="x-small")  # fmt: skip
        axes.set_title(f"{robot}, {n} joints")
        axes.set_yscale("log")
        axes.margins(x=0.12, y=0.12)
        axes.set_xticks([])
    panels[0].set_ylabel("time for one state and core (ns)")
    figure.suptitle("Inverse dynamics of many states", x=0.01, ha="left")
    legend_below(figure, panels[0], 4)


def _draw_scaling(figure: Any, results: Results) -> None:
    rows = [m for m in results.measurements if m.section == scaling.SECTION and m.n]
    quantities = list(dict.fromkeys(m.quantity for m in rows))
    shapes = list(dict.fromkeys(m.robot for m in rows))
    grid = figure.subplots(2, 2, sharex=True)
    for axes, quantity in zip(grid.flat, quantities, strict=False):
        for k, shape in enumerate(shapes):
            here = [m for m in rows if (m.quantity, m.robot) == (quantity, shape)]
            for who, style, theirs in (("rne", "-", False), ("pin", ":", True)):
                chosen = [m for m in here if m.contender.startswith("pin") == theirs]
                line = {"color": color_of(k), "linestyle": style, "marker": ".", "label": f"{shape}, {who}"}
                if chosen:
                    axes.semilogx([m.n for m in chosen], [m.minimum / m.n for m in chosen], **line)
        axes.set_title(quantity.replace("_", " "))
        if quantity == "mass_matrix":
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0.0)
        ticks = [m for m in (2, 5, 10, 20, 50, 100, 200, 500, 1000) if m <= max(m.n for m in rows)]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
    for axes in grid[1]:
        axes.set_xlabel("joints n")
    for axes in grid[:, 0]:
        axes.set_ylabel("time for one state by n (ns)")
    legend_below(figure, grid[0][0], 6)
