"""The layers of docs/architecture.md, checked from what every module imports."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter

from support.package_source import MODULES, PACKAGE, ROOT, source, subpackage

LAYER = {
    "advice": 0, "errors": 0, "interrupted": 0, "compiling": 0, "input_file": 0, "spatial": 0,
    "model": 1,
    "description": 2, "dynamics": 2, "straight_line": 2,
    "bound": 3, "bound_batch": 3, "c_export": 3, "c_functions": 3, "closed_chain": 3, "flexible": 3, "dispatch": 3,
    "control": 4, "figures": 4, "simulation": 4, "verification": 4,
    "cli": 5, "identification": 5, "recording": 5, "ros": 5, "viewer": 5,
}  # fmt: skip
#: Imports within a layer that are allowed (importing, imported).
SAME_LAYER = {
    ("compiling", "errors"), ("compiling", "advice"), ("spatial", "compiling"), ("spatial", "errors"),
    ("flexible", "closed_chain"), ("simulation", "control"), ("cli", "ros"),
    ("cli", "viewer"), ("ros", "viewer"), ("model", "errors"),
    ("cli", "identification"), ("cli", "recording"), ("identification", "recording"), ("ros", "recording"),
    ("viewer", "recording"),
    ("bound", "bound_batch"), ("bound", "closed_chain"), ("bound", "flexible"),
    ("bound_batch", "closed_chain"), ("bound_batch", "dispatch"), ("dynamics", "straight_line"),
    ("c_functions", "bound"),
    ("dispatch", "closed_chain"), ("dispatch", "flexible"),
}  # fmt: skip
WITHOUT_DESCRIPTION = {package for package, layer in LAYER.items() if layer in (3, 4)}
#: First names of ROS packages: a module outside ros/ that imports one does not run without ROS.
ROS = {
    "rclpy", "launch", "launch_ros", "ament_index_python", "tf2_ros", "rcl_interfaces", "builtin_interfaces",
}  # fmt: skip


def test_module_imports_only_from_lower_layers() -> None:
    """Nor do packages of one layer import each other in a circle: CycleError names those of `SAME_LAYER` that would."""
    TopologicalSorter({own: {to for by, to in SAME_LAYER if by == own} for own in LAYER}).prepare()
    for path in MODULES:
        own = subpackage(path)
        if not own:
            continue
        assert own in LAYER, f"{own}/ is in no layer; give it one in docs/architecture.md and here"
        for entry in source(path).imports:
            where = f"{path.name}:{entry.line}"
            first, _, rest = entry.name.partition(".")
            assert entry.name != PACKAGE.name, f"{where} imports the public API, which imports everything"
            other = rest.partition(".")[0]
            if first != PACKAGE.name or other in (own, "__version__"):
                continue
            allowed = LAYER[other] < LAYER[own] or (own, other) in SAME_LAYER
            if other == "description" and own in WITHOUT_DESCRIPTION:
                allowed = False
            assert allowed, f"{where}: {own} (layer {LAYER[own]}) imports {entry.name} (layer {LAYER[other]})"


def test_ros_and_llvm_are_imported_where_they_belong() -> None:
    """Other packages import nodes inside functions only."""
    for path in MODULES:
        own = subpackage(path)
        for entry in source(path).imports:
            where, first = f"{path.name}:{entry.line}", entry.name.split(".")[0]
            is_ros = first in ROS or first.endswith(("_msgs", "_srvs"))
            assert own == "ros" or not is_ros, f"{where} imports {entry.name}"
            late = entry.late or entry.typing or own == "ros"
            assert late or not entry.name.startswith(f"{PACKAGE.name}.ros"), f"{where}: import it inside the function"
            assert first != "numba", f"{where}: use compiling/jit.py"
            assert own == "compiling" or entry.late or first != "llvmlite", f"{where}: use compiling/native.py"


def test_the_layer_table_of_the_documentation_is_this_one() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    documented = {package: int(layer) for layer, package in re.findall(r"^\| (\d) \| `(\w+)(?:/|\.py)` \|", text, re.M)}
    assert documented == LAYER


def test_what_the_documentation_locates_is_there() -> None:
    """Each file of the table "Where is …" contains the name given for it."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("## Where is")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+) \| `([\w/.]+\.pyi?)` \| `(.+)` \|$", section, re.M)
    assert len(rows) == section.count("\n|") - 2, "a row that is not read here"
    for what, file, name in rows:
        assert name in (PACKAGE / file).read_text(encoding="utf-8"), f"{what}: {file} does not contain {name}"


def test_the_page_shows_an_algorithm_as_it_is():
    source = (PACKAGE / "dynamics/newton_euler/newton_euler.py").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```py\n(@helper\n.*?)```", page, re.S)
    assert shown in source
