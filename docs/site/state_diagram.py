"""The Mermaid diagram of states as a picture and a table, since the site loads no script from other servers."""

from __future__ import annotations

import io
import re

from matplotlib.figure import Figure
from mkdocs.exceptions import PluginError

MERMAID = re.compile(r"^```mermaid\nstateDiagram-v2\n(.*?)^```\n", re.M | re.S)
ARROW = re.compile(r"^\s*(\S+) --> (\w+)(?:: (.*))?$", re.M)
START = "[*]"
#: Place of each state in the picture.
PLACES = {
    START: (-1.0, 3.0), "unconfigured": (0.2, 3.0), "inactive": (2.0, 3.0), "waiting": (3.8, 3.0),
    "holding": (5.6, 3.0), "tracking": (7.4, 3.7), "floating": (7.4, 2.3), "stopping": (5.6, 0.9),
    "released": (4.4, 2.05), "fault": (2.6, 0.3),
}  # fmt: skip


def transitions(diagram: str) -> list[tuple[str, str, str]]:
    """State, next state and event of each arrow."""
    return [(arrow[1], arrow[2], arrow[3] or "") for arrow in ARROW.finditer(diagram)]


def table(diagram: str) -> str:
    """The arrows as a table of Markdown."""
    rows = [f"| `{a}` | `{b}` | {event} |" for a, b, event in transitions(diagram) if a != START]
    return "\n".join(["| from | to | event |", "|---|---|---|", *rows, ""])


def picture(diagram: str) -> bytes:
    """The states and arrows as PNG; raises `PluginError` for a state that has no place."""
    arrows = transitions(diagram)
    if unknown := {state for a, b, _ in arrows for state in (a, b)} - set(PLACES):
        raise PluginError(f"docs/site/state_diagram.py: PLACES has no place for {', '.join(sorted(unknown))}")
    figure = Figure(figsize=(9.5, 4.2))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    pairs = {(a, b) for a, b, _ in arrows}
    for a, b in pairs:
        bend = 0.12 if (b, a) in pairs else 0.0  # there and back are two curves
        axes.annotate("", PLACES[b], PLACES[a], arrowprops={
            "arrowstyle": "-|>", "shrinkA": 30, "shrinkB": 30, "color": "0.35", "connectionstyle": f"arc3,rad={bend}",
        })  # fmt: skip
    for state, (x, y) in PLACES.items():
        if state == START:
            axes.plot(x, y, "o", color="0.15", markersize=11)
            continue
        axes.text(x, y, state, ha="center", va="center", fontsize=11,
                  bbox={"boxstyle": "round,pad=0.5", "facecolor": "#DCEAF5", "edgecolor": "#0072B2"})  # fmt: skip
    axes.set(xlim=(-1.4, 8.2), ylim=(-0.2, 4.2))
    axes.set_axis_off()
    written = io.BytesIO()
    figure.savefig(written, dpi=110)
    return written.getvalue()
