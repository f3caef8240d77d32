"""Reported efforts less the model's gravity, and the payload that they show, with its uncertainty.

In one posture the difference r of the n efforts is linear in a payload's mass m and first moment h = m c about the
link's origin: r = A (m, h) + noise + model error + friction, A as in `Flange`. The estimate K r is the least-squares
one with weak priors (`PRIOR_MASS`, `PRIOR_MOMENT`), which decide only what the posture does not show: h along gravity,
and m where the link's origin lies above or below every axis.

An arm without unknown payload gives an estimate too. How large it can be there is the `doubt`: `SIGMAS` standard
deviations of noise and model error, plus the worst that friction within its bound can do (static friction has any value
in it, and not a random one: an arm that sags rubs upwards at every joint).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.model_terms import holding_terms, open_terms
from rne_dynamics.control.parameters import check_parameters, parameter
from rne_dynamics.control.static_payload import payload_columns
from rne_dynamics.dynamics.derivatives.regressor import PARAMETERS, regressor
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import MASS, MOMENT, PARENT
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel, is_length


class Flange(NamedTuple):
    """A link that could carry a payload the model does not know."""

    #: Its name.
    link: str
    #: What the model's body weighs there, kg: the most that can be missing.
    mass: float
    #: Effort per kg at the link's origin, and per kg·m of first moment along each of the link's axes; shape (n, 4).
    columns: Array


@dataclass(frozen=True, eq=False)
class GravityLoad:
    """Gravity torques of one posture."""

    #: g(q), N·m or N; shape (n,).
    torque: Array
    #: The model's gravity in base axes, m/s²; shape (3,).
    gravity: Array
    #: g(q) = `field` · gravity, shape (n, 3); None for a mechanism with closed loops.
    field: Array | None
    #: Where a payload may hang; empty for a mechanism.
    flanges: tuple[Flange, ...]
    #: The part of each body in `torque`; shape (n, bodies), (n, 0) for a mechanism.
    bodies: Array


def gravity_load(robot: RigidRobot, q: Array, posture: Array | None = None) -> GravityLoad:
    """The gravity load at `q`, shape (n,); `posture` as for `holding_terms`, whose errors this raises."""
    torque = holding_terms(robot, q, np.zeros(robot.n), posture)[0]
    if robot.loops:
        return GravityLoad(torque, robot.gravity, None, (), np.zeros((robot.n, 0)))
    arm, still = robot.open_tree, np.zeros(robot.n)
    weights = regressor(arm, q, still, still).reshape(arm.n, arm.bodies, PARAMETERS)[:, :, :4]
    bodies = np.einsum("jbk,bk->jb", weights, arm.parameters[:, MASS : MOMENT + 3])
    flanges = tuple(_flange(arm, q, body) for body in end_bodies(arm))
    return GravityLoad(torque, arm.gravity, _field(arm, q), flanges, bodies)


def _field(robot: RobotModel, q: Array) -> Array:
    """Effort per unit of gravity along each axis of the base; shape (n, 3)."""
    still, bases = np.zeros(robot.n), np.zeros((3, 12))
    bases[:, 6:9] = -np.eye(3)
    return np.stack([open_terms(robot, base, q, still, still)[2] for base in bases], axis=1)


def _flange(robot: RobotModel, q: Array, body: int) -> Flange:
    link = outermost_link(robot, body)
    return Flange(link, float(robot.parameters[body, MASS]), payload_columns(robot, link, q)[0])


def end_bodies(robot: RobotModel) -> tuple[int, ...]:
    """Bodies at the ends of the arm; a body that carries nothing but fingers (ends itself) stands for them."""
    parents = robot.topology[:, PARENT].tolist()
    children = {body: [child for child, parent in enumerate(parents) if parent == body] for body in range(robot.bodies)}
    ends = {body for body in children if not children[body]}
    hands = {body for body, fingers in children.items() if len(fingers) > 1 and ends.issuperset(fingers)}
    return tuple(sorted(hands | {body for body in ends if parents[body] not in hands}))


def outermost_link(robot: RobotModel, body: int) -> str:
    """The link of a body that is furthest out before fixed links branch: where a tool is bolted on."""
    link = next(joint.child for joint in robot.tree.joints if joint.name == robot.body_names[body])
    while True:
        fixed = [j.child for j in robot.tree.joints if j.parent == link and robot.links[j.child].body == body]
        if len(fixed) != 1:
            return link
        link = fixed[0]


def effort_units(robot: RigidRobot) -> tuple[str, ...]:
    """``"N m"`` or ``"N"`` for each joint."""
    kinds = {joint.name: joint.kind.value for joint in robot.open_tree.tree.joints}
    return tuple("N" if is_length(name, kinds.get(name)) else "N m" for name in robot.joint_names)


# -- payload estimate from reported efforts minus the model's gravity, with its uncertainty ----------------------------


#: Standard deviations of noise and model error that say nothing.
SIGMAS = 3.0
#: Payload expected where the posture shows nothing, one standard deviation: kg and kg·m.
PRIOR_MASS, PRIOR_MOMENT = 20.0, 0.5
#: Largest distance of a payload's mass centre from the link's origin that is believed, m.
FARTHEST_MASS = 0.5
#: Share of the misfit that a payload has to explain to be one.
EXPLAINED = 0.5
#: Blocks that the time of the check is split into, and those without which its noise is not known.
BLOCKS, LEAST_BLOCKS = 16, 5
#: An uncertainty, as a fraction of the difference allowed, that is there at least: keeps matrices regular.
FLOOR = 1e-6


@dataclass(frozen=True)
class PayloadTest:
    """Payload that refuses motion, and the friction and model error that the test assumes."""

    #: A first moment is refused from this mass at `FARTHEST_MASS` on.
    payload: float = parameter(
        0.2, "Unknown payload from which on motion is refused, if the reported efforts show it clearly; 0 for no such "
        "test.", "kg", lower=0.0, upper=1000.0,
    )
    friction: float = parameter(
        0.01, "Static friction, besides the description's, that this test assumes, as a fraction of each joint's "
        "effort limit.", lower=0.0, upper=1.0,
    )
    model_error: float = parameter(
        0.05, "Standard deviation of each body's weight that this test assumes, as a fraction.", lower=0.0, upper=1.0,
    )

    def __post_init__(self) -> None:
        check_parameters(self, "startup_check.")


class Doubt(NamedTuple):
    """Range of the difference on an arm without unknown payload."""

    #: Of the mean's noise and of the model's error; shape (n, n).
    covariance: Array
    #: Largest static friction; shape (n,).
    friction: Array

    @property
    def reach(self) -> Array:
        """Largest difference of each joint by itself, N·m or N; shape (n,)."""
        return np.asarray(SIGMAS * np.sqrt(np.diag(self.covariance)) + self.friction)


class PayloadEstimate(NamedTuple):
    """A payload at one link, as the efforts show it."""

    #: The link.
    flange: Flange
    #: kg; and kg·m about the link's origin, in the link's axes, across gravity only; shape (3,).
    mass: float
    moment: Array
    #: Uncertainty of the mass, kg: large where the posture does not show it.
    plus_minus: float
    #: Difference of efforts that it leaves, 0 where nothing was reported; shape (n,).
    residual: Array
    #: Whether mass or first moment is more than an arm without unknown payload can show: there is one that the model
    #: does not know, or one too many in the model.
    significant: bool

    @property
    def weight_text(self) -> str:
        """Mass and uncertainty with as many digits as the latter has, at most two of them."""
        digits = max(0, 1 - math.floor(math.log10(self.plus_minus))) if self.plus_minus > 0.0 else 3
        return f"{round(self.mass, digits) + 0.0:.{digits}f} ± {self.plus_minus:.{digits}f} kg"


def friction_bound(robot: RigidRobot, share: float, otherwise: Array) -> Array:
    """Largest static friction, (n,): the model's and `share` of the effort limit, or `otherwise` if there is none."""
    limit = robot.effort_limit
    known = np.isfinite(limit) & (limit > 0.0)
    rest = np.where(known, share * np.where(known, limit, 0.0), otherwise)
    return np.asarray(joint_friction(robot).static + rest)


def noise_of_mean(sums: Array, counts: Array, seen: NDArray[np.bool_]) -> Array | None:
    """Covariance of the mean effort, (n, n), from blocks' sums and counts, (blocks, n); None if too few."""
    # the scatter of the means of blocks, not of samples: neighbours in time are correlated, blocks are next to not
    places = np.flatnonzero(seen)
    whole = (counts[:, places] > 0.0).all(axis=1)
    blocks = int(np.count_nonzero(whole))
    if blocks < LEAST_BLOCKS:
        return None
    away = sums[np.ix_(whole, places)] / counts[np.ix_(whole, places)]
    away -= away.mean(axis=0)
    # the variance of Student's t compared with that of the normal distribution: few blocks know their own scatter badly
    student = (blocks - 1) / (blocks - 3)
    covariance = np.zeros((len(seen), len(seen)))
    covariance[np.ix_(places, places)] = student / (blocks * (blocks - 1)) * (away.T @ away)
    return covariance


def estimate_payload(
    flange: Flange, residual: Array, seen: NDArray[np.bool_], unsure: Doubt, least: float
) -> PayloadEstimate:
    """The payload at `flange` that explains best a `residual` of the efforts, (n,), 0 where not `seen`."""
    places = np.flatnonzero(seen)
    r, A = residual[places], flange.columns[places]
    C, friction = unsure.covariance[np.ix_(places, places)], unsure.friction[places]
    V = C + np.diag(friction**2 / 3.0)  # for weights alone friction counts as anywhere in its bound
    P = np.diag([PRIOR_MASS**2, PRIOR_MOMENT**2, PRIOR_MOMENT**2, PRIOR_MOMENT**2])
    K = np.linalg.solve(A @ P @ A.T + V, A @ P).T
    x = K @ r
    scatter = K @ C @ K.T
    unseen = np.eye(4) - K @ A
    mass_spread = float(scatter[0, 0] + (unseen @ P @ unseen.T)[0, 0])
    rubbing = float(np.abs(K[0]) @ friction)
    left = np.zeros(len(residual))
    left[places] = r - A @ x
    explains = left[places] @ np.linalg.solve(V, left[places]) <= (1.0 - EXPLAINED) * (r @ np.linalg.solve(V, r))
    size = float(np.linalg.norm(x[1:]))
    along = x[1:] / size if size > 0.0 else np.zeros(3)
    about = SIGMAS * math.sqrt(along @ scatter[1:, 1:] @ along) + float(np.abs(along @ K[1:]) @ friction)
    heavy = abs(x[0]) > max(least, SIGMAS * math.sqrt(scatter[0, 0]) + rubbing)
    shown = heavy or size > max(least * FARTHEST_MASS, about)
    return PayloadEstimate(
        flange, float(x[0]), x[1:], SIGMAS * math.sqrt(mass_spread) + rubbing, left,
        bool(explains and least > 0.0 and shown),
    )
