"""The frozen robot model that every algorithm, plant and controller takes; its display in terminals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.errors import ModelError, index_of, unknown_name
from rne_dynamics.model import layout
from rne_dynamics.model.bodies import Base, Bodies, LinkFrame, merged_bodies
from rne_dynamics.model.inertia import Array, Inertia, frozen_array, read_only
from rne_dynamics.model.tree import KinematicTree, Payload

#: Endings of those coordinates of planar and floating joints that are lengths.
_LENGTHS = ("/x", "/y", "/trans_x", "/trans_y", "/trans_z")


def is_length(coordinate: str, kind: str | None) -> bool:
    """Whether a coordinate, given with its joint's kind, is a length rather than an angle."""
    return kind == "prismatic" or coordinate.endswith(_LENGTHS)


class RobotTable:
    """`repr` of any `Robot` (model/protocol.py)."""

    def __repr__(self: Any) -> str:
        joints = counted(self.n, "joint")
        if self.base == "floating":
            joints = f"floating base, {counted(self.n - 6, 'joint')}"
        if self.loops:
            joints = f"{self.n} of {self.open_tree.n} joints actuated, {counted(len(self.loops), 'loop')}"
        links = counted(len(self.link_names), "link")
        if self.flexible_links:
            links += f" ({len(self.flexible_links)} flexible, {counted(self.modes, 'mode')})"
        return f"<{type(self).__name__} {self.name!r}: {joints}, {links}, {self.mass:.4g} kg>"


def counted(number: int, what: str) -> str:
    """A number of things, as ``2 joints``."""
    return f"{number} {what}{'s' * (number != 1)}"


@dataclass(frozen=True, eq=False, repr=False)
class RobotModel(Bodies, RobotTable):
    """A rigid robot ready for computation. Made by `load_urdf` or `assemble`; never changed afterwards.

    All joint vectors are in the order of `joint_names`. The model is frozen; `with_payload`, `with_lock`,
    `with_gravity` and `with_effort_limit` give new ones in about a millisecond and recompile nothing. What all kinds of
    robots have is in `Robot` (model/protocol.py).

    Parameters
    ----------
    name
        The robot's name.
    tree
        The description it came from.
    base
        ``"fixed"`` or ``"floating"``.
    gravity
        In world axes, m/s²; shape (3,).
    n, nq
        Number of velocity and of position coordinates; they differ by one for each floating joint.
    joint_names
        Names of the independent velocity coordinates; length n. A planar joint ``j`` gives ``j/x``, ``j/y``,
        ``j/theta``; a floating one ``j/trans_x … j/trans_z``, ``j/rot_x … j/rot_z``.
    body_names
        The joint that moves each body, dependent (mimic) ones included; length of `topology`.
    links
        Every link of the description by name.
    lower, upper, velocity_limit, effort_limit
        Limits in the order of `joint_names`, infinite where the description gives none; shape (n,).
    topology, parameters
        The arrays that `rne_dynamics.model.layout` describes.
    root_inertia
        Inertia of what is fixed to the base, in the root link's frame; empty for a floating base.
    specialised
        Whether the plain functions have machine code of this robot alone, compiled at the first call of each; see
        `with_own_code`.
    shares_code
        Whether they have machine code that models with other payloads share; see `with_shared_code`.
    own_code
        Functions and machine code for this model, by what they compute; `dynamics/` fills it.
    """

    name: str
    tree: KinematicTree
    base: Base
    gravity: Array
    specialised: bool = False
    shares_code: bool = False
    own_code: dict[Any, Any] = field(default_factory=dict, init=False)

    kind: ClassVar[Literal["arm"]] = "arm"
    posture: ClassVar[None] = None
    loops: ClassVar[tuple[()]] = ()
    flexible_links: ClassVar[tuple[()]] = ()
    mode_names: ClassVar[tuple[()]] = ()
    modes: ClassVar[int] = 0
    passive_names: ClassVar[tuple[()]] = ()

    @classmethod
    def of(cls, tree: KinematicTree, *, base: Base, gravity: ArrayLike) -> RobotModel:
        """The model of a tree; see `assemble`."""
        bodies = vars(merged_bodies(tree, base))
        return cls(**bodies, name=tree.name, tree=tree, base=base, gravity=frozen_array(gravity, (3,), "gravity"))

    def __reduce__(self) -> tuple[Any, ...]:
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        return _from_pickle, (type(self), {**given, "links": dict(self.links)})

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of all links, in the order of the description."""
        return tuple(self.links)

    @property
    def open_tree(self) -> RobotModel:
        """The robot itself: it has no loops to cut."""
        return self

    rigid = body_model = open_tree

    @property
    def nz(self) -> int:
        """Number of generalised coordinates, the same as `n`: nothing bends."""
        return self.n

    @cached_property
    def actuated(self) -> NDArray[np.int64]:
        """Places of the driven joints, all of them; shape (n,)."""
        return read_only(np.arange(self.n))

    @cached_property
    def passive(self) -> NDArray[np.int64]:
        """Places of the undriven joints; empty."""
        return read_only(np.arange(0))

    @property
    def bodies(self) -> int:
        """Number of moving bodies, dependent ones included."""
        return len(self.topology)

    @cached_property
    def has_mimic(self) -> bool:
        """Whether some joints are dependent coordinates."""
        return layout.has_mimic(self.topology)

    @cached_property
    def mass(self) -> float:
        """Total mass, the fixed base included, kg."""
        return float(self.parameters[:, layout.MASS].sum() + self.root_inertia.mass)

    @cached_property
    def neutral(self) -> Array:
        """The configuration with every joint at zero (unit quaternion for floating joints); shape (nq,)."""
        q = np.zeros(self.nq)
        floating = self.topology[:, layout.KIND] == layout.FLOATING
        q[self.topology[floating, layout.POSITION_INDEX] + 6] = 1.0
        return read_only(q)

    @cached_property
    def link_inertias(self) -> tuple[NDArray[np.int64], Array, Array, Array]:
        """Inertias by link, as `parameters` holds them by body: fixed links apart from the link they are bolted to.

        Returns
        -------
        tuple
            For every link, in the order of `link_names`: its body (−1 for the base), its mass (links,), m·c (links, 3)
            and inertia about the origin (links, 3, 3), both in the body's frame; for body −1 the root link's.
        """
        frames = [self.links[link.name] for link in self.tree.links]
        inertias = [
            (link.inertia or Inertia()).moved(frame.rotation, frame.position)
            for link, frame in zip(self.tree.links, frames, strict=True)
        ]
        return (
            np.array([frame.body for frame in frames], dtype=np.int64),
            np.array([x.mass for x in inertias]),
            np.array([x.first_moment for x in inertias]),
            np.array([x.about_origin for x in inertias]),
        )

    @property
    def base_at_rest(self) -> Array:
        """A new array (12,) for a base at rest: velocities zero, acceleration −gravity; see `BaseMotion.packed`."""
        motion = np.zeros(12)
        motion[6:9] = -self.gravity
        return motion

    def link(self, name: str) -> LinkFrame:
        """The link of that name.

        Raises
        ------
        ModelError
            No such link; the message lists the nearest names.
        """
        try:
            return self.links[name]
        except KeyError:
            raise unknown_name("link", name, self.links, f"robot {self.name!r}") from None

    @cached_property
    def _link_indices(self) -> Mapping[str, int]:
        return {name: k for k, name in enumerate(self.links)}

    def link_index(self, name: str) -> int:
        """Place of a link in `link_names`; `ModelError` with the nearest names if there is none."""
        self.link(name)
        return self._link_indices[name]

    def joint_index(self, name: str) -> int:
        """Place of a joint in every joint vector; `ModelError` with the nearest names if there is none."""
        return index_of(name, self.joint_names, "joint", f"robot {self.name!r}")

    def on_tree(self, robot: RobotModel) -> RobotModel:
        """The other model itself: an open robot is nothing besides its tree."""
        return robot

    def with_payload(self, payload: Payload | None) -> RobotModel:
        """The model with `payload` as part of its link, itself for `None`.

        Raises `ModelError` for an unknown link, and for one that no joint moves: a load there changes no effort.
        """
        if payload is None:
            return self
        if self.link(payload.link).body < 0:
            raise ModelError(
                f"no joint moves link {payload.link!r} of robot {self.name!r}, so that a payload there changes no "
                "effort; name the link that carries it"
            )
        made = RobotModel.of(self.tree.with_payload(payload), base=self.base, gravity=self.gravity)
        return made.with_shared_code() if self.shares_code else made

    def with_lock(self, lock: Mapping[str, float]) -> RobotModel:
        """The model with the named joints fixed at the given values, rad or m.

        Joints that mimic a locked one are fixed with it. Raises `ModelError` for unknown, dependent or fixed joints.
        """
        return RobotModel.of(self.tree.with_locked(lock), base=self.base, gravity=self.gravity)

    def with_gravity(self, gravity: ArrayLike) -> RobotModel:
        """The model in another gravity, in world axes, m/s², shape (3,); `ModelError` where it is not finite."""
        return replace(self, gravity=frozen_array(gravity, (3,), "gravity"), specialised=False, shares_code=False)

    def with_effort_limit(self, limit: ArrayLike) -> RobotModel:
        """The model with other effort limits, N·m or N, shape (n,); `ModelError` for NaN and limits below 0."""
        return replace(self, effort_limit=effort_limits(self.name, self.n, limit))

    def with_own_code(self, wanted: bool = True) -> RobotModel:
        """The same model, for which the plain functions compile machine code of its own, or do not.

        A robot that was loaded from a file has such code. Models that are made by `assemble`, `with_payload` and their
        like do not: there may be thousands, and they share the general kernels. `bind` compiles for any robot.
        """
        return replace(self, specialised=wanted, shares_code=False)

    def with_shared_code(self) -> RobotModel:
        """The same model, whose plain functions have machine code that takes the bodies' inertia as an input.

        It is compiled at the first call of each; models that are made of this one by `with_payload` use the same.
        """
        return replace(self, specialised=False, shares_code=True)


def effort_limits(name: str, n: int, limit: ArrayLike) -> Array:
    """Effort limits of `n` joints of the robot of that name; `ModelError` for another number, NaN and below 0."""
    limits = np.array(limit, dtype=np.float64)
    if limits.shape != (n,) or not (limits >= 0.0).all():
        raise ModelError(f"effort limits of {name!r} are {limits.tolist()}; give {n}, none below 0")
    return read_only(limits)


def _from_pickle(kind: type[RobotModel], given: dict[str, Any]) -> RobotModel:
    """A model as it was: NumPy forgets in a pickle which arrays are read-only, and kernels are compiled for these."""
    for value in given.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    for frame in given["links"].values():
        frame.rotation.flags.writeable = frame.position.flags.writeable = False
    return kind(**{**given, "links": MappingProxyType(given["links"])})
