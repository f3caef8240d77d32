"""Limits on the shape of the code: import circles, lengths of functions and files, tests for the kind of robot."""

from __future__ import annotations

from graphlib import TopologicalSorter

from support.package_source import MODULES, PACKAGE, dotted, source

FUNCTION_LINES, ARGUMENTS, FILE_LINES = 80, 10, 300

#: Type-only imports that close a circle of modules (importing, imported).
TYPE_CIRCLES = {
    ("rne_dynamics.ros.process", "rne_dynamics.ros.lifecycle"),
    ("rne_dynamics.faults.fault", "rne_dynamics.faults.rig"),
    ("rne_dynamics.faults.controller", "rne_dynamics.faults.rig"),
    ("rne_dynamics.faults.driver", "rne_dynamics.faults.rig"),
    ("rne_dynamics.faults.lockstep", "rne_dynamics.faults.rig"),
}

_TO_SPLIT = "to be split"
#: Functions over 80 lines (without docstring) or 10 arguments, and why.
LARGE_FUNCTIONS = {
    "control/computed_torque.py:computed_torque_kernel": _TO_SPLIT,
    "control/guards/state_checks.py:check_state": _TO_SPLIT,
    "control/motion/acceptance.py:accept_points": _TO_SPLIT,
    "control/motion/acceptance.py:accept_table": _TO_SPLIT,
    "control/prediction.py:_predict": _TO_SPLIT,
    "control/streaming/jerk_limited.py:_smooth": _TO_SPLIT,
    "control/streaming/jerk_limited.py:_fastest": _TO_SPLIT,
    "control/supervision/answer.py:answer_kernel": _TO_SPLIT,
    "dynamics/composite/walker_orin.py:walker_orin_kernel": _TO_SPLIT,
    "dynamics/derivatives/inverse_derivatives.py:inverse_derivatives_kernel": _TO_SPLIT,
    "dynamics/derivatives/inverse_derivatives.py:_rows": _TO_SPLIT,
    "dynamics/lagrange/lagrange.py:_derivatives_and_forces": _TO_SPLIT,
    "dynamics/lagrange/lagrange.py:lagrange_kernel": _TO_SPLIT,
    "dynamics/lagrange/lagrange.py:lagrange_batch": _TO_SPLIT,
    "dynamics/newton_euler/newton_euler.py:inverse_dynamics_kernel": _TO_SPLIT,
    "ros/trajectory_message.py:accept": _TO_SPLIT,
    "simulation/rollouts/rollout.py:simulate": _TO_SPLIT,
    "simulation/runs/free_motion.py:free_motion": _TO_SPLIT,
    "simulation/stepping/collocation.py:gauss_legendre": _TO_SPLIT,
    "simulation/stepping/collocation.py:_stages": _TO_SPLIT,
    "simulation/stepping/contact.py:response": _TO_SPLIT,
    "simulation/stepping/events.py:step_with_events": _TO_SPLIT,
    "simulation/stepping/implicit.py:semi_implicit_step": _TO_SPLIT,
    "simulation/stepping/motion.py:accelerations": _TO_SPLIT,
    "simulation/stepping/motion.py:runge_kutta": _TO_SPLIT,
    "simulation/stepping/open_arm.py:open_arm_accelerations": _TO_SPLIT,
    "simulation/stepping/open_arm.py:open_arm_runge_kutta": _TO_SPLIT,
    "simulation/stepping/tree_step.py:_runge_kutta": _TO_SPLIT,
    "simulation/stepping/tree_step.py:_impulsive": _TO_SPLIT,
    "simulation/stepping/tree_step.py:tree_step_kernel": _TO_SPLIT,
}

#: Most checks for the kind of robot outside the dispatch module and presentation.
KIND_CHECKS = 4
DISPATCH = {"dispatch.py", "dynamics/declared/quantity.py"}
#: Files that print a robot: what they print differs by its kind.
PRESENTATION = {"cli/info.py", "cli/simulate_report.py"}

#: Files over 300 lines and their ceilings. A ceiling goes down with its file; no file is added.
LONG_FILES = {
    "cli/simulate.py": 348,
    "control/gate/effort_gate.py": 435,
    "control/guards/effort_limiter.py": 360,
    "control/guards/state_filter.py": 341,
    "control/supervision/supervisor.py": 865,
    "description/flexible_parts.py": 359,
    "description/schema.py": 308,
    "dynamics/bound.py": 342,
    "dynamics/derivatives/inverse_derivatives.py": 341,
    "dynamics/kinematics/jacobian.py": 303,
    "dynamics/lagrange/lagrange.py": 323,
    "dynamics/newton_euler/newton_euler.py": 304,
    "model/flexible/modal_file.py": 322,
    "model/tree.py": 304,
    "ros/effort_gate.py": 313,
    "ros/simulator.py": 345,
    "simulation/stepping/tree_step.py": 319,
    "verification/flexible_energy.py": 325,
}


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


def test_few_places_check_the_kind_of_robot() -> None:
    checks = {str(path.relative_to(PACKAGE)): len(source(path).kind_checks) for path in MODULES}
    found = {name: count for name, count in checks.items() if count and name not in DISPATCH | PRESENTATION}
    assert sum(found.values()) <= KIND_CHECKS, f"use an attribute or method that all robots have: {found}"


def test_long_files_only_get_shorter() -> None:
    long = {str(path.relative_to(PACKAGE)): source(path).lines for path in MODULES if source(path).lines > FILE_LINES}
    grown = {name: lines for name, lines in long.items() if lines > LONG_FILES.get(name, FILE_LINES)}
    assert not grown, f"over {FILE_LINES} lines, or over their own ceiling: split them"
