"""Limits on the shape of the code: import circles, lengths of functions and files, tests for the kind of robot."""

from __future__ import annotations

from graphlib import TopologicalSorter

from support.package_source import MODULES, PACKAGE, dotted, source

FUNCTION_LINES, ARGUMENTS, FILE_LINES = 80, 10, 400

#: Type-only imports that close a circle of modules (importing, imported).
TYPE_CIRCLES = {
    ("rne_dynamics.ros.node.process", "rne_dynamics.ros.node.lifecycle"),
}

#: Functions over 80 lines (without docstring) or 10 arguments, and why.
LARGE_FUNCTIONS = {
    "simulation/rollouts/rollout.py:simulate": "public, all but three are keywords with defaults",
    "simulation/runs/simulator.py:__init__": "public, all but three are keywords with defaults",
    "simulation/runs/free_motion.py:free_motion": "public, all but three are keywords with defaults",
}

#: Most checks for the kind of robot outside the dispatch module and presentation.
KIND_CHECKS = 4
DISPATCH = {"dispatch.py", "dynamics/declared/quantity.py"}
#: Files that print a robot: what they print differs by its kind.
PRESENTATION = {"cli/own_arm/info.py", "cli/simulated/report.py"}

#: Files over 400 lines and their ceilings. A ceiling goes down with its file; no file is added.
LONG_FILES: dict[str, int] = {}


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    """Imports for type checkers count; imports inside functions do not."""
    names = {dotted(path): path for path in MODULES}
    edges = {}
    for name, path in names.items():
        targets = [entry.name for entry in source(path).imports if not entry.late]
        found = {target if target in names else target.rpartition(".")[0] for target in targets}
        found &= names.keys() - {name, PACKAGE.name}
        edges[name] = {target for target in found if (name, target) not in TYPE_CIRCLES}
    TopologicalSorter(edges).prepare()  # CycleError names the modules of a circle


def test_functions_are_short_and_take_few_arguments() -> None:
    large = {
        f"{path.relative_to(PACKAGE)}:{function.name}": f"{function.lines} lines, {function.arguments} arguments"
        for path in MODULES
        for function in source(path).functions
        if function.lines > FUNCTION_LINES or function.arguments > ARGUMENTS
    }
    new = {name: size for name, size in large.items() if name not in LARGE_FUNCTIONS}
    assert not new, f"over {FUNCTION_LINES} lines (without docstring) or {ARGUMENTS} arguments: {new}"
    assert large.keys() == LARGE_FUNCTIONS.keys(), "LARGE_FUNCTIONS names a function that is small now"


def test_few_places_check_the_kind_of_robot() -> None:
    checks = {str(path.relative_to(PACKAGE)): len(source(path).kind_checks) for path in MODULES}
    found = {name: count for name, count in checks.items() if count and name not in DISPATCH | PRESENTATION}
    assert sum(found.values()) <= KIND_CHECKS, f"use an attribute or method that all robots have: {found}"


def test_long_files_only_get_shorter() -> None:
    long = {str(path.relative_to(PACKAGE)): source(path).lines for path in MODULES if source(path).lines > FILE_LINES}
    grown = {name: lines for name, lines in long.items() if lines > LONG_FILES.get(name, FILE_LINES)}
    assert not grown, f"over {FILE_LINES} lines, or over their own ceiling: split them"
    assert long.keys() == LONG_FILES.keys(), "LONG_FILES names a file that is short now"
