"""A triangle for each joint and block of a recording: all that fits, their validation and uncertainty need of it.

Columns and efforts pass the same zero-phase low pass before they are decimated: whatever a filter does to one it does
to the other, so that it leaves no bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.signal import firwin

from rne_dynamics.errors import RecordingError
from rne_dynamics.identification.columns import Friction, Layout, own_columns
from rne_dynamics.identification.motion import Motion
from rne_dynamics.model.inertia import Array

#: Blocks of a recording that are left out in turn.
BLOCKS = 6
#: Length of the low pass in periods of its edge, and samples after decimation for each of them.
_TAPS, _RATE = 3.0, 4.0
#: Samples whose columns are in memory at a time.
_SAMPLES = 20_000


@dataclass(frozen=True, eq=False)
class Triangles:
    """Upper triangles R of [columns, effort] of every joint, block by block."""

    layout: Layout
    #: Of each block and joint; shape (at most columns + 1, columns + 1).
    blocks: tuple[tuple[Array, ...], ...]
    #: Number of rows of each block.
    counts: tuple[int, ...]
    #: Variance of a mean of the rows over that of as many independent ones: the low pass makes neighbours alike.
    alike: float = 1.0

    @cached_property
    def joints(self) -> tuple[Array, ...]:
        """Of every joint, the triangle of all blocks."""
        return tuple(_joined(parts) for parts in zip(*self.blocks, strict=True))

    @property
    def rows(self) -> int:
        """Number of rows of each joint."""
        return sum(self.counts)

    def __add__(self, other: Triangles) -> Triangles:
        """Those of two recordings."""
        alike = max(self.alike, other.alike)
        return Triangles(self.layout, self.blocks + other.blocks, self.counts + other.counts, alike)

    def system(self, R: Array, form: Friction) -> Array:
        """[columns of a fit, effort] of a joint's triangle, its own parameters last; (rows of R, links + own + 1)."""
        links = self.layout.links
        return np.column_stack((R[:, :links], R[:, links + self.layout.own_columns(form)], R[:, -1]))

    def squares(self, x: Array, forms: tuple[Friction, ...]) -> Array:
        """Sum of the squares of the residuals of every joint for the parameters of a fit; shape (n,)."""
        places, links = self.layout.places(forms), self.layout.links
        residuals: list[Array] = [
            self.system(self.joints[j], form) @ np.r_[x[:links], x[places[j]], -1.0] for j, form in enumerate(forms)
        ]  # fmt: skip
        return np.array([r @ r for r in residuals])


def triangle(rows: Array) -> Array:
    """The upper triangle R of rows, with the same products of columns."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


def _joined(parts: tuple[Array, ...]) -> Array:
    return triangle(np.concatenate(parts))


def triangles_of(layout: Layout, motion: Motion) -> Triangles:
    """Filter, decimate and triangularise a motion; `RecordingError` if it is too short."""
    columns, effort = filtered_rows(layout, motion)
    rows = len(effort)
    if rows < 2 * BLOCKS:
        raise RecordingError(
            f"{motion.source} lasts {len(motion.q) * motion.period:.3g} s, too short for a motion of "
            f"{motion.band:.2g} Hz; record at least {4.0 * BLOCKS / motion.band:.2g} s"
        )
    edges = np.linspace(0, rows, BLOCKS + 1).astype(int)
    blocks = [
        tuple(triangle(np.c_[W[a:b], effort[a:b, j]]) for j, W in enumerate(columns))
        for a, b in pairwise(edges)
    ]
    return Triangles(layout, tuple(blocks), tuple(np.diff(edges).tolist()), LowPass(motion).alike)


class LowPass:
    """The zero-phase low pass of a motion, and the decimation after it: every quantity passes the same one."""

    def __init__(self, motion: Motion) -> None:
        self.step = max(1, int(1.0 / (_RATE * motion.band * motion.period)))
        half = int(_TAPS / (2.0 * motion.band * motion.period)) if self.step > 1 else 0
        self._taps = firwin(2 * half + 1, motion.band, fs=1.0 / motion.period) if half else np.ones(1)
        #: Of the rows that are left, where they are among the samples.
        self.places = np.arange(half, len(motion.q) - half, self.step)

    def __call__(self, values: Array) -> Array:
        """Every `step`-th filtered row whose window lies inside the recording; values (samples, k) to (rows, k)."""
        if not len(self.places):
            return np.zeros((0, values.shape[1]))
        windows = np.lib.stride_tricks.sliding_window_view(values, len(self._taps), axis=0)[:: self.step]
        return np.asarray(windows @ self._taps)

    @property
    def length(self) -> int:
        """Number of samples that a row is made of."""
        return len(self._taps)

    @property
    def alike(self) -> float:
        """Variance of a mean of the rows over that of as many independent ones, for white noise."""
        products = np.correlate(self._taps, self._taps, "full")
        middle = len(self._taps) - 1
        return float(products[middle % self.step :: self.step].sum() / products[middle])


def filtered_rows(layout: Layout, motion: Motion) -> tuple[list[Array], Array]:
    """Of every joint its columns, and the efforts (rows, n), after the low pass, fewer."""
    low = LowPass(motion)
    if not len(low.places):
        return [np.zeros((0, layout.links + layout.own))] * layout.robot.n, np.zeros((0, layout.robot.n))
    # part by part: columns of a long log at 1 kHz would take gigabytes
    taken, found = max(1, _SAMPLES // low.step), [list[Array]() for _ in range(layout.robot.n)]
    for first in range(0, len(low.places), taken):
        last = min(first + taken, len(low.places)) - 1
        part = slice(first * low.step, last * low.step + low.length)
        _add_filtered(layout, motion.between(part), low, found)
    return [np.concatenate(parts) for parts in found], low(motion.effort)


def _add_filtered(layout: Layout, motion: Motion, low: LowPass, found: list[list[Array]]) -> None:
    """Append the filtered columns along a part of a motion to those of every joint."""
    regressor = layout.link_columns(motion)
    for j, parts in enumerate(found):
        used = regressor[:, j].any(axis=0)
        filtered = low(np.c_[regressor[:, j, used], own_columns(motion, j)])
        whole = np.zeros((len(filtered), layout.links + layout.own))
        whole[:, np.r_[used, np.ones(layout.own, bool)]] = filtered
        parts.append(whole)
