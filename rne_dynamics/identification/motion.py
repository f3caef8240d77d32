"""A recorded motion on even times, with its rates: what identification starts from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.signal import butter, sosfiltfilt

from rne_dynamics.errors import RecordingError
from rne_dynamics.model.inertia import Array
from rne_dynamics.recording.recording import Recording, Series

#: Order of the light filter before positions are differentiated, and its edge as a multiple of the motion's band.
ORDER, LIGHT = 4, 8.0
#: Part of the power of the accelerations that lies inside the motion's band.
_POWER = 0.9999
#: Power of a frequency over that of noise from which it is motion.
_FLOOR = 100.0
#: Least and largest band that is chosen, Hz.
_BANDS = (0.5, 20.0)
#: Least number of samples.
LEAST = 100


class Motion(NamedTuple):
    """Positions, rates and measured efforts of all joints on even times."""

    #: Where it comes from.
    source: str
    #: Time between samples, s.
    period: float
    #: Shape (rows, n) each: rad or m, their rates, and N·m or N.
    q: Array
    qd: Array
    qdd: Array
    effort: Array
    #: Hz: what the motion holds above it is noise.
    band: float
    #: Whether the arm carries the payload that is to be found.
    loaded: bool = False

    def between(self, part: slice) -> Motion:
        """A part of it."""
        return self._replace(q=self.q[part], qd=self.qd[part], qdd=self.qdd[part], effort=self.effort[part])


def motion_of(recording: Recording, band: float | None = None) -> Motion:
    """The motion of a recording.

    Positions and efforts are interpolated to even times. Positions then pass a zero-phase low pass far above the
    motion's band, and their rates are central differences: recorded velocities and accelerations were often filtered
    with a delay that nobody knows.

    Parameters
    ----------
    recording
        With efforts.
    band
        Hz; by default the frequency that 99.99 % of the power of the accelerations lies below.

    Raises
    ------
    RecordingError
        No efforts, positions of other than the joints, too few samples, or no motion.
    """
    if recording.effort is None:
        raise RecordingError(f"{recording.source} has no efforts; record joint states with efforts")
    if recording.q.shape[1] != recording.n:
        raise RecordingError(f"{recording.source} has a floating base; record an arm on a fixed one")
    t, rows = recording.t, len(recording.t)
    if rows < LEAST or t[-1] <= t[0]:
        raise RecordingError(f"{recording.source} has {rows} states; at least {LEAST} are needed: record longer")
    whole = np.isfinite(recording.effort).all(axis=1)
    if whole.sum() < LEAST:
        raise RecordingError(f"{recording.source} has efforts in {whole.sum()} states; at least {LEAST} are needed")
    even = np.linspace(t[0], t[-1], rows)
    period = float(even[1] - even[0])
    q = Series(t, recording.q).at(even)
    columns = [np.interp(even, t[whole], column[whole]) for column in recording.effort.T]
    if band is None:
        band = _band(q, period, recording.source)
    light = min(LIGHT * band, 0.4 / period)
    q = sosfiltfilt(butter(ORDER, light, fs=1.0 / period, output="sos"), q, axis=0)
    qd = np.gradient(q, period, axis=0)
    return Motion(
        recording.source, period, q, qd, np.gradient(qd, period, axis=0), np.stack(columns, axis=1), band
    )


def _band(q: Array, period: float, source: str) -> float:
    """The band of a motion, Hz: of accelerations above the noise of the positions, as high frequencies show it."""
    if not np.ptp(q, axis=0).any():
        raise RecordingError(f"{source}: no joint moves; record a motion")
    frequency = np.fft.rfftfreq(len(q), period)
    power = (np.abs(np.fft.rfft(np.hanning(len(q))[:, None] * (q - q.mean(axis=0)), axis=0)) ** 2).sum(axis=1)
    floor = np.median(power[3 * len(power) // 4 :])
    total = np.cumsum(np.where(power > _FLOOR * floor, power, 0.0) * frequency**4)
    edge = float(frequency[np.searchsorted(total, _POWER * total[-1])])
    return float(np.clip(edge, *_BANDS))
