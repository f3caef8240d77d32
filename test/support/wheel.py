"""The URDFs of the example-robot-data wheel."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest


@cache
def wheel_urdfs() -> tuple[Path, ...]:
    """Paths of all URDFs of the wheel, sorted; without the wheel the test or module is skipped."""
    try:
        dist = distribution("example-robot-data")
    except PackageNotFoundError:
        reason = "the robots are those of the example-robot-data wheel: pip install '.[test]'"
        pytest.skip(reason, allow_module_level=True)
    files = [Path(str(dist.locate_file(f))) for f in dist.files or [] if f.name.endswith(".urdf")]
    assert len(files) == 69, f"the wheel carries {len(files)} URDFs, not the 69 this suite was written for"
    return tuple(sorted(files))


def wheel_urdf(name: str) -> Path:
    """The one URDF of the wheel whose file name is `name`."""
    (path,) = (p for p in wheel_urdfs() if p.name == name)
    return path


#: Files in the wheel that describe no robot, with the reason.
NOT_ROBOTS = {"ur3.urdf": "an empty <robot>: what xacro made of a file that only defines macros"}


def wheel_robots() -> tuple[Path, ...]:
    """The URDFs that describe robots."""
    return tuple(p for p in wheel_urdfs() if p.name not in NOT_ROBOTS)
