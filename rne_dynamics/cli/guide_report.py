"""Figures, table, verdict and plot of `rne guide`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rne_dynamics.advice import rne
from rne_dynamics.cli.table_layout import print_table
from rne_dynamics.figures.style import COLORS, INK, THIN, WIDE, canvas, legend_right
from rne_dynamics.figures.tracking import ROUND_OFF, draw_joints, joint_units, panels, span_at_least
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.simulation.runs.push import Push, load, static_friction

if TYPE_CHECKING:
    from rne_dynamics.ros.session_recorder import Recording

#: A joint slower than this is at rest, rad/s or m/s.
AT_REST = 0.01
#: Least displacement that counts as motion, and largest one that may happen without a push, rad or m.
MOVED, DRIFT = 1e-3, 0.02
#: Largest fraction of the speed after the pushes that a joint may have at the end.
SLOWING = 0.7
#: Fraction of the effort limit from which on a joint has no reserve.
FULL = 0.98


@dataclass(frozen=True, eq=False)
class Guided:
    """The figures of a session; (n,) is one value a joint.

    Parameters
    ----------
    time
        Of each joint state, s from the beginning of the pushes' times; (samples,).
    q, effort
        Positions and efforts then; (samples, n).
    gravity
        Times, s, and the model's gravity torque, (messages, n).
    begin
        Position when the first push begins, (n,).
    sagged
        Largest distance from the start posture before the first push, (n,).
    moved
        Displacement of largest magnitude from then on, with its sign, (n,).
    rest
        Time from the end of the last push until the joint is at rest, s; infinite if it still moves at the end; (n,).
    drift
        Displacement from then until the end, (n,).
    speed, fastest
        At the end, and the largest magnitude after the pushes, (n,).
    used
        Largest effort, (n,).
    """

    time: Array
    q: Array
    effort: Array
    gravity: tuple[Array, Array]
    begin: Array
    sagged: Array
    moved: Array
    rest: Array
    drift: Array
    speed: Array
    fastest: Array
    used: Array


def evaluate(robot: RigidRobot, start: Array, pushes: Sequence[Push], recording: Recording) -> Guided:
    """Figures of a recording of an arm that was to be held at `start`, (n,), until the first push.

    The recording may begin after the arm has already sunk, so what it sank is counted from `start`.
    """
    zero = recording.begins[0]
    time = 1e-9 * (recording.stamps - zero).astype(np.float64)
    q, qd = recording.q, recording.qd
    first, last = min(p.begin for p in pushes), max(p.end for p in pushes)
    before, after = time <= first, time > last
    begin = q[before][-1]
    away = q[~before] - begin
    moved = away[np.argmax(np.abs(away), axis=0), np.arange(robot.n)]
    fast = (np.abs(qd) >= AT_REST) & after[:, None]
    settled = np.where(fast.any(axis=0), len(time) - np.argmax(fast[::-1], axis=0), np.argmax(after))
    still = settled < len(time)
    place = np.minimum(settled, len(time) - 1)
    stamps, values = recording.terms["gravity"]
    return Guided(
        time=time, q=q, effort=recording.efforts, gravity=(1e-9 * (stamps - zero).astype(np.float64), values),
        begin=begin, sagged=np.abs(q[before] - start).max(axis=0), moved=moved,
        rest=np.where(still, np.where(fast.any(axis=0), time[place] - last, 0.0), np.inf),
        drift=np.where(still, q[-1] - q[place, np.arange(robot.n)], 0.0),
        speed=qd[-1], fastest=np.abs(qd[after]).max(axis=0, initial=0.0), used=np.abs(recording.efforts).max(axis=0),
    )


def verdict(
    robot: RigidRobot, pushes: Sequence[Push], guided: Guided | None, states: Sequence[str], message: str
) -> tuple[bool, str]:
    """Whether the arm was held and guided, and a line with cause and remedy.

    Parameters
    ----------
    robot, pushes
        Of the session.
    guided
        Its figures; None if the arm was not guided.
    states
        Of the controller, in their order.
    message
        Its last report.
    """
    check = f"check the description with `{rne('check')}`"
    if guided is None:
        return False, f"the arm was NOT guided: the controller does not let it move: {message}"
    if states and states[-1] != "floating":
        return False, f"the controller STOPPED the arm ({states[-1]}): {message}. Push less (--push), or {check}"
    names = robot.joint_names
    for j, name in enumerate(names):
        limit = robot.effort_limit[j]
        if 0.0 < FULL * limit <= guided.used[j]:
            return False, (
                f"the arm was NOT held safely: joint {name!r} needs {guided.used[j]:.4g} of its effort limit "
                f"{limit:.4g}. Take a lighter payload or another posture (--start), or {check}"
            )
        if guided.sagged[j] > DRIFT:
            return False, (
                f"the arm was NOT held: joint {name!r} moved by {guided.sagged[j]:.3g} {joint_units(robot)[j].position}"
                f" before the push. Masses and payload of the model do not fit the arm: {check}"
            )
    stuck = np.abs(guided.moved) < MOVED
    if stuck.all():
        return False, f"the arm was held and did NOT follow the push: {_held(robot, pushes, guided, range(robot.n))}"
    moving = np.isinf(guided.rest)
    notes = []
    if moving.any():
        j = int(np.argmax(np.where(moving, np.abs(guided.speed), -1.0)))
        where = f"joint {names[j]!r} moves at {guided.speed[j]:.3g} {joint_units(robot)[j].position}/s at the end"
        more = f"raise gains.{names[j]}.d of gravity_compensation in a parameter file (--config), or record longer"
        if (np.abs(guided.speed) > SLOWING * guided.fastest)[moving].any():
            return False, f"the arm was guided and does NOT come to rest: {where}; {more} (--after)"
        notes.append(f"It slows down slowly: {where}; {more} (--after)")
    elif (np.abs(guided.drift) > DRIFT).any():
        j = int(np.argmax(np.abs(guided.drift)))
        return False, (
            f"the arm does NOT stay where it was led: joint {names[j]!r} drifts by {guided.drift[j]:.3g} "
            f"{joint_units(robot)[j].position} after it has come to rest; lower friction_compensation, or {check}"
        )
    held = [j for j in range(robot.n) if stuck[j]]
    if held:
        notes.append(_held(robot, pushes, guided, held))
    stays = "slows down" if moving.any() else "stays where it was led"
    return True, ". ".join([f"the arm was held and guided: it follows the push, and {stays}", *notes])


def _held(robot: RigidRobot, pushes: Sequence[Push], guided: Guided, joints: Sequence[int]) -> str:
    """Why joints did not move: friction, or no effect of the push."""
    loads = np.array([load(robot, guided.begin, push) for push in pushes])
    largest = loads[np.argmax(np.abs(loads), axis=0), np.arange(robot.n)]
    friction = static_friction(robot, largest)
    rubbing = [j for j in joints if 0.0 < np.abs(largest[j]) <= friction[j]]
    if not rubbing:
        return "The push does not act on " + ", ".join(robot.joint_names[j] for j in joints) + "; push another link"
    j = max(rubbing, key=lambda j: abs(largest[j]) / friction[j])
    others = f" and {len(rubbing) - 1} more" if len(rubbing) > 1 else ""
    return (
        f"Friction keeps joint {robot.joint_names[j]!r}{others} where it is: the push gives "
        f"{abs(largest[j]):.3g} {joint_units(robot)[j].effort}, static friction is {friction[j]:.3g}; push harder "
        "(--push) to move it"
    )


def figures(
    robot: RigidRobot, pushes: Sequence[Push], guided: Guided | None, *, good: bool, text: str, plot: str | None
) -> dict[str, Any]:
    """All figures as plain values, SI units; `rest` is null for a joint that still moves."""
    joints = []
    if guided is not None:
        joints = [
            {
                "name": name, "moved": float(guided.moved[j]),
                "rest": float(guided.rest[j]) if np.isfinite(guided.rest[j]) else None,
                "drift": float(guided.drift[j]), "largest_effort": float(guided.used[j]),
                "effort_limit": float(robot.effort_limit[j]),
            }
            for j, name in enumerate(robot.joint_names)
        ]
    return {"robot": robot.name, "guided": good, "verdict": text, "pushes": [str(p) for p in pushes],
            "joints": joints, "plot": plot}


def print_guided(out: Console, robot: RigidRobot, pushes: Sequence[Push], guided: Guided) -> None:
    """Print the table."""
    table = Table("joint", title=f"{robot.name}: pushed by hand, {', '.join(map(str, pushes))}", title_justify="left")
    for heading in ("moved", "at rest after", "drift then", "largest effort", "limit", "used"):
        table.add_column(heading, justify="right")
    for j, name in enumerate(robot.joint_names):
        length, force, limit = joint_units(robot)[j].position, joint_units(robot)[j].effort, robot.effort_limit[j]
        bounded = (f"{limit:.2f} {force}", f"{100.0 * guided.used[j] / limit:.0f} %") if limit > 0.0 else ("none", "")
        table.add_row(
            name, f"{guided.moved[j]:+.4f} {length}",
            f"{guided.rest[j]:.2f} s" if np.isfinite(guided.rest[j]) else "not at rest",
            f"{guided.drift[j]:+.4f} {length}", f"{guided.used[j]:.2f} {force}",
            *bounded,
        )
    print_table(out, table)


def plot(path: Path, robot: RigidRobot, pushes: Sequence[Push], guided: Guided) -> None:
    """Write a figure of positions, and of efforts against gravity, with the pushes shaded; raises as `canvas`."""
    columns = min(robot.n, 3)
    rows = -(-robot.n // columns)
    units = joint_units(robot)
    shown = panels(units)
    top = len(shown)
    with canvas(path, 13.0, 4.0 * top + 2.4 * rows) as figure:
        grid = figure.add_gridspec(top + rows, columns, height_ratios=[*[1.6] * top, *[1.0] * rows])
        every = [figure.add_subplot(grid[k, :]) for k in range(top)]
        for axes, panel in zip(every, shown, strict=True):
            draw_joints(axes, robot.joint_names, guided.time, guided.q - guided.begin, WIDE, panel.joints)
            axes.set_ylabel(f"displacement ({panel.units.position})")
        every[0].set_title(f"{robot.name}: guided by hand, {', '.join(map(str, pushes))}")
        times, gravity = guided.gravity
        for j, name in enumerate(robot.joint_names):
            axes = figure.add_subplot(grid[top + j // columns, j % columns])
            axes.plot(guided.time, guided.effort[:, j], linewidth=THIN, label="effort")
            axes.plot(times, gravity[:, j], linestyle=(0, (4, 3)), color=INK, linewidth=THIN, label="gravity")
            axes.set_title(f"{name} ({units[j].effort})")
            span_at_least(axes, ROUND_OFF * float(guided.used.max()))
            every.append(axes)
        for axes in every:
            for k, push in enumerate(pushes):
                axes.axvspan(push.begin, push.end, alpha=0.15, color=COLORS[1], label="push" if k == 0 else None)
            axes.set_xlim(max(guided.time[0], -0.5), guided.time[-1])
        for axes in (*every[:top], every[top + columns - 1]):
            legend_right(axes)
        every[-1].set_xlabel("time (s)")
