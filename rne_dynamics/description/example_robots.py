"""Robots of the example-robot-data wheel (or ROS package), by name: ur10, baxter, talos_reduced, ..."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from rne_dynamics.description.share import package_folders

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
