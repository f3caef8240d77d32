"""Display of a robot: one line in a terminal, a table of its joints in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

_COLUMNS = ("joint", "type", "unit", "lower", "upper", "velocity limit", "effort limit")
#: Endings of those coordinates of planar and floating joints that are lengths.
_LENGTHS = ("/x", "/y", "/trans_x", "/trans_y", "/trans_z")


def is_length(coordinate: str, kind: str | None) -> bool:
    """Whether a coordinate, given with its joint's kind, is a length rather than an angle."""
    return kind == "prismatic" or coordinate.endswith(_LENGTHS)


class RobotTable:
    """`repr` and the table in notebooks of any `Robot` (model/protocol.py)."""

    def __repr__(self: Any) -> str:
        return f"<{type(self).__name__} {summary(self)}>"

    def _repr_html_(self: Any) -> str:
        from html import escape  # here: nodes show no tables

        types = {joint.name: joint.kind.value for joint in self.tree.joints}
        limits = (self.lower, self.upper, self.velocity_limit, self.effort_limit)
        rows = []
        for name, *numbers in zip(self.joint_names, *limits, strict=True):
            kind = types.get(name) or types.get(name.rpartition("/")[0], "floating")
            unit = "m" if is_length(name, kind) else "rad"
            rows.append(_row("td", (name, kind, unit, *(f"{number:.4g}" for number in numbers)), escape))
        return f"<table><caption>{escape(summary(self))}</caption>{_row('th', _COLUMNS, escape)}{''.join(rows)}</table>"


def summary(robot: Any) -> str:
    """Name, sizes and mass of a robot in one line."""
    joints = _count(robot.n, "joint")
    if robot.base == "floating":
        joints = f"floating base, {_count(robot.n - 6, 'joint')}"
    if robot.loops:
        joints = f"{robot.n} of {robot.open_tree.n} joints actuated, {_count(len(robot.loops), 'loop')}"
    links = _count(len(robot.link_names), "link")
    if robot.flexible_links:
        links += f" ({len(robot.flexible_links)} flexible, {_count(robot.modes, 'mode')})"
    return f"{robot.name!r}: {joints}, {links}, {robot.mass:.4g} kg"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _row(cell: str, values: Iterable[str], escape: Callable[[str], str]) -> str:
    return f"<tr>{''.join(f'<{cell}>{escape(value)}</{cell}>' for value in values)}</tr>"
