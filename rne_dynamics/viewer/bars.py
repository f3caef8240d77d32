"""The joints' efforts as bars: total against the limit, and term by term."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from rne_dynamics.model.inertia import Array

#: Colours of the terms; a term without one is grey.
COLOURS = {
    "inertia": "#4c78a8", "coriolis": "#72b7b2", "gravity": "#54a24b", "friction": "#b79a20", "feedback": "#e45756",
}  # fmt: skip
OTHER, TOTAL, OVER = "#9aa3ad", "#20262e", "#c81e3a"
#: Fraction of the limit from which a bar's number is red.
NEAR_LIMIT = 0.95
#: Efforts below this fraction of the bar's half width are shown as 0.
ROUND_OFF = 1e-5


def bars(
    names: Sequence[str], effort: Array, limit: Array, terms: Mapping[str, Array], scale: Array | None = None
) -> str:
    """HTML of one row a joint: terms and the total, N·m or N, (n,), of the effort limit or, without one, of `scale`."""
    rows = [
        _row(name, float(effort[j]), float(limit[j]), {k: float(v[j]) for k, v in terms.items()},
             0.0 if scale is None else float(scale[j]))
        for j, name in enumerate(names)
    ]  # fmt: skip
    legend = "".join(
        f'<span style="margin-right:.8em;white-space:nowrap"><span style="color:{COLOURS.get(name, OTHER)}">■</span> '
        f"{escape(name)}</span>"
        for name in terms
    )
    return (
        '<div class="rne-bars" style="padding:0 .9em;font-size:12px;line-height:1.35">'
        f'<div style="margin:.2em 0 .5em;display:flex;flex-wrap:wrap">{legend}<span style="white-space:nowrap">'
        f'<span style="color:{TOTAL}">┃</span> total</span></div>{"".join(rows)}</div>'
    )


def _row(name: str, effort: float, limit: float, terms: Mapping[str, float], scale: float) -> str:
    known = [abs(v) for v in (effort, *terms.values()) if np.isfinite(v)]
    half = limit if np.isfinite(limit) and limit > 0.0 else max(scale, *known, 1e-9)
    pieces, ends = [], {True: 50.0, False: 50.0}
    for term, value in terms.items():
        width = 50.0 * min(abs(value) / half, 2.0) if np.isfinite(value) else 0.0
        start = ends[True] if value > 0.0 else ends[False] - width
        ends[value > 0.0] += width if value > 0.0 else -width
        pieces.append(_block(start, width, COLOURS.get(term, OTHER)))
    if np.isfinite(effort):
        pieces.append(_block(50.0 + 50.0 * float(np.clip(effort / half, -1.0, 1.0)) - 0.7, 1.4, TOTAL, high=True))
    red = np.isfinite(limit) and abs(effort) >= NEAR_LIMIT * limit
    shown = 0.0 if abs(effort) < ROUND_OFF * half else effort
    number = f"{shown:.3g}" if np.isfinite(effort) else "?"
    allowed = f" / {limit:.4g}" if np.isfinite(limit) else ""
    return (
        '<div style="display:flex;justify-content:space-between"><span style="overflow:hidden;text-overflow:ellipsis">'
        f'{escape(name)}</span><span style="color:{OVER if red else "#555"};white-space:nowrap">{number}{allowed}'
        '</span></div><div style="position:relative;height:10px;background:#eef1f4;border-radius:3px;overflow:hidden;'
        f'margin-bottom:4px">{_block(49.8, 0.4, "#aab2bc", high=True)}{"".join(pieces)}</div>'
    )


def _block(left: float, width: float, colour: str, *, high: bool = False) -> str:
    top, height = ("0", "100%") if high else ("20%", "60%")
    return (
        f'<div style="position:absolute;left:{left:.2f}%;width:{width:.2f}%;top:{top};height:{height};'
        f'background:{colour}"></div>'
    )
