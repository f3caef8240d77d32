"""Writes docs/parameters.md from the schemas of the nodes; with ``--check`` only compares the page."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from rne_dynamics.ros import effort_gate, gravity_compensation, move, recorder, simulator, viewer
from rne_dynamics.ros.computed_torque_controller import ComputedTorqueController
from rne_dynamics.ros.effort_gate import EffortGateNode
from rne_dynamics.ros.gravity_compensation import GravityCompensationNode
from rne_dynamics.ros.move import MoveNode
from rne_dynamics.ros.parameters import tracking
from rne_dynamics.ros.parameters.aliases import JTC, any_value
from rne_dynamics.ros.parameters.schema import JOINT, Parameter
from rne_dynamics.ros.simulator import SimulatorNode
from rne_dynamics.ros.viewer import ViewerNode

#: The page.
PAGE = Path(__file__).resolve().parents[2] / "docs" / "parameters.md"
COMMAND = "python test/support/parameter_page.py"

CONTROLLERS = ("computed_torque_controller", "gravity_compensation")
#: All parameters by node, as the node declares them.
NODES: dict[str, tuple[Parameter, ...]] = {
    "computed_torque_controller": ComputedTorqueController.all_parameters(tracking.SCHEMA),
    "gravity_compensation": GravityCompensationNode.all_parameters(gravity_compensation.SCHEMA),
    "effort_gate": EffortGateNode.all_parameters(effort_gate.SCHEMA),
    "simulator": SimulatorNode.all_parameters(simulator.SCHEMA),
    "move": MoveNode.all_parameters(move.SCHEMA),
    "recorder": recorder.SCHEMA,
    "viewer": ViewerNode.all_parameters(viewer.SCHEMA),
}
#: Nodes without a robot, which have parameters of their own only.
WITHOUT_ROBOT = ("recorder",)


HEAD = f"""\
# Parameters

`{COMMAND}` writes this page from what the nodes declare; a test checks it.

Names are as in a parameter file ([config/](../config) has one for each shipped robot); `<joint>` stands for the name of
each controlled joint. An integer is accepted for a number, also in a list. NaN, infinity, another type and values
outside the bounds are refused by name, at run time and at the start; at the start the node logs the reason and ends.

| set | when a parameter may be changed |
|---|---|
| *live* | while the node runs |
| *configure* | after the node was deactivated and cleaned up |
| *start* | not while the process runs |

All changes of one request (`set_parameters_atomically`) are checked together with all other parameters. They take
effect together between two efforts, or not at all. `set_parameters` makes one request for each parameter. The effort
does not jump after a change: it moves from the last one at the allowed rate. `ros2 param describe` shows bounds and
units too.

## Settings that no parameter takes

No setting is lost silently:

- An unknown name is refused, at the start or, if it may be that of a joint, at configure. The message has the nearest
  names. The same holds for `set_parameters`.
- Settings of joints that `joints` leaves out, and of QoS (`qos_overrides.*`), have no effect; a warning names them.
- A parameter file without settings for the node, because its keys name another node or namespace, is named in a
  warning with keys that apply: `/left/computed_torque_controller`, or `/**/computed_torque_controller` for any
  namespace.

`computed_torque_controller` takes names of joint_trajectory_controller (ros2_controllers) where they mean the same.
Gains are in the units below, not in N m/rad. A value that contradicts one under our own name is refused.

| name there | here |
|---|---|
"""

INTRODUCTIONS = {
    "every node": "Live parameters are live in controllers and `effort_gate`; `simulator`, `move` and `viewer` read "
    "all at the start.",
    "both controllers": "`computed_torque_controller` and `gravity_compensation`, in addition to those of every node.",
    "computed_torque_controller": "In addition to those of every node and of both controllers.",
    "gravity_compensation": "In addition to those of every node and of both controllers.",
    "effort_gate": "In addition to those of every node. Those that the controllers have too mean the same; give them "
    "the same values. [effort_gate.md](effort_gate.md) describes the node.",
    "simulator": "In addition to those of every node.",
    "move": "In addition to those of every node.",
    "recorder": "These are all: it needs no robot. [recordings.md](recordings.md) describes the node.",
    "viewer": "In addition to those of every node. [view.md](view.md) describes the node.",
}


def page() -> str:
    """The whole page."""
    sections = [HEAD + "\n".join(alias_rows()) + "\n"]
    for title, parameters in grouped(NODES).items():
        lines = [f"## {title[0].upper()}{title[1:]}" if " " in title else f"## `{title}`"]
        sections.append("\n".join([*lines, "", INTRODUCTIONS[title], "", *table(parameters)]) + "\n")
    return "\n".join(sections)


def alias_rows() -> list[str]:
    """Rows of a table: the parameter names of another controller and their meaning here."""
    rows = []
    for entry in JTC:
        if entry.ours:
            here = f"{'minus ' if entry.negated else ''}`{entry.ours.replace(JOINT, '<joint>')}`"
        else:
            effect = "no effect" if entry.accepts is any_value else "refused, unless it changes nothing"
            words = re.split(r"([\w.]*<joint>[\w.]*)", entry.does)
            here = f"{effect}: {''.join(f'`{word}`' if '<joint>' in word else text(word) for word in words)}"
        rows.append(f"| `{entry.name.replace(JOINT, '<joint>')}` | {here} |")
    return rows


def grouped(nodes: dict[str, tuple[Parameter, ...]]) -> dict[str, tuple[Parameter, ...]]:
    """The parameters by section: those that several nodes have in common are listed once."""
    first, second = (nodes[name] for name in CONTROLLERS)
    both = [p for p in first if p in second]
    everywhere = {p.name for p in both if all(
        p.name in {q.name for q in other} for name, other in nodes.items() if name not in WITHOUT_ROBOT
    )}
    shared = {p.name for p in both}
    sections = {
        "every node": tuple(p for p in both if p.name in everywhere),
        "both controllers": tuple(p for p in both if p.name not in everywhere),
    }
    for name, parameters in nodes.items():
        listed = shared if name in CONTROLLERS else everywhere
        sections[name] = parameters if name in WITHOUT_ROBOT else tuple(p for p in parameters if p.name not in listed)
    return sections


def table(parameters: Sequence[Parameter]) -> list[str]:
    """Lines of a table with one row a parameter."""
    columns = ("name", "type", "default", "allowed", "unit", "set", "what it does")
    rows = [
        (f"`{p.name.replace(JOINT, '<joint>')}`", kind(p), f"`{p.default_text()}`", allowed(p),
         p.unit.replace("|", "\\|"),
         "start" if p.read_only else "configure" if p.at_configure else "live", text(p.description))
        for p in parameters
    ]
    return [f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows)]


def kind(parameter: Parameter) -> str:
    """The type in words."""
    name = {bool: "true or false", int: "integer", float: "number", str: "text"}[parameter.element]
    return f"list of {name}s" if isinstance(parameter.default, tuple) else name


def allowed(parameter: Parameter) -> str:
    """Choices, bounds and lengths in words; empty where there are none."""
    words = []
    if parameter.length:
        words.append(f"{' or '.join(map(str, parameter.length))} of them")
    if parameter.choices:
        words.append(", ".join(f"`{choice}`" for choice in parameter.choices))
    low, high = parameter.lower, parameter.upper
    if math.isfinite(low) and math.isfinite(high):
        words.append(f"{short(low)} to {short(high)}")
    elif math.isfinite(low) or math.isfinite(high):
        words.append(f"at least {short(low)}" if math.isfinite(low) else f"at most {short(high)}")
    return "; ".join(words)


def short(number: float) -> str:
    """A bound, 1e6 rather than 1e+06."""
    return re.sub(r"e([+-])0*", lambda sign: "e-" if sign[1] == "-" else "e", f"{number:g}")


def text(description: str) -> str:
    """A description as Markdown: topics and parameters with dots are code."""
    return re.sub(r"(?<![\w`])(~?/[a-z][\w/*]*|[a-z_]+(?:\.[a-z_]+)+|[a-z]+(?:_[a-z]+)+)(?![\w`])", r"`\1`",
                  description).replace("|", "\\|")


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page, or check it; returns 1 if it is outdated."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where the page is outdated")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page (default: docs/parameters.md)")
    args = parser.parse_args(argv)
    wanted = page()
    if args.check:
        if args.page.exists() and args.page.read_text(encoding="utf-8") == wanted:
            return 0
        print(f"{args.page} is not what the nodes declare; run {COMMAND}", file=sys.stderr)
        return 1
    args.page.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
