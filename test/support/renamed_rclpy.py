"""Run a node of ours on an rclpy whose private parts have other names, as in a release that has moved them.

    python test/support/renamed_rclpy.py WaitSet,take_message rne_dynamics.ros.simulator --ros-args ...
    python test/support/renamed_rclpy.py all rne_dynamics.ros.computed_torque_controller

rclpy itself uses most of them, so that none can be deleted: the words are replaced in its own Python sources while
they are imported, and on the classes of its C++ module. `all` stands for `IMPLEMENTATION` and for every word in those
sources that begins with one underscore.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

#: Names in the C++ module, which has no underscores before its names.
IMPLEMENTATION = ("WaitSet", "take_message", "rclpy_implementation")
#: Words in the sources that are not names of rclpy's Python modules: its compiled one and types in it, an enum's hook.
KEPT = ("_rclpy_pybind11", r"_rmw_\w+", "_missing_")

#: The module that puts the names of its attributes together at run time: these stay.
QOS = "rclpy.qos"


class Renamed:
    """Finds rclpy's modules, and loads them with other names.

    Parameters
    ----------
    names
        That are replaced; "all" for every private one.
    """

    def __init__(self, names: Sequence[str]) -> None:
        everything = "all" in names
        self._words = _pattern(IMPLEMENTATION if everything else names)
        self._private = _pattern([r"_[a-z]\w*"] if everything else [])

    def new(self, text: str, module: str = "") -> str:
        """With all names replaced, in the source of a module."""
        for pattern in (self._words, self._private)[: 1 if module == QOS else 2]:
            text = pattern.sub(lambda found: f"{found[0]}_of_another_release", text)
        return text

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """For Python's import."""
        if name.partition(".")[0] != "rclpy":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Source(self, spec.loader.name, spec.loader.path)
        elif spec is not None and isinstance(spec.loader, ExtensionFileLoader):
            spec.loader = _Extension(self, spec.loader.name, spec.loader.path)
        return spec


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?<!msg\.)(?<!srv\.)(?!(?:{'|'.join(KEPT)})\b)(?:{'|'.join(words) or '(?!)'})\b")


class _Source(SourceFileLoader):
    def __init__(self, renamed: Renamed, name: str, path: str) -> None:
        super().__init__(name, path)
        self._renamed = renamed

    def path_stats(self, path: str) -> Any:
        raise OSError("no compiled file is read or written")

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:
        text = bytes(data).decode("utf-8")
        code: CodeType = super().source_to_code(self._renamed.new(text, self.name).encode(), path)
        return code


class _Extension(ExtensionFileLoader):
    def __init__(self, renamed: Renamed, name: str, path: str) -> None:
        super().__init__(name, path)
        self._renamed = renamed

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        for owner in (module, *(x for x in vars(module).values() if isinstance(x, type))):
            for name in [name for name in vars(owner) if not name.startswith("_") and self._renamed.new(name) != name]:
                setattr(owner, self._renamed.new(name), getattr(owner, name))
                delattr(owner, name)


def main() -> int:
    """Run the module that the command line names."""
    names, module, *arguments = sys.argv[1:]
    sys.argv = [module.rpartition(".")[2], *arguments]
    sys.meta_path.insert(0, Renamed(names.split(",")))  # type: ignore[arg-type]
    code: int = importlib.import_module(module).main()
    return code


if __name__ == "__main__":
    sys.exit(main())
