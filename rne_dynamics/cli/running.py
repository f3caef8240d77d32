"""What `rne send`, `rne stop` and `rne state` share: the option --node, and what a state means."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rne_dynamics.advice import rne
from rne_dynamics.errors import ArgumentError

if TYPE_CHECKING:
    from rne_dynamics.ros.sessions.running_nodes import RunningNode

#: States in which a controller drives the arm.
HELD = ("holding", "tracking", "floating")
#: Older joint states are stale, s.
STALE = 0.5


def add_node(parser: argparse.ArgumentParser, otherwise: str) -> None:
    """Declare --node."""
    parser.add_argument("--node", metavar="NAME", help=f"full name of the controller, as in "
                        f"/left/computed_torque_controller (default: {otherwise})")


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
    """What keeps a controller from holding the arm, and what to do; None if it holds it."""
    recover = f"remove the cause, then `{rne('send --recover')}`"
    if not node.mode:
        return "its state is not known", "wait, or look into its log"
    if node.mode == "fault":
        return f"fault: {node.values.get('last fault') or node.values.get('cause', '')}", recover
    if node.mode == "released":
        return f"the arm is released: {node.values.get('cause', '')}", f"`{rne('send --recover')}` holds it again"
    if node.mode == "waiting":
        where = node.topic or "joint_states"
        return "no usable joint state yet", f"start the driver or the simulator; they publish {where}"
    if node.mode not in HELD:
        return f"it is {node.mode}: {node.values.get('cause', '')}", "wait until the stop has ended, or activate it"
    if stale(node):
        age = "none came" if node.age is None else f"the last one came {node.age:.2f} s ago"
        return f"joint states on {node.topic or 'joint_states'}: {age}", "check the driver or the simulator"
    return None
