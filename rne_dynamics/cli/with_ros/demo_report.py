"""What `rne demo` says of a run: tracking in its recording, as figures, table, plot, and the page of --report.

The reference is computed again from the moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rne_dynamics.cli.answer import Rows, Verdict, records
from rne_dynamics.cli.simulated.report import joint_table
from rne_dynamics.cli.with_ros.moves import PLAIN, Move, Plan, Programme, vibrations
from rne_dynamics.control.tracking_verdict import Run
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.dynamics.composite.momentum import subtree
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.figures.skeleton import draw_robot
from rne_dynamics.figures.style import TERMS, THIN, color_of
from rne_dynamics.figures.tracking import Curve, draw_stack, joint_cells, joint_units, panels, tracking_rows
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

if TYPE_CHECKING:
    from rne_dynamics.ros.sessions.recorder import Recording


@dataclass(frozen=True, eq=False)
class Tracking:
    """The figures of a demo."""

    recording: Recording
    #: Joint states from the first move's start to the end of the pause after the last one; `rms` is of the moves and
    #: the pauses.
    run: Run
    #: Desired positions at its times, rad or m, (samples, n).
    reference: Array
    #: Joint states per second of wall-clock time.
    rate: float
    #: Joint states in `run.rms`, and those that this listener did not receive.
    received: int
    lost: int


def evaluate(recording: Recording, moves: tuple[Move, ...], plan: Plan, rate: float, settle: float) -> Tracking:
    """Compare a recording with the moves of a plan that were sent, each followed by a pause of `settle` seconds.

    The reference is sampled at the stamps of the joint states, so transport and this listener's timing do not affect
    the error. Longer pauses between the moves, which depend on the computer, do not count.
    """
    begins = recording.begins
    end = begins[-1] + int((moves[-1].duration + settle) * 1e9)
    window = (recording.stamps >= begins[0]) & (recording.stamps <= end)
    stamps, q = recording.stamps[window], recording.q[window]
    at = list(zip((np.searchsorted(begins, stamps, side="right") - 1).tolist(), stamps.tolist(), strict=True))
    reference = np.array([moves[k].sample((stamp - begins[k]) * 1e-9).q for k, stamp in at])
    error = reference - q
    counts = np.array([stamp - begins[k] <= (moves[k].duration + settle) * 1e9 for k, stamp in at])
    sent, missed = recording.sent[window], recording.simulator["missed"]
    run = Run(
        1e-9 * (stamps - begins[0]).astype(np.float64), q, recording.qd[window], error, recording.efforts[window],
        np.sqrt(np.mean(error[counts] ** 2, axis=0)), plan.travel, plan.effort_limit,
        {
            name: np.array([np.interp(stamps, known, column) for column in values.T]).T
            for name, (known, values) in recording.terms.items()
        },
        missed / max(1.0, missed + recording.simulator["answered"]), recording.reports,
    )  # fmt: skip
    return Tracking(
        recording, run, reference, rate=float((len(sent) - 1) / ((sent[-1] - sent[0]) * 1e-9)),
        received=int(np.sum(counts)), lost=int(np.sum(np.rint(np.diff(stamps) * 1e-9 * rate) - 1)),
    )  # fmt: skip


def plot_demo(path: Path, robot: RigidRobot, tracking: Tracking) -> None:
    """Write a figure of the robot, positions and references, errors, and torque terms; raises as `canvas`."""
    units, run, recording = joint_units(robot), tracking.run, tracking.recording
    terms = [
        Curve(name, 1e-9 * (stamps - recording.begins[0]).astype(np.float64), values, {"color": TERMS[name]})
        for name, (stamps, values) in recording.terms.items()
    ]
    draw_stack(
        path, f"{robot.name}: three moves under computed torque over ROS 2", (0.0, run.time[-1]),
        tracking_rows(panels(units), robot.joint_names, run.time, run.q, tracking.reference),
        joint_cells(robot.joint_names, units, range(robot.n), terms, float(np.abs(run.effort).max())),
        partial(draw_robot, robot=robot, time=run.time, q=run.q),
    )  # fmt: skip


def demo_figures(robot: RigidRobot, tracking: Tracking, verdict: Verdict) -> dict[str, Any]:
    """All figures as plain values, SI units."""
    simulator, run = tracking.recording.simulator, tracking.run
    efforts = np.abs(run.effort).max(axis=0)
    return {
        "robot": robot.name,
        "tracked": verdict.passed,
        "verdict": verdict.as_plain(),
        "joints": records(
            name=robot.joint_names, travel_asked=run.asked, travel_made=run.made, rms_error=run.rms,
            largest_error=np.abs(run.error).max(axis=0), largest_effort=efforts, effort_limit=run.effort_limit,
            used=efforts / run.effort_limit,
        ),
        "rate": tracking.rate,
        "reply_latency_p50": simulator["p50"],
        "reply_latency_p99": simulator["p99"],
        "replies": int(simulator["answered"]),
        "missed_replies": int(simulator["missed"]),
        "overruns": int(simulator["overruns"]),
        "received_states": tracking.received,
        "unheard_states": tracking.lost,
        "seconds_to_ready": tracking.recording.ready,
    }


def demo_parts(robot: RigidRobot, figures: Mapping[str, Any]) -> list[str | Rows]:
    """Travel, errors and efforts of each joint in the figures, and figures of the communication."""
    missed = figures["missed_replies"]
    return [
        joint_table(robot, figures["joints"], f"{robot.name}: three quintic moves"),
        f"{figures['rate']:.1f} joint states per second; reply latency p50 {1e3 * figures['reply_latency_p50']:.2f} "
        f"ms, p99 {1e3 * figures['reply_latency_p99']:.2f} ms; {missed} of {figures['replies'] + missed} replies "
        "missed",
    ]


@dataclass(frozen=True, eq=False)
class Vibration:
    """Motion of the tip, the frame of the arm's last link, in base axes."""

    #: Of each message of deflections from the first move's start on, s; (samples,).
    time: Array
    #: Distance from the tip of rigid links at the same joint positions, m; (samples,).
    bent: Array
    #: End of each move, s.
    ends: list[float]
    #: Peak-to-peak vibration of the tip after the end of each move, along its main direction, m.
    residual: list[float]
    #: Largest displacement of any link's end relative to its length.
    largest_bend: float


def evaluate_vibration(arm: FlexibleArm, recording: Recording, moves: tuple[Move, ...], settle: float) -> Vibration:
    """Evaluate the tip's motion in a recording; `settle` is the pause after each move, s."""
    begins = np.array(recording.begins)
    received, tips = recording.deflections
    durations = np.array([move.duration for move in moves])
    common = np.isin(received, recording.stamps)  # a joint state may be lost when its deflections are not
    window = common & (received >= begins[0]) & (received <= begins[-1] + int((durations[-1] + settle) * 1e9))
    stamps, tips = received[window], tips[window]
    if not len(stamps):
        raise RneDynamicsError("no deflections were received during the moves; is the computer too busy?")
    q = recording.q[np.searchsorted(recording.stamps, stamps)]
    which = np.searchsorted(begins, stamps, side="right") - 1
    since = 1e-9 * (stamps - begins[which]).astype(np.float64)
    tip = tip_position(arm, q, tips)
    lengths = np.array([np.linalg.norm(link.tip) for link in arm.flexible_links])
    return Vibration(
        1e-9 * (stamps - begins[0]).astype(np.float64), np.linalg.norm(tip - tip_position(arm, q), axis=1),
        (1e-9 * (begins - begins[0]) + durations).tolist(),
        [peak_to_peak(tip[(which == k) & (since >= d) & (since <= d + settle)]) for k, d in enumerate(durations)],
        float(np.max(np.linalg.norm(tips[..., :3], axis=-1) / lengths)),
    )


def peak_to_peak(points: Array) -> float:
    """Extent of points, (samples, 3), along their main direction, m."""
    if len(points) < 2:
        return 0.0
    about = points - points.mean(axis=0)
    return float(np.ptp(about @ np.linalg.svd(about, full_matrices=False)[2][0]))


def tip_position(arm: FlexibleArm, q: Array, tips: Array | None = None) -> Array:
    """Position of the arm's last link, m, (samples, 3), for joint positions q, (samples, n).

    `tips` are the displacement and small rotation of the end of every flexible link in its frame, (samples, links, 6),
    none for rigid links. The next link must be fixed to the end of a flexible link.
    """
    poses, names = forward_kinematics(arm.robot, q), arm.robot.link_names
    position = poses.position[:, -1]
    # from the tip inwards: the motion of an end moves all links beyond it as one body
    for k, link in reversed([*enumerate(arm.flexible_links)]):
        if tips is None or names[-1] not in subtree(arm.robot, link.link)[1:]:
            continue
        R, p = (part[:, names.index(link.link)] for part in (poses.rotation, poses.position))
        turned = np.cross(tips[:, k, 3:], np.einsum("bji,bj->bi", R, position - p) - link.tip)
        if link.at(link.tip).shortening.any():  # with stiffening, rotations of second order
            turned = turned + 0.5 * np.cross(tips[:, k, 3:], turned)
        position = position + np.einsum("bij,bj->bi", R, tips[:, k, :3] + turned)
    return position


def flexible_figures(
    arm: FlexibleArm, moves: Sequence[Quintic], bandwidth: float, programmes: Sequence[Programme],
    trackings: Sequence[Tracking], seen: Sequence[Vibration],
) -> dict[str, Any]:
    """The figures as plain values, SI units; `moves` as planned, other arguments one per programme."""
    return {
        "bandwidth": bandwidth,
        "frequencies": [(vibrations(arm, m.end, 2)[0] / (2.0 * np.pi)).tolist() for m in moves],
        "plans": [
            {
                "name": p.name, "seconds_a_move": p.seconds, "largest_bend": v.largest_bend,
                "residual": list(v.residual), "largest_rms_error": float(t.run.rms.max()),
                "missed_replies": int(t.recording.simulator["missed"]),
            }
            for p, t, v in zip(programmes, trackings, seen, strict=True)
        ],
    }


def flexible_parts(figures: dict[str, Any]) -> list[str | Rows]:
    """A table with a row for each programme."""
    plans = figures["plans"]
    plain = next((max(p["residual"]) for p in plans if p["name"] == PLAIN), 0.0)
    moves, several = [f"after move {k + 1}" for k in range(len(plans[0]["residual"]))], len(plans) > 1
    rows = [
        [
            p["name"], f"{p['seconds_a_move']:.2f} s", f"{100.0 * p['largest_bend']:.1f} %",
            *(f"{1e3 * r:.2f} mm" for r in p["residual"]), f"{p['largest_rms_error']:.1e}",
            *[f"{100.0 * max(p['residual']) / plain:.1f} %" if plain else ""] * several,
        ]
        for p in plans
    ]  # fmt: skip
    headings = ["plan", "time a move", "largest bend", *moves, "RMS error", *["of plain"] * several]
    lowest = min(f[0] for f in figures["frequencies"])
    return [
        Rows(headings, rows, "tip vibration, peak to peak after the end of each move"),
        f"slowest vibration {lowest:.2f} Hz with the joints held; the controller uses the rigid model, with a "
        f"bandwidth of {figures['bandwidth']:.1f} rad/s",
    ]


def plot_flexible(
    path: Path, arm: FlexibleArm, programmes: Sequence[Programme], trackings: Sequence[Tracking],
    seen: Sequence[Vibration],
) -> None:
    """Write a figure of the first programme's joints, and of the tip's deflection in all; raises as `canvas`."""

    def bends(axes: Any) -> None:
        for k, (programme, vibration) in enumerate(zip(programmes, seen, strict=True)):
            axes.plot(vibration.time, 1e3 * vibration.bent, color=color_of(k), linewidth=THIN, label=programme.name)
            axes.vlines(vibration.ends, 0.0, 1e3 * vibration.bent.max(), color=color_of(k), linestyle=":")
        axes.set_ylabel("tip deflection (mm)")

    run, reference = trackings[0].run, trackings[0].reference
    rows = tracking_rows(panels(joint_units(arm)), arm.joint_names, run.time, run.q, reference)
    title = f"{arm.name}: joints in {programmes[0].name} moves, and the tip (dotted: end of a move)"
    draw_stack(path, title, (0.0, max(float(v.time[-1]) for v in seen)), [*rows, bends])
