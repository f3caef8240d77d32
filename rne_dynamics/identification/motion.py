"""A recorded motion on even times with its rates, its low pass, and the residual of a model along it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rne_dynamics.dispatch import gravity_torque, inverse_dynamics
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.errors import RecordingError
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.recording.logs import gaps_of
from rne_dynamics.recording.recording import Recording, Series

#: Order of the light filter before positions are differentiated, and its edge as a multiple of the motion's band.
_ORDER, _LIGHT = 4, 4.0
#: Bands, Hz, of which one is chosen: lower ones hide where friction changes its sign. Part of the accelerations' power
#: in the next octave for which it is not widened.
_BANDS, _REST = np.geomspace(3.0, 20.0, 9), 0.002
#: Least number of samples; least length of a part of a log with gaps, besides the longest, in periods of the band.
_LEAST, _PART = 100, 7.0
#: Length of the low pass in periods of its edge, and samples after decimation for each of them.
_TAPS, _RATE = 3.0, 4.0


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


def motions_of(recording: Recording, band: float | None = None) -> list[Motion]:
    """The motions between long gaps of a recording, the longest first, without short ones; as `motion_of`."""
    t, edges = recording.t, [0, *gaps_of(recording.t).tolist(), len(recording.t)]
    spans = sorted(((t[a], t[b - 1]) for a, b in pairwise(edges)), key=lambda span: float(span[0] - span[1]))
    longest = motion_of(recording.between(*spans[0]), band)
    others = [span for span in spans[1:] if span[1] - span[0] > _PART / longest.band]
    return [longest, *(motion_of(recording.between(*span), longest.band) for span in others)]


def motion_of(recording: Recording, band: float | None = None) -> Motion:
    """The motion of a recording without gaps; `band` in Hz, by default of the accelerations.

    Positions and efforts are interpolated to even times. Positions then pass a zero-phase low pass far above the band,
    and their rates are central differences: recorded rates were often filtered with a delay that nobody knows.
    `RecordingError`: no efforts, a floating base, too few samples, or no motion.
    """
    source, t = recording.source, recording.t
    if recording.q.shape[1] != recording.n:
        raise RecordingError(f"{source} has a floating base; record an arm on a fixed one")
    whole = np.zeros(len(t), np.bool_) if recording.effort is None else np.isfinite(recording.effort).all(axis=1)
    if recording.effort is None or whole.sum() < _LEAST or t[-1] <= t[0]:
        raise RecordingError(f"{source} has {whole.sum()} states with efforts; at least {_LEAST} are needed: record "
                             "longer, with efforts")  # fmt: skip
    even = np.linspace(t[0], t[-1], len(t))
    period = float(even[1] - even[0])
    q = Series(t, recording.q).at(even)
    effort = np.stack([np.interp(even, t[whole], column[whole]) for column in recording.effort.T], axis=1)
    band = band or _band(q, period, source)
    from scipy.signal import butter, sosfiltfilt  # here: it takes a second to import

    light = butter(_ORDER, min(_LIGHT * band, 0.4 / period), fs=1.0 / period, output="sos")
    q = sosfiltfilt(light, q, axis=0)
    qd = np.gradient(q, period, axis=0)
    return Motion(source, period, q, qd, np.gradient(qd, period, axis=0), effort, band)


def _band(q: Array, period: float, source: str) -> float:
    """The band of a motion, Hz: the octave above adds little to the accelerations' power, or more, which is noise."""
    if not np.ptp(q, axis=0).any():
        raise RecordingError(f"{source}: no joint moves; record a motion")
    differences = np.diff(q, 2, axis=0)  # before the window: a log may begin and end in motion
    frequency = np.fft.rfftfreq(len(differences), period)
    power = (np.abs(np.fft.rfft(np.hanning(len(differences))[:, None] * differences, axis=0)) ** 2).sum(axis=1)
    for band in _BANDS:
        half, whole, double = (float(power[frequency <= factor * band].sum()) for factor in (0.5, 1.0, 2.0))
        if double - whole < _REST * whole or double - whole > 2.0 * (whole - half):
            break
    return float(band)


class LowPass:
    """The zero-phase low pass of a motion, and the decimation after it: every quantity passes the same one.

    `RecordingError` for a motion of which fewer than `least` rows are left.
    """

    def __init__(self, motion: Motion, least: int = 1) -> None:
        from scipy.signal import firwin  # here: it takes a second to import

        self.step = max(1, int(1.0 / (_RATE * motion.band * motion.period)))
        half = int(_TAPS / (2.0 * motion.band * motion.period)) if self.step > 1 else 0
        self._taps = firwin(2 * half + 1, motion.band, fs=1.0 / motion.period) if half else np.ones(1)
        #: Of the rows that are left, where they are among the samples.
        self.places = np.arange(half, len(motion.q) - half, self.step)
        if len(self.places) < least:
            raise RecordingError(f"{motion.source} lasts {len(motion.q) * motion.period:.3g} s, too short for a motion "
                                 f"of {motion.band:.2g} Hz; record {(0.5 * least + _TAPS) / motion.band:.2g} s")

    def __call__(self, values: Array) -> Array:
        """Every `step`-th filtered row whose window lies inside the recording; values (samples, k) to (rows, k)."""
        windows = np.lib.stride_tricks.sliding_window_view(values, len(self._taps), axis=0)[:: self.step]
        return np.asarray(windows @ self._taps)

    def samples(self, first: int, last: int) -> slice:
        """Those that the rows from `first` to before `last` are made of."""
        return slice(first * self.step, (last - 1) * self.step + len(self._taps))

    @property
    def alike(self) -> float:
        """Variance of a mean of the rows over that of as many independent ones, for white noise."""
        products = np.correlate(self._taps, self._taps, "full")
        middle = len(self._taps) - 1
        return float(products[middle % self.step :: self.step].sum() / products[middle])


@dataclass(frozen=True, eq=False)
class Residual:
    """Torques of recordings after the low pass, N·m or N."""

    #: The files, and times from the first state, s; shape (rows,).
    sources: tuple[str, ...]
    t: Array
    #: Shape (rows, n).
    measured: Array
    #: The prediction by parts: gravity, inertia (with Coriolis and centrifugal forces), friction, offset.
    parts: Mapping[str, Array]
    #: The low pass's edge, Hz.
    band: float

    @property
    def predicted(self) -> Array:
        """The sum of the parts, shape (rows, n)."""
        return np.asarray(sum(self.parts.values()))

    @property
    def error(self) -> Array:
        """Measured less predicted, shape (rows, n)."""
        return self.measured - self.predicted

    @property
    def norms(self) -> tuple[float, float]:
        """Mean norms of the errors and of the measured torques of all joints."""
        error, measured = (float(np.linalg.norm(rows, axis=1).mean()) for rows in (self.error, self.measured))
        return error, measured

    def columns(self) -> dict[str, Array]:
        """Root mean squares of the measured torque, the error and the parts, the error's share and mean; (n,) each."""
        size, error = rms(self.measured), rms(self.error)
        share = np.divide(error, size, out=np.full(len(size), np.nan), where=size > 0.0)
        parts = {name: rms(part) for name, part in self.parts.items()}
        return {"measured": size, "rms": error, "share": share, "bias": self.error.mean(axis=0), **parts}


def rms(rows: Array) -> Array:
    """Root mean square of each column."""
    return np.asarray(np.sqrt((rows**2).mean(axis=0)))


def residual(robot: RobotModel, motion: Motion) -> Residual:
    """The measured torque along a motion, and what the model says of it; `RecordingError` for one that is too short.

    Friction is the model's. Rotors count as inertia: load the robot without them (``rotors=False``) where torques are
    measured behind the gears.
    """
    low = LowPass(motion)
    gravity, offset = gravity_torque(robot, motion.q), joint_friction(robot).offset
    parts: dict[str, Array] = {
        "gravity": gravity, "inertia": inverse_dynamics(robot, motion.q, motion.qd, motion.qdd) - gravity,
        "friction": friction_torque(robot, motion.qd) - offset, "offset": np.tile(offset, (len(motion.q), 1)),
    }  # fmt: skip
    filtered = {name: low(np.asarray(part)) for name, part in parts.items()}
    return Residual((motion.source,), np.asarray(motion.period * low.places), low(motion.effort), filtered, motion.band)


def joined(found: Sequence[Residual]) -> Residual:
    """All recordings together, with the times of one after the other."""
    begins = np.cumsum([0.0, *(part.t[-1] + 1.0 for part in found)])
    t = np.concatenate([begin + part.t for begin, part in zip(begins, found, strict=False)])
    parts = {name: np.concatenate([part.parts[name] for part in found]) for name in found[0].parts}
    measured = np.concatenate([part.measured for part in found])
    sources = tuple(source for part in found for source in part.sources)
    return Residual(sources, t, measured, parts, max(part.band for part in found))
