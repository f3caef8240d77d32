"""Definition of a message type as text, from its Python class: the package of the type may have no files."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

#: Names of the types in .msg files that differ from those of rosidl's Python classes.
_NAMES = {"double": "float64", "float": "float32", "boolean": "bool", "octet": "byte"}
_SEPARATOR = "=" * 80
_LIST = re.compile(r"^sequence<(.+?)(?:, (\d+))?>$")
_ARRAY = re.compile(r"^(.+)\[(\d+)\]$")
_TEXT = re.compile(r"^(w?string)<(\d+)>$")


def message_class(kind: str) -> Any:
    """The class of a message type, as ``sensor_msgs/msg/JointState``; None if its package is not installed."""
    package, _, name = kind.split("/")
    try:
        return getattr(import_module(f"{package}.msg"), name, None)
    except ImportError:
        return None


def definition(kind: str) -> str:
    """The definition of a type and of all that it contains, as MCAP's schema encoding ``ros2msg``.

    Fields only: constants, defaults and comments are not in the class.

    Raises
    ------
    LookupError
        The package of a type is not installed.
    """
    parts: dict[str, str] = {}
    waiting = [kind]
    while waiting:
        name = waiting.pop(0)
        if name in parts:
            continue
        found = message_class(name)
        if found is None:
            raise LookupError(f"message type {name} is not installed")
        lines = []
        for field, text in found.get_fields_and_field_types().items():
            element, suffix = _split(text)
            if "/" in element:
                waiting.append("/msg/".join(element.split("/")))
            lines.append(f"{element}{suffix} {field}")
        parts[name] = "\n".join(lines)
    first, *others = parts.items()
    sections = [first[1], *(f"{_SEPARATOR}\nMSG: {name.replace('/msg/', '/')}\n{text}" for name, text in others)]
    return "\n".join(sections) + "\n"


def _split(text: str) -> tuple[str, str]:
    """Type of an element, and the suffix of a list or array, from rosidl's text."""
    suffix = ""
    if match := _LIST.match(text):
        text, most = match.groups()
        suffix = f"[<={most}]" if most else "[]"
    elif match := _ARRAY.match(text):
        text, size = match.groups()
        suffix = f"[{size}]"
    if match := _TEXT.match(text):
        return f"{match[1]}<={match[2]}", suffix
    return _NAMES.get(text, text), suffix
