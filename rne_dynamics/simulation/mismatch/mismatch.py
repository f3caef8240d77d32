"""How a simulated arm differs from the model of its controller: parameters, drives, messages, sensors, a script."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from rne_dynamics.errors import ArgumentError, refuse, unknown
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Array, Inertia, set_fields
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.tree import KinematicTree, Payload, TreeJoint


def three_numbers(what: str, given: Any) -> tuple[float, ...]:
    """Three finite numbers; `ArgumentError` otherwise, whose message begins with `what`."""
    with contextlib.suppress(TypeError, ValueError):
        row = tuple(float(x) for x in given)
        if len(row) == 3 and all(map(math.isfinite, row)):
            return row
    raise ArgumentError(f"{what} {given!r}; it must be three finite numbers")


def check_number(what: str, value: Any, *, zero: bool = True, infinite: bool = False) -> None:
    """`ArgumentError`, whose message begins with `what`, unless a positive number; others only where they may be."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0.0
    if not number or (value == 0.0 and not zero) or (value == math.inf and not infinite):
        allowed = "a finite number, not negative" if zero else f"a {'' if infinite else 'finite '}number above 0"
        raise ArgumentError(f"{what} {value!r}; it must be {allowed}")


def check_known(names: Iterable[str], known: Sequence[str], kind: str, owner: str) -> None:
    """`ArgumentError` for a name that is not known."""
    for name in names:
        if name not in known:
            raise ArgumentError(unknown(kind, name, known, owner))


#: Parts of something: below 1. Everything else only must not be negative.
_PARTS = ("mass", "friction", "rotor", "lost", "ripple")
#: What a script cannot change.
_LASTING = ("seed", "stiffness", "spring_frequency", "spring_damping", "backlash", "encoder", "script")
#: What changes the robot.
_OF_ROBOT = ("mass", "friction", "rotor", "centre", "mass_scale", "friction_scale", "rotor_scale", "payload")
#: Friction that is proportional to its scale.
_SCALED = ("viscous", "coulomb_forward", "coulomb_backward", "stribeck")


@dataclass(frozen=True)
class Mismatch:
    """Differences of a simulated arm from its model; the same seed gives the same arm, noise and lost messages.

    Without arguments nothing differs. Each kind has its own random numbers: changing one does not change the others.

    Parameters
    ----------
    seed
        Of all random numbers, not negative.
    mass, friction, rotor
        Largest deviation of each link or joint, drawn uniformly to both sides, as a part: 0.05 is 5 %.
    centre
        Largest shift of each link's centre of mass along each axis, m.
    mass_scale, friction_scale, rotor_scale
        Factors of all links or joints.
    payload
        A link and a point mass, kg, at its origin or at a point of its frame, m; shape (3,).
    push
        Forces at origins of links by their names, in their axes, N; shape (3,). In a script instead ``{link: …, force:
        …, duration: …}``, which adds to them for so long, s.
    noise, velocity_noise
        Standard deviations of measured positions and velocities, rad or m and per s.
    bias
        Largest constant error of each measured position, drawn; rad or m.
    quantum
        Step of measured positions, rad or m; velocities are then their differences.
    delay
        Time until an effort acts, s, a whole number of steps of the simulation.
    jitter
        Largest further delay of a message, drawn for each, s. Messages that arrive after a newer one are ignored.
    lost
        Part of the efforts that never arrive; the drive holds the last one.
    ripple
        Of the drive's effort, relative, 24 times in each turn of the joint.
    dead_zone
        Effort of the drive that has no effect, N·m or N.
    stiffness
        Of a spring between each motor and its link, N·m/rad or N/m; infinite: rigid. Needs an open arm with rotor
        inertia at each joint.
    spring_frequency
        Instead: each spring so stiff that its link swings at this frequency, Hz, while the motor and all other joints
        stand still at the start; 0: none.
    spring_damping
        Damping ratio of the motor on its spring.
    backlash
        Play between motor and link to either side, rad or m; needs a finite stiffness.
    encoder
        ``"motor"`` or ``"link"``: what the encoders measure.
    script
        Changes while the arm moves: pairs of a time, s, and new values by name.

    Raises
    ------
    ArgumentError
        Names the field, its value and what is allowed.
    """

    seed: int = 0
    mass: float = 0.0
    friction: float = 0.0
    rotor: float = 0.0
    centre: float = 0.0
    mass_scale: float = 1.0
    friction_scale: float = 1.0
    rotor_scale: float = 1.0
    payload: tuple[str, float] | tuple[str, float, tuple[float, ...]] | None = None
    push: Mapping[str, Sequence[float]] | tuple[tuple[str, Sequence[float]], ...] = ()
    noise: float = 0.0
    velocity_noise: float = 0.0
    bias: float = 0.0
    quantum: float = 0.0
    delay: float = 0.0
    jitter: float = 0.0
    lost: float = 0.0
    ripple: float = 0.0
    dead_zone: float = 0.0
    stiffness: float = math.inf
    spring_frequency: float = 0.0
    spring_damping: float = 0.01
    backlash: float = 0.0
    encoder: str = "motor"
    script: tuple[tuple[float, Mapping[str, Any]], ...] = ()

    def __post_init__(self) -> None:
        for each in fields(self):
            if isinstance(each.default, float):
                name, value, spring = each.name, getattr(self, each.name), each.name == "stiffness"
                check_number(f"mismatch: {name} is", value, zero=not spring, infinite=spring)
                if name in _PARTS and value >= 1.0:
                    raise ArgumentError(f"mismatch: {name} is {value:g}, a part; it must be below 1 (0.05 is 5 %)")
        refuse(
            ArgumentError,
            (isinstance(self.seed, bool) or not (isinstance(self.seed, int) and self.seed >= 0),
             f"mismatch: seed is {self.seed!r}; it must be a whole number, not negative"),
            (self.encoder not in ("motor", "link"),
             f"mismatch: encoder is {self.encoder!r}; it must be 'motor' or 'link'"),
            (self.stiffness < math.inf and self.spring_frequency > 0.0,
             f"mismatch: stiffness is {self.stiffness:g} and spring_frequency is {self.spring_frequency:g}; give one "
             "of them"),
            (self.backlash > 0.0 and not self.elastic,
             f"mismatch: backlash is {self.backlash:g} without a spring; give a stiffness"),
        )  # fmt: skip
        load = None if self.payload is None else _payload(self.payload)
        set_fields(self, payload=load, push=_pushes(self.push), script=self._checked_script())
        _ = self.phases  # checks the values of the script

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Mismatch:
        """The mismatch of values by name, as a YAML file has them; ArgumentError also for unknown names."""
        check_known(values, [each.name for each in fields(cls)], "field", "a mismatch")
        return cls(**values)

    @property
    def elastic(self) -> bool:
        """Whether there are springs between motors and links."""
        return self.stiffness < math.inf or self.spring_frequency > 0.0

    @property
    def robot_fields(self) -> tuple[Any, ...]:
        """All that makes `robot`."""
        return tuple(getattr(self, name) for name in _OF_ROBOT)

    @cached_property
    def phases(self) -> tuple[tuple[float, Mismatch], ...]:
        """From when on which mismatch without a script holds, in order; the first from time 0 on."""
        now = replace(self, script=()) if self.script else self
        pushes = [(at, *_scripted(changes["push"])) for at, changes in self.script if "push" in changes]
        times = {at for at, _ in self.script} | {at + duration for at, _, _, duration in pushes}
        found = [(0.0, now)]
        for t in sorted(times):
            acting: dict[str, Any] = {link: np.array(force) for link, force in dict(self.push).items()}
            for at, link, force, duration in pushes:
                if at <= t < at + duration:
                    acting[link] = acting.get(link, np.zeros(3)) + force
            changes = {k: v for at, each in self.script if at == t for k, v in each.items() if k != "push"}
            now = replace(now, push=acting, **changes)
            found.append((t, now))
        return tuple(found)

    @property
    def wrenches(self) -> dict[str, Array]:
        """The pushes as simulations take them."""
        return {link: np.array([*force, 0.0, 0.0, 0.0]) for link, force in dict(self.push).items()}

    def as_plain(self) -> dict[str, Any]:
        """Fields that are not at their defaults, as plain values for YAML and JSON."""
        plain = {each.name: asdict(self)[each.name] for each in fields(self)
                 if getattr(self, each.name) != each.default}
        if self.push:
            plain["push"] = {link: list(force) for link, force in dict(self.push).items()}  # fmt: skip
        if self.script:
            plain["script"] = [{"at": at, **changes} for at, changes in self.script]
        return plain

    def robot(self, robot: Robot) -> RigidRobot:
        """The robot with this mismatch's masses, centres, friction, rotors and payload; effort limits stay.

        Raises ArgumentError: flexible links; ModelError: an unknown link of the payload.
        """
        if robot.kind == "flexible":
            raise ArgumentError(f"mismatch: robot {robot.name!r} has flexible links; give an open arm or a mechanism")
        tree = robot.tree
        if self.payload is not None:
            robot.open_tree.link(self.payload[0])
            tree = tree.with_payload(Payload(*self.payload))
        made = assemble(self._varied(tree), base=robot.base, gravity=robot.gravity)
        return robot.rigid.on_tree(made).with_effort_limit(robot.effort_limit)

    def _varied(self, tree: KinematicTree) -> KinematicTree:
        """The tree with drawn masses, centres, friction and rotors."""
        links, joints = len(tree.links), len(tree.joints)
        mass = self.mass_scale * (1.0 + self.mass * self.stream(0).uniform(-1.0, 1.0, links))
        shift = self.centre * self.stream(1).uniform(-1.0, 1.0, (links, 3))
        friction = self.friction_scale * (1.0 + self.friction * self.stream(2).uniform(-1.0, 1.0, joints))
        rotor = self.rotor_scale * (1.0 + self.rotor * self.stream(3).uniform(-1.0, 1.0, joints))

        def body(given: Inertia | None, k: int) -> Inertia | None:
            return given and Inertia(mass[k] * given.mass, given.com + shift[k], mass[k] * given.inertia)

        def joint(given: TreeJoint, k: int) -> TreeJoint:
            law = replace(given.friction, **{name: friction[k] * getattr(given.friction, name) for name in _SCALED})
            return replace(given, friction=law, rotor_inertia=rotor[k] * given.rotor_inertia)

        return replace(
            tree, links=tuple(replace(x, inertia=body(x.inertia, k)) for k, x in enumerate(tree.links)),
            joints=tuple(joint(x, k) for k, x in enumerate(tree.joints)),
        )  # fmt: skip

    def stream(self, kind: int) -> np.random.Generator:
        """Random numbers of one kind."""
        return np.random.default_rng([self.seed, kind])

    def _checked_script(self) -> tuple[tuple[float, Mapping[str, Any]], ...]:
        """The script, also from mappings with a key ``at``, as YAML files have them."""
        events, before = [], 0.0
        known = [each.name for each in fields(self) if each.name not in _LASTING]
        if not isinstance(self.script, (tuple, list)):
            raise ArgumentError(f"mismatch: script is {self.script!r}; it must be a list of {{at: S, NAME: VALUE}}")
        for event in self.script:
            try:
                at, changes = (event["at"], {**event}) if isinstance(event, Mapping) else (event[0], {**event[1]})
            except (KeyError, IndexError, TypeError):
                raise ArgumentError(f"mismatch: script has {event!r}; write {{at: SECONDS, NAME: VALUE}}") from None
            changes.pop("at", None)
            if isinstance(at, bool) or not (isinstance(at, (int, float)) and before <= at < math.inf):
                raise ArgumentError(f"mismatch: script has an event at {at!r} s; times must be finite and in order")
            check_known(changes, known, "field that changes", "a script of a mismatch")
            before = float(at)
            events.append((before, changes))
        return tuple(events)


def _payload(given: Any) -> tuple[str, float] | tuple[str, float, tuple[float, ...]]:
    """A payload as given: a tuple, a mapping of one link, or one with the keys link, mass and com."""
    parts = given
    if isinstance(given, Mapping):
        named = {"link", "mass"} <= set(given) <= {"link", "mass", "com"}
        parts = tuple(given[key] for key in ("link", "mass", "com") if key in given) if named else (
            next(iter(given.items())) if len(given) == 1 else ())  # fmt: skip
    try:
        link, mass, *com = parts
        found = link, float(mass)
    except (TypeError, ValueError):
        link, com, found = None, [], ("", math.nan)
    if not isinstance(link, str) or not 0.0 <= found[1] < math.inf or len(com) > 1:
        raise ArgumentError(
            f"mismatch: payload is {given!r}; write {{LINK: KG}} or {{link: …, mass: KG, com: [x, y, z]}}, not negative"
        )
    return (*found, three_numbers("mismatch: com of the payload is", com[0])) if com else found


def _scripted(given: Any) -> tuple[str, Array, float]:
    """A link, the force on it, N, (3,), and its duration, s."""
    named = isinstance(given, Mapping) and set(given) == {"link", "force", "duration"}
    if not named or not isinstance(given["link"], str):
        raise ArgumentError(f"mismatch: script has the push {given!r}; write {{link: …, force: [x, y, z], "
                            "duration: S}")  # fmt: skip
    check_number("mismatch: duration of a push is", given["duration"])
    force = np.array(three_numbers("mismatch: script has the force", given["force"]))
    return given["link"], force, float(given["duration"])


def _pushes(given: Any) -> tuple[tuple[str, tuple[float, ...]], ...]:
    try:
        return tuple((link, three_numbers("", force)) for link, force in dict(given).items())
    except (TypeError, ValueError):
        raise ArgumentError(f"mismatch: push is {given!r}; write {{LINK: [x, y, z]}}, N") from None
