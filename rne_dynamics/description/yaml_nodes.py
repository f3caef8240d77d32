"""YAML text as nodes with line numbers; syntax errors and bad keys as findings."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rne_dynamics.description.lint.findings import FaultyDescriptionError, Finding, Reading, error

#: A YAML file has a few kilobytes; PyYAML needs seconds for 200 kB.
MOST_BYTES = 200_000
#: Most nodes, where aliases (``*name``) count as what they name; longest number, in characters.
MOST_NODES, LONGEST_NUMBER = 100_000, 400


def read_yaml(data: bytes, file: str) -> Node:
    """The root node of one UTF-8 or UTF-16 YAML document of limited size; `FaultyDescriptionError`."""
    if len(data) > MOST_BYTES:
        fix = "give the model file; a URDF it names stays a file of its own"
        raise FaultyDescriptionError(file, error(0, "the file", f"is larger than {MOST_BYTES // 1000} kB", fix))
    try:
        root = compose(data)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        said = ", ".join(x for x in (fault.context, fault.problem) if x)
        raise FaultyDescriptionError(file, _no_yaml(0 if mark is None else mark.line + 1, said)) from None
    except (yaml.YAMLError, UnicodeError) as fault:
        raise FaultyDescriptionError(file, _no_yaml(0, " ".join(str(fault).split()))) from None
    except RecursionError:
        raise FaultyDescriptionError(file, _no_yaml(0, "nested too deeply")) from None
    if root is None:
        raise FaultyDescriptionError(file, error(1, "the file", "is empty", "write `urdf: arm.urdf` in it"))
    return root


def plain(data: bytes | str, loader: Any = yaml.SafeLoader) -> Any:
    """The values of a document, as `yaml.load`; `yaml.YAMLError`, also for what would take too much time or memory."""
    root = compose(data, loader)
    made = loader("")
    try:
        return None if root is None else made.construct_document(root)
    finally:
        made.dispose()


def compose(data: bytes | str, loader: Any = yaml.SafeLoader) -> Node | None:
    """The root node of a document; raises as `plain`."""
    if len(data) > MOST_BYTES:
        raise yaml.YAMLError(f"it is larger than {MOST_BYTES // 1000} kB")
    root = yaml.compose(data, Loader=loader)
    if root is not None and _count(root, {}) > MOST_NODES:
        raise yaml.YAMLError(f"it holds more than {MOST_NODES} values, aliases among them")
    return root


def _count(node: Node, known: dict[int, int]) -> int:
    """Number of values that a node stands for; `yaml.YAMLError` for a node inside itself, and for a vast number."""
    if isinstance(node, ScalarNode):
        if node.tag.endswith((":int", ":float")) and len(node.value) > LONGEST_NUMBER:
            raise yaml.YAMLError(f"the number in line {line_of(node)} has {len(node.value)} characters")
        return 1
    if id(node) not in known:
        known[id(node)] = MOST_NODES + 1  # while it is counted: an alias of itself
        parts = node.value if isinstance(node, SequenceNode) else [part for pair in node.value for part in pair]
        known[id(node)] = 1 + sum(_count(part, known) for part in parts)
    return known[id(node)]


def line_of(node: Node) -> int:
    """Line of a node in its file, from 1."""
    return int(node.start_mark.line) + 1


def shown(node: Node) -> str:
    """A node's content, shortened for messages."""
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, SequenceNode):
        return f"a list of {len(node.value)}"
    text = str(node.value)
    return repr(text if len(text) <= 60 else text[:57] + "...") if text else "empty"


def entries(node: Node, where: str, known: tuple[str, ...] | None) -> Reading[dict[str, tuple[Node, int]] | None]:
    """Yield what is wrong with the keys of a mapping; return values and their keys' lines by key.

    Keys that are not `known` are reported and left out; `None` allows any name.
    """
    if not isinstance(node, MappingNode):
        example = f"{known[0]}: ..." if known else "name: value"
        yield error(line_of(node), where, f"is {shown(node)}; it must be a mapping", f"write lines such as `{example}`")
        return None
    found: dict[str, tuple[Node, int]] = {}
    for key, value in node.value:
        at = line_of(key)
        if not isinstance(key, ScalarNode) or not key.value:
            yield error(at, where, f"a key is {shown(key)}; it must be a name", "write `name: value`")
        elif key.value in found:
            yield error(
                at, where, f"key {key.value!r} is there twice, first in line {found[key.value][1]}; one is allowed",
                "delete one of them",
            )
        elif known is not None and key.value not in known:
            yield _unknown_key(at, where, str(key.value), known)
        else:
            found[str(key.value)] = (value, at)
    return found


def _unknown_key(line: int, where: str, key: str, known: tuple[str, ...]) -> Finding:
    names = {name.lower(): name for name in known}
    near = get_close_matches(key.lower(), names, n=2, cutoff=0.6)
    fix = f"write {' or '.join(repr(names[name]) for name in near)}" if near else "delete it"
    return error(line, where, f"key {key!r} is unknown; known: {', '.join(known)}", fix)


def _no_yaml(line: int, said: str) -> Finding:
    return error(line, "the file", f"is no YAML: {said}", "correct it; blanks indent, tabs do not")
