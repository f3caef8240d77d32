"""Vibration of a flexible arm's tip in a demo: figures from a recording, compared with the rigid plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rne_dynamics.cli.demo_flexible import Move
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array

if TYPE_CHECKING:
    from rne_dynamics.ros.session_recorder import Recording


@dataclass(frozen=True, eq=False)
class Vibration:
    """Motion of the tip, the frame of the arm's last link, in base axes.

    Parameters
    ----------
    time
        Of each message of deflections from the first move's start on, s; (samples,).
    planned
        Planned position of a rigid arm's tip, m; (samples, 3).
    tip
        Measured position, m; (samples, 3).
    bent
        Distance from the tip of rigid links at the same joint positions, m; (samples,).
    ends
        End of each move, s.
    residual
        Peak-to-peak vibration of the tip after the end of each move, along its main direction, m.
    largest_bend
        Largest displacement of any link's end relative to its length.
    """

    time: Array
    planned: Array
    tip: Array
    bent: Array
    ends: tuple[float, ...]
    residual: tuple[float, ...]
    largest_bend: float


def evaluate_vibration(
    arm: FlexibleArm, recording: Recording, moves: tuple[Move, ...], settle: float
) -> Vibration:
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
    """Position of the arm's last link, m; shape (samples, 3).

    Parameters
    ----------
    arm
        The arm.
    q
        Joint positions; shape (samples, n).
    tips
        Displacement and small rotation of the end of every flexible link in its frame, shape (samples, links, 6); rigid
        links if not given. The next link must be fixed to the end of a flexible link.
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
