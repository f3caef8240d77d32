"""The style of all plots; needs matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rne_dynamics.figures.output_file import figure_file, require_matplotlib

#: Colours of curves in their order: those of Okabe and Ito, distinct also with colour vision deficiency; their yellow,
#: too light for lines on white, is replaced by a brown.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#7A5195", "#8C6D31")
#: Line widths: main curves, curves with noise, references.
WIDE, THIN, REFERENCE = 1.5, 1.0, 0.8
#: Colours of references and limits, of guides, and of shapes in the background.
INK, GUIDE, SHADE = "0.15", "0.55", "0.85"
DPI = 110

_STYLE: dict[str, Any] = {
    "font.size": 9.5, "axes.titlesize": 10.5, "axes.titlelocation": "left", "axes.titleweight": "bold",
    "figure.titlesize": 11.5, "figure.titleweight": "bold",
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "0.5", "axes.axisbelow": True,
    "axes.grid": True, "axes.grid.which": "major", "grid.color": "0.9", "grid.linewidth": 0.8,
    "xtick.color": "0.25", "ytick.color": "0.25", "legend.frameon": False, "legend.fontsize": "small",
    "lines.linewidth": WIDE, "lines.solid_capstyle": "round", "svg.hashsalt": "rne_dynamics",
    "axes.formatter.useoffset": False, "figure.facecolor": "white", "savefig.facecolor": "white",
}  # fmt: skip


@contextmanager
def styled() -> Iterator[None]:
    """Within the context, matplotlib draws in the style of all plots; raises as `require_matplotlib`."""
    require_matplotlib()
    from cycler import cycler
    from matplotlib import rc_context

    parameters: Any = _STYLE | {"axes.prop_cycle": cycler(color=COLORS)}
    with rc_context(parameters):
        yield


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
    ArgumentError, MissingDependencyError
        As `figure_file`.
    """
    figure_file(path, "the plot")
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
        figure.savefig(path, dpi=DPI, metadata=dated)


def color_of(k: int) -> str:
    """Colour of the k-th curve."""
    return COLORS[k % len(COLORS)]


def line_style(k: int) -> str:
    """Line style of the k-th curve: solid, until the colours are used up."""
    return ("-", "--", "-.", ":")[k // len(COLORS) % 4]


def legend_right(axes: Any) -> None:
    """Put the legend to the right of the axes, where it covers no curve."""
    columns = 1 + len(axes.get_legend_handles_labels()[1]) // 10
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=columns)


def legend_below(figure: Any, axes: Any, columns: int) -> None:
    """Put a legend of one pair of axes below all of the figure."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns)
