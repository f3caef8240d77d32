"""Sources of a description: a path, XML text, a URI, the name of a robot that ships, or standard input."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Protocol, Union

from rne_dynamics.advice import rne
from rne_dynamics.description.markup import MOST_BYTES
from rne_dynamics.description.share import (
    HOW_TO_GET,
    example_robots,
    resolve_uri,
    share_file,
    shipped_models,
    shipped_robots,
)
from rne_dynamics.errors import DescriptionError
from rne_dynamics.input_file import read_limited


class UrdfObject(Protocol):
    """A ``urdf_parser_py.urdf.Robot`` (or ``URDF``, its other name), which has no types."""

    name: Any
    to_xml_string: Any


#: Appended to a xacro file's name: lines are those of the expanded text.
EXPANDED = " (expanded)"
#: Endings of model files.
MODEL_SUFFIXES = (".yaml", ".yml")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@dataclass(frozen=True)
class Source:
    """A description's bytes and its name in messages."""

    #: Path of the file (followed by `EXPANDED` for xacro), or ``<text>``, ``<stdin>``.
    name: str
    #: The XML document, or the YAML of a model file.
    data: bytes
    #: Overrides the encoding that the document declares; `None` keeps it.
    encoding: str | None = None
    #: Whether to repair the faults listed in `rne_dynamics.description.repairs`, of a URDF or of that of a
    #: model file.
    lenient: bool = False
    #: Whether findings have lines; not those of a robot of urdf_parser_py, which has none.
    lines: bool = True


SourceLike = Union[str, bytes, "os.PathLike[str]", Source, UrdfObject]


def read_source(
    source: SourceLike, mappings: Mapping[str, str] | None = None, *, lenient: bool = False
) -> Source:
    """Read a description, and expand files named ``.xacro`` with the xacro arguments `mappings`; `DescriptionError`.

    A path; XML text or bytes; a robot of urdf_parser_py; a ``file://`` or ``package://`` URI; the name of a robot that
    ships, before a file of that name (write ``./name``); of `example_robots`, where no file is called so. Lenient stays
    lenient.
    """
    read = _read(source, mappings)
    return replace(read, lenient=True) if lenient else read


def _read(source: SourceLike, mappings: Mapping[str, str] | None) -> Source:
    if isinstance(source, Source):
        return source
    if isinstance(source, bytes) or (isinstance(source, str) and is_text(source)):
        _no_mappings("XML text", mappings)
        return _from_text(source)
    if not isinstance(source, (str, os.PathLike)):
        return _of_object(source, mappings)
    path = find(source)
    if path.suffix == ".xacro":
        from rne_dynamics.description.xacro_file import expand_xacro  # here: other files start no process

        # read here too, so that size and entities are checked before xacro reads it
        return Source(f"{path}{EXPANDED}", expand_xacro(path, _read_file(path), mappings or {}), "utf-8")
    _no_mappings(str(path), mappings)
    return Source(str(path), _read_file(path))


def _of_object(source: UrdfObject, mappings: Mapping[str, str] | None) -> Source:
    module = sys.modules.get("urdf_parser_py.urdf")  # not imported for that
    if module is None or not isinstance(source, module.Robot):
        raise DescriptionError(
            f"source is of type {type(source).__name__}; give a path, XML text, a file:// or package:// URI, a robot's "
            "name, or a robot of urdf_parser_py"
        )
    name = f"<urdf_parser_py.Robot {source.name!r}>"
    _no_mappings(name, mappings)
    try:
        text = source.to_xml_string()
    except Exception as error:  # noqa: BLE001 - its conversions raise anything
        raise DescriptionError(f"{name}: urdf_parser_py cannot write it as URDF: {error}; correct it") from None
    return Source(name, text.encode(), "utf-8", lines=False)


def is_text(source: str) -> bool:
    """Whether a string is a description itself, not a name or path."""
    return "<" in source or "\n" in source or not source.strip()


def is_model_file(source: Source) -> bool:
    """Whether a description is a model file (YAML), not a URDF: by its name, or by its first character."""
    if source.name.startswith("<"):
        return source.data.lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n")[:1] not in (b"", b"<")
    return PurePath(source.name).suffix in MODEL_SUFFIXES


def read_stdin(stream: BinaryIO | None = None) -> Source:
    """The description on standard input, named ``<stdin>``."""
    data = (sys.stdin.buffer if stream is None else stream).read(MOST_BYTES + 1)
    _check_size("<stdin>", len(data))
    return Source("<stdin>", data)


def _from_text(text: str | bytes) -> Source:
    _check_size("<text>", len(text))
    if isinstance(text, bytes):
        return Source("<text>", text)
    try:
        return Source("<text>", text.removeprefix("\ufeff").encode(), "utf-8")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise DescriptionError(
            f"<text>:{line}: has the lone surrogate {text[error.start]!r}; read the file as UTF-8, or give its path"
        ) from None


def find(source: str | os.PathLike[str]) -> Path:
    """Path of a file, given by path, URI or name of a robot, see `read_source`; `DescriptionError` for a bad URI."""
    name = os.fspath(source)
    if isinstance(source, str):
        if _URI.match(name):
            return resolve_uri(name)
        if os.sep not in name:  # names of robots that ship have no separator
            if name in shipped_models():
                return share_file(f"urdf/{name}.yaml")
            if name in shipped_robots():
                return share_file(f"urdf/{name}.urdf")
    path = Path(name)
    if "\0" in name:
        raise DescriptionError(f"{name!r} has a null character in it; give a path, XML text, a URI or a robot's name")
    if isinstance(source, str) and os.sep not in name and path.suffix not in (".urdf", ".xacro", *MODEL_SUFFIXES):
        example = example_robots().get(name)
        return path if example is None or path.exists() else example
    return path


def path_from(name: str, file: str) -> str | Path:
    """Path of what a model file names, taken from the file's folder; URIs and names of robots that ship stay."""
    path = Path(name) if file.startswith("<") else Path(file).parent / name
    known = name in shipped_robots() or name in shipped_models() or (name in example_robots() and not path.exists())
    return name if "://" in name or known else path


def names_model_file(source: SourceLike) -> bool:
    """Whether `load_model` reads a source as a model file; `DescriptionError` for an invalid URI."""
    if isinstance(source, (Source, bytes)) or (isinstance(source, str) and is_text(source)):
        return is_model_file(read_source(source))
    if not isinstance(source, (str, os.PathLike)):
        return False
    return find(source).suffix in MODEL_SUFFIXES


def _read_file(path: Path) -> bytes:
    """Content of a file."""
    try:
        return read_limited(path, MOST_BYTES)
    except FileNotFoundError:
        raise _not_found(path) from None
    except IsADirectoryError:
        raise DescriptionError(f"{path} is a folder; give the .urdf or .xacro file in it") from None
    except OSError as error:
        if error.errno == errno.EFBIG:
            _check_size(str(path), MOST_BYTES + 1)
        raise DescriptionError(f"{path} cannot be read: {error.strerror}; check the name and its permissions") from None


def _not_found(path: Path) -> DescriptionError:
    robots, examples = (*shipped_robots(), *shipped_models()), example_robots()
    nearby = []
    if path.parent.is_dir():
        kinds = (".urdf", ".xacro", *MODEL_SUFFIXES)
        nearby = [str(path.parent / p.name) for p in path.parent.iterdir() if p.suffix in kinds]
    near = get_close_matches(str(path), [*robots, *nearby], n=3) or get_close_matches(str(path), examples, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    more = "" if examples else f"; `{HOW_TO_GET}` brings more by name, as ur10 and baxter"
    return DescriptionError(
        f"{path} does not exist; {hint}give a path, XML text, a file:// or package:// URI, or a robot that ships: "
        f"{', '.join(robots) or 'none are installed'} (`{rne('list')}` shows all){more}"
    )


def _check_size(name: str, size: int) -> None:
    if size > MOST_BYTES:
        raise DescriptionError(
            f"{name} is larger than {MOST_BYTES // 1_000_000} MB; a URDF holds no meshes; give the .urdf file"
        )


def _no_mappings(name: str, mappings: Mapping[str, str] | None) -> None:
    if mappings:
        raise DescriptionError(
            f"{name}: arguments ({', '.join(mappings)}) are for xacro only; give a file that ends in .xacro"
        )
