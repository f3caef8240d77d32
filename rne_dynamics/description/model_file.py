"""`load_model`: read a model file, with its URDF or Denavit–Hartenberg table, as a robot, mechanism or flexible arm.

Files that build on another one have its entries, with those of their own in their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from rne_dynamics.description.dh_table import dh_source
from rne_dynamics.description.flexible_parts import FlexibleEntry, flexible_arm, read_flexible
from rne_dynamics.description.lint.description import Examination, examine
from rne_dynamics.description.lint.findings import (
    FaultyDescriptionError,
    Finding,
    Reading,
    Report,
    Severity,
    collect,
    error,
)
from rne_dynamics.description.model_parts import (
    Values,
    lint_whole,
    read_actuated,
    read_loops,
    read_payload,
    read_posture,
    read_sharing,
    with_drives,
)
from rne_dynamics.description.model_schema import KEYS, SCHEMA
from rne_dynamics.description.schema import WHOLE, Marked, value_of
from rne_dynamics.description.share import share_file, shipped_models
from rne_dynamics.description.sources import (
    Source,
    SourceLike,
    is_model_file,
    names_model_file,
    path_from,
    read_source,
)
from rne_dynamics.description.urdf import accepted, load_urdf, refusal
from rne_dynamics.description.yaml_nodes import read_yaml
from rne_dynamics.errors import DescriptionError, MissingDependencyError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import FlexibleArm, bolted
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.tree import KinematicTree, Payload

KEY = "based_on"
#: Lists whose entries have names: the key of that name.
_NAMED = {"loops": "name", "flexible": "link"}
#: Entries of which a file has one.
_ONE_OF = ("urdf", "dh")


def read_entries(source: Source, found: list[Finding], before: tuple[str, ...] = ()) -> Marked | None:
    """The valid entries of a model file, with those of the files that it builds on.

    Findings are added to `found`; those of another file, and what entries of it lead to later, have the line of
    `based_on`. `before`: files that build on this one. Raises FaultyDescriptionError: not YAML.
    """
    read = collect(SCHEMA.read(read_yaml(source.data, source.name), WHOLE), found)
    if read is None or KEY not in read.value:
        return read
    base = collect(_base(read.value[KEY], source.name, before), found)
    return None if base is None else Marked(_merged(base, read.value), read.line)


def with_base_named(values: Mapping[str, Marked], found: list[Finding]) -> list[Finding]:
    """Findings, with the other file's name in those about its entries."""
    if KEY not in values:
        return found
    line, name = values[KEY].line, values[KEY].value
    return [
        replace(f, element=f"{f.element} of {name}") if f.line == line and f.element != KEY else f for f in found
    ]  # fmt: skip


def _base(given: Marked, file: str, before: tuple[str, ...]) -> Reading[dict[str, Marked] | None]:
    """Yield what is wrong with the other file; return its entries, paths absolute, all in the line of `given`."""
    chain, name = (*before, str(Path(file).resolve())), path_from(str(given.value), file)
    try:
        if not names_model_file(name):
            yield error(given.line, KEY, f"{given.value!r} is no model file", "name a .yaml file; name a URDF as urdf")
            return None
        base = read_source(name)
        if str(Path(base.name).resolve()) in chain:
            shown = " -> ".join(Path(path).name for path in (*chain, base.name))
            yield error(given.line, KEY, f"the files build on each other in a circle: {shown}", "name another file")
            return None
        found: list[Finding] = []
        read = read_entries(base, found, chain)
    except DescriptionError as fault:
        what = "that file" if isinstance(fault, FaultyDescriptionError) else "the name"
        yield error(given.line, KEY, str(fault), f"correct {what}")
        return None
    if wrong := [finding for finding in found if finding.severity is Severity.ERROR]:
        said = str(FaultyDescriptionError(base.name, wrong[0], len(wrong) - 1))
        yield error(given.line, KEY, said, "correct that file")
        return None
    entries = {} if read is None else read.value
    return {key: _placed(key, value, base.name, given.line) for key, value in entries.items()}


def _placed(key: str, entry: Marked, file: str, line: int) -> Marked:
    """An entry of another file, in the line that names it."""
    value: Any = entry.value
    if key in ("urdf", "modal") and isinstance(value, str):
        name = path_from(value, file)
        value = name if isinstance(name, str) else str(name.resolve())
    elif isinstance(value, dict):
        value = {name: _placed(str(name), part, file, line) for name, part in value.items()}
    elif isinstance(value, list):
        value = [_placed(key, part, file, line) for part in value]
    return Marked(value, line)


def _merged(base: dict[str, Marked], own: Mapping[str, Marked]) -> dict[str, Marked]:
    whole = {key: value for key, value in base.items() if not (key in _ONE_OF and any(k in own for k in _ONE_OF))}
    for key, entry in own.items():
        value, former = entry.value, whole.get(key)
        is_table = KEYS[key].reader.is_table and isinstance(value, dict)
        if former is not None and is_table and isinstance(former.value, dict):
            value = {**former.value, **value}
        elif former is not None and key in _NAMED:
            names = [part.value[_NAMED[key]].value for part in value]
            value = [part for part in former.value if part.value[_NAMED[key]].value not in names] + value
        whole[key] = Marked(value, entry.line)
    return whole


_GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True, eq=False)
class ModelExamination:
    """A model file that has been read."""

    #: Findings on the model file itself.
    report: Report
    #: The URDF it names, or made of its Denavit–Hartenberg table; `None` if that could not be read.
    urdf: Examination | None
    #: The valid entries, with their lines.
    values: Values
    #: The URDF's tree with payload, friction and rotors; `None` where there are errors.
    tree: KinematicTree | None
    #: `None` where there are errors or no loops. Its posture is the given one, which may leave closure errors.
    mechanism: Mechanism | None
    #: The valid flexible links.
    flexible: tuple[FlexibleEntry, ...] = ()
    #: `None` where there are errors or no flexible links.
    arm: FlexibleArm | None = None

    @property
    def gravity(self) -> tuple[float, float, float]:
        """In world axes, m/s²."""
        return cast("tuple[float, float, float]", value_of(self.values, "gravity", _GRAVITY))


def load_model(
    source: SourceLike,
    *,
    payload: Payload | None = None,
    lock: Mapping[str, float] | None = None,
    mappings: Mapping[str, str] | None = None,
    lenient: bool = False,
    rotors: bool = True,
) -> Robot:
    """Load a robot, a mechanism with closed loops, or an arm with flexible links.

    Parameters
    ----------
    source
        A model file (``.yaml``, ``.yml``): a path, YAML text, a ``package://`` or ``file://`` URI, or the name of a
        model that ships (``pantograph``). Or any source of `load_urdf`.
    payload
        A load on one link, in addition to that of the file. On a flexible link it is fixed at its mass centre.
    lock
        Joints locked at a value, by name, rad or m. A locked actuated joint is no longer a coordinate.
    mappings
        Arguments for xacro by name, for the URDF.
    lenient
        As for `load_urdf`, for the URDF.
    rotors
        As for `load_urdf`; False leaves out those of the model file too.

    Returns
    -------
    RobotModel, Mechanism or FlexibleArm
        A mechanism if the file describes loops. Its posture is that of the file, with the closure errors of its
        numbers. A flexible arm if it describes flexible links, with mode shapes for the payload and locked joints.

    Raises
    ------
    DescriptionError
        The file, or the URDF it names, has errors; the message names file, line, element, value and fix.
    ModelError
        A link in `payload` that is unknown or that no joint moves, an unknown or immovable joint in `lock`.
    MissingDependencyError
        The URDF is a ``.xacro`` file and xacro is not installed.

    Notes
    -----
    The keys of the file, their units and meaning are declared in `rne_dynamics.description.model_schema`.
    """
    if not names_model_file(source):
        return load_urdf(source, payload=payload, lock=lock, mappings=mappings, lenient=lenient, rotors=rotors)
    examination = examine_model(read_source(source, lenient=lenient), mappings)
    if examination.urdf is not None and not examination.urdf.report.ok:
        raise refusal(examination.urdf.report)
    if examination.urdf is None or examination.tree is None:
        raise refusal(examination.report)
    accepted(examination.urdf)  # logs its warnings
    if examination.arm is not None and payload is None and not lock and rotors:
        return examination.arm
    tree = examination.tree if rotors else examination.tree.without_rotors()
    if not examination.flexible:
        robot = assemble(tree, gravity=examination.gravity).with_payload(payload)
        robot = (robot.with_lock(lock) if lock else robot).with_own_code()
        return robot if examination.mechanism is None else examination.mechanism.on_tree(robot)
    if payload is not None:
        tree = _with_payload(tree, payload, examination.flexible)
    if lock:
        tree = tree.with_locked(lock)
    found: list[Finding] = []
    arm = collect(_arm(examination.values, tree, examination.flexible), found)
    if arm is None:
        raise refusal(Report(examination.report.file, tuple(found)))
    return arm


def examine_model(source: Source, mappings: Mapping[str, str] | None = None) -> ModelExamination:
    """Read and check a model file and the URDF it names; `mappings` are xacro arguments by name, for the URDF."""
    found: list[Finding] = []
    try:
        read = read_entries(source, found)
    except FaultyDescriptionError as fault:
        return ModelExamination(Report(source.name, (fault.finding,)), None, {}, None, None)
    values: Values = {} if read is None else read.value
    urdf = None if read is None else _read_urdf(read, source, mappings, found)
    tree, mechanism, arm = None, None, None
    flexible: tuple[FlexibleEntry, ...] = ()
    if urdf is not None and urdf.tree is not None and not any(f.severity is Severity.ERROR for f in found):
        if "flexible" in values:
            flexible = collect(read_flexible(values, urdf.tree, source.name), found)
        tree, mechanism, arm = _build(values, urdf.tree, flexible, 1 if read is None else read.line, found)
    report = Report(source.name, tuple(sorted(with_base_named(values, found), key=lambda f: f.line)))
    return ModelExamination(report, urdf, values, tree if report.ok else None, mechanism, flexible, arm)


def urdf_source(source: SourceLike) -> Source:
    """The URDF that a model file names or describes, any other source itself; `DescriptionError`."""
    read = read_source(source)
    if not is_model_file(read):
        return read
    found: list[Finding] = []
    values = read_entries(read, found)
    described = None if values is None else collect(_described(values, read.name, None), found)
    if described is None:
        raise refusal(Report(read.name, tuple(found)))
    return described[0]


def _build(
    values: Values, tree: KinematicTree, flexible: tuple[FlexibleEntry, ...], line: int, found: list[Finding]
) -> tuple[KinematicTree, Mechanism | None, FlexibleArm | None]:
    tree = collect(with_drives(values, tree), found)
    payload = collect(read_payload(values, tree), found)
    if payload is not None:
        tree = _with_payload(tree, payload, flexible)
    robot = assemble(tree, gravity=value_of(values, "gravity", _GRAVITY))
    if payload is not None and robot.link(payload.link).body < 0:
        found.append(error(
            values["payload"].line, "payload link",
            f"is {payload.link!r}, which no joint moves, so that a payload there changes no effort",
            "name the link that carries it",
        ))
    found.extend(lint_whole(values, line, robot))
    if "loops" not in values:
        if "flexible" not in values:
            return tree, None, None
        collect(read_posture(values, robot), found)
        usable = not any(finding.severity is Severity.ERROR for finding in found)
        return tree, None, collect(_arm(values, tree, flexible), found) if usable else None
    loops = collect(read_loops(values, robot), found)
    actuated = collect(read_actuated(values, robot), found) if "actuated" in values else ()
    posture = collect(read_posture(values, robot), found) if robot.nq == robot.n else np.zeros(robot.nq)
    weights, preload = (collect(read_sharing(values, key, actuated), found) for key in ("effort_weights", "preload"))
    if any(finding.severity is Severity.ERROR for finding in found):
        return tree, None, None
    return tree, Mechanism(robot, loops, actuated, posture, weights, preload), None


def _arm(values: Values, tree: KinematicTree, flexible: tuple[FlexibleEntry, ...]) -> Reading[FlexibleArm | None]:
    posture = {name: given.value for name, given in value_of(values, "posture", {}).items()}
    gravity = value_of(values, "gravity", _GRAVITY)
    return (yield from flexible_arm(flexible, tree, gravity, posture, values["flexible"].line))


def _with_payload(tree: KinematicTree, payload: Payload, flexible: tuple[FlexibleEntry, ...]) -> KinematicTree:
    """The tree with a load as part of its link, or as a body of its own on a flexible link."""
    bends = payload.link in (entry.link for entry in flexible)
    return bolted(tree, payload) if bends else tree.with_payload(payload)


def _read_urdf(
    whole: Marked, model: Source, mappings: Mapping[str, str] | None, found: list[Finding]
) -> Examination | None:
    described = collect(_described(whole, model.name, mappings), found)
    if described is None:
        return None
    source, tree = described
    try:
        examination = examine(replace(source, lenient=model.lenient))
    except DescriptionError as fault:
        found.append(error(whole.line, "urdf", str(fault), "correct the file"))
        return None
    if tree is None or examination.tree is None:
        return examination
    return replace(examination, tree=tree)  # URDF cannot express infinite bounds


def _described(
    whole: Marked, file: str, mappings: Mapping[str, str] | None
) -> Reading[tuple[Source, KinematicTree | None] | None]:
    """Yield what is wrong with `urdf` or `dh`; return the URDF of the one that is given, and the tree of `dh`."""
    values: Values = whole.value
    if "urdf" in values and "dh" in values:
        yield error(
            values["dh"].line, WHOLE, "urdf and dh are both given; one of them describes the robot",
            "delete one of them",
        )
    elif "dh" in values:
        return (yield from dh_source(values["dh"], file))
    elif "urdf" in values:
        try:
            return _urdf_source(str(values["urdf"].value), file, mappings), None
        except (DescriptionError, MissingDependencyError) as fault:
            yield error(values["urdf"].line, "urdf", str(fault), "correct the name")
    else:
        yield error(
            whole.line, WHOLE, f"urdf is missing: {KEYS['urdf'].doc}; or dh: {KEYS['dh'].doc}",
            "write `urdf: ...`",
        )
    return None


def _urdf_source(name: str, file: str, mappings: Mapping[str, str] | None) -> Source:
    """The URDF that a model file names, its path taken from the file's folder."""
    source = share_file(f"urdf/{name}.urdf") if name in shipped_models() else path_from(name, file)  # the open tree
    if names_model_file(source):
        raise DescriptionError(f"{name!r} is a model file, which cannot be the URDF; name it as based_on")
    return read_source(source, mappings)
