"""The comment at the head of an exported header: joints, units, conventions, status, and what is missing."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable

from rne_dynamics import __version__
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.layout import FLOATING, PRISMATIC, ROTOR
from rne_dynamics.model.robot import RobotModel

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")


def part_of_identifier(name: str) -> str:
    """Letters, digits and single underscores of a name, accents removed; may be empty or begin with a digit."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")


def prefix_of(name: str) -> str:
    """Prefix of all identifiers of a robot, in lower case."""
    part = part_of_identifier(name).lower()
    return part if _IDENTIFIER.fullmatch(part) else f"robot_{part}".rstrip("_")


def checked_prefix(prefix: str) -> str:
    """A prefix that somebody chose; `ArgumentError` where C or C++ allow no identifier that begins with it."""
    if not _IDENTIFIER.fullmatch(prefix):
        raise ArgumentError(
            f"prefix is {prefix!r}; it must be a letter, then letters, digits and single underscores, the last no "
            "underscore"
        )
    return prefix


def distinct(names: Iterable[str]) -> dict[str, str]:
    """Parts of identifiers by name, all different: numbers are appended to those that would be equal."""
    found: dict[str, str] = {}
    for name in names:
        part, count = part_of_identifier(name) or "link", 1
        while part in found.values():
            count += 1
            part = f"{part_of_identifier(name) or 'link'}_{count}"
        found[name] = part
    return found


def comment(text: str) -> str:
    """A text that neither ends a comment nor begins something in it: one line of printable ASCII."""
    plain = "".join(x if x.isprintable() else " " for x in text).encode("ascii", "backslashreplace").decode()
    return plain.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").replace("\\", "/")


def string(text: str) -> str:
    """A string literal of the text in UTF-8."""
    plain = (chr(x) if (chr(x).isalnum() and x < 128) or chr(x) in " _-./+" else f"\\{x:03o}" for x in text.encode())
    return f'"{"".join(plain)}"'


#: In each file that an export writes.
MARK = "Written by rne export"
_UNITS = {True: ("m", "N"), False: ("rad", "N m")}


def head(robot: RobotModel, source: str, what: str) -> str:
    """The first comment of each file: what it is, of which robot, made from what."""
    made = f"{MARK} of rne_dynamics {__version__}" + (f" from {comment(source)}" if source else "")
    return f"/* {what} of {comment(robot.name)}.\n *\n * {made}. Do not edit; export again.\n */\n"


def description(robot: RobotModel, prefix: str) -> str:
    """Conventions for the programmer: robot, units, status, functions."""
    status = prefix.upper()
    lines = [
        f"{robot.n} velocity coordinates ({status}_N), {robot.nq} position coordinates ({status}_NQ), "
        f"{robot.mass:.6g} kg.",
        "",
        "Positions q:", *_table(_positions(robot)),
        "Velocities qd, accelerations qdd, efforts tau, rows and columns of matrices:", *_table(_velocities(robot)),
    ]  # fmt: skip
    if robot.has_mimic:
        lines += ["Dependent joints, which are no coordinates; their efforts are in those of the leaders:"]
        lines += _table(_mimics(robot))
    root, fixed = comment(robot.tree.root), robot.base == "fixed"
    where = f"the axes of link {root}, which is fixed and at rest" if fixed else "the axes that q refers to"
    lines += [
        f"Gravity: ({', '.join(f'{x:.10g}' for x in robot.gravity)}) m/s^2 in world axes: {where}.",
        "Units: m, rad, s, kg, N, N m. Matrices are stored row after row.",
        "",
        "Rotor inertias are included, as seen through the gears: efforts are what motors give, times the gear ratio."
        if robot.parameters[:, ROTOR].any() else "No rotor inertias are included: efforts are those behind the gears.",
        "Not included: joint friction, limits of position, speed and effort (the figures above are for information),",
        "external forces, motion of a fixed base, flexibility of links and gears.",
        "",
        "Each function returns a status and writes its output only if that is OK. Test it before you use the output.",
        f"  {status}_OK          0  the output is written",
        f"  {status}_NOT_FINITE  1  an input or the result is NaN or infinite",
        f"  {status}_NO_INERTIA  2  forward dynamics: some motion of a joint moves no inertia beyond round-off",
        "The output may share memory with inputs. Pointers must not be null. Functions keep no state, so that threads",
        "may call them at the same time; they allocate nothing, and call nothing but sin, cos and sqrt of libm.",
    ]
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n"


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Rows in aligned columns, and an empty line."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    ] + [""]  # fmt: skip


def _leaders(robot: RobotModel) -> Iterable[tuple[int, int, int]]:
    """Kind, first position and first velocity of each joint that has coordinates of its own, in the order of q."""
    mimics = {joint.name for joint in robot.tree.joints if joint.mimic is not None}
    found = [
        (kind, iq, iv) for name, (_, kind, iq, iv) in zip(robot.body_names, robot.topology.tolist(), strict=True)
        if name not in mimics
    ]  # fmt: skip
    return sorted(found, key=lambda joint: joint[1])


def _positions(robot: RobotModel) -> Iterable[tuple[str, ...]]:
    for kind, iq, iv in _leaders(robot):
        if kind == FLOATING:
            name = comment(robot.joint_names[iv].rpartition("/")[0])
            yield f"[{iq}..{iq + 2}]", name, "floating: position x y z in the parent's axes, m", ""
            yield f"[{iq + 3}..{iq + 6}]", name, "orientation as a quaternion x y z w, normalised by the functions", ""
        else:
            text = f"{_kind(robot, iv, kind)}, {_UNITS[kind == PRISMATIC][0]}"
            yield f"[{iq}]", comment(robot.joint_names[iv]), text, _range(robot.lower[iv], robot.upper[iv])


def _velocities(robot: RobotModel) -> Iterable[tuple[str, ...]]:
    for kind, _, iv in _leaders(robot):
        for k in range(6 if kind == FLOATING else 1):
            linear = kind == PRISMATIC or (kind == FLOATING and k < 3)
            length, effort = _UNITS[linear]
            axes = ", in the axes of the moving body" if kind == FLOATING else ""
            limits = {"speed": robot.velocity_limit[iv + k], "effort": robot.effort_limit[iv + k]}
            known = [f"{what} limit {value:.10g}" for what, value in limits.items() if math.isfinite(value)]
            name = comment(robot.joint_names[iv + k])
            yield f"[{iv + k}]", name, f"{length}/s, {length}/s^2, {effort}{axes}", ", ".join(known)


def _kind(robot: RobotModel, iv: int, kind: int) -> str:
    joints = {joint.name: joint.kind.value for joint in robot.tree.joints}
    return joints.get(robot.joint_names[iv], "prismatic" if kind == PRISMATIC else "revolute")


def _range(lower: float, upper: float) -> str:
    return f"limits {lower:.10g} .. {upper:.10g}" if math.isfinite(lower) or math.isfinite(upper) else "no limits"


def _mimics(robot: RobotModel) -> Iterable[tuple[str, ...]]:
    for joint in robot.tree.depth_first:
        if joint.mimic is not None:
            leader = robot.tree.leader(joint)
            law = f"= {leader.multiplier:.10g} * {comment(leader.joint)} + {leader.offset:.10g}"
            yield comment(joint.name), law.replace("+ -", "- ")
