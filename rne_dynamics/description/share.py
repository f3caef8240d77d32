"""Paths of the package's data files (URDFs, YAML) in a checkout or an installation."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from rne_dynamics.errors import DescriptionError

PACKAGE = "rne_dynamics"


def share_folders() -> Iterator[Path]:
    """Folders that may hold the data, nearest first: the source checkout, install prefixes, the ament index."""
    here = Path(__file__).resolve()
    checkout = here.parents[2]
    if (checkout / "package.xml").is_file():
        yield checkout
    for prefix in (*here.parents[2:], Path(sys.prefix)):
        yield prefix / "share" / PACKAGE
    for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        if entry:
            yield Path(entry) / "share" / PACKAGE


def share_file(relative: str | PurePosixPath) -> Path:
    """Path of a data file, e.g. ``share_file("urdf/puma560.urdf")``.

    Raises
    ------
    DescriptionError
        It is in none of the folders; the message lists them.
    """
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
    root = ElementTree.parse(share_file("package.xml")).getroot()
    return root.findtext("version", "")


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
