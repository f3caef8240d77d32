"""The linear model of measured efforts, and what fits need of a recording: a triangle for each joint and block of it.

Effort of joint j = regressor of the links · their parameters + rotor · q̈_j + offset + viscous q̇_j
+ Coulomb s(q̇_j / threshold) + Stribeck s(q̇_j / threshold) exp(−(q̇_j / (`STRIBECK` threshold))²), with the smooth
sign s of `rne_dynamics.model.friction`. Thresholds enter nonlinearly: all of a grid have their columns.

Columns and efforts pass the same zero-phase low pass before they are decimated: whatever a filter does to one it does
to the other, so that it leaves no bias.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from rne_dynamics.dynamics import friction
from rne_dynamics.dynamics.derivatives.regressor import inertial_parameters, regressor
from rne_dynamics.dynamics.friction import OWN, joint_parameters
from rne_dynamics.errors import ArgumentError
from rne_dynamics.identification.motion import LowPass, Motion
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: Parameters of a link: mass, first moments, inertia about the origin of the body's frame.
LINK = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
#: Speeds below which Coulomb friction grows, rad/s or m/s: what a fit chooses from.
THRESHOLDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
#: Speed at which the excess of friction at low speed has faded, over the threshold.
STRIBECK = 3.0
#: Blocks of a recording that are left out in turn; more where one would have too many samples for the memory.
BLOCKS, _SAMPLES = 6, 40_000
#: Speed below which a joint's rows count less, rad/s or m/s, and the least factor: a joint at rest has any friction.
_SLOW, _LEAST = 0.05, 0.2
#: Part of the largest pivot below which a column depends on others.
TOLERANCE = 1e-5
#: Random states that the structure of a robot is found from.
_STATES = 200


class Friction(NamedTuple):
    """The form of one joint's friction in a fit."""

    #: One of `THRESHOLDS`.
    threshold: float
    #: Whether friction is larger at low speed.
    stribeck: bool = False


#: The forms that a fit chooses from, and the one that is taken unless another one predicts much better: one recording
#: often has few speeds.
FORMS = tuple(Friction(*form) for form in product(THRESHOLDS, (False, True)))
USUAL = Friction(0.05)


def own_places(form: Friction) -> list[int]:
    """Those of a joint's `OWN` among its columns."""
    place = 3 + 2 * THRESHOLDS.index(form.threshold)
    return [0, 1, 2, place, place + 1]


@dataclass(frozen=True, eq=False)
class Layout:
    """The parameters of a fit: those of the bodies, then of every joint its `OWN`."""

    robot: RobotModel
    #: Whether efforts are measured on the motor's side of the gears, where rotors are felt.
    rotors: bool
    #: The link of a payload, which is one body more, in motions that are loaded.
    payload: str | None = None

    def __post_init__(self) -> None:
        if self.payload is not None and self.robot.link(self.payload).body < 0:
            raise ArgumentError(f"link {self.payload!r} does not move, so its load cannot be found; name another link")

    @property
    def links(self) -> int:
        """Number of parameters of the bodies."""
        return len(LINK) * (self.robot.bodies + (self.payload is not None))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters."""
        bodies = [*self.robot.body_names, "payload"][: self.links // len(LINK)]
        owners = [(bodies, LINK), (self.robot.joint_names, OWN)]
        return tuple(f"{name}.{part}" for names, parts in owners for name in names for part in parts)

    @property
    def given(self) -> Array:
        """The robot's parameters; NaN for the payload."""
        unknown = [np.full(len(LINK), np.nan)] * (self.payload is not None)
        return np.concatenate((inertial_parameters(self.robot), *unknown, joint_parameters(self.robot).ravel()))

    def used(self, forms: Iterable[Friction]) -> NDArray[np.bool_]:
        """Which parameters a fit with these forms of friction has."""
        own = [[self.rotors, True, True, True, form.stribeck] for form in forms]
        return np.concatenate((np.ones(self.links, np.bool_), np.ravel(own)))

    def rows(self, q: Array, qd: Array, qdd: Array, effort: Array, *, loaded: bool) -> Array:
        """[bodies, rotor, offset, viscous, for each threshold Coulomb and Stribeck, effort]; (n, samples, columns)."""
        links = regressor(self.robot, q, qd, qdd)
        own = [friction.own_columns(qd, qdd, v, STRIBECK * v) for v in THRESHOLDS]
        parts = [links, own[0][..., :3], *(columns[..., 3:] for columns in own), effort[..., None]]
        if self.payload is not None:
            place = len(LINK) * self.robot.links[self.payload].body
            parts.insert(1, float(loaded) * links[..., place : place + len(LINK)])
        return np.asarray(np.concatenate(parts, axis=-1).swapaxes(0, 1))


@dataclass(frozen=True, eq=False)
class Triangles:
    """Upper triangles R of `Layout.rows`, of every joint and block."""

    layout: Layout
    #: Of each block, shape (n, rows, columns).
    blocks: tuple[Array, ...]
    #: Number of rows of each block.
    counts: tuple[int, ...]
    #: Variance of a mean of the rows over that of as many independent ones: the low pass makes neighbours alike.
    alike: float = 1.0

    @cached_property
    def whole(self) -> Array:
        """Of every joint, the triangle of all blocks."""
        return triangle(np.concatenate(self.blocks, axis=1))

    @property
    def effort(self) -> Array:
        """Root mean square of every joint's effort."""
        return np.asarray(np.linalg.norm(self.whole[..., -1], axis=1) / np.sqrt(sum(self.counts)))

    def __add__(self, other: Triangles) -> Triangles:
        """Those of two recordings."""
        alike = max(self.alike, other.alike)
        return Triangles(self.layout, self.blocks + other.blocks, self.counts + other.counts, alike)

    def with_gains(self, gains: Array) -> Triangles:
        """Those of efforts, from those of currents."""
        return replace(self, blocks=tuple(np.dstack((R[..., :-1], gains[:, None] * R[..., -1])) for R in self.blocks))

    def system(self, R: Array, forms: Sequence[Friction], factors: Array | float = 1.0) -> Array:
        """Rows [all parameters, effort] of every joint's triangle, times a factor of each; (n, rows, size + 1)."""
        n, links, R = len(forms), R[..., : self.layout.links], R[..., self.layout.links :]
        own = np.stack([rows[:, own_places(form)] for rows, form in zip(R, forms, strict=True)])
        spread = (own[:, :, None] * np.eye(n)[:, None, :, None]).reshape(*own.shape[:2], -1)
        found = np.dstack((np.dstack((links, spread)) * self.layout.used(forms), R[..., -1]))
        return np.asarray(found * np.broadcast_to(factors, n)[:, None, None])

    def squares(self, x: Array, forms: Sequence[Friction]) -> Array:
        """Mean square of the residuals of every joint for the parameters of a fit; shape (n,)."""
        residuals = self.system(self.whole, forms) @ np.r_[x, -1.0]
        return np.asarray((residuals**2).sum(axis=1) / sum(self.counts))


def triangle(rows: Array) -> Array:
    """The upper triangle R of rows, with the same products of columns."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


def triangles_of(layout: Layout, motion: Motion) -> Triangles:
    """Filter, decimate and triangularise a motion; `RecordingError` if it is too short."""
    low = LowPass(motion, least=2 * BLOCKS)
    weights = np.clip(np.abs(low(motion.qd)) / _SLOW, _LEAST, 1.0)
    weights /= np.sqrt((weights**2).mean(axis=0))
    edges = np.linspace(0, len(weights), max(BLOCKS, len(motion.q) // _SAMPLES) + 1).astype(int)
    blocks = []
    for a, b in pairwise(edges.tolist()):  # columns of a long log at 1 kHz would take gigabytes
        part = low.samples(a, b)
        rows = layout.rows(motion.q[part], motion.qd[part], motion.qdd[part], motion.effort[part],
                           loaded=motion.loaded)  # fmt: skip
        filtered = np.zeros((rows.shape[0], b - a, rows.shape[2]))
        for own, values in zip(filtered, rows, strict=True):
            used = values.any(axis=0)
            own[:, used] = low(values[:, used])
        blocks.append(triangle(filtered * weights[a:b].T[..., None]))
    return Triangles(layout, tuple(blocks), tuple(np.diff(edges).tolist()), low.alike)


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Combinations: base = `combinations` · parameters, with columns[:, kept] · base = columns · parameters."""

    #: Of the parameters that stand for them.
    kept: NDArray[np.int64]
    #: Shape (base, parameters).
    combinations: Array
    #: Of the kept columns scaled to equal length.
    condition: float


def base_parameters(columns: Array) -> BaseParameters:
    """The base parameters of columns, shape (rows, parameters), by QR with pivoting; of their triangle just as well.

    Columns are scaled to equal length first. Those whose pivot is below `TOLERANCE` of the largest depend on others.
    """
    length = np.linalg.norm(columns, axis=0)
    scale = np.where(length > 1e-9 * length.max(initial=0.0), length, np.inf)
    R, order = qr(columns / scale, mode="r", pivoting=True)
    pivots = np.abs(np.diag(R))
    rank = int((pivots > TOLERANCE * pivots[:1]).sum())
    kept, others = order[:rank], order[rank:]
    combinations = np.zeros((rank, columns.shape[1]))
    combinations[np.arange(rank), kept] = 1.0
    known = np.where(np.isfinite(scale[others]), scale[others], 0.0)
    combinations[:, others] = solve_triangular(R[:rank, :rank], R[:rank, rank:]) * known / scale[kept][:, None]
    return BaseParameters(kept, combinations, float(np.linalg.cond(R[:rank, :rank])) if rank else np.inf)


def structure(robot: RobotModel, *, rotors: bool = False, joints: bool = False) -> BaseParameters:
    """The base parameters of links, with rotors, offsets, viscous, Coulomb friction of `joints`, at random states."""
    q, qd, qdd = np.random.default_rng(0).uniform(-2.0, 2.0, (3, _STATES, robot.n))
    columns = motion_columns(robot, q, qd, qdd, rotors=rotors, joints=joints)
    return base_parameters(columns.reshape(_STATES * robot.n, -1))


def motion_columns(
    robot: RobotModel, q: Array, qd: Array, qdd: Array, *, rotors: bool = True, joints: bool = True
) -> Array:
    """Columns of links and of each joint's `OWN`, with the usual form of friction; (samples, n, 10·bodies + 5 n)."""
    own = friction.own_columns(qd, qdd, USUAL.threshold, 0.0) * [rotors, joints, joints, joints, False]
    spread = own[:, :, None] * np.eye(robot.n)[..., None]
    return np.concatenate((regressor(robot, q, qd, qdd), spread.reshape(*q.shape, -1)), axis=2)
