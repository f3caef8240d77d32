"""The style of all plots, which needs matplotlib, and the checks of files that commands write."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import Any

from rne_dynamics.advice import install
from rne_dynamics.errors import ArgumentError, MissingDependencyError, refuse

#: Formats of figures: bitmap, vector graphics.
FIGURES = (".png", ".svg", ".pdf")


def output_file(path: str | Path, formats: Sequence[str], option: str) -> Path:
    """The path of a file to write, of an allowed ending (any if empty); `ArgumentError` names the `option`."""
    file, said = Path(path), f"{option} is {str(path)!r}"
    *others, last = formats or ("",)
    wanted = f"{', '.join(others)} or {last}" if others else last
    refuse(
        ArgumentError,
        (not str(path) or not file.name, f"{said}; name a file"),
        (formats and file.suffix.lower() not in formats, f"{said}; its ending must be {wanted}"),
        (file.is_dir(), f"{said}, which is a folder; name a file in it"),
        (file.exists() and not os.access(file, os.W_OK), f"{said}, a file that this user cannot write; name another"),
    )  # fmt: skip
    _check_folder(file.parent, said)
    return file


def output_folder(path: str | Path, option: str) -> Path:
    """The path of a folder to write files to, made later if only it itself is missing; raises as `output_file`."""
    folder = Path(path)
    _check_folder(folder if os.path.lexists(folder) else folder.parent, f"{option} is {str(path)!r}")
    return folder


def figure_file(path: str | Path, option: str = "--plot", formats: Sequence[str] = FIGURES) -> Path:
    """As `output_file` for a figure; raises `MissingDependencyError` where matplotlib is not installed."""
    file = output_file(path, formats, option)
    require_matplotlib(option)
    return file


def require_matplotlib(what: str = "a plot") -> None:
    """Refuse to go on without matplotlib; raises `MissingDependencyError`."""
    if find_spec("matplotlib") is None:
        raise MissingDependencyError(f"{what} needs matplotlib: {install('matplotlib', 'python3-matplotlib')}")


def _check_folder(folder: Path, said: str) -> None:
    """Refuse a folder that does not exist, or in which nothing can be written."""
    refuse(
        ArgumentError,
        (not os.path.lexists(folder),
         f"{said}, but there is no folder {str(folder)!r}; create it first, or name another place"),
        (not folder.is_dir(), f"{said}, which cannot be written: {str(folder)!r} is no folder; name another place"),
        (not os.access(folder, os.W_OK | os.X_OK),
         f"{said}, which cannot be written: this user has no permission in the folder {str(folder)!r}; name another"),
    )  # fmt: skip


#: Colours of curves in their order: those of Okabe and Ito, distinct also with colour vision deficiency; their yellow,
#: too light for lines on white, is replaced by a brown.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#7A5195", "#8C6D31")
#: Colours of the control law's torque terms, the same in every plot and in its legend's order.
TERMS = dict(zip(("inertia", "coriolis", "gravity", "friction", "feedback", "command"), COLORS, strict=False))
#: Line widths: main curves, curves with noise, references.
WIDE, THIN, REFERENCE = 1.5, 1.0, 0.8
#: Colours of references and limits, of guides, and of shapes in the background.
INK, GUIDE, SHADE = "0.15", "0.55", "0.85"
#: Of references, and of what the model says.
DASHED: dict[str, Any] = {"color": INK, "linestyle": (0, (4, 3))}
DPI = 110
#: Mark (gid) of annotations that `canvas` keeps apart.
POINT_LABEL = "point label"
#: Part of the axes' width before the layout up to which a title certainly fits.
_SHORT = 0.5
#: Where they may be: x and y from their point, in points, and alignment.
_SIDES = tuple((x, y, side) for y in (5, -13, 19, -27, 33, -41, 47) for x, side in ((9, "left"), (-9, "right")))

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
    """A figure, in inches, that is written to `path` at the end of the context; raises as `figure_file`."""
    figure_file(path, "the plot")
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        _lay_out(figure)
        figure.set_layout_engine(None)  # `savefig` would do it again, in a drawing of its own
        dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
        figure.savefig(path, dpi=DPI, metadata=dated)


def _lay_out(figure: Any) -> None:
    """Lay the figure out, break titles at the width of their axes, and keep labels of points apart.

    Long titles would otherwise take the width from the axes: the layout keeps their middle in the figure.
    """
    from matplotlib.text import Text

    layout, renderer = figure.get_layout_engine(), figure.canvas.get_renderer()
    texts = [(axes, axes.get_title(loc="left")) for axes in figure.axes]
    titles = [
        (axes, child, text) for axes, text in texts for child in axes.get_children()
        if text and isinstance(child, Text) and child.get_text() == text
    ]  # fmt: skip

    def excess(axes: Any, title: Any) -> float:
        return float(title.get_window_extent(renderer).width / axes.get_window_extent(renderer).width)

    if any(excess(axes, title) > _SHORT for axes, title, _ in titles):
        for _, title, _ in titles:
            title.set_text("")
        layout.execute(figure)
        for axes, title, text in titles:
            title.set_text(text)
            if (times := excess(axes, title)) > 1.0:
                title.set_text(fill(text, max(10, int(len(text) / times))))
    layout.execute(figure)
    for axes in figure.axes:
        taken: list[Any] = []
        for label in (text for text in axes.texts if text.get_gid() == POINT_LABEL):
            _set_apart(label, taken, renderer)


def _set_apart(label: Any, taken: list[Any], renderer: Any) -> None:
    """Move an annotation to the first side of its point where it covers none of the earlier ones."""
    for x, y, side in _SIDES:
        label.set(position=(x, y), ha=side)
        box = label.get_window_extent(renderer)
        if not any(box.overlaps(other) for other in taken):
            break
    taken.append(box)


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
