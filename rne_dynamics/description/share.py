"""Paths of the package's data files (URDFs, YAML) in a checkout or an installation, of URIs, and of example robots."""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from rne_dynamics.errors import DescriptionError, refuse

PACKAGE = "rne_dynamics"
_NAME = re.compile(r"<name>\s*([^<\s]+)")


def share_folders() -> Iterator[Path]:
    """Folders that may hold the data, nearest first: the source checkout, install prefixes, the ament index."""
    here = Path(__file__).resolve()
    checkout = here.parents[2]
    if (checkout / "package.xml").is_file():
        yield checkout
    for prefix in (*here.parents[2:], Path(sys.prefix)):
        yield prefix / "share" / PACKAGE
    for entry in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        yield Path(entry) / "share" / PACKAGE


def share_file(relative: str | PurePosixPath) -> Path:
    """Path of a data file, as ``share_file("urdf/puma560.urdf")``; `DescriptionError` if no folder has it."""
    for folder in share_folders():
        if (folder / relative).is_file():
            return folder / relative
    looked = ", ".join(dict.fromkeys(str(folder) for folder in share_folders() if folder.is_dir()))
    raise DescriptionError(
        f"data file {str(relative)!r} of {PACKAGE} does not exist (searched: {looked or 'no folder exists'}); "
        "install the package with `pip install .` or colcon, or run from its checkout"
    )


def package_version() -> str:
    """The version of this package, from its package.xml."""
    from xml.etree import ElementTree  # imported late: loading a robot does not need it

    return ElementTree.parse(share_file("package.xml")).getroot().findtext("version", "")


def shipped_robots() -> tuple[str, ...]:
    """Names of the robots that ship, for `load_urdf`; sorted. Without the URDFs of `shipped_models`."""
    models = shipped_models()
    return tuple(name for name in _stems("urdf") if name not in models)


def shipped_models() -> tuple[str, ...]:
    """Names of the model files that ship, for `load_model`; sorted."""
    return _stems("yaml")


def _stems(suffix: str) -> tuple[str, ...]:
    """Names of the files with a suffix in the first folder that contains robots."""
    for folder in share_folders():
        if any((folder / "urdf").glob("*.urdf")):
            return tuple(sorted(path.stem for path in (folder / "urdf").glob(f"*.{suffix}")))
    return ()


def resolve_uri(uri: str, *files: Path) -> Path:
    """The path of a URI; `DescriptionError` for another scheme, a host, an unknown package, or a path outside it.

    Packages are also looked for above `files`, and in wheels then.
    """
    scheme, _, rest = uri.partition("://")
    if scheme.lower() == "package":
        return _in_package(uri, unquote(rest), files)
    if scheme.lower() != "file":
        raise DescriptionError(f"{uri!r}: scheme {scheme!r} is unknown; give a path, file:// or package://")
    host, slash, path = unquote(rest).partition("/")
    if host not in ("", "localhost") or not path:
        raise DescriptionError(f"{uri!r} is no local absolute path; write file:///absolute/path.urdf")
    return Path(slash + path)


def _in_package(uri: str, rest: str, files: tuple[Path, ...]) -> Path:
    name, _, inside = rest.partition("/")
    relative = posixpath.normpath(inside)
    refuse(
        DescriptionError,
        (not name or name in (".", "..") or not inside,
         f"{uri!r} names no file of a package; write package://PACKAGE/PATH"),
        (relative.startswith(("/", "..")) or "\\" in inside or "\0" in inside,
         f"{uri!r} leads outside package {name!r}, which is refused; name a file inside it, or give its plain path"),
    )  # fmt: skip
    folders = list(dict.fromkeys(package_folders(name, *files)))
    for folder in folders:
        if (folder / relative).is_file():
            return folder / relative
    if folders:
        raise DescriptionError(
            f"{uri!r}: package {name!r} (in {', '.join(map(str, folders))}) has no file {relative!r}; check the name"
        )
    raise DescriptionError(
        f"{uri!r}: package {name!r} is not found; source its workspace (it is looked for in "
        "AMENT_PREFIX_PATH), or give the file's plain path"
    )


def package_folders(name: str, *files: Path) -> Iterator[Path]:
    """Existing folders of a package: ament index, this package's own, above `files`, in wheels."""
    for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        folder = Path(entry) / "share" / name
        indexed = Path(entry) / "share/ament_index/resource_index/packages" / name
        if entry and folder.is_dir() and (indexed.exists() or (folder / "package.xml").is_file()):
            yield folder
    if name == PACKAGE:
        yield from (folder for folder in share_folders() if folder.is_dir())
    for file in files:
        for folder in file.resolve().parents:
            if folder.name == name or _package_name(folder) == name:
                yield folder
            if (folder / name).is_dir():
                yield folder / name
            # a repository's folder often has another name than the package in it
            yield from (p.parent for p in sorted(folder.glob("*/package.xml")) if _package_name(p.parent) == name)
    for entry in sys.path if files else ():
        if (folder := Path(entry) / "cmeel.prefix" / "share" / name).is_dir():
            yield folder


def _package_name(folder: Path) -> str:
    """The name in a folder's package.xml; empty without one."""
    try:
        found = _NAME.search((folder / "package.xml").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ""
    return found[1] if found else ""


WHEEL = "example-robot-data"
#: The command that installs them; Debian and Ubuntu have no package of them.
HOW_TO_GET = f"pip install {WHEEL}"
#: Folder of the robots' folders in the wheel; in a ROS package it is ``robots`` of its share folder.
_INSIDE = f"cmeel.prefix/share/{WHEEL}/robots"
#: Endings of file names and folder names that are no part of a robot's name.
_FILE_ENDINGS, _FOLDER_ENDINGS = ("_robot",), ("_description", "_data")


@cache
def example_robots() -> dict[str, Path]:
    """URDF of every robot by its name, sorted; empty where the wheel is not installed.

    The name is the file's without its ending and ``_robot``, so ``ur10`` for ``ur10_robot.urdf``. Where two folders
    have files of that name, it is the folder's, without ``_description``.
    """
    files = [file for folder in _folders() for file in sorted(folder.glob("*/*/*.urdf"))]
    whole = {file.stem for file in files}
    # ur3.urdf only defines macros and makes no robot; ur3_robot.urdf is the arm
    shadowed = {stem for stem in whole if any(stem + ending in whole for ending in _FILE_ENDINGS)}
    files = [file for file in files if file.stem not in shadowed]
    names = [_without(file.stem, _FILE_ENDINGS) for file in files]
    found: dict[str, Path] = {}
    for name, file in zip(names, files, strict=True):
        found.setdefault(name if names.count(name) == 1 else _without(file.parents[1].name, _FOLDER_ENDINGS), file)
    return dict(sorted(found.items()))


def _folders() -> Iterator[Path]:
    """Folders that have robots' folders: the wheel's, else those of a ROS package."""
    from importlib.metadata import distributions  # late: robots by path do without it

    for wheel in distributions(name=WHEEL):
        folder = Path(str(wheel.locate_file(_INSIDE)))
        if folder.is_dir():
            yield folder
            return
    for share in package_folders(WHEEL):
        if (share / "robots").is_dir():
            yield share / "robots"
            return


def _without(name: str, endings: tuple[str, ...]) -> str:
    for ending in endings:
        name = name.removesuffix(ending)
    return name
