"""Settings with unknown names: found, and refused with the nearest names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from rne_dynamics.ros.parameter_aliases import JOINT

if TYPE_CHECKING:
    from rclpy.node import Node
    from rclpy.parameter import Parameter as RosParameter

#: rclpy declares such parameters with topics whose publisher or subscription allows it.
QOS = "qos_overrides."
#: Smallest similarity of a suggested name, and largest difference from the best one's.
ALIKE, MARGIN = 0.6, 0.02
#: Largest number of suggested names.
MOST_NAMES = 7


def given_to(node: Node, overrides: Sequence[RosParameter] = ()) -> dict[str, Any]:
    """Values from command line, parameter files and constructor (`overrides`) of a node, by name."""
    from rne_dynamics.ros.private_parts import given_parameters

    given = given_parameters(node)
    if given is None:
        given = given_to_another(node, overrides)
    return {name: plain(parameter.value) for name, parameter in given.items()}


def given_to_another(node: Node, overrides: Sequence[RosParameter] = ()) -> dict[str, RosParameter]:
    """The same, read by a second node of the same name: by rclpy's documented interface alone."""
    from rclpy.node import Node

    other = Node(
        node.get_name(), context=node.context, namespace=node.get_namespace(), enable_rosout=False,
        start_parameter_services=False, automatically_declare_parameters_from_overrides=True,
        parameter_overrides=list(overrides),
    )
    try:
        return dict(other.get_parameters_by_prefix(""))
    finally:
        other.destroy_node()


def plain(value: object) -> object:
    """Convert lists, tuples and arrays from rclpy to tuples; return other values unchanged."""
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else value


def unclaimed(
    node: Node, names: Iterable[str], patterns: Iterable[str], joints: Sequence[str], left_out: Iterable[str]
) -> list[str]:
    """Those of `names` that are unknown.

    Settings without effect are not among them, but logged as a warning: those of joints that are `left_out`, and of QoS
    without a declaration. While there are no `joints`, neither are names that begin like one of `patterns` with
    ``{joint}``.
    """
    rest = [name for name in names if not node.has_parameter(name)]
    per_joint = [pattern for pattern in patterns if JOINT in pattern]
    if not joints:
        beginnings = (QOS, *(pattern.partition(JOINT)[0] for pattern in per_joint))
        return [name for name in rest if not name.startswith(beginnings)]
    theirs = {pattern.replace(JOINT, joint) for pattern in per_joint for joint in left_out}
    for idle, why in (
        ([name for name in rest if name in theirs], "the parameter joints leaves these joints out"),
        ([name for name in rest if name.startswith(QOS)], "the node sets the QoS of its topics itself"),
    ):
        if idle:
            node.get_logger().warning(f"settings without effect: {', '.join(idle)}: {why}")
    return [name for name in rest if name not in theirs and not name.startswith(QOS)]


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The names most similar to `name`, the best first; empty if none is similar."""
    matcher = SequenceMatcher(b=name)
    found = []
    for other in known:
        matcher.set_seq1(other)
        if matcher.quick_ratio() >= ALIKE and (ratio := matcher.ratio()) >= ALIKE:
            found.append((-ratio, other))
    found.sort()
    return [other for ratio, other in found if ratio <= found[0][0] + MARGIN][:MOST_NAMES]


def refusal(names: Iterable[str], known: Collection[str]) -> str:
    """The message for unknown names, with suggestions."""
    texts = []
    for name in names:
        near = nearest(name, known)
        hint = f"nearest: {', '.join(near)}" if near else "docs/parameters.md and `ros2 param list` list all"
        texts.append(f"parameter {name} does not exist; {hint}")
    return "; ".join(texts)


def refuse_undeclared(node: Node, names: Iterable[str]) -> str:
    """As `refusal` for those of `names` that a node has not declared; empty if it has declared all."""
    missing = [name for name in names if not node.has_parameter(name)]
    return refusal(missing, node.list_parameters([], 0).names) if missing else ""
