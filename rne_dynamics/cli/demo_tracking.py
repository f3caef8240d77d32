"""Tracking in a recording, as figures and as a plot; the reference is computed again from the moves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.cli.figures import draw_robot
from rne_dynamics.control.trajectory import Quintic, SampledTrajectory
from rne_dynamics.figures.style import TERMS, THIN, canvas, legend_below, legend_right
from rne_dynamics.figures.tracking import ROUND_OFF, draw_tracking, joint_units, panels, span_at_least
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

if TYPE_CHECKING:
    from rne_dynamics.ros.session_recorder import Recording


@dataclass(frozen=True, eq=False)
class Tracking:
    """The figures of a demo.

    Parameters
    ----------
    time
        Of each joint state from the first move's start to the end of the pause after the last one, s; (samples,).
    q, qd, reference
        Measured positions and velocities and desired positions at those times, rad or m, and per s; (samples, n).
    rms, largest
        Root mean square of the error during the moves and the pauses, and its largest magnitude, (n,).
    effort
        Largest magnitude of the applied effort, N·m or N; (n,).
    applied
        The applied effort at those times, (samples, n).
    terms
        The law's torque terms at those times by name, (samples, n).
    rate
        Joint states per second of wall-clock time.
    latency_p50, latency_p99
        Time from publishing a joint state to the arrival of its effort in the simulator, s.
    missed, answered
        Joint states without an effort before the next one, and those with one.
    received, lost
        Joint states in `rms`, and those that this listener did not receive.
    """

    time: Array
    q: Array
    qd: Array
    reference: Array
    rms: Array
    largest: Array
    effort: Array
    applied: Array
    terms: dict[str, Array]
    rate: float
    latency_p50: float
    latency_p99: float
    missed: int
    answered: int
    received: int
    lost: int

    @property
    def error(self) -> Array:
        """Desired − measured; (samples, n)."""
        return self.reference - self.q


def evaluate(
    recording: Recording, moves: tuple[Quintic | SampledTrajectory, ...], rate: float, settle: float
) -> Tracking:
    """Compare a recording with the moves that were sent, each followed by a pause of `settle` seconds.

    The reference is sampled at the stamps of the joint states, so transport and this listener's timing do not affect
    the error. Longer pauses between the moves, which depend on the computer, do not count.
    """
    begins = recording.begins
    end = begins[-1] + int((moves[-1].duration + settle) * 1e9)
    window = (recording.stamps >= begins[0]) & (recording.stamps <= end)
    stamps, q = recording.stamps[window], recording.q[window]
    which = np.searchsorted(begins, stamps, side="right") - 1
    at = list(zip(which.tolist(), stamps.tolist(), strict=True))
    reference = np.array([moves[k].sample((stamp - begins[k]) * 1e-9).q for k, stamp in at])
    error = reference - q
    counts = np.array([stamp - begins[k] <= (moves[k].duration + settle) * 1e9 for k, stamp in at])
    sent = recording.sent[window]
    account = recording.simulator
    return Tracking(
        time=1e-9 * (stamps - begins[0]).astype(np.float64),
        q=q,
        qd=recording.qd[window],
        reference=reference,
        rms=np.sqrt(np.mean(error[counts] ** 2, axis=0)),
        largest=np.max(np.abs(error), axis=0),
        effort=np.max(np.abs(recording.efforts[window]), axis=0),
        applied=recording.efforts[window],
        terms={name: _at(stamps, *rows) for name, rows in recording.terms.items()},
        rate=float((len(sent) - 1) / ((sent[-1] - sent[0]) * 1e-9)),
        latency_p50=account["p50"],
        latency_p99=account["p99"],
        missed=int(account["missed"]),
        answered=int(account["answered"]),
        received=int(np.sum(counts)),
        lost=int(np.sum(np.rint(np.diff(stamps) * 1e-9 * rate) - 1)),
    )


def _at(stamps: NDArray[np.int64], known: NDArray[np.int64], values: Array) -> Array:
    """Values at stamps, (samples, n), between the known ones."""
    rows: Array = np.array([np.interp(stamps, known, column) for column in values.T]).T
    return rows


def plot(path: Path, robot: RigidRobot, tracking: Tracking, recording: Recording) -> None:
    """Write a figure of the robot, positions and references, errors, and torque terms; raises as `canvas`."""
    columns = min(max(robot.n, 2), 3)
    rows = -(-robot.n // columns)
    units = joint_units(robot)
    shown = panels(units)
    with canvas(path, 12.0, 4.6 * len(shown) + 0.4 + 1.9 * rows) as figure:
        upper, lower = figure.add_gridspec(2, 1, height_ratios=[4.6 * len(shown), 1.9 * rows])
        above = upper.subgridspec(2 * len(shown), 2, width_ratios=[1.0, 2.6], height_ratios=[1.5, 1.0] * len(shown))
        below = lower.subgridspec(rows, columns)
        draw_robot(figure.add_subplot(above[:, 0]), robot, tracking.time, tracking.q)
        first = figure.add_subplot(above[0, 1])
        every = [first, *(figure.add_subplot(above[k, 1], sharex=first) for k in range(1, 2 * len(shown)))]
        pairs = list(zip(every[::2], every[1::2], strict=True))
        draw_tracking(pairs, shown, robot.joint_names, tracking.time, tracking.q, tracking.reference)
        figure.suptitle(f"{robot.name}: three moves under computed torque over ROS 2", x=0.01, ha="left")
        for positions, _ in pairs:
            legend_right(positions)
        for axes in every[:-1]:
            axes.tick_params(labelbottom=False)
        every[-1].set_xlabel("time (s)")
        terms = []
        least = ROUND_OFF * float(tracking.effort.max())
        for j, (name, unit) in enumerate(zip(robot.joint_names, units, strict=True)):
            axes = figure.add_subplot(below[j // columns, j % columns], sharex=first)
            terms.append(axes)
            for term, (stamps, values) in recording.terms.items():
                time = (stamps - recording.begins[0]) * 1e-9
                axes.plot(time, values[:, j], color=TERMS[term], linewidth=THIN, label=term)
            axes.set_title(f"{name}: torque terms ({unit.effort})", fontsize="small")
            span_at_least(axes, least)
        first.set_xlim(0.0, tracking.time[-1])
        if recording.terms:
            legend_below(figure, terms[0], len(recording.terms))
