"""Start-up check: hold the arm still and compare its reported efforts with the model's gravity.

A joint at rest carries its gravity torque give or take Coulomb friction, so a mean effort further than tolerance and
friction from g(q) means that model and arm are not the same: a sign, a unit, a payload, a tilted base, joints
exchanged. Where every joint is within its tolerance, the pattern over all of them still shows a payload that the model
does not know; see `payload_estimate`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, compress

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import rare_kernel
from rne_dynamics.control.model_terms import holding_terms
from rne_dynamics.control.parameters import check_number, every_joint_driven, frozen_vector
from rne_dynamics.control.supervision.load_causes import (
    Cause,
    Evidence,
    nothing_reported,
    one_joint,
    opposite_signs,
    payload,
    payload_text,
    swapped,
    tilted,
    whole_arm,
)
from rne_dynamics.control.supervision.payload_estimate import (
    BLOCKS,
    FLOOR,
    Doubt,
    PayloadEstimate,
    PayloadTest,
    effort_units,
    estimate_payload,
    friction_bound,
    gravity_load,
    noise_of_mean,
)
from rne_dynamics.errors import ControlError
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

#: How much worse (in `Evidence.misfit`) a cause may fit than the best one and still be named as well.
ALSO = 8.0
#: How many other causes, and how many joints, a message names at most.
MOST_OTHERS, MOST_JOINTS = 2, 3
#: A payload that could be this heavy without being seen is not given in kg: the posture shows none.
HEAVIEST = 10.0
#: Causes of which the first says what the second would say more vaguely.
_COVERS = {("sign", "scale"), ("unit", "scale"), ("signs", "factor"), ("unit", "factor")}


#: Causes that explain a disagreement, likeliest first, empty where no single one does; and a text.
Diagnosis = tuple[tuple[Cause, ...], str]


def diagnose(evidence: Evidence, gravity_at: Callable[[Array], Array] | None) -> Diagnosis:
    """Name what leaves no joint beyond what is allowed: smallest misfit plus price first, then nearly as good ones."""
    suspects = chain(
        nothing_reported(evidence), whole_arm(evidence), opposite_signs(evidence), one_joint(evidence),
        swapped(evidence, gravity_at), tilted(evidence), payload(evidence),
    )
    fitting = [
        (evidence.misfit(cause.residual) + cause.price, cause)
        for cause in suspects
        if not evidence.beyond(np.where(evidence.seen, cause.residual, 0.0)).any()
    ]
    if not fitting:
        return (), _unexplained(evidence)
    fitting.sort(key=lambda pair: pair[0])
    best = fitting[0][0]
    causes: list[Cause] = []
    for score, cause in fitting:
        said = any(other.joints == cause.joints and (
            other.kind == cause.kind or (other.kind, cause.kind) in _COVERS
        ) for other in causes)
        if score <= best + ALSO and not said and len(causes) <= MOST_OTHERS:
            causes.append(cause)
    return tuple(causes), f"Likeliest: {causes[0].text}.{_possible(causes[1:])}"


def diagnose_pattern(
    evidence: Evidence, payloads: list[PayloadEstimate], gravity_at: Callable[[Array], Array] | None
) -> Diagnosis:
    """Name what could be wrong where no joint alone disagrees, but one of `payloads` explains the pattern of all."""
    best = min(payloads, key=lambda found: evidence.misfit(found.residual))
    own = Cause("payload", best.residual, 0.0, payload_text(evidence, best))
    all_causes, _ = diagnose(evidence, gravity_at)
    others = [cause for cause in all_causes if cause.kind != "payload"]
    causes = tuple(own if cause.kind == "payload" else cause for cause in all_causes)
    return causes if len(others) < len(causes) else (own, *causes), f"{own.text}.{_possible(others)}"


def _possible(others: list[Cause]) -> str:
    """Causes that a posture does not distinguish from the likeliest one."""
    return f" This posture does not rule out: {'; or '.join(cause.text for cause in others)}." if others else ""


def worst_joints(evidence: Evidence) -> str:
    """The joints that differ most, reported and modelled."""
    residual = np.abs(evidence.residual)
    worst = sorted(np.flatnonzero(evidence.beyond(residual)).tolist(), key=lambda j: -residual[j] / evidence.allowed[j])
    said = [
        f"joint {evidence.joints[j]!r} reports {evidence.effort[j]:.3g} {evidence.units[j]}, the model has "
        f"{evidence.load.torque[j]:.3g} {evidence.units[j]} (allowed difference {evidence.allowed[j]:.3g} "
        f"{evidence.units[j]})"
        for j in worst[:MOST_JOINTS]
    ]
    more = f"; and {len(worst) - MOST_JOINTS} more" if len(worst) > MOST_JOINTS else ""
    return "; ".join(said) + more


def _unexplained(evidence: Evidence) -> str:
    loaded = evidence.seen & (np.abs(evidence.load.torque) > evidence.allowed)
    ratios = evidence.effort[loaded] / evidence.load.torque[loaded]
    if len(ratios) > 1 and (ratios > 0.0).all():
        return (
            "No single cause explains it. All signs are right and the factors differ from joint to joint "
            f"({ratios.min():.3g} to {ratios.max():.3g}): motor currents rather than torques, or another arm's model?"
        )
    return (
        "No single sign, scale, payload, tilt or exchange of two joints explains it: look for several of them at once, "
        "for joint zeros that are off, for cables and supports, and for another arm's model."
    )


def not_seen(evidence: Evidence) -> str:
    """Joints that the check could not test, in brackets."""
    light = ", ".join(compress(evidence.joints, evidence.seen & (np.abs(evidence.load.torque) <= evidence.allowed)))
    missing = ", ".join(compress(evidence.joints, ~evidence.seen))
    notes = [f"gravity on {light} is within the tolerance here: their sign and scale were not tested"] if light else []
    notes += [f"no effort reported by {missing}"] if missing else []
    notes += [
        f"unknown payload at link {found.flange.link!r}: {found.weight_text}"
        if abs(found.mass) + found.plus_minus < HEAVIEST
        else f"a payload at link {found.flange.link!r} would not be seen in this posture"
        for found in evidence.estimates
        if not found.significant
    ]
    return "".join(f" ({note})" for note in notes)


@dataclass(frozen=True, eq=False)
class LoadVerdict:
    """Result of the check. Motion is allowed if `agrees`; it is known to be safe only if `checked` too."""

    #: Nothing contradicts the model. True as well where no effort is reported; False where the arm did not keep still.
    agrees: bool
    #: Every joint reported its effort and kept still.
    checked: bool
    #: One to three sentences: which joints, what explains them, what to do.
    text: str
    #: What explains a disagreement, likeliest first.
    causes: tuple[Cause, ...] = ()


#: Movement from where the check began that starts it anew, rad or m. A hand exceeds it at once; an arm that nearly
#: floats may drift less, which changes gravity by less than tolerances are.
STILL = 0.05
#: Starts after which the check gives up.
MOST_STARTS = 10
#: Time after `duration` for which a loaded arm whose drives report exactly 0 is given to begin to act, s: brakes open,
#: or an effort gate begins to pass commands.
FIRST_EFFORT = 3.0
#: States without which a mean is not believed, and the share of them that must hold an effort.
LEAST_STATES, LEAST_SHARE = 5, 0.5
#: Share of what is allowed that counts as noise when causes are compared.
NOISE = 0.15

# rows of the record: position at the start, sum of positions, how many efforts that are not zero
_START, _POSITIONS, _NOT_ZERO, _ROWS = range(4)


@rare_kernel
def gather_kernel(record: Array, blocks: Array, block: int, q: Array, effort: Array, still: float) -> int:
    """Add a state to `record` (3, n), its efforts to a block of sums and counts (2, blocks, n); which moved, or −1."""
    for j in range(q.shape[0]):
        if not abs(q[j] - record[_START, j]) <= still:
            return j
    for j in range(q.shape[0]):
        record[_POSITIONS, j] += q[j]
        if np.isfinite(effort[j]):
            blocks[0, block, j] += effort[j]
            blocks[1, block, j] += 1.0
            if effort[j] != 0.0:
                record[_NOT_ZERO, j] += 1.0
    return -1


class LoadCheck:
    """Holds still for `duration`, s, and judges the mean effort from the first one on that is not exactly 0.

    Where gravity loads the arm and all efforts are 0, that is awaited for `FIRST_EFFORT` more. An arm that compensates
    gravity may report with it or without: either agrees.
    """

    def __init__(
        self,
        robot: RigidRobot,
        tolerance: ArrayLike,
        duration: float = 1.0,
        compensated: frozenset[str] = frozenset(),
        posture: Array | None = None,
        payload: PayloadTest = PayloadTest(),  # noqa: B008  # frozen
    ) -> None:
        every_joint_driven(robot, "the start-up check")
        self._tolerance = frozen_vector(tolerance, robot.n, "startup_check.tolerance", names=robot.joint_names)
        if not (self._tolerance > 0.0).all():
            j = int(np.argmin(self._tolerance > 0.0))
            raise ControlError(
                f"startup_check.tolerance of joint {robot.joint_names[j]!r} is {self._tolerance[j]}; it must be above 0"
            )
        check_number(duration, "startup_check.duration", unit=" s")
        self._robot, self._duration, self._compensated = robot, round(duration * 1e9), compensated
        self._posture = None if posture is None else np.array(posture)
        self._friction = joint_friction(robot).static
        self._payload = payload
        self._record, self._blocks = np.zeros((_ROWS, robot.n)), np.zeros((2, BLOCKS, robot.n))
        self._states, self._starts, self._began, self._last = 0, 0, 0, 0
        self._moved, self._way = -1, 0.0
        self._acting = False
        self.finished = False

    def warm_up(self) -> None:
        """Run everything once, so that neither the first state nor the verdict compiles anything."""
        trial = LoadCheck(
            self._robot, self._tolerance, self._duration * 1e-9, self._compensated, self._posture, self._payload
        )
        q, strange = np.array(self._robot.neutral), np.full(self._robot.n, 1e6)
        for k in range(LEAST_STATES + 1):
            trial.add(self._duration * k // LEAST_STATES, q, np.zeros(self._robot.n), strange)
        trial.verdict()

    def add(self, stamp: int, q: Array, qd: Array, effort: Array) -> None:
        """Take a state, (n,) each, NaN for no effort, while the arm is held; stillness is judged by positions."""
        if self.finished:
            return
        begun, self._last = self._starts > 0 and stamp >= self._last, stamp
        if not begun:
            self._restart(stamp, q)
            return
        block = min((stamp - self._began) * BLOCKS // self._duration, BLOCKS - 1)
        moved = gather_kernel(self._record, self._blocks, block, q, effort, STILL)
        if moved >= 0:
            self._moved, self._way = moved, float(q[moved] - self._record[_START, moved])
            self._restart(stamp, q)
            self.finished = self._starts > MOST_STARTS
            return
        self._states += 1
        if not self._acting and self._record[_NOT_ZERO].any():
            self._acting = True
            if self._states > 1:  # zeros of drives that did not act yet are no efforts of theirs
                self._begin(stamp, q)
                return
        over = stamp - self._began - self._duration
        if over >= 0 and self._states >= LEAST_STATES:
            self.finished = over >= FIRST_EFFORT * 1e9 or not self._effort_expected(q)

    def _effort_expected(self, q: Array) -> bool:
        """Whether only zeros were reported although holding the arm at q takes efforts that the check would see."""
        if self._acting or not self._blocks[1].any():
            return False
        gravity = gravity_load(self._robot, q, self._posture).torque
        return bool((np.abs(gravity) > self._tolerance + self._friction).any())

    def _restart(self, stamp: int, q: Array) -> None:
        """Begin anew at q, because the arm moved."""
        self._begin(stamp, q)
        self._starts += 1

    def _begin(self, stamp: int, q: Array) -> None:
        """Begin at q; the effort there does not count, it may still belong to a movement."""
        self._record[:] = self._blocks[:] = 0.0
        self._record[_START] = q
        self._states, self._began = 0, stamp

    def verdict(self) -> LoadVerdict:
        """Result of a finished check; errors of `gravity_load` where loops do not close."""
        if not self.finished:
            raise ControlError("the start-up check is not finished; hand in states until it is")
        if self._starts > MOST_STARTS:
            name = self._robot.joint_names[self._moved]
            return LoadVerdict(
                False, False,
                f"the arm did not keep still: {MOST_STARTS} times a joint moved more than {STILL} rad or m within "
                f"{self._duration * 1e-9:g} s, at last {name!r} by {self._way:.3g}. Take the hands off; where it moves "
                "by itself, efforts and model do not agree (sign, order or unit of the commands, payload)",
            )  # fmt: skip
        sums, counts = self._blocks.sum(axis=1)
        seen = counts >= LEAST_SHARE * self._states
        if not self._record[_NOT_ZERO].any():
            seen[:] = False  # a driver that measures nothing writes zeros
        if not seen.any():
            return LoadVerdict(True, False, "not checked: the arm reports no efforts (none, or all exactly 0)")
        effort = np.divide(sums, counts, np.full(len(seen), np.nan), where=seen)
        q = np.array(self._record[_POSITIONS] / self._states)
        allowed = self._tolerance + self._friction
        evidence = Evidence(
            self._robot.joint_names, effort_units(self._robot), q, effort, seen,
            gravity_load(self._robot, q, self._posture), allowed,
            NOISE * self._tolerance + self._friction, "gravity" in self._compensated,
        )  # fmt: skip
        return self._judge(evidence)

    def _judge(self, evidence: Evidence) -> LoadVerdict:
        """The verdict on complete evidence."""
        without, checked = "", bool(evidence.seen.all())
        if evidence.compensated:
            # without gravity: what is reported is what the arm's load differs from that of the driver's own model
            rest = replace(evidence, effort=evidence.effort + evidence.load.torque)
            ratio = [np.max(np.abs(x.residual) / x.allowed) for x in (evidence, rest)]
            if ratio[1] < ratio[0]:
                evidence, without = rest, ", which it reports without the gravity it compensates itself"
        evidence, unsure = self._with_estimates(evidence)
        notes = not_seen(evidence)
        agree = not evidence.beyond(evidence.residual).any()
        loads = [estimate for estimate in evidence.estimates if estimate.significant]
        robot, still = self._robot, np.zeros(self._robot.n)
        gravity_at: Callable[[Array], Array] | None = (
            None if robot.loops else lambda q: holding_terms(robot, q, still)[0]
        )
        if agree and not loads:
            return LoadVerdict(True, checked, f"the arm's efforts{without} agree with the model's gravity{notes}")
        if agree:
            causes, why = diagnose_pattern(replace(evidence, allowed=unsure.reach), loads, gravity_at)
            text = (
                f"the arm's efforts{without} are within startup_check.tolerance of the model's gravity, but differ "
                f"from it as a payload's would: {why}{notes}"
            )
        else:
            causes, why = diagnose(evidence, gravity_at)
            text = (
                f"the arm's efforts{without} do not agree with the model's gravity: {worst_joints(evidence)}. "
                f"{why}{notes}"
            )
        return LoadVerdict(False, checked, text, causes)

    def _with_estimates(self, evidence: Evidence) -> tuple[Evidence, Doubt]:
        """The evidence with the payloads that explain it, and what could be there without one."""
        noise = noise_of_mean(self._blocks[0], self._blocks[1], evidence.seen)
        if noise is None:  # so few states that their scatter says nothing
            noise = np.diag(np.square(evidence.noise))
        test, tolerance = self._payload, self._tolerance
        bodies = test.model_error * evidence.load.bodies
        unsure = Doubt(
            noise + bodies @ bodies.T + np.diag(np.square(FLOOR * tolerance)),
            friction_bound(self._robot, test.friction, tolerance),
        )
        estimates = tuple(
            estimate_payload(flange, evidence.residual, evidence.seen, unsure, test.payload)
            for flange in evidence.load.flanges
        )
        return replace(evidence, estimates=estimates), unsure
