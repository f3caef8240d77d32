"""Springy bodies around an arm, the points of its links that touch them, and a script of what happens."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.errors import ArgumentError, SimulationError, refuse
from rne_dynamics.model.inertia import Array, read_only, set_fields
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import rotation_about
from rne_dynamics.simulation.mismatch.mismatch import Mismatch, check_known, check_number, three_numbers
from rne_dynamics.simulation.plant.contact_law import (
    APART,
    BOX,
    CHANGING,
    PLANE,
    SPHERE,
    Touch,
    ease_of_motion,
    touch_loads,
)

KINDS = {"plane": PLANE, "sphere": SPHERE, "box": BOX}
#: Fields by kind besides those of all kinds.
_SHAPE = {"plane": ("normal",), "sphere": ("radius",), "box": ("size", "rpy")}
#: Frequency and decay rate of a contact times the step, above which the step is divided, and most parts.
_SWING, _DECAY, _MOST_PARTS = 0.3, 1.5, 2000
#: Parts of a step in which a contact begins or ends.
_FEWEST = 8


@dataclass(frozen=True)
class SpringyBody:
    """A body that springs back; in the world, on a moving base in the root link's frame.

    Parameters
    ----------
    kind
        ``"plane"``: all on one side of a plane; ``"sphere"``; ``"box"``.
    point
        A point of the plane, the centre of a sphere or box, m; shape (3,).
    normal
        Of a plane, out of the body; any length. Shape (3,).
    radius
        Of a sphere, m.
    size
        Of a box, m; shape (3,).
    rpy
        Turn of a box: roll, pitch and yaw about fixed axes, rad; shape (3,).
    stiffness
        N/m, of each point that touches.
    damping
        c of the normal force k x (1 + c ẋ), s/m. A body that hits at v bounces back at about v (1 − 2/3 c v).
    friction
        Coefficient of Coulomb friction.
    slip
        Speed up to which friction rises, m/s; what should stick creeps slower than this.

    Raises
    ------
    ArgumentError
        Names the field, its value and what is allowed.
    """

    kind: str
    point: Sequence[float] = (0.0, 0.0, 0.0)
    normal: Sequence[float] = (0.0, 0.0, 1.0)
    radius: float = 0.1
    size: Sequence[float] = (0.1, 0.1, 0.1)
    rpy: Sequence[float] = (0.0, 0.0, 0.0)
    stiffness: float = 1e4
    damping: float = 1.0
    friction: float = 0.0
    slip: float = 1e-3

    def __post_init__(self) -> None:
        what = f"surroundings: {self.kind!r}"
        check_known([str(self.kind)], list(KINDS), "kind", "surroundings")
        set_fields(self, **{name: three_numbers(f"{what} has the {name}", getattr(self, name))
                            for name in ("point", "normal", "size", "rpy")})  # fmt: skip
        for name in ("radius", "stiffness", "slip", "damping", "friction"):
            check_number(f"{what} has the {name}", getattr(self, name), zero=name in ("damping", "friction"))
        refuse(
            ArgumentError,
            (not any(self.normal), f"{what} has the normal {list(self.normal)}; its length must be above 0"),
            (not min(self.size) > 0.0, f"{what} has the size {list(self.size)}; its sides must be above 0"),
        )

    @property
    def turn(self) -> Array:
        """``R_WB`` of its axes, (3, 3); of a plane z is the normal."""
        if self.kind == "plane":
            z = np.asarray(self.normal) / np.linalg.norm(self.normal)
            x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
            x /= np.linalg.norm(x)
            return np.stack([x, np.cross(z, x), z], axis=1)
        about_x, about_y, about_z = map(rotation_about, np.eye(3), self.rpy)
        return np.asarray(about_z @ about_y @ about_x)

    @property
    def row(self) -> Array:
        """As the kernels take it; shape (BODY_COLUMNS,)."""
        size = 0.5 * np.asarray(self.size) if self.kind == "box" else np.array([self.radius, 0.0, 0.0])
        last = (self.stiffness, self.damping, self.friction, self.slip)
        return np.array([KINDS[self.kind], *self.point, *self.turn.ravel(), *size, *last], np.float64)


@dataclass(frozen=True)
class TouchingPoint:
    """A point of a link, in its frame, m, or a sphere of a radius around it; raises as `SpringyBody`."""

    link: str
    point: Sequence[float] = (0.0, 0.0, 0.0)
    radius: float = 0.0

    def __post_init__(self) -> None:
        what = f"surroundings: touching link {self.link!r}"
        if not isinstance(self.link, str):
            raise ArgumentError(f"{what} is no name; write that of a link")
        set_fields(self, point=three_numbers(f"{what} has the point", self.point))
        check_number(f"{what} has the radius", self.radius)


@dataclass(frozen=True)
class Surroundings:
    """Springy bodies, and points of links that touch them; without points the origins of the last links.

    Forces are those of `contact_law`. Raises ArgumentError: no bodies.
    """

    bodies: tuple[SpringyBody, ...]
    touching: tuple[TouchingPoint, ...] = ()

    def __post_init__(self) -> None:
        if not self.bodies:
            raise ArgumentError("surroundings have no bodies; give at least one")

    @classmethod
    def of(cls, bodies: Any, touching: Any = ()) -> Surroundings:
        """Of lists of mappings, as YAML files have them; ArgumentError also for unknown fields."""
        return cls(tuple(_made(SpringyBody, each) for each in _listed("bodies", bodies)),
                   tuple(_made(TouchingPoint, each) for each in _listed("touching", touching)))  # fmt: skip

    def points(self, tree: RobotModel) -> tuple[TouchingPoint, ...]:
        """The points that touch; ModelError: an unknown link; ArgumentError: one that is fixed to the base."""
        refuse(ArgumentError, *(
            (tree.link(point.link).body < 0, f"surroundings: touching link {point.link!r} of robot {tree.name!r} is "
             "fixed to the base; name one that moves") for point in self.touching
        ))  # fmt: skip
        inner = {joint.parent for joint in tree.tree.joints}
        last = [name for name, frame in tree.links.items() if frame.body >= 0 and name not in inner]
        return self.touching or tuple(map(TouchingPoint, last))

    def touch(self, tree: RobotModel) -> Touch:
        """As the stepping kernels take them for an open arm or the tree of a mechanism; raises as `points`."""
        points = self.points(tree)
        frames = [tree.link(point.link) for point in points]
        rows = [[*(frame.rotation @ point.point + frame.position), point.radius]
                for frame, point in zip(frames, points, strict=True)]  # fmt: skip
        return Touch(
            read_only(np.array([body.row for body in self.bodies])),
            read_only(np.array([frame.body for frame in frames], np.int64)),
            read_only(np.array(rows, np.float64).reshape(-1, 4)), np.zeros((tree.bodies, 6)),
        )  # fmt: skip


def touch_forces(tree: RobotModel, touch: Touch, q: Array, qd: Array) -> Array:
    """Force on each point in a state, or in rows of states, of a tree's joints, N, in the world; (…, points, 3)."""
    points = len(touch.where)
    forces, loads, felt = np.zeros((*q.shape[:-1], points, 3)), np.empty((tree.bodies, 6)), np.empty((points, 2))
    for at in np.ndindex(q.shape[:-1]):
        touch_loads(tree.topology, tree.parameters, touch, q[at], qd[at], 0.0, loads, forces[at], felt)
    return forces


def parts_of_step(tree: RobotModel, touch: Touch, q: Array, qd: Array, dt: float) -> int:
    """Number of parts of a step from a tree's q, qd, loops left out, for what it touches; SimulationError: too many."""
    forces, loads, felt = np.empty((len(touch.where), 3)), np.empty((tree.bodies, 6)), np.empty((len(touch.where), 2))
    how = touch_loads(tree.topology, tree.parameters, touch, q, qd, dt, loads, forces, felt)
    if how == APART:
        return 1
    light = np.zeros(len(felt))
    with contextlib.suppress(np.linalg.LinAlgError):  # a joint that moves no inertia: the step itself reports it
        A = np.asarray(np.linalg.inv(mass_matrix(tree, q)), np.float64)
        ease_of_motion(tree.topology, tree.parameters, touch, q, A, light)
    swing, decay = math.sqrt(float(felt[:, 0] @ light)), float(felt[:, 1] @ light)
    parts = max(_FEWEST if how == CHANGING else 1, math.ceil(dt * max(swing / _SWING, decay / _DECAY)))
    if parts > _MOST_PARTS:
        raise SimulationError(f"surroundings: a contact has the rate {max(swing, decay):.3g} 1/s, too fast for steps "
                              f"of {dt:g} s; give less stiffness, damping or friction, or a larger slip")  # fmt: skip
    return parts


def _made(kind: type[Any], values: Any) -> Any:
    """A dataclass of a mapping."""
    known = [f.name for f in fields(kind)]
    what = "a body" if kind is SpringyBody else "a touching point"
    if not isinstance(values, Mapping):
        raise ArgumentError(f"surroundings: {what} is {values!r}; write {{{known[0]}: …, point: [x, y, z], …}}")
    own = _SHAPE.get(str(values.get("kind")), known)
    known = [name for name in known if name in own or not any(name in names for names in _SHAPE.values())]
    check_known(map(str, values), known, "field", f"surroundings: {what}")
    if known[0] not in values:
        has = ", ".join(map(str, values)) or "nothing"
        raise ArgumentError(f"surroundings: {what} has no {known[0]}; it has {has}")
    return kind(**values)


def _listed(name: str, values: Any) -> Sequence[Any]:
    if not isinstance(values, (list, tuple)):
        raise ArgumentError(f"surroundings: {name} is {values!r}; it must be a list")
    return values


_KEYS = ("bodies", "touching", "script")


@dataclass(frozen=True)
class Scene:
    """What an arm meets, or None, and what happens: a mismatch with nothing but a script, or None."""

    surroundings: Surroundings | None = None
    script: Mismatch | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Scene:
        """Of the values of a YAML file: bodies and touching (`Surroundings.of`), script (`Mismatch`).

        Raises ArgumentError: names the field, its value and what is allowed.
        """
        check_known(values, _KEYS, "key", "a scene")
        if "touching" in values and "bodies" not in values:
            raise ArgumentError("scene: touching is given without bodies; give some, or leave it out")
        around = Surroundings.of(values["bodies"], values.get("touching", ())) if "bodies" in values else None
        return cls(around, Mismatch(script=values["script"]) if "script" in values else None)

    def mismatch(self, other: Mismatch | None) -> Mismatch | None:
        """Another mismatch with this script in addition; None without either."""
        if self.script is None or other is None:
            return other or self.script
        return replace(other, script=tuple(sorted((*other.script, *self.script.script), key=lambda event: event[0])))
