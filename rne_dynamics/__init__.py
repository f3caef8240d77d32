"""Robot arm dynamics by recursive Newton–Euler, control and simulation; ROS 2 nodes in `rne_dynamics.ros`.

The public names are those of `__init__.pyi`. Each is imported when it is first used: a node or a command does not wait
for what it does not use.

Examples
--------
>>> import rne_dynamics as rne
>>> robot = rne.load_urdf("puma560")
>>> rne.gravity_torque(robot, robot.neutral).shape
(6,)
"""

from functools import cache
from importlib import import_module


@cache
def _modules() -> dict[str, str]:
    """Public names and their modules: the lines ``from MODULE import NAME as NAME`` of the stub."""
    with open(f"{__file__}i", encoding="utf-8") as stub:  # noqa: PTH123 (pathlib takes longer to import than the package)
        lines = [line.split() for line in stub if line.startswith("from ")]
    return {words[3]: words[1] for words in lines}


def __getattr__(name: str) -> object:
    value: object
    if name == "__all__":
        value = sorted(_modules())
    elif name == "__version__":
        value = import_module(f"{__name__}.description.share").package_version()
    elif not name.startswith("_") and name in _modules():
        module = import_module(_modules()[name])
        value = getattr(module, name) if hasattr(module, name) else import_module(f"{module.__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_modules()})
