"""`rne state`: what the controllers, gates and simulators that run report, and whether the arm is held."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.cli.answer import Answer, Rows, finite
from rne_dynamics.cli.arguments import flag, node_option
from rne_dynamics.errors import ArgumentError, ControlError

if TYPE_CHECKING:
    from rne_dynamics.ros.sessions.running_nodes import RunningModel, RunningNode, RunningNodes

    #: The model of each node by its name, or why it cannot be had.
    Models = dict[str, RunningModel | str]

EXAMPLES = """\
examples:
  rne state
  rne state --json --node /left/computed_torque_controller

exit code: 0 if every controller holds or moves its arm and receives joint states, 1 if not, or if none runs
"""
#: Longest wait for what nodes publish, s.
REPORTS = 3.0
#: Limits of a model, and their keys in the answer.
LIMITS = {"lower": "lower", "upper": "upper", "velocity": "velocity_limit", "effort": "effort_limit"}
LEVELS = {0: "ok", 1: "warning", 2: "error", 3: "stale"}


ARGUMENTS = (
    node_option("all that run"), flag("--json", "print the values as JSON"),
)  # fmt: skip


def run(args: argparse.Namespace) -> Answer:
    """The state; it succeeds if every arm is held."""
    from rne_dynamics.ros.sessions.running_nodes import RunningNodes

    wanted = wanted_node(args)
    with RunningNodes() as nodes:
        nodes.find(wanted)
        if wanted is not None and wanted not in nodes.by_name:
            nodes.controller(wanted)  # raises
        shown = _shown(nodes, wanted)
        if not any(node.kind != "simulator" for node in shown):
            simulators = ", ".join(node.name for node in shown)
            raise ControlError(
                "no controller runs in this ROS domain"
                + (f" (simulators: {simulators})" if simulators else "; is ROS_DOMAIN_ID that of the arm?")
            )
        nodes.spin(REPORTS, lambda: _complete(nodes, shown))
        models = _models(nodes, shown)
        controllers = [node for node in shown if node.kind == "controller"]
        nodes.spin(2.0 * STALE, lambda: not any(map(stale, controllers)))  # the next one after a stall comes late
        found = reports(shown, models)
    held = bool(controllers) and all(trouble(node) is None for node in controllers)
    return Answer(found, list(_parts(found)), code=int(not held))


def _shown(nodes: RunningNodes, wanted: str | None) -> list[RunningNode]:
    """The nodes to show, controllers first."""
    every = [*nodes.of("controller"), *nodes.of("gate"), *nodes.of("simulator")]
    return [node for node in every if wanted in (None, node.name)]


def _complete(nodes: RunningNodes, shown: list[RunningNode]) -> bool:
    nodes.look()
    every = all(n.status is not None and (n.kind == "simulator" or n.joints is not None) for n in shown)
    return every and all(n.mode for n in shown if n.kind == "controller")


def _models(nodes: RunningNodes, shown: list[RunningNode]) -> Models:
    """The models by node, or why one cannot be had."""
    from rne_dynamics.ros.sessions.running_nodes import read_model

    models: Models = {}
    for node in shown:
        if node.kind == "controller":
            try:
                models[node.name] = read_model(nodes, node)
            except ControlError as error:
                models[node.name] = str(error)
    return models


def reports(shown: list[RunningNode], models: Models) -> list[dict[str, Any]]:
    """All that is known about the nodes as plain values, SI units; null for what is not known."""
    found = []
    for node in shown:
        model, driving = models.get(node.name), node.kind == "controller"
        wrong, remedy = (trouble(node) if driving else None) or (None, None)
        found.append({
            "node": node.name, "kind": node.kind, "state": node.mode or None, "held": driving and wrong is None,
            "trouble": wrong, "remedy": remedy, "last_fault": node.values.get("last fault") or None,
            "motion_locked": node.values.get("motion locked") or None, "joint_states": node.topic or None,
            "joint_states_age": node.age, "joints": joints(node, model),
            "limits": model if isinstance(model, str) else None, "level": LEVELS.get(level(node)),
            "message": node.status.message if node.status else None, "diagnostics": node.values,
        })  # fmt: skip
    return found


def level(node: RunningNode) -> int:
    """Level of the last status; -1 before the first one."""
    return -1 if node.status is None else int(node.status.level[0])


def joints(node: RunningNode, model: RunningModel | str | None) -> list[dict[str, Any]]:
    """Position, velocity and effort of each joint, with its limits where the model is known."""
    state, known = node.joints, None if isinstance(model, str) else model
    if state is None:
        return []
    places = {name: k for k, name in enumerate(state.name)}
    rows = []
    for name in places if known is None else [n for n in known.robot.joint_names if n in places]:
        given = {"position": state.position, "velocity": state.velocity, "effort": state.effort}
        row: dict[str, Any] = {"name": name} | {
            key: finite(values[places[name]]) if places[name] < len(values) else None for key, values in given.items()
        }
        if known is not None:
            j = known.robot.joint_index(name)
            row |= {key: finite(getattr(known, what)[j]) for what, key in LIMITS.items()}
        rows.append(row)
    return rows


_HEADINGS = ("joint", "position (rad, m)", "limits", "velocity", "limit", "effort (N m, N)", "limit")


def _parts(found: list[dict[str, Any]]) -> Iterator[str | Rows]:
    """A block for each node."""
    for node in found:
        quiet = node["trouble"] or not node["message"]
        status = "" if quiet else f", {node['level'] or 'no level'}: {node['message']}"
        yield f"{node['node']} ({node['kind']}): {node['state'] or 'running'}{status}"
        if node["trouble"]:
            yield f"  {node['trouble']}"
            yield f"  remedy: {node['remedy']}"
        if node["kind"] != "controller":
            continue
        if node["last_fault"] and node["state"] != "fault":
            yield f"  last fault: {node['last_fault']}"
        if (age := node["joint_states_age"]) is not None:
            yield f"  joint states on {node['joint_states']}, the last one {1e3 * age:.0f} ms old"
        if node["limits"]:
            yield f"  limits are not known: {node['limits']}"
        if node["joints"]:
            yield Rows(_HEADINGS, [
                (row["name"], _text(row["position"]), f"{_text(row.get('lower'))} … {_text(row.get('upper'))}",
                 _text(row["velocity"]), _text(row.get("velocity_limit")), _text(row["effort"]),
                 _text(row.get("effort_limit"))) for row in node["joints"]
            ])  # fmt: skip


def _text(value: float | None) -> str:
    return "" if value is None else f"{np.round(value, 4) + 0.0:.6g}"


#: States in which a controller drives the arm.
HELD = ("holding", "tracking", "floating")
#: Older joint states are stale, s.
STALE = 0.5


def wanted_node(args: argparse.Namespace) -> str | None:
    """The full name of --node; `ArgumentError` if it is none."""
    name: str | None = args.node
    if name is None:
        return None
    if not all(part.isidentifier() for part in name.strip("/").split("/")):
        raise ArgumentError(f"--node is {name!r}; write the node's full name, as in /left/computed_torque_controller")
    return "/" + name.strip("/")


def stale(node: RunningNode) -> bool:
    """Whether its joint states do not come, or are too old."""
    return node.age is None or node.age > STALE


def trouble(node: RunningNode) -> tuple[str, str] | None:
    """Reason why a controller does not hold the arm, and the remedy; None if it holds it."""
    cause, where, recover = node.values.get("cause", ""), node.topic or "joint_states", rne("send --recover")
    refused = node.status is not None and level(node) > 0
    age = "none came" if node.age is None else f"the last one came {node.age:.2f} s ago"
    cases = (
        (not node.mode, "its state is not known", "wait, or look into its log"),
        (node.mode == "fault", f"fault: {node.values.get('last fault') or cause}",
         f"remove the cause, then `{recover}`"),
        (node.mode == "released", f"the arm is released: {cause}", f"`{recover}` holds it again"),
        (node.mode == "waiting" and refused,
         f"no usable joint state yet: {node.status.message if node.status else ''}", "remove the cause"),
        (node.mode == "waiting", "no usable joint state yet",
         f"start the driver or the simulator; they publish {where}"),
        (node.mode not in HELD, f"it is {node.mode}: {cause}", "wait until the stop has ended, or activate it"),
        (stale(node), f"joint states on {where}: {age}", "check the driver or the simulator"),
    )  # fmt: skip
    return next(((wrong, remedy) for holds, wrong, remedy in cases if holds), None)
