"""Flexible links of a model file: checks with line numbers, and the `FlexibleArm` made of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.description.lint.findings import Finding, Reading, error
from rne_dynamics.description.model_parts import Values, known_name
from rne_dynamics.description.model_schema import CARRIED, HUB, SECTIONS
from rne_dynamics.description.schema import Marked, value_of
from rne_dynamics.description.sources import find, path_from
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import FlexibleArm, carried
from rne_dynamics.model.flexible.beam import Beam, Shapes
from rne_dynamics.model.flexible.beam_modes import modal_link
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.flexible.modal_file import load_modal_link
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.materials import Elastic, Section
from rne_dynamics.model.tree import KinematicTree

_PER_LENGTH = ("mass_per_length", "EI", "GJ", "polar")


def distributed_properties(given: Values, line: int, where: str) -> Reading[dict[str, tuple[float, ...]] | None]:
    """Yield what is wrong; return the properties by the names of `Beam`, with one value or one at each station."""
    direct = [key for key in _PER_LENGTH if key in given]
    if "section" in given and not direct:
        section = yield from _section(given["section"], f"{where} section")
        return None if section is None else {name: (value,) for name, value in section._asdict().items()}
    if "section" in given:
        yield error(
            given[direct[0]].line, where, f"section and {direct[0]} are both given; only one may describe the beam",
            f"delete {direct[0]}, or section",
        )
        return None
    if "mass_per_length" not in given:
        yield error(
            line, where, "neither section nor mass_per_length is given",
            "write for example `section: {kind: tube, ...}`",
        )
        return None
    along: dict[str, tuple[float, ...]] = {"mass_per_length": given["mass_per_length"].value}
    EI = _by_plane(given, "EI")
    along |= {f"EI_{plane}": values for plane, values in EI.items()}
    if "GJ" in given:
        along["GJ"] = given["GJ"].value
    polar = _by_plane(given, "polar")
    if "polar" in given and not isinstance(given["polar"].value, dict):
        # in a section of one material ∫ ρ y² dA is proportional to E ∫ y² dA
        y, z = (float(np.mean(EI.get(plane, (0.0,)))) for plane in ("y", "z"))
        part = y / (y + z) if y > 0.0 and z > 0.0 else 0.5
        polar = {
            plane: tuple(share * value for value in polar["y"]) for plane, share in (("y", part), ("z", 1.0 - part))
        }
    along |= {f"spread_{plane}": values for plane, values in polar.items()}
    return along


def _by_plane(given: Values, key: str) -> dict[str, tuple[float, ...]]:
    if key not in given:
        return {}
    value = given[key].value
    if isinstance(value, dict):
        return {plane: marked.value for plane, marked in value.items()}
    return {"y": value, "z": value}


def _section(entry: Marked, where: str) -> Reading[Section | None]:
    given: dict[str, Marked] = entry.value
    kind, material = given["kind"].value, given["material"].value
    make, lengths = SECTIONS[kind]
    if wrong := [key for key in given if key not in ("kind", "material", *lengths)]:
        yield error(
            given[wrong[0]].line, where, f"a {kind} has no {wrong[0]}; it has {' and '.join(lengths)}",
            "delete it, or correct kind",
        )
    if missing := [key for key in lengths if key not in given]:
        yield error(
            entry.line, where, f"{missing[0]} is missing: a {kind} has {' and '.join(lengths)}, m",
            f"write `{missing[0]}: ...`",
        )
    if wrong or missing:
        return None
    if isinstance(material, dict):
        material = Elastic(*(material[key].value for key in ("density", "E", "G")))
    try:
        return make(*(given[key].value for key in lengths), material)
    except RneDynamicsError as fault:
        yield error(entry.line, where, *message_and_fix(str(fault), "correct it (m, kg/m^3, Pa)"))
        return None


def message_and_fix(text: str, otherwise: str) -> tuple[str, str]:
    """Split an error message at its last semicolon, which the fix follows."""
    message, found, fix = text.rpartition("; ")
    return (message, fix) if found else (text, otherwise)


#: Shapes of a beam whose tip is free; the others are those of a beam that carries something.
_FREE_TIP = ("clamped_free", "polynomial")
#: Keys by the words that messages about a beam begin with.
_KEYS = {
    "EI_y": "EI", "EI_z": "EI", "spread_y": "polar", "spread_z": "polar", "tip_mass": "tip", "tip_inertia": "tip",
    "tip_offset": "tip",
    "section": "section", "tube": "section", "rod": "section", "rectangle": "section", "material": "section",
}  # fmt: skip
_DIRECTIONS = ("y", "z", "torsion")


@dataclass(frozen=True, eq=False)
class FlexibleEntry:
    """One flexible link as the file describes it."""

    #: Its name.
    link: str
    #: Line of the entry.
    line: int
    #: Keys of the entry and their values, with lines.
    given: Values
    #: With the tip that the file gives; `None` where modal matrices come from a file.
    beam: Beam | None
    #: The modal matrices of a file; `None` for a beam.
    modal: ModalLink | None
    #: Whether the tip load of the beam is its whole subtree.
    carries: bool

    @property
    def where(self) -> str:
        """The link in messages."""
        return f"flexible link {self.link!r}"

    def line_of(self, key: str) -> int:
        """Line of a key of the entry, or of the entry where the key is not given."""
        return self.given[key].line if key in self.given else self.line

    @property
    def thickness(self) -> float | None:
        """Largest width of the section across the beam, m; `None` where no section is given."""
        if "section" not in self.given:
            return None
        lengths: Values = self.given["section"].value
        return max(float(lengths[name].value) for name in SECTIONS[lengths["kind"].value][1])


def read_flexible(values: Values, tree: KinematicTree, file: str) -> Reading[tuple[FlexibleEntry, ...]]:
    """Yield what is wrong with `flexible`; return the valid links. Relative paths start in the model file's folder."""
    given = values["flexible"]
    if "loops" in values:
        yield error(
            given.line, "flexible", "is given together with loops; flexible links are supported in open arms only",
            "delete flexible, which leaves a rigid mechanism, or loops",
        )  # fmt: skip
        return ()
    if not given.value:
        yield error(given.line, "flexible", "is an empty list", "describe a flexible link, or delete `flexible`")
    found: list[FlexibleEntry] = []
    seen: dict[str, int] = {}
    for entry in given.value:
        name = entry.value["link"]
        where = f"flexible link {name.value!r}"
        if not (yield from known_name(name.value, [x.name for x in tree.links], name.line, "flexible link", "link")):
            continue
        if name.value in seen:
            yield error(
                name.line, where, f"is there twice, first in line {seen[name.value]}; a link is flexible once",
                "delete one of them",
            )
            continue
        seen[name.value] = name.line
        read = yield from _entry(str(name.value), entry, where, file)
        if read is not None:
            found.append(read)
    return tuple(found)


def flexible_arm(
    entries: tuple[FlexibleEntry, ...], tree: KinematicTree, gravity: ArrayLike, posture: Mapping[str, float], line: int
) -> Reading[FlexibleArm | None]:
    """Yield what is wrong with the flexible links of a tree with payload and locked joints; return the arm.

    `posture` are the joint positions by name at which tip loads are computed, rad or m, zero for others; `line` is that
    of `flexible`, for findings that concern no single link.
    """
    added: dict[str, Inertia] = {}
    for entry in entries:
        if value_of(entry.given, "inertial", None) == HUB:  # the URDF's inertia is that of the hub only
            part = entry.modal if entry.beam is None else (yield from _modal(entry, entry.beam))
            if part is None:
                return None
            added[entry.link] = part.inertia
    if added:
        links = (
            replace(x, inertia=(x.inertia or Inertia()) + added[x.name]) if x.name in added else x for x in tree.links
        )
        tree = replace(tree, links=tuple(links))
    robot = assemble(tree, gravity=gravity).with_own_code()
    q = np.array([posture.get(name, 0.0) for name in robot.joint_names])
    made: list[ModalLink | None] = []
    for entry in entries:
        beam = entry.beam
        if beam is not None and entry.carries and robot.nq == robot.n:  # a floating joint is refused below
            load = carried(robot, entry.link, beam.origin + beam.length * beam.axis, root=beam.origin, posture=q)
            about = beam.rotation.T @ load.about_origin @ beam.rotation
            beam = replace(
                beam, tip_mass=load.mass, tip_inertia=tuple(np.diag(about).tolist()),
                tip_offset=float(load.com @ beam.axis) if load.mass else 0.0,
            )  # fmt: skip
        made.append(entry.modal if beam is None else (yield from _modal(entry, beam)))
    parts = tuple(part for part in made if part is not None)
    if len(parts) < len(entries):
        return None
    try:
        return FlexibleArm(robot, parts)
    except RneDynamicsError as fault:
        named = next((x for x in entries if str(fault).startswith(f"{x.where}: ")), None)
        whole = error(line, "flexible", *message_and_fix(str(fault), "correct it"))
        yield whole if named is None else _link_finding(str(fault), named)
        return None


def _entry(link: str, entry: Marked, where: str, file: str) -> Reading[FlexibleEntry | None]:
    given: dict[str, Marked] = entry.value
    described = FlexibleEntry(link, entry.line, given, None, None, False)
    if "modal" in given:
        more = [key for key in given if key not in ("link", "modal", "inertial")]
        if more:
            yield error(
                given[more[0]].line, f"{where} {more[0]}",
                "is given together with modal, whose file describes the whole link", "delete it, or modal",
            )  # fmt: skip
            return None
        try:
            path = find(path_from(str(given["modal"].value), file))
            return replace(described, modal=load_modal_link(path, link))
        except RneDynamicsError as fault:
            yield error(given["modal"].line, f"{where} modal", *message_and_fix(str(fault), "correct the file"))
            return None
    along = yield from distributed_properties(given, entry.line, where)
    for key, what, example in (
        ("length", "that of the beam from root to tip, m", "0.5"),
        ("modes", "how many in bending along y and z, and in torsion", "{y: 2}"),
    ):
        if key not in given:
            yield error(entry.line, where, f"{key} is missing: {what}", f"write `{key}: {example}`")
            along = None
    if along is None:
        return None
    modes = tuple(value_of(given["modes"].value, kind, 0) for kind in _DIRECTIONS)
    damping: tuple[float, ...] = value_of(given, "damping", (0.0,))
    if len(damping) not in (1, sum(modes)):
        yield error(
            given["damping"].line, f"{where} damping",
            f"holds {len(damping)} ratios for {sum(modes)} modes; it must be one for all, or one for each in the order "
            "y, z, torsion", f"give {sum(modes) or 1}",
        )  # fmt: skip
        return None
    tapered = any(len(set(values)) > 1 for values in along.values())
    default: Shapes = "finite_element" if tapered else "clamped_mass"
    shapes: Shapes = value_of(given, "shapes", default)
    tip = value_of(given, "tip", CARRIED if shapes not in _FREE_TIP else {})
    own_tip: dict[str, Marked] = {} if tip == CARRIED else tip
    try:
        beam = Beam(
            link=link, length=value_of(given, "length", 0.0),
            **{name: np.array(values) for name, values in along.items()},
            axis=np.array(value_of(given, "axis", (1.0, 0.0, 0.0))),
            normal=np.array(value_of(given, "normal", (0.0, 1.0, 0.0))),
            origin=np.array(value_of(given, "origin", (0.0, 0.0, 0.0))),
            modes=modes, shapes=shapes, damping=damping[0] if len(damping) == 1 else damping,
            tip_mass=value_of(own_tip, "mass", 0.0), tip_inertia=value_of(own_tip, "inertia", (0.0, 0.0, 0.0)),
            tip_offset=value_of(own_tip, "offset", 0.0),
            elements=value_of(given, "elements", max(20, *modes)),
            stiffening=value_of(given, "stiffening", "true") == "true",
        )  # fmt: skip
    except RneDynamicsError as fault:
        yield _link_finding(str(fault), described)
        return None
    return replace(described, beam=beam, carries=tip == CARRIED)


def _modal(entry: FlexibleEntry, beam: Beam) -> Reading[ModalLink | None]:
    try:
        with np.errstate(all="ignore"):  # ModalLink refuses results that are not finite
            return modal_link(beam)
    except RneDynamicsError as fault:
        yield _link_finding(str(fault), entry)
    except (np.linalg.LinAlgError, ArithmeticError, ValueError):
        yield error(
            entry.line, entry.where, f"no mode shapes could be computed for length {beam.length:g} m, mass_per_length "
            f"{beam.mass_per_length[0]:g} kg/m, EI {beam.EI_y[0]:g} and {beam.EI_z[0]:g}, GJ {beam.GJ[0]:g} N m^2, and "
            f"{beam.tip_mass:g} kg at the tip: the numbers are too far apart", "correct their units (m, kg, N)",
        )  # fmt: skip
    return None


def _link_finding(fault: str, entry: FlexibleEntry) -> Finding:
    """Finding for an error that the model raised, at the line of the key that the message begins with."""
    text = fault.removeprefix(f"{entry.where}: ")
    word = re.match(r"\w*", text)
    key = "" if word is None else _KEYS.get(word.group(), word.group())
    return error(entry.line_of(key), entry.where, *message_and_fix(text, "correct it"))
