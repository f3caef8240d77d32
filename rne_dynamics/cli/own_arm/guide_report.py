"""Figures, table and plot of `rne guide`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

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
#: Largest displacement that may happen without a push, rad or m.
SAG = 0.02
#: Largest displacement of a joint that has come to rest, as a part of what the push moved it, and rad or m.
DRIFT, LEAST_DRIFT = 0.2, 1e-3
#: Fraction of the effort limit from which on a joint has no reserve.
FULL = 0.98
#: Largest fraction of the speed after the pushes that a joint may have at the end, or how much more than damping and
#: friction leave of it, rad/s or m/s.
SLOWING, COASTING = 0.7, 0.02


class Response(NamedTuple):
    """Displacements by the first part of a push, rad or m; (n,) is one value a joint."""

    #: Of this push and those that act with it, where the arm was, N·m or N, (n,).
    load: Array
    #: What the model and the law make of it inside the position limits, (n,).
    expected: Array
    #: What was measured, (n,).
    moved: Array
    #: The joints that the push is to move, (n,), and those among them that did not move so.
    pushed: NDArray[np.bool_]
    missing: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Guided:
    """The figures of a session; (n,) is one value a joint."""

    recording: Recording
    #: Of each joint state, s from the beginning of the pushes' times; (samples,).
    time: Array
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
    #: Speed at the end, (n,), and whether the joint has slowed down as damping and friction make it.
    speed: Array
    slowed: NDArray[np.bool_]
    #: Largest effort, (n,).
    used: Array


def evaluate_guided(guidance: Guidance, recording: Recording) -> Guided:
    """Figures of a recorded session; what the arm sank before it counts from the start that it was to be held at."""
    pushes, every = guidance.pushes, np.arange(guidance.robot.n)
    time = 1e-9 * (recording.stamps - recording.begins[0]).astype(np.float64)
    q, qd = recording.q, recording.qd
    last = max(p.end for p in pushes)
    before, after = time <= min(p.begin for p in pushes), time > last
    away = q - q[before][-1]
    away[before] = 0.0
    fastest = np.abs(qd[after]).max(axis=0, initial=0.0)
    fast = (np.abs(qd) >= np.clip(AT_REST * fastest, SLOWEST_REST, FASTEST_REST)) & after[:, None]
    settled = np.where(fast.any(axis=0), len(time) - np.argmax(fast[::-1], axis=0), np.argmax(after))
    still, place = settled < len(time), np.minimum(settled, len(time) - 1)
    coasting = _motion(guidance, time, q, last, COARSE)
    steps = max(1, round((time[-1] - last) / COARSE))
    coast = np.abs(coasting.run(qd[_before(time, last)], np.zeros((steps, guidance.robot.n)))[1][-1])
    return Guided(
        recording, time=time, begin=q[before][-1],
        responses=tuple(_response(guidance, p, time, q, qd) for p in pushes if time[-1] > p.begin),
        sagged=np.abs(q[before] - guidance.start).max(axis=0), moved=away[np.argmax(np.abs(away), axis=0), every],
        rest=np.where(still, np.where(fast.any(axis=0), time[place] - last, 0.0), np.inf),
        drift=np.where(still, q[-1] - q[place, every], 0.0), speed=qd[-1],
        slowed=np.abs(qd[-1]) <= np.maximum(SLOWING * fastest, coast + COASTING),
        used=np.abs(recording.efforts).max(axis=0),
    )


def _before(time: Array, t: float) -> int:
    """Number of the last state up to a time."""
    return int(np.searchsorted(time, t, side="right")) - 1


def _motion(guidance: Guidance, time: Array, q: Array, t: float, step: float) -> FloatingMotion:
    """The model of motion from a time on."""
    return FloatingMotion(guidance.settings, q[_before(time, t)], friction=guidance.friction, step=step)


def _response(guidance: Guidance, push: Push, time: Array, q: Array, qd: Array) -> Response:
    """Motion by a push and the motion expected, until a joint was to have moved by `JUDGED` or the push ended."""
    limits, at = guidance.settings.limits, _before(time, push.begin)
    loads = loads_over_time(guidance.robot, q[at], guidance.pushes, push.begin, min(push.end, time[-1]))
    displacements, _ = _motion(guidance, time, q, push.begin, FINE).run(qd[at], loads)
    far = np.abs(displacements).max(axis=1) >= JUDGED
    step = int(np.argmax(far)) if far.any() else len(loads) - 1
    moved = q[_before(time, push.begin + (step + 1) * FINE)] - q[at]
    lower, upper = limits.lower + limits.margin - q[at], limits.upper - limits.margin - q[at]
    expected = np.clip(displacements[step], np.minimum(lower, 0.0), np.maximum(upper, 0.0))
    size = np.abs(expected)
    pushed = size >= max(PUSHED * float(size.max()), LEAST_MOTION)
    return Response(loads[0], expected, moved, pushed, pushed & (moved * np.sign(expected) < FOLLOWED * size))


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
    names, units, time, recording = robot.joint_names, joint_units(robot), guided.time, guided.recording
    shown, away = panels(units), recording.q - guided.begin
    stamps, gravity = recording.terms["gravity"]
    curves = [
        Curve("effort", time, recording.efforts, {}),
        Curve("gravity", 1e-9 * (stamps - recording.begins[0]).astype(np.float64), gravity, DASHED),
    ]
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


def guiding_verdict(guidance: Guidance, guided: Guided | None, done: GuidedRun) -> Verdict:
    """Whether the arm was held, moved as pushed, and stayed; if not, why: as the controller reports, or measured."""
    if guided is None:
        return _not("refused", f"the arm was NOT guided: the controller does not let it move: {done.message}")
    if done.states and done.states[-1] != "floating":
        return _not("stopped", f"the controller STOPPED the arm: {done.message}")
    reports = (
        (done.limited, f". The controller limited {done.limited} efforts: {done.limit or 'it gives no cause'}"),
        (done.refused, f". The controller refused {done.refused} joint states: {done.refusal}"),
    )
    reported = "".join(text for count, text in reports if count)
    wrong = _wrong(guidance, guided, reported)
    if wrong is not None:
        return _not(wrong[0], f"the arm {wrong[1]}{reported}")
    moving = np.isinf(guided.rest)
    stays = "stays where it was led"
    if moving.any():
        j = int(np.argmax(np.where(moving, np.abs(guided.speed), -1.0)))
        stays = f"slows down: joint {guidance.robot.joint_names[j]!r} is not at rest yet"
    return Verdict(True, f"guided: the arm was held, moved as it was pushed, and {stays}{reported}", {"cause": None})


def _wrong(guidance: Guidance, guided: Guided, reported: str) -> tuple[str, str] | None:
    """The first fault in the course of a session, and its text."""
    robot = guidance.robot
    names, units = robot.joint_names, joint_units(robot)
    model = f"masses, payload or friction of the arm are not those of the model: check it with `{rne('check')}`"
    j = int(np.argmax(guided.used / guidance.settings.limits.effort))
    if guided.used[j] >= FULL * guidance.settings.limits.effort[j]:
        return "effort_limit", (
            f"was NOT held safely: joint {names[j]!r} needs its effort limit of {robot.effort_limit[j]:.4g} "
            f"{units[j].effort}. Take a lighter payload or another posture (--start)"
        )
    j = int(np.argmax(guided.sagged))
    if guided.sagged[j] > SAG:
        return "not_held", (f"was NOT held: joint {names[j]!r} moved by {guided.sagged[j]:.3g} {units[j].position} "
                            f"before the push: {model}")
    for push, response in zip(guidance.pushes, guided.responses, strict=False):
        if not response.pushed.any():
            cause, why = _held(guidance, response)
            return cause, f"was held and did NOT follow the push {push}: {why}"
        if response.missing.any():
            j = int(np.argmax(np.where(response.missing, np.abs(response.expected), 0.0)))
            return "not_followed", (
                f"did NOT move as the push {push} asks: joint {names[j]!r} moved by {response.moved[j]:+.3g} instead "
                f"of about {response.expected[j]:+.3g} {units[j].position}" + ("" if reported else f": {model}")
            )
    moving = np.isinf(guided.rest)
    if not guided.slowed[moving].all():
        j = int(np.argmax(np.where(moving, np.abs(guided.speed), -1.0)))
        return "not_at_rest", (
            f"was guided and does NOT come to rest: joint {names[j]!r} moves at {guided.speed[j]:.3g} "
            f"{units[j].position}/s at the end; raise gains.{names[j]}.d of gravity_compensation in a parameter file "
            "(--config), or record longer (--after)"
        )
    drifting = np.abs(guided.drift) > np.maximum(DRIFT * np.abs(guided.moved), LEAST_DRIFT)
    if drifting.any():
        j = int(np.argmax(np.where(drifting, np.abs(guided.drift), 0.0)))
        return "drift", (f"does NOT stay where it was led: joint {names[j]!r} drifts by {guided.drift[j]:.3g} "
                         f"{units[j].position} after it has come to rest: {model}")
    return None


def _not(cause: str, text: str) -> Verdict:
    return Verdict(False, text, {"cause": cause})


def _held(guidance: Guidance, response: Response) -> tuple[str, str]:
    """Why a push moves no joint: friction, or position limits and links that it does not load."""
    load, friction = np.abs(response.load), static_friction(guidance.robot, response.load)
    rubbing = guidance.friction & (load > 0.0) & (load <= friction)
    if not rubbing.any():
        return "no_load", "it loads no joint that is free to move; push another link or in another direction"
    j = int(np.argmax(np.where(rubbing, load / np.maximum(friction, 1e-300), 0.0)))
    return "friction", (
        f"Friction keeps joint {guidance.robot.joint_names[j]!r} where it is: the push gives {load[j]:.3g} "
        f"{joint_units(guidance.robot)[j].effort}, static friction is {friction[j]:.3g}; push harder (--push)"
    )
