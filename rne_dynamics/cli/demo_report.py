"""What `rne demo` says of a run: tracking in its recording, as figures, table, plot, and the page of --report.

The reference is computed again from the moves.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rne_dynamics.cli.demo_moves import Plan
from rne_dynamics.cli.reports import finish
from rne_dynamics.cli.table_layout import print_rows
from rne_dynamics.cli.terminal import console
from rne_dynamics.cli.verdict import Verdict
from rne_dynamics.control.trajectory import Quintic, SampledTrajectory
from rne_dynamics.figures.report import Report
from rne_dynamics.figures.schematic import draw_robot
from rne_dynamics.figures.style import TERMS
from rne_dynamics.figures.tracking import Curve, draw_stack, joint_cells, joint_units, panels, tracking_rows
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

if TYPE_CHECKING:
    from rne_dynamics.ros.sessions.recorder import Recording


@dataclass(frozen=True, eq=False)
class Tracking:
    """The figures of a demo; (samples, n), or one value a joint, (n,); rad or m, N·m or N."""

    #: Of each joint state from the first move's start to the end of the pause after the last one, s; (samples,).
    time: Array
    #: Measured positions and velocities, and desired positions, at those times.
    q: Array
    qd: Array
    reference: Array
    #: Root mean square of the error during the moves and the pauses, and its largest magnitude, (n,).
    rms: Array
    largest: Array
    #: Largest magnitude of the applied effort, (n,), and the effort at those times.
    effort: Array
    applied: Array
    #: The law's torque terms at those times by name.
    terms: dict[str, Array]
    #: Joint states per second of wall-clock time.
    rate: float
    #: Time from publishing a joint state to the arrival of its effort in the simulator, s.
    latency_p50: float
    latency_p99: float
    #: Joint states without an effort before the next one, and those with one.
    missed: int
    answered: int
    #: Joint states in `rms`, and those that this listener did not receive.
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
    sent, account = recording.sent[window], recording.simulator
    return Tracking(
        time=1e-9 * (stamps - begins[0]).astype(np.float64), q=q, qd=recording.qd[window], reference=reference,
        rms=np.sqrt(np.mean(error[counts] ** 2, axis=0)), largest=np.max(np.abs(error), axis=0),
        effort=np.max(np.abs(recording.efforts[window]), axis=0), applied=recording.efforts[window],
        terms={
            name: np.array([np.interp(stamps, known, column) for column in values.T]).T
            for name, (known, values) in recording.terms.items()
        },
        rate=float((len(sent) - 1) / ((sent[-1] - sent[0]) * 1e-9)),
        latency_p50=account["p50"], latency_p99=account["p99"],
        missed=int(account["missed"]), answered=int(account["answered"]),
        received=int(np.sum(counts)), lost=int(np.sum(np.rint(np.diff(stamps) * 1e-9 * rate) - 1)),
    )  # fmt: skip


def plot(path: Path, robot: RigidRobot, tracking: Tracking, recording: Recording) -> None:
    """Write a figure of the robot, positions and references, errors, and torque terms; raises as `canvas`."""
    units, time = joint_units(robot), tracking.time
    terms = [
        Curve(name, 1e-9 * (stamps - recording.begins[0]).astype(np.float64), values, {"color": TERMS[name]})
        for name, (stamps, values) in recording.terms.items()
    ]
    draw_stack(
        path, f"{robot.name}: three moves under computed torque over ROS 2", (0.0, time[-1]),
        tracking_rows(panels(units), robot.joint_names, time, tracking.q, tracking.reference),
        joint_cells(robot.joint_names, units, range(robot.n), terms, float(tracking.effort.max())),
        partial(draw_robot, robot=robot, time=time, q=tracking.q),
    )  # fmt: skip


def figures(
    robot: RigidRobot, plan: Plan, tracking: Tracking, ready: dict[str, float], simulator: dict[str, float],
    verdict: Verdict,
) -> dict[str, Any]:
    """All figures as plain values, SI units."""
    return {
        "robot": robot.name,
        "tracked": verdict.passed,
        "verdict": verdict.as_plain(),
        "joints": [
            {
                "name": name, "travel_asked": float(plan.travel[j]), "travel_made": float(np.ptp(tracking.q[:, j])),
                "rms_error": float(tracking.rms[j]), "largest_error": float(tracking.largest[j]),
                "largest_effort": float(tracking.effort[j]), "effort_limit": float(plan.effort_limit[j]),
            }
            for j, name in enumerate(robot.joint_names)
        ],
        "rate": tracking.rate,
        "reply_latency_p50": tracking.latency_p50,
        "reply_latency_p99": tracking.latency_p99,
        "replies": tracking.answered,
        "missed_replies": tracking.missed,
        "overruns": int(simulator["overruns"]),
        "received_states": tracking.received,
        "unheard_states": tracking.lost,
        "seconds_to_ready": ready,
    }


def _joint_rows(robot: RigidRobot, plan: Plan, tracking: Tracking) -> list[list[str]]:
    """Travel, errors and efforts of each joint, with units."""
    rows = []
    for j, (name, (length, _, _, force)) in enumerate(zip(robot.joint_names, joint_units(robot), strict=True)):
        effort, limit = tracking.effort[j], plan.effort_limit[j]
        rows.append([
            name, f"{np.ptp(tracking.q[:, j]):.3g} of {plan.travel[j]:.3g} {length}", f"{tracking.rms[j]:.2e} {length}",
            f"{tracking.largest[j]:.2e} {length}", f"{effort:.2f} {force}", f"{limit:.2f} {force}",
            f"{100.0 * effort / limit:.0f} %",
        ])  # fmt: skip
    return rows


def print_figures(robot: RigidRobot, plan: Plan, tracking: Tracking) -> None:
    """Print the figures of tracking and communication."""
    headings = ("joint", "travel", "RMS error", "largest error", "largest effort", "limit", "used")
    rows = _joint_rows(robot, plan, tracking)
    print_rows(console(), headings, rows, title=f"{robot.name}: three quintic moves")
    console().print(
        f"{tracking.rate:.1f} joint states per second; reply latency p50 {1e3 * tracking.latency_p50:.2f} ms, "
        f"p99 {1e3 * tracking.latency_p99:.2f} ms; {tracking.missed} of {tracking.answered + tracking.missed} replies "
        "missed"
    )


def write_report(
    args: argparse.Namespace, robot: RigidRobot, plan: Plan, tracking: Tracking, figures: dict[str, Any],
    verdict: Verdict, draw: Callable[[Path], None],
) -> None:
    """Write the page of a demo to --report; `figures` are those of --json, `draw` writes the plot."""
    page = Report(f"{robot.name}: three moves under computed torque over ROS 2")
    page.verdict(verdict.passed, verdict.text)
    page.text("Simulator and controller ran as two ROS 2 processes; a third one recorded their topics.")
    headings = ["joint", "travel", "RMS error", "largest error", "largest effort", "effort limit", "used"]
    page.table(headings, _joint_rows(robot, plan, tracking))
    page.heading("Communication")
    page.facts([
        ("joint states per second", f"{tracking.rate:.1f}"),
        ("reply latency, median", f"{1e3 * tracking.latency_p50:.2f} ms"),
        ("reply latency, 99 %", f"{1e3 * tracking.latency_p99:.2f} ms"),
        ("missed replies", f"{tracking.missed} of {tracking.answered + tracking.missed}"),
        ("overruns of the simulator", str(figures["overruns"])),
    ])  # fmt: skip
    if "flexible" in figures:
        page.heading("Vibration of the tip, peak to peak after the end of each move")
        plans = figures["flexible"]["plans"]
        moves = [f"after move {k + 1}" for k in range(len(plans[0]["residual"]))]
        rows = [
            [p["name"], f"{p['seconds_a_move']:.2f} s", *(f"{1e3 * r:.2f} mm" for r in p["residual"])] for p in plans
        ]
        page.table(["plan", "time of a move", *moves], rows)
    page.heading("Robot and curves over time")
    page.figure(draw, "Robot, positions with references, errors, and what the efforts consist of")
    if args.movie:
        page.picture(args.movie, "The motion")
    finish(page, args.report, args.command_line)
