"""A payload from efforts of an arm at rest in several postures, and postures that show it.

At rest the difference r of the efforts with and without payload is linear in its mass m and first moment h = m c about
the link's origin, in the link's axes: r = A(q) (m, h) + noise + friction + model error, A from the regressor. Postures
approached from both sides, or passed slowly in both directions, have friction once with either sign: it cancels in the
mean. A tare, the same postures without payload, cancels the model's error and offsets of the sensors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.control.parameters import check_number
from rne_dynamics.dynamics.declared.arguments import check_open_arm, state_arrays
from rne_dynamics.dynamics.derivatives.regressor import PARAMETERS, regressor
from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque
from rne_dynamics.errors import ArgumentError, refuse
from rne_dynamics.model.bodies import LinkFrame
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import Payload

#: Deviation of a direction of the mass centre, over that of the best one, from which on postures do not show it.
UNSEEN = 1e4
#: Noise of a mean effort over the effort and over its limit, for weights and where none is given.
RELATIVE = (0.01, 0.002)
#: Postures that `payload_postures` chooses from, and part of a joint's range that it keeps from the limits.
TRIALS, LIMIT_MARGIN = 400, 0.05


class FoundPayload(NamedTuple):
    """A payload as efforts show it."""

    #: For `with_payload`: mass and mass centre; its inertia, which no effort at rest shows, is that of a point.
    payload: Payload
    #: One standard deviation of the mass, kg, and of the mass centre along the link's axes, m, (3,).
    mass_deviation: float
    com_deviation: Array
    #: Covariance of mass and first moment, (4, 4).
    covariance: Array
    #: Efforts that the payload does not explain, N·m or N; shape (postures, n).
    residual: Array


def estimate_payload(
    robot: RobotModel, link: str, q: ArrayLike, efforts: ArrayLike, *, tare: ArrayLike | None = None
) -> FoundPayload:
    """The payload at a link that explains efforts of the arm at rest.

    Parameters
    ----------
    robot
        The model, without the payload.
    link
        What carries it.
    q
        Postures, rad or m; shape (P, n).
    efforts
        Mean efforts there, N·m or N, with the sign of `inverse_dynamics`; shape (P, n), or (k, P, n) for k approaches
        of each posture, of which the mean counts: two, from both sides, so that friction cancels.
    tare
        The same without payload; by default the model's gravity takes its place.

    Returns
    -------
    FoundPayload
        Mass, mass centre and their standard deviations. The mass centre is 0 where the mass is not beyond twice its
        deviation.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, a link on the base, postures that do not show the mass or the centre.
    ModelError
        No such link; a mechanism with loops, or an arm with flexible links.

    Notes
    -----
    Weighted least squares: the noise of each mean effort is a part of it and of its limit (`RELATIVE`), or more where
    more remains unexplained.
    """
    A = payload_columns(robot, link, q)
    count, n = len(A), robot.n
    measured = _mean(robot, q, efforts, "efforts", count)
    before = gravity_torque(robot, np.reshape(q, (count, robot.nq))) if tare is None else _mean(
        robot, q, tare, "tare", count
    )  # fmt: skip
    size = np.sqrt(_variance(robot, measured) + (0.0 if tare is None else _variance(robot, before))).ravel()
    r, A = (measured - before).ravel(), A.reshape(count * n, 4)
    whole, weighed = A / size[:, None], r / size
    alike = np.array([1.0, 0.1, 0.1, 0.1])  # kg and kg·m
    seen = np.linalg.svd(whole * alike, compute_uv=False) if len(whole) >= 4 else np.zeros(4)
    if not seen[-1] * UNSEEN > seen[0]:
        raise ArgumentError(
            f"the postures do not show the mass and mass centre of a payload at {link!r} of {robot.name!r}: add some "
            "in which the link is turned about horizontal axes, as payload_postures gives them"
        )
    C = np.linalg.inv(whole.T @ whole)
    x = C @ whole.T @ weighed
    left = weighed - whole @ x
    C = C * max(float(left @ left) / max(len(r) - 4, 1), 1.0)  # how far above 1 it is says how large the noise was
    return _found(link, x, C, (r - A @ x).reshape(count, n))


def payload_postures(
    robot: RobotModel, link: str, q: ArrayLike, *, count: int = 5, span: float = 0.8, seed: int = 0
) -> Array:
    """Postures near one, itself the first, in which efforts at rest show mass and mass centre of a payload best.

    Each is the one that increases the determinant of the information most, of 400 random ones, with noise as by default
    in `estimate_payload`. Nothing is known of obstacles: look at them (`rne view`) before the arm moves.

    Parameters
    ----------
    robot, link
        As for `estimate_payload`; so are the errors.
    q
        Where the arm is, rad or m; shape (n,).
    count
        How many, at least 2.
    span
        Largest distance of a joint from `q`, rad or m.
    seed
        Of the random postures.

    Returns
    -------
    ndarray
        Shape (count, n).
    """
    if count < 2:
        raise ArgumentError(f"count is {count}; give 2 at least: one posture does not show the mass centre")
    check_number(span, "span")
    _frame(robot, link)
    _, (start,) = state_arrays(robot, q=q)
    play = np.where(np.isfinite(robot.upper - robot.lower), LIMIT_MARGIN * (robot.upper - robot.lower), 0.0)
    near = start + np.random.default_rng(seed).uniform(-span, span, (TRIALS, robot.n))
    tried = np.concatenate((start, np.clip(near, robot.lower + play, robot.upper - play)))
    whitened = payload_columns(robot, link, tried) / np.sqrt(_variance(robot, gravity_torque(robot, tried)))[..., None]
    information = np.einsum("kja,kjb->kab", whitened, whitened)
    chosen, sum_of = [0], information[0] + 1e-9 * np.trace(information[0]) * np.eye(4)
    while len(chosen) < count:
        best = int(np.argmax(np.linalg.slogdet(sum_of + information)[1]))
        chosen, sum_of = [*chosen, best], sum_of + information[best]
        information[best] = 0.0
    return np.asarray(tried[chosen])


def _frame(robot: RobotModel, link: str) -> LinkFrame:
    """Where the link is in its body; see the errors of `estimate_payload`."""
    check_open_arm(robot)
    frame = robot.link(link)
    refuse(
        ArgumentError,
        (robot.base != "fixed" or robot.nq != robot.n,
         f"robot {robot.name!r} has a floating base or joint; efforts at rest do not hold it"),
        (frame.body < 0, f"link {link!r} is fixed to the base; name one that the joints move"),
    )  # fmt: skip
    return frame


def payload_columns(robot: RobotModel, link: str, q: ArrayLike) -> Array:
    """A of each posture, (P, n, 4): effort per kg at the link's origin, per kg·m along each of its axes."""
    frame = _frame(robot, link)
    _, (places,) = state_arrays(robot, q=q)
    still = np.zeros((len(places), robot.n))
    weights = regressor(robot, places, still, still).reshape(len(places), robot.n, robot.bodies, PARAMETERS)[..., :4]
    A = weights[:, :, frame.body].copy()
    A[..., 0] += A[..., 1:] @ frame.position
    A[..., 1:] = A[..., 1:] @ frame.rotation
    return np.asarray(A)


def _mean(robot: RobotModel, q: ArrayLike, efforts: ArrayLike, name: str, count: int) -> Array:
    """Mean of the approaches of each posture; (P, n)."""
    _, (_, given) = state_arrays(robot, q=q, **{name: efforts})
    if len(given) % count or np.size(efforts) != given.size:
        raise ArgumentError(f"{name} has shape {np.shape(efforts)}; it must be ({count}, {robot.n}), as q, or several")
    return np.asarray(given.reshape(-1, count, robot.n).mean(axis=0))


def _variance(robot: RobotModel, efforts: Array) -> Array:
    """Size of the noise of mean efforts, (P, n), squared; a limit that is not known counts as 100 N·m or N."""
    limit = np.where(np.isfinite(robot.effort_limit) & (robot.effort_limit > 0.0), robot.effort_limit, 100.0)
    return np.asarray((RELATIVE[0] * efforts) ** 2 + (RELATIVE[1] * limit) ** 2)


def _found(link: str, x: Array, C: Array, residual: Array) -> FoundPayload:
    mass, spread = float(x[0]), float(np.sqrt(C[0, 0]))
    if not mass > 2.0 * spread:
        return FoundPayload(Payload(link, max(mass, 0.0)), spread, np.full(3, np.inf), C, residual)
    com = x[1:] / mass
    G = np.column_stack((-com, np.eye(3))) / mass
    payload = Payload(link, mass, tuple(com.tolist()))
    return FoundPayload(payload, spread, np.sqrt(np.diag(G @ C @ G.T)), C, residual)
