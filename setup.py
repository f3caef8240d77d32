"""Package data of rne_dynamics, for pip and for colcon (ament_python)."""

from __future__ import annotations

from pathlib import Path

from setuptools import find_packages, setup

# setuptools brings its own distutils where Python no longer has one; it must be imported after setuptools
from distutils.command.install_data import install_data  # isort: skip

NAME = "rne_dynamics"
NODES = ("computed_torque_controller", "gravity_compensation", "effort_gate", "simulator", "move", "viewer", "recorder")
HERE = Path(__file__).resolve().parent  # colcon --symlink-install runs a link to this file from elsewhere
X86_LINUX = 'sys_platform == "linux" and platform_machine == "x86_64"'
MESSAGES = (
    "builtin-interfaces", "diagnostic-msgs", "geometry-msgs", "lifecycle-msgs", "rcl-interfaces", "rosgraph-msgs",
    "sensor-msgs", "std-msgs", "std-srvs", "trajectory-msgs",
)  # fmt: skip

# `ros2 run` and `ros2 launch` start lib/<package>/<node>; pip has put the node in bin/
WRAPPER = """\
#!/bin/sh
prefix=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd) || exit 1
exec "$prefix/bin/{node}" "$@"
"""


class InstallData(install_data):  # type: ignore[misc]  # distutils carries no types
    """Install share/ and, in a wheel, the executables' second place; colcon puts the executables there itself."""

    def run(self) -> None:
        """Copy the data files; write the wrappers when a wheel is being built."""
        super().run()
        if self.distribution.get_command_obj("bdist_wheel", create=False) is None:
            return
        folder = Path(self.install_dir) / "lib" / NAME
        folder.mkdir(parents=True, exist_ok=True)
        for node in (*NODES, "rne"):
            wrapper = folder / node
            wrapper.write_text(WRAPPER.format(node=node))
            wrapper.chmod(0o755)
            self.outfiles.append(str(wrapper))


def share(folder: str, *patterns: str) -> tuple[str, list[str]]:
    """One folder of the checkout and where it goes under the install prefix."""
    files = sorted(str(f.relative_to(HERE)) for p in patterns for f in (HERE / folder).glob(p))
    return f"share/{NAME}/{folder}", files


def wheels(distribution: str) -> list[str]:
    """Return the requirements for one ROS 2 distribution's client library from PyPI; never two in one environment."""
    names = [f"ros-{distribution}-rclpy[fastrtps]", *(f"ros-{distribution}-{m}" for m in MESSAGES)]
    return [f"{name}; {X86_LINUX}" for name in names]


PLOT = ["matplotlib>=3.5"]
XACRO = ["xacro>=2.0"]
PEERS = ["pin>=2.7", "mujoco>=3", "casadi>=3.6", "example-robot-data>=4"]  # of `make bench`, and its robots
RETIME = ["toppra>=0.6"]
RECORD = ["mcap>=1.6", "rosbags>=0.10"]
SWEEP = ["dask>=2024.1", "distributed>=2024.1"]
DOCS = ["mkdocs>=1.6", "mkdocs-material>=9.5", "mkdocstrings[python]>=0.28", "jupytext>=1.16", *PLOT]  # `make docs`
MESH = ["trimesh>=4", "networkx>=2"]  # networkx: trimesh repairs with it
VIEW = ["viser>=1.1", "trimesh>=4", "pycollada>=0.7"]  # pycollada: trimesh reads .dae with it

setup(
    name=NAME,
    version="0.1.0",  # catkin_prepare_release writes it here and in package.xml
    description="Control of robot arms with their real dynamics: recursive Newton-Euler, from a URDF to efforts",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    maintainer="The rne_dynamics developers",
    maintainer_email="maintainers@users.noreply.github.com",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={NAME: ["py.typed", "__init__.pyi"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        share("launch", "*.launch.py"),
        share("config", "*.yaml", "*.rviz", "*.md"),
        share("config/hardware", "*.yaml"),
        share("config/two_arms", "*.yaml"),
        share("urdf", "*.urdf", "*.yaml"),
    ],
    cmdclass={"install_data": InstallData},
    python_requires=">=3.10",
    install_requires=[
        "setuptools", "numpy>=1.21", "scipy>=1.8", "llvmlite>=0.41", "urdf-parser-py>=0.0.4", "PyYAML>=5.4", "rich>=10",
    ],
    extras_require={
        "ros": wheels("jazzy"),
        "ros-kilted": wheels("kilted"),
        "plot": PLOT,
        "xacro": XACRO,
        "mesh": MESH,
        "view": VIEW,
        "sweep": SWEEP,
        "record": RECORD,
        "retime": RETIME,
        "docs": DOCS,
        "test": [
            "pytest>=7", "pytest-xdist>=3", "hypothesis>=6", "catkin-pkg", "ruff", "mypy", "ruckig",
            "types-PyYAML", "setuptools", "wheel", "build", "twine", *PEERS, *DOCS, *XACRO, *MESH, *SWEEP, *VIEW,
            *RECORD, *RETIME, "mcap-ros2-support", "numba",
        ],
    },
    entry_points={
        "console_scripts": [
            f"rne = {NAME}.cli.start:main",
            *(f"{node} = {NAME}.ros.{node}:main" for node in NODES),
        ],
    },
    zip_safe=False,
)
