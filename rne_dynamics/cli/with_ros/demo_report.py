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
from rne_dynamics.control.trajectory import Quintic, SampledTrajectory
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.figures.skeleton import draw_robot
from rne_dynamics.figures.style import INK, TERMS, canvas, color_of, legend_below, legend_right
from rne_dynamics.figures.tracking import Curve, draw_stack, joint_cells, joint_units, panels, tracking_rows
from rne_dynamics.model.flexible.arm import FlexibleArm
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


def plot_demo(path: Path, robot: RigidRobot, tracking: Tracking, recording: Recording) -> None:
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


def demo_figures(
    robot: RigidRobot, plan: Plan, tracking: Tracking, ready: dict[str, float], simulator: dict[str, float],
    verdict: Verdict,
) -> dict[str, Any]:
    """All figures as plain values, SI units."""
    return {
        "robot": robot.name,
        "tracked": verdict.passed,
        "verdict": verdict.as_plain(),
        "joints": records(
            name=robot.joint_names, travel_asked=plan.travel, travel_made=np.ptp(tracking.q, axis=0),
            rms_error=tracking.rms, largest_error=tracking.largest, largest_effort=tracking.effort,
            effort_limit=plan.effort_limit, used=tracking.effort / plan.effort_limit,
        ),
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


def demo_parts(robot: RigidRobot, joints: Sequence[Mapping[str, Any]], tracking: Tracking) -> list[str | Rows]:
    """Travel, errors and efforts of each joint in the figures, and figures of the communication."""
    return [
        joint_table(robot, joints, f"{robot.name}: three quintic moves"),
        f"{tracking.rate:.1f} joint states per second; reply latency p50 {1e3 * tracking.latency_p50:.2f} ms, "
        f"p99 {1e3 * tracking.latency_p99:.2f} ms; {tracking.missed} of {tracking.answered + tracking.missed} replies "
        "missed",
    ]


@dataclass(frozen=True, eq=False)
class Vibration:
    """Motion of the tip, the frame of the arm's last link, in base axes."""

    #: Of each message of deflections from the first move's start on, s; (samples,).
    time: Array
    #: Planned position of a rigid arm's tip, and the measured one, m; (samples, 3).
    planned: Array
    tip: Array
    #: Distance from the tip of rigid links at the same joint positions, m; (samples,).
    bent: Array
    #: End of each move, s.
    ends: tuple[float, ...]
    #: Peak-to-peak vibration of the tip after the end of each move, along its main direction, m.
    residual: tuple[float, ...]
    #: Largest displacement of any link's end relative to its length.
    largest_bend: float


def evaluate_vibration(arm: FlexibleArm, recording: Recording, moves: tuple[Move, ...], settle: float) -> Vibration:
    """Evaluate the tip's motion in a recording; `settle` is the pause after each move, s."""
    begins = np.array(recording.begins)
    received, tips = recording.deflections
    common = np.isin(received, recording.stamps)  # a joint state may be lost when its deflections are not
    stop = begins[-1] + int((moves[-1].duration + settle) * 1e9)
    window = common & (received >= begins[0]) & (received <= stop)
    stamps, tips = received[window], tips[window]
    if not len(stamps):
        raise RneDynamicsError("no deflections were received during the moves; is the computer too busy?")
    q = recording.q[np.searchsorted(recording.stamps, stamps)]
    which = np.searchsorted(begins, stamps, side="right") - 1
    since = 1e-9 * (stamps - begins[which]).astype(np.float64)
    at = zip(which.tolist(), since.tolist(), strict=True)
    planned = tip_position(arm, np.array([moves[k].sample(t).q for k, t in at]))
    tip, stiff = tip_position(arm, q, tips), tip_position(arm, q)
    durations = np.array([move.duration for move in moves])
    lengths = np.array([np.linalg.norm(link.tip) for link in arm.flexible_links])
    return Vibration(
        time=1e-9 * (stamps - begins[0]).astype(np.float64),
        planned=planned,
        tip=tip,
        bent=np.linalg.norm(tip - stiff, axis=1),
        ends=tuple((1e-9 * (begins - begins[0]) + durations).tolist()),
        residual=tuple(
            peak_to_peak(tip[(which == k) & (since >= d) & (since <= d + settle)]) for k, d in enumerate(durations)
        ),
        largest_bend=float(np.max(np.linalg.norm(tips[..., :3], axis=-1) / lengths)),
    )


def peak_to_peak(points: Array) -> float:
    """Extent of points, (samples, 3), along their main direction, m."""
    if len(points) < 2:
        return 0.0
    about = points - points.mean(axis=0)
    line = np.linalg.svd(about, full_matrices=False)[2][0]
    return float(np.ptp(about @ line))


def tip_position(arm: FlexibleArm, q: Array, tips: Array | None = None) -> Array:
    """Position of the arm's last link, m, (samples, 3), for joint positions q, (samples, n).

    `tips` are the displacement and small rotation of the end of every flexible link in its frame, (samples, links, 6),
    none for rigid links. The next link must be fixed to the end of a flexible link.
    """
    poses, tree = forward_kinematics(arm.robot, q), arm.robot.tree
    names = arm.robot.link_names
    parent = {joint.child: joint.parent for joint in tree.joints}
    position = poses.position[:, -1]
    link, between = names[-1], []
    while link in parent:
        link = parent[link]
        between.append(link)
    if tips is None:
        return position
    # from the tip inwards: the motion of an end moves all links beyond it as one body
    for name in between:
        k = next((k for k, flexible in enumerate(arm.flexible_links) if flexible.link == name), None)
        if k is None:
            continue
        R, p = poses.rotation[:, names.index(name)], poses.position[:, names.index(name)]
        lever = np.einsum("bji,bj->bi", R, position - p) - arm.flexible_links[k].tip
        turned = np.cross(tips[:, k, 3:], lever)
        flexible = arm.flexible_links[k]
        if flexible.at(flexible.tip).shortening.any():  # with stiffening, rotations of second order
            turned = turned + 0.5 * np.cross(tips[:, k, 3:], turned)
        moved = tips[:, k, :3] + turned
        position = position + np.einsum("bij,bj->bi", R, moved)
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
                "residual": list(v.residual), "largest_rms_error": float(t.rms.max()), "missed_replies": t.missed,
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
    """Write a figure of joints, tip deflection, tip path and vibration after the moves; raises as `canvas`."""
    with canvas(path, 14.0, 10.0) as figure:
        grid = figure.add_gridspec(3, 5, height_ratios=[1.0, 0.8, 1.2])
        shown = panels(joint_units(arm))
        joints, errors = (
            [figure.add_subplot(part) for part in grid[row, :3].subgridspec(len(shown), 1)] for row in (0, 1)
        )
        bends, paths = figure.add_subplot(grid[2, :3]), figure.add_subplot(grid[:2, 3:])
        dots = figure.add_subplot(grid[2, 3:])

        tracking = trackings[0]
        rows = tracking_rows(shown, arm.joint_names, tracking.time, tracking.q, tracking.reference)
        for draw, axes in zip(rows, (*joints, *errors), strict=True):
            draw(axes)
        joints[0].set_title(f"{arm.name}: joint encoders, {programmes[0].name} moves")
        for axes in joints:
            legend_right(axes)

        across, centre = _plane(seen[0].planned), seen[0].planned.mean(axis=0)
        planned = 1e3 * (seen[0].planned - centre) @ across.T
        paths.plot(*planned.T, color=INK, linewidth=2.2, label="rigid plan", zorder=1)
        for k, (programme, vibration) in enumerate(zip(programmes, seen, strict=True)):
            style: dict[str, Any] = {"linewidth": 1.0, "color": color_of(k), "label": programme.name, "zorder": 10 - k}
            bends.plot(vibration.time, 1e3 * vibration.bent, **style)
            for end in vibration.ends:
                bends.axvline(end, color=color_of(k), linewidth=0.5, linestyle=":")
            paths.plot(*(1e3 * (vibration.tip - centre) @ across.T).T, **style)
        bends.set(title="tip deflection from the rigid arm (dotted: end of a move)", ylabel="mm", xlabel="time (s)")
        bends.margins(x=0.0)
        paths.set(title="tip path in its main plane", xlabel="mm", ylabel="mm")
        paths.set_aspect("equal", adjustable="datalim")

        moves = np.arange(len(seen[0].residual))
        spread = 0.5 / max(len(seen), 2)
        for k, (programme, vibration) in enumerate(zip(programmes, seen, strict=True)):
            place, residual = moves + (k - 0.5 * (len(seen) - 1)) * spread, 1e3 * np.array(vibration.residual)
            dots.plot(place, residual, "o", color=color_of(k), label=programme.name)
            for x, y in zip(place, residual, strict=True):
                dots.annotate(f"{y:.3g}", (x, y), xytext=(0, 6), textcoords="offset points", ha="center",
                              fontsize="x-small")  # fmt: skip
        dots.set(title="tip vibration after the end of a move, peak to peak", ylabel="mm", yscale="log")
        dots.margins(x=0.1, y=0.2)
        dots.set_xticks(moves, [f"move {k + 1}" for k in moves])
        legend_below(figure, paths, len(seen) + 1)


def _plane(points: Array) -> Array:
    """Two directions, (2, 3), that span the best-fit plane of points, (samples, 3)."""
    directions = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][:2]
    largest = directions[np.arange(2), np.argmax(np.abs(directions), axis=1)]
    return np.asarray(directions * np.sign(largest)[:, None])
