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
from rne_dynamics.ros.parameters.files import JOINT, JTC, Parameter
from rne_dynamics.ros.simulator import SimulatorNode
from rne_dynamics.ros.viewer import ViewerNode

#: The page.
PAGE = Path(__file__).resolve().parents[2] / "docs" / "parameters.md"
COMMAND = "python test/support/parameter_page.py"

CONTROLLERS = ("computed_torque_controller", "gravity_compensation")
GATE = "effort_gate"
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
#: Types of messages, topics and parameters in a description.
NAME = re.compile(
    r"(?<![\w`])([a-z]+_[a-z]+/\w+|~?/[a-z][\w/*]*|[a-z_]+(?:\.[a-z_]+)+|[a-z]+(?:_[a-z]+)+)(?![\w`])"
)
#: Nodes without a robot, which have parameters of their own only.
WITHOUT_ROBOT = ("recorder",)


HEAD = f"""\
# Parameters

`{COMMAND}` writes this page from what the nodes declare; a test checks it.

Names are as in a parameter file ([config/](../config) has one for each shipped robot); `<joint>` is the name of each
controlled joint. A default with a point is a number, for which an integer is accepted too; without one it is an
integer. Units are those of the default. NaN, infinity, another type and values outside the bounds are refused by name.

Parameters of controllers and `effort_gate` may be changed while the node runs, except those with a mark: *start*, fixed
by the start of the process; *configure*, changed after the node was deactivated and cleaned up. All other nodes read
theirs at the start. All changes of one request (`set_parameters_atomically`) are checked together, and take effect
together between two efforts, or not at all. The effort does not jump after a change.

No setting is lost silently:

- An unknown name is refused with the nearest names.
- Settings of joints that `joints` leaves out, and of QoS (`qos_overrides.*`), have no effect; a warning names them.
- A parameter file without settings for the node is named in a warning with keys that apply:
  `/left/computed_torque_controller`, or `/**/computed_torque_controller` for any namespace.
"""

JTC_HEAD = """\
## Names of joint_trajectory_controller

`computed_torque_controller` takes these names of ros2_controllers' joint_trajectory_controller. Gains are in the units
above, not in N m/rad. A value that contradicts one under our own name is refused.
"""

#: Heads of the tables of these names: which have a parameter here, which are taken without effect, which are refused.
EFFECTS = ("here", "no effect, because", "refused unless it changes nothing, because")

INTRODUCTIONS = {
    "controllers and effort_gate": "Give them the same values.",
    "effort_gate": "See [effort_gate.md](effort_gate.md).",
    "recorder": "These are all: it needs no robot. See [view.md](view.md#recordings).",
    "viewer": "See [view.md](view.md).",
}


def page() -> str:
    """The whole page."""
    sections = [HEAD]
    for title, parameters in grouped(NODES).items():
        lines = [f"## {title[0].upper()}{title[1:]}" if " " in title else f"## `{title}`", ""]
        if title in INTRODUCTIONS:
            lines += [INTRODUCTIONS[title], ""]
        sections.append("\n".join([*lines, *table(parameters)]) + "\n")
    return "\n".join([*sections, JTC_HEAD, *("\n".join(rows) + "\n" for rows in alias_tables())])


def alias_tables() -> list[list[str]]:
    """Lines of one table for each of `EFFECTS`: parameter names of another controller and their meaning here."""
    names: tuple[dict[str, list[str]], ...] = ({}, {}, {})
    for entry in JTC:
        if entry.ours:
            effect, meaning = 0, f"{'minus ' if entry.negated else ''}`{entry.ours.replace(JOINT, '<joint>')}`"
        else:
            effect = 1 if entry.accepts is None else 2
            words = re.split(r"([\w.]*<joint>[\w.]*)", entry.does)
            meaning = "".join(f"`{word}`" if "<joint>" in word else text(word) for word in words)
        names[effect].setdefault(meaning, []).append(f"`{entry.name.replace(JOINT, '<joint>')}`")
    return [
        [f"| name there | {effect} |", "|---|---|",
         *(f"| {', '.join(found)} | {meaning} |" for meaning, found in rows.items())]
        for effect, rows in zip(EFFECTS, names, strict=True)
    ]


def grouped(nodes: dict[str, tuple[Parameter, ...]]) -> dict[str, tuple[Parameter, ...]]:
    """The parameters by section: those that several nodes have in common are listed once."""
    first, second = (nodes[name] for name in CONTROLLERS)
    both = [p for p in first if p in second]
    everywhere = {p.name for p in both if all(
        p.name in {q.name for q in other} for name, other in nodes.items() if name not in WITHOUT_ROBOT
    )}
    gated = {p.name for p in both if p.name not in everywhere and p in nodes[GATE]}
    shared = {p.name for p in both}
    sections = {
        "every node": tuple(p for p in both if p.name in everywhere),
        "controllers and effort_gate": tuple(p for p in both if p.name in gated),
        "both controllers": tuple(p for p in both if p.name not in everywhere | gated),
    }
    for name, parameters in nodes.items():
        listed = shared if name in CONTROLLERS else everywhere | gated if name == GATE else everywhere
        sections[name] = parameters if name in WITHOUT_ROBOT else tuple(p for p in parameters if p.name not in listed)
    return sections


def table(parameters: Sequence[Parameter]) -> list[str]:
    """Lines of a table with one row a parameter; marks say when it may be changed, if not always the start."""
    marks = not all(p.read_only for p in parameters)
    lines = ["| name | default; allowed | what it does |", "|---|---|---|"]
    for p in parameters:
        default = f"`{p.default_text()}` {p.unit}".strip().replace("|", "\\|")
        mark = ("*start*" if p.read_only else "*configure*" if p.at_configure else "") if marks else ""
        values = "; ".join(filter(None, (default, allowed(p), mark)))
        lines.append(f"| `{p.name.replace(JOINT, '<joint>')}` | {values} | {text(p.description)} |")
    return lines


def allowed(parameter: Parameter) -> str:
    """Choices, bounds and lengths in words; empty where there are none."""
    words = []
    if isinstance(parameter.default, tuple) and parameter.length != (len(parameter.default),):
        count = f"{' or '.join(map(str, parameter.length))} " if parameter.length else "list of "
        words.append(f"{count}{'texts' if parameter.element is str else 'numbers'}")
    if parameter.choices:
        words.append(", ".join(f"`{choice}`" for choice in parameter.choices))
    low, high = parameter.lower, parameter.upper
    if math.isfinite(low) and math.isfinite(high):
        words.append(f"{short(low)}–{short(high)}" if low >= 0 else f"{short(low)} to {short(high)}")
    elif math.isfinite(low) or math.isfinite(high):
        words.append(f"at least {short(low)}" if math.isfinite(low) else f"at most {short(high)}")
    return "; ".join(words)


def short(number: float) -> str:
    """A bound, 1e6 rather than 1e+06."""
    return re.sub(r"e([+-])0*", lambda sign: "e-" if sign[1] == "-" else "e", f"{number:g}")


def text(description: str) -> str:
    """A description as Markdown: topics, types of messages and parameters with dots are code."""
    return NAME.sub(r"`\1`", description).replace("|", "\\|")


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
