"""Figure of `rne verify --plot`: operations and times over the number of joints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rne_dynamics.cli.figures import canvas
from rne_dynamics.verification.counting import published
from rne_dynamics.verification.engines import ENGINES
from rne_dynamics.verification.scaling import MECHANISMS, Sample

_TICKS = (2, 5, 10, 20, 50, 100, 200)


def plot(path: Path, samples: Sequence[Sample]) -> None:
    """Write the figure; raises as `canvas`."""
    with canvas(path, 12.0, 9.0) as figure:
        _draw(figure, samples)


def _draw(figure: Any, samples: Sequence[Sample]) -> None:
    grid = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, (mechanism, _) in enumerate(MECHANISMS):
        counts, times = grid[0][column], grid[1][column]
        for k, engine in enumerate(ENGINES):
            for quantity, style in (("inverse", "--"), ("forward", "-")):
                chosen = [
                    s for s in samples
                    if (s.engine, s.quantity, s.mechanism) == (engine.name, quantity, mechanism)
                ]  # fmt: skip
                if not chosen:
                    continue
                line = {"color": f"C{k}", "linestyle": style, "marker": ".", "label": f"{engine.name}, {quantity}"}
                n = [s.n for s in chosen]
                counts.loglog(n, [s.operations for s in chosen], **line)
                times.loglog(n, [1e6 * s.seconds for s in chosen], **line)
        if mechanism == "chain":
            n = sorted({s.n for s in samples})
            quoted = [published(k).total for k in n]
            counts.loglog(n, quoted, ":", color="black", label="nasser in document 000: 449 n - 202")
        counts.set_title(f"{mechanism} of revolute joints")
        times.set_xlabel("joints n")
        times.set_xticks(_TICKS, [str(tick) for tick in _TICKS])
        times.minorticks_off()
    grid[0][0].set_ylabel("operations for one state")
    grid[1][0].set_ylabel("time for one state (µs)")
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")
