from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rne_dynamics.description.share import share_file
from rne_dynamics.errors import DescriptionError

CODE = """\
from rne_dynamics.description.share import share_file, shipped_robots
print(share_file("urdf/x.urdf"), shipped_robots())
"""


def test_a_missing_data_file_error_lists_the_folders() -> None:
    with pytest.raises(DescriptionError, match=r"'urdf/none\.urdf'.*searched: .*pip install"):
        share_file("urdf/none.urdf")


def installed(prefix: Path, root: Path) -> Path:
    """A copy of the package's Python under a prefix, without its data."""
    site = prefix / "lib" / "python3" / "site-packages"
    site.mkdir(parents=True)
    (site / "rne_dynamics").mkdir()
    for source in [root / "rne_dynamics" / "errors.py", *(root / "rne_dynamics" / "description").glob("s*.py")]:
        target = site / source.relative_to(root)
        target.parent.mkdir(exist_ok=True)
        target.write_text(source.read_text())
    return site


@pytest.mark.parametrize("place", ["prefix", "elsewhere"])
def test_installed_under_a_prefix_or_named_by_the_ament_index(tmp_path: Path, root: Path, place: str) -> None:
    site = installed(tmp_path / "prefix", root)
    folder = tmp_path / place / "share" / "rne_dynamics" / "urdf"
    folder.mkdir(parents=True)
    (folder / "x.urdf").write_text("<robot/>")
    environment = {"PYTHONPATH": str(site), "AMENT_PREFIX_PATH": str(tmp_path / "elsewhere")}
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, cwd=tmp_path, text=True, capture_output=True, check=True
    )
    assert done.stdout.strip() == f"{folder / 'x.urdf'} ('x',)"
