"""Figures of all commands: one style, written as PNG, SVG or PDF; needs matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rne_dynamics.advice import install
from rne_dynamics.errors import MissingDependencyError
from rne_dynamics.model.inertia import Array

#: Line widths: main curves, curves with noise, references.
WIDE, THIN, REFERENCE = 1.5, 0.9, 0.7


@contextmanager
def canvas(path: Path, width: float, height: float) -> Iterator[Any]:
    """A figure that is written to `path` at the end of the context; the suffix chooses the format.

    Parameters
    ----------
    path
        The file; missing folders are created.
    width, height
        Inches.

    Raises
    ------
    MissingDependencyError
        matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        how = install("matplotlib", "python3-matplotlib")
        raise MissingDependencyError(f"a plot needs matplotlib: {how}") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    yield figure
    for axes in figure.axes:
        axes.set_axisbelow(True)
        axes.grid(alpha=0.3, which="both")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def draw_tracking(
    positions: Any, errors: Any, names: Sequence[str], time: Array, q: Array, reference: Array
) -> None:
    """Draw positions with their references on one pair of axes, and tracking errors on another.

    Parameters
    ----------
    positions, errors
        Axes.
    names
        Of the joints.
    time
        s; shape (samples,).
    q, reference
        Measured and desired positions, rad or m; shape (samples, n).
    """
    for j, name in enumerate(names):
        (line,) = positions.plot(time, q[:, j], label=name, linewidth=WIDE)
        positions.plot(time, reference[:, j], "--", color="black", linewidth=REFERENCE)
        errors.plot(time, 1e3 * (reference[:, j] - q[:, j]), color=line.get_color(), linewidth=THIN, label=name)
    positions.plot([], [], "--", color="black", linewidth=REFERENCE, label="reference")
    positions.set_ylabel("position (rad, m)")
    errors.set_ylabel("error (mrad, mm)")
    for axes in (positions, errors):
        axes.margins(x=0.0)
