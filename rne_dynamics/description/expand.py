"""Expansion of xacro files to URDF by the xacro package.

A xacro file is a program that evaluates expressions and reads other files. Expand only files you trust.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Mapping
from pathlib import Path

from rne_dynamics.advice import install_ros
from rne_dynamics.description.markup import read_markup
from rne_dynamics.errors import DescriptionError, MissingDependencyError

_log = logging.getLogger(__name__)


def expand_xacro(path: Path, data: bytes, mappings: Mapping[str, str]) -> bytes:
    """The URDF that a xacro file expands to, as UTF-8.

    Parameters
    ----------
    path
        The file; relative paths of included files start in its folder.
    data
        Its content, checked before xacro reads the file.
    mappings
        Its arguments by name.

    Raises
    ------
    DescriptionError
        xacro refuses it.
    MissingDependencyError
        xacro is not installed.
    """
    read_markup(data, str(path))
    try:
        import xacro
    except ImportError:
        raise MissingDependencyError(
            f"{path}: xacro is not installed; `{install_ros('xacro', 'xacro')}`, or give the URDF it expands to"
        ) from None
    chatter = io.StringIO()
    try:
        with contextlib.redirect_stderr(chatter), contextlib.redirect_stdout(chatter):
            document = xacro.process_file(str(path), mappings={k: str(v) for k, v in mappings.items()})
            text: str = document.toprettyxml(indent="  ")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - expressions in xacro may raise anything
        stack = [str(f) for f in (getattr(xacro, "filestack", None) or []) if f and str(f) != str(path)]
        where = f" (in {stack[-1]})" if stack else ""
        said = " ".join(str(error).split()) or type(error).__name__
        raise DescriptionError(
            f"{path}: xacro cannot expand it{where}: {said}; give missing arguments as mappings, and correct the file"
        ) from None
    if chatter.getvalue():
        _log.info("%s: xacro says: %s", path, " ".join(chatter.getvalue().split()))
    return text.encode()
