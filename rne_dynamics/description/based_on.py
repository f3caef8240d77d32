"""Model files that build on another one: its entries, with those of their own in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rne_dynamics.description.lint.findings import FaultyDescriptionError, Finding, Reading, Severity, collect, error
from rne_dynamics.description.model_schema import SCHEMA
from rne_dynamics.description.schema import WHOLE, Marked, Table
from rne_dynamics.description.share import example_robots, shipped_models, shipped_robots
from rne_dynamics.description.sources import Source, names_model_file, read_source
from rne_dynamics.description.yaml_nodes import read_yaml
from rne_dynamics.errors import DescriptionError

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


def path_from(name: str, file: str) -> str | Path:
    """Path of what a model file names, taken from the file's folder; URIs and names of robots that ship stay."""
    path = Path(name) if file.startswith("<") else Path(file).parent / name
    known = name in shipped_robots() or name in shipped_models() or (name in example_robots() and not path.exists())
    return name if "://" in name or known else path


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
    except FaultyDescriptionError as fault:
        yield error(given.line, KEY, str(fault), "correct that file")
        return None
    except DescriptionError as fault:
        yield error(given.line, KEY, str(fault), "correct the name")
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
        if former is not None and isinstance(value, dict) and isinstance(former.value, dict) and _is_table(key):
            value = {**former.value, **value}
        elif former is not None and key in _NAMED:
            names = [part.value[_NAMED[key]].value for part in value]
            value = [part for part in former.value if part.value[_NAMED[key]].value not in names] + value
        whole[key] = Marked(value, entry.line)
    return whole


def _is_table(key: str) -> bool:
    reader = SCHEMA.keys[key].reader
    return isinstance(getattr(reader, "mapping", reader), Table)
