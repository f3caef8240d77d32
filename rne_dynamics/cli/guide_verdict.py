"""The verdict of `rne guide`: whether the arm was held, moved as it was pushed, and stayed; if not, why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.advice import rne
from rne_dynamics.cli.guide_report import LEAST_MOTION, Guided, Response
from rne_dynamics.cli.verdict import Verdict
from rne_dynamics.figures.tracking import joint_units
from rne_dynamics.simulation.runs.push import static_friction

if TYPE_CHECKING:
    from rne_dynamics.ros.sessions.guiding import Guidance, GuidedRun

#: Largest displacement that may happen without a push, rad or m.
SAG = 0.02
#: Largest displacement of a joint that has come to rest, as a part of what the push moved it, and rad or m.
DRIFT, LEAST_DRIFT = 0.2, 1e-3
#: Fraction of the effort limit from which on a joint has no reserve.
FULL = 0.98
#: Largest fraction of the speed after the pushes that a joint may have at the end, or how much more than damping and
#: friction leave of it, rad/s or m/s.
SLOWING, COASTING = 0.7, 0.02


def verdict(guidance: Guidance, guided: Guided | None, done: GuidedRun) -> Verdict:
    """Whether the arm was held, moved as pushed, and stayed; if not, why: as the controller reported it, or measured.

    `guided` are the figures of the session, None if the arm was not guided, `done` is what the controller reported.
    """
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
