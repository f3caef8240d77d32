"""The style of all plots, and the files that they are written to; needs matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rne_dynamics.advice import install
from rne_dynamics.errors import ArgumentError, MissingDependencyError

#: Colours of curves in their order: those of Okabe and Ito, distinct also with colour vision deficiency; their yellow,
#: too light for lines on white, is replaced by a brown.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#7A5195", "#8C6D31")
#: Line widths: main curves, curves with noise, references.
WIDE, THIN, REFERENCE = 1.5, 1.0, 0.8
#: Colours of references and limits, of guides, and of shapes in the background.
INK, GUIDE, SHADE = "0.15", "0.55", "0.85"
#: Formats of figures.
FORMATS = (".png", ".svg", ".pdf")
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


def check_output_file(option: str, path: Path, formats: Sequence[str]) -> None:
    """Refuse a file that cannot be written, before a long run.

    Raises
    ------
    ArgumentError
        A suffix that names no format, a folder in place of a file, or a file in place of a folder.
    """
    if path.suffix.lower() not in formats:
        allowed = " or ".join(filter(None, [", ".join(formats[:-1]), formats[-1]]))
        raise ArgumentError(f"{option} is {str(path)!r}; the file's name must end in {allowed}")
    if path.is_dir():
        raise ArgumentError(f"{option} is {str(path)!r}, which is a folder; name a file in it")
    blocked = next((parent for parent in path.parents if parent.exists() and not parent.is_dir()), None)
    if blocked is not None:
        raise ArgumentError(f"{option} is {str(path)!r}, but {str(blocked)!r} is not a folder; choose another one")


def check_figure_file(option: str, path: Path, formats: Sequence[str] = FORMATS) -> None:
    """Refuse a figure that cannot be written; raises as `check_output_file` and `check_matplotlib`."""
    check_output_file(option, path, formats)
    check_matplotlib()


def check_matplotlib() -> None:
    """Refuse to go on without matplotlib; raises `MissingDependencyError`."""
    if find_spec("matplotlib") is None:
        how = install("matplotlib", "python3-matplotlib")
        raise MissingDependencyError(f"a plot needs matplotlib: {how}")


@contextmanager
def styled() -> Iterator[None]:
    """Within the context, matplotlib draws in the style of all plots; raises as `check_matplotlib`."""
    check_matplotlib()
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
        As `check_figure_file`.
    """
    check_figure_file("the plot", path)
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        path.parent.mkdir(parents=True, exist_ok=True)
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
