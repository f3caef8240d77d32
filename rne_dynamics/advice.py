"""Commands that messages recommend, as they can be typed on this machine."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

PACKAGE = "rne_dynamics"


def rne(words: str) -> str:
    """``rne WORDS`` as it can be typed here.

    pip installs `rne` in the folder of the Python that runs, which may not be on the PATH. After colcon, `ros2 run`
    finds it. A bare checkout has neither.
    """
    if shutil.which("rne"):
        return f"rne {words}"
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    if any((Path(prefix) / "lib" / PACKAGE / "rne").exists() for prefix in prefixes):
        return f"ros2 run {PACKAGE} rne {words}"
    script = Path(sys.executable).with_name("rne")
    if script.exists():
        return f"{shlex.quote(str(script))} {words}"
    return f"{shlex.quote(sys.executable)} -m {PACKAGE}.cli.main {words}"


def install(wheel: str, debian: str) -> str:
    """The command that installs a package: by pip's requirement, or by apt where Debian refuses pip for its Python."""
    managed = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"
    if sys.prefix == sys.base_prefix and managed.exists() and shutil.which("apt"):
        return f"sudo apt install {debian}"
    return f"pip install {shlex.quote(wheel)}"


def extra(name: str) -> str:
    """The command that installs an extra of setup.py; the package is on no index, so it needs a checkout."""
    return f"pip install '.[{name}]' in a checkout of {PACKAGE}"


def install_ros(name: str, wheel: str) -> str:
    """As `install`, for a package of ROS."""
    distribution = os.environ.get("ROS_DISTRO", "")
    return install(wheel, f"ros-{distribution}-{name.replace('_', '-')}" if distribution else f"python3-{wheel}")
