"""The layers of docs/architecture.md, checked from what every module imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rne_dynamics"

LAYER = {
    "advice": 0, "errors": 0, "compiling": 0, "spatial": 0,
    "model": 1,
    "description": 2, "dynamics": 2,
    "bound": 3, "closed_chain": 3, "flexible": 3, "plants": 3, "straight_line": 3,
    "control": 4, "simulation": 4, "identification": 4, "verification": 4,
    "benchmarking": 5, "cli": 5, "faults": 5, "ros": 5,
}  # fmt: skip
#: same-layer imports that are meant: one room builds on another, never the other way round
BESIDE = {
    ("compiling", "errors"), ("compiling", "advice"), ("spatial", "compiling"), ("spatial", "errors"),
    ("flexible", "closed_chain"), ("simulation", "control"), ("identification", "simulation"),
    ("identification", "control"), ("cli", "ros"), ("cli", "benchmarking"), ("cli", "faults"), ("faults", "ros"),
    ("model", "errors"),
    ("bound", "straight_line"), ("plants", "closed_chain"), ("plants", "flexible"),
}  # fmt: skip
WITHOUT_DESCRIPTION = {room for room, layer in LAYER.items() if layer in (3, 4)}
#: the packages that may import ROS: the nodes, and the faults that are injected into running nodes
WITH_ROS = {"ros", "faults"}
#: ROS packages by first name; a module below ros/ that imports one would not run without ROS
ROS = {
    "rclpy", "launch", "launch_ros", "ament_index_python", "tf2_ros", "rcl_interfaces", "builtin_interfaces",
}  # fmt: skip

MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    """The folder or single file of the package that a module belongs to; "" for the package's own front."""
    first = path.relative_to(PACKAGE).parts[0]
    name = first.removesuffix(".py")
    return "" if name in ("__init__", "__main__") else name


@cache
def imported(path: Path, everywhere: bool = True) -> tuple[tuple[int, str], ...]:
    """Line and full dotted name of every import; only those run on import where `everywhere` is False."""
    return tuple(_imports(path, everywhere))


def _imports(path: Path, everywhere: bool) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    package = (PACKAGE.name, *path.relative_to(PACKAGE).parts[:-1])
    inner = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
    }
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test).endswith("TYPE_CHECKING")
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if not everywhere and (id(node) in inner or id(node) in typing_only):
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            stem = ".".join(part for part in (base, node.module or "") if part)
            for alias in node.names:
                yield node.lineno, f"{stem}.{alias.name}"


def test_module_imports_only_from_lower_layers() -> None:
    for path in MODULES:
        room = room_of(path)
        if not room:
            continue
        assert room in LAYER, f"{room}/ is in no layer; give it one in docs/architecture.md and here"
        for line, name in imported(path):
            parts = name.split(".")
            if parts[0] != PACKAGE.name or len(parts) < 2:
                assert name != PACKAGE.name, f"{path.name}:{line} imports the package's front, which imports everything"
                continue
            other = parts[1]
            if other in (room, "__version__"):
                continue
            allowed = LAYER[other] < LAYER[room] or (room, other) in BESIDE
            if other == "description" and room in WITHOUT_DESCRIPTION:
                allowed = False
            assert allowed, f"{path.name}:{line}: {room} (layer {LAYER[room]}) imports {name} (layer {LAYER[other]})"


def test_only_ros_imports_ros() -> None:
    for path in MODULES:
        if room_of(path) in WITH_ROS:
            continue
        for line, name in imported(path):
            first = name.split(".")[0]
            is_ros = first in ROS or first.endswith(("_msgs", "_srvs"))
            assert not is_ros, f"{path.name}:{line} imports {name}; only ros/ may"


def test_ros_is_imported_late_outside_its_room() -> None:
    for path in MODULES:
        if room_of(path) in WITH_ROS:
            continue
        for line, name in imported(path, everywhere=False):
            late = name.startswith((f"{PACKAGE.name}.ros", f"{PACKAGE.name}.faults"))
            assert not late, f"{path.name}:{line}: {name} before it is asked to"


def test_numba_is_imported_where_kernels_are_compiled() -> None:
    for path in MODULES:
        if path.name in ("jit.py", "kernel_cache.py", "progress.py", "views.py") and room_of(path) == "compiling":
            continue
        for line, name in imported(path):
            assert name.split(".")[0] != "numba", f"{path.name}:{line}: use compiling/jit.py"


def test_rooms_do_not_import_each_other_in_a_circle() -> None:
    edges: dict[str, set[str]] = {}
    for path in MODULES:
        room = room_of(path)
        for _, name in imported(path):
            parts = name.split(".")
            if room and parts[0] == PACKAGE.name and len(parts) > 1 and parts[1] in LAYER and parts[1] != room:
                edges.setdefault(room, set()).add(parts[1])

    def reaches(start: str) -> set[str]:
        seen: set[str] = set()
        stack = list(edges.get(start, ()))
        while stack:
            room = stack.pop()
            if room not in seen:
                seen.add(room)
                stack.extend(edges.get(room, ()))
        return seen

    assert [room for room in edges if room in reaches(room)] == []


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    names = {
        ".".join((PACKAGE.name, *p.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): p
        for p in MODULES
    }
    edges: dict[str, set[str]] = {}
    for name, path in names.items():
        for _, target in imported(path, everywhere=False):
            found = target if target in names else target.rpartition(".")[0]
            if found in names and found != name:
                edges.setdefault(name, set()).add(found)
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"import circle: {' -> '.join((*trail[trail.index(name):], name))}"
        if name not in done:
            for target in sorted(edges.get(name, ())):
                visit(target, (*trail, name))
            done.add(name)

    for name in sorted(names):
        visit(name, ())


def test_the_layer_table_of_the_documentation_is_this_one() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    told = {room: int(layer) for layer, room in re.findall(r"^\| (\d) \| `(\w+)(?:/|\.py)` \|", text, re.M)}
    assert told == LAYER


def test_no_test_module_imports_another_one() -> None:
    """What two of them need is in test/support: older pytest (7.4, of ROS 2 Jazzy) does not find one from another."""
    found = []
    for path in (ROOT / "test").rglob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        modules = [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        found += [(path.name, m) for m in modules if m.rpartition(".")[2].startswith("test_")]
    assert not found
