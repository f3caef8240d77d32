"""Figures, table and plot of `rne guide`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.advice import rne
from rne_dynamics.cli.answer import Verdict, records
from rne_dynamics.figures.style import COLORS, DASHED, WIDE
from rne_dynamics.figures.tracking import Curve, Draw, draw_stack, joint_cells, joint_rows, joint_units, panels
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.simulation.runs.push import COARSE, FINE, FloatingMotion, Push, loads_over_time, static_friction

if TYPE_CHECKING:
    from rne_dynamics.ros.sessions.guiding import Guidance, GuidedRun
    from rne_dynamics.ros.sessions.recorder import Recording

#: A joint is at rest below this part of its largest speed after the pushes, at most and at least rad/s or m/s.
AT_REST, FASTEST_REST, SLOWEST_REST = 0.05, 0.01, 1e-5
#: The first part of a push is judged, until some joint is to have moved by this, rad or m.
JUDGED = 0.1
#: A joint is pushed if it is to move by this part of the largest displacement, and that is this at least, rad or m.
PUSHED, LEAST_MOTION = 0.3, 1e-6
#: Least part of the motion to be expected, in its direction, that counts as following the push.
FOLLOWED = 0.5

@dataclass(frozen=True, eq=False)
class Response:
    """Displacements by the first part of a push, rad or m; (n,) is one value a joint."""

    #: Of this push and those that act with it, where the arm was, N·m or N, (n,).
    load: Array
    #: What the model and the law make of it, without and with the position limits, (n,).
    free: Array
    expected: Array
    #: What was measured, (n,).
    moved: Array

    @property
    def pushed(self) -> NDArray[np.bool_]:
        """The joints that the push is to move, (n,)."""
        size = np.abs(self.expected)
        return size >= max(PUSHED * float(size.max()), LEAST_MOTION)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """The joints among them that did not move as pushed, (n,)."""
        return self.pushed & (self.moved * np.sign(self.expected) < FOLLOWED * np.abs(self.expected))


@dataclass(frozen=True, eq=False)
class Guided:
    """The figures of a session; (n,) is one value a joint."""

    #: Of each joint state, s from the beginning of the pushes' times; (samples,).
    time: Array
    #: Positions and efforts then; (samples, n).
    q: Array
    effort: Array
    #: Times, s, and the model's gravity torque, (messages, n).
    gravity: tuple[Array, Array]
    #: Position when the first push begins, (n,).
    begin: Array
    #: To each push.
    responses: tuple[Response, ...]
    #: Largest distance from the start posture before the first push, (n,).
    sagged: Array
    #: Displacement of largest magnitude from then on, with its sign, (n,).
    moved: Array
    #: Time from the end of the last push until the joint is at rest, s; infinite if it still moves at the end;
    #: (n,).
    rest: Array
    #: Displacement from then until the end, (n,).
    drift: Array
    #: At the end, and the largest magnitude after the pushes, (n,).
    speed: Array
    fastest: Array
    #: Speed at the end of an arm that nothing but damping and friction acts on after the pushes, (n,).
    coast: Array
    #: Largest effort, (n,).
    used: Array


def evaluate_guided(guidance: Guidance, recording: Recording) -> Guided:
    """Figures of a recorded session; what the arm sank before it counts from the start that it was to be held at."""
    robot, pushes, zero = guidance.robot, guidance.pushes, recording.begins[0]
    time = 1e-9 * (recording.stamps - zero).astype(np.float64)
    q, qd = recording.q, recording.qd
    first, last = min(p.begin for p in pushes), max(p.end for p in pushes)
    before, after = time <= first, time > last
    begin = q[before][-1]
    away = q[~before] - begin if (~before).any() else np.zeros((1, robot.n))
    moved = away[np.argmax(np.abs(away), axis=0), np.arange(robot.n)]
    fastest = np.abs(qd[after]).max(axis=0, initial=0.0)
    fast = (np.abs(qd) >= np.clip(AT_REST * fastest, SLOWEST_REST, FASTEST_REST)) & after[:, None]
    settled = np.where(fast.any(axis=0), len(time) - np.argmax(fast[::-1], axis=0), np.argmax(after))
    still = settled < len(time)
    place = np.minimum(settled, len(time) - 1)
    stamps, values = recording.terms["gravity"]
    return Guided(
        time=time, q=q, effort=recording.efforts, gravity=(1e-9 * (stamps - zero).astype(np.float64), values),
        begin=begin, responses=tuple(_response(guidance, p, time, q, qd) for p in pushes if time[-1] > p.begin),
        sagged=np.abs(q[before] - guidance.start).max(axis=0), moved=moved,
        rest=np.where(still, np.where(fast.any(axis=0), time[place] - last, 0.0), np.inf),
        drift=np.where(still, q[-1] - q[place, np.arange(robot.n)], 0.0),
        speed=qd[-1], fastest=fastest, coast=_coast(guidance, time, q, qd, last),
        used=np.abs(recording.efforts).max(axis=0),
    )


def _coast(guidance: Guidance, time: Array, q: Array, qd: Array, last: float) -> Array:
    """Velocities at the end of an arm that only damping and friction act on after the pushes, (n,)."""
    at = int(np.searchsorted(time, last, side="right")) - 1
    motion = FloatingMotion.of(guidance.settings, q[at], friction=guidance.friction, step=COARSE)
    steps = max(1, round((time[-1] - time[at]) / COARSE))
    _, speeds = motion.run(qd[at], np.zeros((steps, guidance.robot.n)))
    return np.asarray(speeds[-1])


def _response(guidance: Guidance, push: Push, time: Array, q: Array, qd: Array) -> Response:
    """Motion by a push and the motion expected, until a joint was to have moved by `JUDGED` or the push ended."""
    limits = guidance.settings.limits
    at = int(np.searchsorted(time, push.begin, side="right")) - 1
    motion = FloatingMotion.of(guidance.settings, q[at], friction=guidance.friction)
    loads = loads_over_time(guidance.robot, q[at], guidance.pushes, push.begin, min(push.end, time[-1]))
    displacements, _ = motion.run(qd[at], loads)
    far = np.abs(displacements).max(axis=1) >= JUDGED
    step = int(np.argmax(far)) if far.any() else len(loads) - 1
    end = int(np.searchsorted(time, push.begin + (step + 1) * FINE, side="right")) - 1
    free = displacements[step]
    room = limits.lower + limits.margin - q[at], limits.upper - limits.margin - q[at]
    expected = np.clip(free, np.minimum(room[0], 0.0), np.maximum(room[1], 0.0))
    return Response(loads[0], free, expected, q[end] - q[at])


def guiding_figures(guidance: Guidance, guided: Guided | None, found: Verdict, *, plot: str | None) -> dict[str, Any]:
    """All figures as plain values, SI units; `rest` is null for a joint that still moves."""
    robot, joints, responses = guidance.robot, [], []
    if guided is not None:
        joints = records(
            name=robot.joint_names, moved=guided.moved, rest=guided.rest, drift=guided.drift,
            largest_effort=guided.used, effort_limit=robot.effort_limit, used=guided.used / robot.effort_limit,
        )  # fmt: skip
        responses = [
            {"push": str(p), "expected": r.expected.tolist(), "moved": r.moved.tolist()}
            for p, r in zip(guidance.pushes, guided.responses, strict=False)
        ]
    return {
        "robot": robot.name, "guided": found.passed, "verdict": found.as_plain(),
        "pushes": [str(p) for p in guidance.pushes], "joints": joints, "responses": responses, "plot": plot,
    }


def plot_guided(path: Path, robot: RigidRobot, pushes: Sequence[Push], guided: Guided) -> None:
    """Write a figure of positions, and of efforts against gravity, with the pushes shaded; raises as `canvas`."""
    names, units, time = robot.joint_names, joint_units(robot), guided.time
    shown, away = panels(units), guided.q - guided.begin
    curves = [Curve("effort", time, guided.effort, {}), Curve("gravity", *guided.gravity, DASHED)]
    drawn = [
        joint_rows("displacement", shown, names, time, away, unit="position", width=WIDE),
        joint_cells(names, units, range(robot.n), curves, float(guided.used.max())),
    ]

    def shaded(draw: Draw, axes: Any) -> None:
        draw(axes)
        for k, push in enumerate(pushes):
            axes.axvspan(push.begin, push.end, alpha=0.15, color=COLORS[1], label="push" if k == 0 else None)

    rows, cells = ([partial(shaded, draw) for draw in part] for part in drawn)
    title = f"{robot.name}: guided by hand, {', '.join(map(str, pushes))}"
    draw_stack(path, title, (max(time[0], -0.5), time[-1]), rows, cells)


#: Largest displacement that may happen without a push, rad or m.
SAG = 0.02
#: Largest displacement of a joint that has come to rest, as a part of what the push moved it, and rad or m.
DRIFT, LEAST_DRIFT = 0.2, 1e-3
#: Fraction of the effort limit from which on a joint has no reserve.
FULL = 0.98
#: Largest fraction of the speed after the pushes that a joint may have at the end, or how much more than damping and
#: friction leave of it, rad/s or m/s.
SLOWING, COASTING = 0.7, 0.02


def guiding_verdict(guidance: Guidance, guided: Guided | None, done: GuidedRun) -> Verdict:
    """Whether the arm was held, moved as pushed, and stayed; if not, why: as the controller reports, or measured."""
    check = f"check the description with `{rne('check')}`"
    if guided is None:
        return _not("refused", f"the arm was NOT guided: the controller does not let it move: {done.message}")
    if done.states and done.states[-1] != "floating":
        return _not("stopped", f"the controller STOPPED the arm: {done.message}")
    robot = guidance.robot
    names, units = robot.joint_names, joint_units(robot)
    reported = ""
    if done.limited:
        reported = f". The controller limited {done.limited} efforts: {done.limit or 'it gives no cause'}"
    if done.refused:
        reported += f". The controller refused {done.refused} joint states: {done.refusal}"
    full = _at_limit(guidance, guided)
    if full is not None:
        return _not("effort_limit", (
            f"the arm was NOT held safely: joint {names[full]!r} needs its effort limit of "
            f"{robot.effort_limit[full]:.4g} {units[full].effort}. Take a lighter payload or another posture "
            f"(--start){reported}"
        ))
    j = int(np.argmax(guided.sagged))
    if guided.sagged[j] > SAG:
        return _not("not_held", (
            f"the arm was NOT held: joint {names[j]!r} moved by {guided.sagged[j]:.3g} {units[j].position}"
            f" before the push. Masses, payload or friction of the arm are not those of the model: {check}{reported}"
        ))
    for push, response in zip(guidance.pushes, guided.responses, strict=False):
        if not response.pushed.any():
            cause, why = _not_moved(guidance, response, range(robot.n))
            return _not(cause, f"the arm was held and did NOT follow the push {push}: {why}")
        if response.missing.any():
            j = int(np.argmax(np.where(response.missing, np.abs(response.expected), 0.0)))
            why = reported[2:] or f"the cause is not known: the controller reported none; {check}"
            return _not("not_followed", (
                f"the arm did NOT move as the push {push} asks: joint {names[j]!r} moved by {response.moved[j]:+.3g} "
                f"instead of about {response.expected[j]:+.3g} {units[j].position}: {why}"
            ))
    moving = np.isinf(guided.rest)
    notes = []
    if moving.any():
        j = int(np.argmax(np.where(moving, np.abs(guided.speed), -1.0)))
        where = f"joint {names[j]!r} moves at {guided.speed[j]:.3g} {units[j].position}/s at the end"
        more = f"raise gains.{names[j]}.d of gravity_compensation in a parameter file (--config), or record longer"
        slowed = np.abs(guided.speed) <= np.maximum(SLOWING * guided.fastest, np.abs(guided.coast) + COASTING)
        if not slowed[moving].all():
            return _not("not_at_rest", (
                f"the arm was guided and does NOT come to rest: {where}; {more} (--after){reported}"
            ))
        notes.append(f"It is not at rest yet: {where}; {more} (--after)")
    drifting = np.abs(guided.drift) > np.maximum(DRIFT * np.abs(guided.moved), LEAST_DRIFT)
    if drifting.any():
        j = int(np.argmax(np.where(drifting, np.abs(guided.drift), 0.0)))
        return _not("drift", (
            f"the arm does NOT stay where it was led: joint {names[j]!r} drifts by {guided.drift[j]:.3g} "
            f"{units[j].position} after it has come to rest: masses, payload or friction of the arm are not those of "
            f"the model: {check}{reported}"
        ))
    still = ~np.any([r.pushed for r in guided.responses], axis=0)
    rubbing = still & np.any([_held(guidance, r) for r in guided.responses], axis=0)
    if rubbing.any():
        notes.append(_not_moved(guidance, guided.responses[0], np.flatnonzero(rubbing))[1])
    stays = "slows down" if moving.any() else "stays where it was led"
    text = ". ".join([f"guided: the arm was held, moved as it was pushed, and {stays}", *notes])
    return Verdict(True, text + reported, {"cause": None})


def _not(cause: str, text: str) -> Verdict:
    return Verdict(False, text, {"cause": cause})


def _at_limit(guidance: Guidance, guided: Guided) -> int | None:
    """The joint whose effort was at its limit, if any."""
    part = guided.used / guidance.settings.limits.effort
    j = int(np.argmax(part))
    return j if part[j] >= FULL else None


def _held(guidance: Guidance, response: Response) -> NDArray[np.bool_]:
    """Joints that the push loads, by no more than their friction, (n,)."""
    if not guidance.friction:
        return np.zeros(len(response.load), dtype=np.bool_)
    loaded = response.load != 0.0
    return np.asarray(loaded & (np.abs(response.load) <= static_friction(guidance.robot, response.load)))


def _not_moved(guidance: Guidance, response: Response, joints: Iterable[int]) -> tuple[str, str]:
    """Why joints are not moved by a push: friction, position limits, or no effect of the push."""
    robot, joints = guidance.robot, list(joints)
    held = [j for j in joints if _held(guidance, response)[j]]
    if held:
        friction = static_friction(robot, response.load)
        j = max(held, key=lambda j: abs(response.load[j]) / friction[j])
        others = f" and {len(held) - 1} more" if len(held) > 1 else ""
        limit, unit = guidance.settings.limits.effort[j], joint_units(robot)[j].effort
        beyond = f", and the effort limit {limit:.3g}" if friction[j] > limit else ""
        return "friction", (
            f"Friction keeps joint {robot.joint_names[j]!r}{others} where it is: the push gives "
            f"{abs(response.load[j]):.3g} {unit}, static friction is {friction[j]:.3g}{beyond}; push harder (--push) "
            "to move it"
        )
    stopped = [j for j in joints if abs(response.free[j]) >= LEAST_MOTION]
    if stopped:
        j = max(stopped, key=lambda j: abs(response.free[j]))
        return "position_limit", (
            f"joint {robot.joint_names[j]!r} is at its position limit; push in another direction, or start elsewhere "
            "(--start)"
        )
    return "no_load", "The push does not act on " + ", ".join(robot.joint_names[j] for j in joints) + (
        "; push another link"
    )
