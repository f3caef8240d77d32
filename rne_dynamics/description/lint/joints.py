"""Checks of joints: placement, axis, limits, friction, mimic range."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rne_dynamics.description.lint.findings import Finding, Reading, collect, error, first_of, note, warning
from rne_dynamics.description.lint.structure import mimic_holds
from rne_dynamics.description.markup import Element, lint_numbers, read_number, read_numbers
from rne_dynamics.description.outline import UNBOUNDED, JointOutline, Outline
from rne_dynamics.model.tree import JointKind

#: Kinds whose position has bounds.
LIMITED = (JointKind.REVOLUTE, JointKind.PRISMATIC)
#: A revolute limit beyond two turns is more likely in degrees, a prismatic one beyond 50 m in millimetres.
_MOST_TURN = 4.0 * math.pi + 0.1
_MOST_STROKE = 50.0
#: Angles of placements beyond one turn are more likely in degrees.
_MOST_ANGLE = 2.0 * math.pi + 0.01
#: Speeds (rad/s) of joints with limits beyond this are in degrees per second; powers of ten stand for no limit.
_MOST_SPEED = 60.0


def lint_joint(outline: Outline, joint: JointOutline) -> Iterator[Finding]:
    """Yield what is wrong with the numbers of one joint."""
    yield from lint_origin(joint.element, joint.where)
    if joint.kind is JointKind.FIXED:
        return
    if joint.kind is not JointKind.FLOATING:
        yield from _lint_axis(joint)
        follows = mimic_holds(outline, joint)
        span = yield from _limits(joint, follows)
        yield from _lint_dynamics(joint)
        yield from _lint_friction(joint)
        if follows:
            yield from _lint_mimic(outline, joint, span)


def lint_origin(element: Element, where: str) -> Iterator[Finding]:
    """Yield what is wrong with the <origin> of a joint or inertial."""
    origin, where = element.at("origin"), f"{where} <origin>"
    for attribute in ("xyz", "rpy"):
        if attribute in origin.attributes:
            values = yield from read_numbers(origin, attribute, 3, where)
            if attribute == "rpy" and values is not None and max(map(abs, values)) > _MOST_ANGLE:
                yield warning(
                    origin.line, where, f"rpy is {origin.attributes['rpy']!r}, in radians more than a turn",
                    f'write rpy="{" ".join(f"{math.radians(x):.10g}" for x in values)}" if these are degrees',
                )
    for attribute in origin.attributes:
        if attribute.startswith("quat"):
            yield error(
                origin.line, where, f"{attribute} is given; only rpy is understood", "write the rotation as rpy"
            )


def _lint_axis(joint: JointOutline) -> Iterator[Finding]:
    axis = joint.element.first("axis")
    if axis is None:
        return  # URDF's default, x
    where = f"{joint.where} <axis>"
    if "xyz" not in axis.attributes:
        yield error(
            axis.line, where, "xyz is missing; it must be 3 finite numbers", 'write xyz="0 0 1" or another axis'
        )
        return
    xyz = yield from read_numbers(axis, "xyz", 3, where)
    if xyz is None:
        return
    length, given = math.hypot(*xyz), axis.attributes["xyz"]
    yield from first_of(
        axis.line, where,
        (length < 1e-12, error, f"xyz is {given!r}; an axis must not be zero",
         "write the direction of motion, or make the joint fixed"),
        (abs(length - 1.0) > 1e-3, warning, f"xyz is {given!r}, of length {length:.6g}; an axis must be a unit vector",
         "divide it by its length (done here on loading)"),
    )  # fmt: skip


def _limits(joint: JointOutline, follows: bool) -> Reading[tuple[float, float] | None]:
    """Yield what is wrong with <limit> and the soft limits; return the range of a joint that has one.

    Missing bounds of a joint that mimics (`follows`) are not reported: its leader moves it.
    """
    limit = joint.element.first("limit")
    where = f"{joint.where} <limit>"
    if limit is None:
        what = "position, speed and effort" if joint.kind in LIMITED else "speed and effort"
        yield from first_of(
            joint.element.line, joint.where,
            (not follows, warning, f"a {joint.kind.value} joint without <limit>: {what} have no bound",
             "add <limit> with the values of the data sheet"),
        )  # fmt: skip
        return None
    for attribute in ("effort", "velocity"):
        if attribute not in limit.repaired:
            yield from _lint_bound(limit, attribute, where, follows)
    if joint.kind not in LIMITED:
        return None
    for attribute in ("lower", "upper"):
        if attribute not in limit.attributes:
            yield warning(
                limit.line, where, f"{attribute} is missing, which URDF reads as 0", f'write {attribute}="..."'
            )
    if not (yield from lint_numbers(limit, where, "lower", "upper", largest=math.inf)):
        return None
    lower, upper = limit.number("lower", 0.0), limit.number("upper", 0.0)
    turns = joint.kind is JointKind.REVOLUTE
    most, unit, mistaken = (_MOST_TURN, "rad", "degrees") if turns else (_MOST_STROKE, "m", "millimetres")
    yield from first_of(
        limit.line, where,
        (lower > upper, error, f"lower is {lower:g}, above upper, which is {upper:g}; lower must not exceed upper",
         "swap them"),
        (lower == upper, warning, f"lower and upper are both {lower:g}: the joint cannot move",
         "write the range, or make it fixed"),
        (most < max(abs(lower), abs(upper)) < 1e4, warning,
         f"lower is {lower:g} and upper {upper:g} {unit}, more than {most:.4g} {unit}",
         f"convert from {mistaken} if that is what they are"),
    )  # fmt: skip
    if lower > upper:
        return None
    return (yield from _lint_soft_limits(joint, lower, upper))


def _lint_soft_limits(joint: JointOutline, lower: float, upper: float) -> Reading[tuple[float, float]]:
    """Yield what is wrong with the soft limits of <safety_controller>; return the range that they leave."""
    safety, where = joint.element.at("safety_controller"), f"{joint.where} <safety_controller>"
    if not (yield from lint_numbers(safety, where, "soft_lower_limit", "soft_upper_limit", largest=math.inf)):
        return lower, upper
    soft = safety.number("soft_lower_limit", -math.inf), safety.number("soft_upper_limit", math.inf)
    narrowed = narrowed_limits(lower, upper, *soft)
    if narrowed is None and lower < upper:
        yield warning(
            safety.line, where,
            f"the soft limits {soft[0]:g} to {soft[1]:g} leave nothing of the joint's range {lower:g} to "
            f"{upper:g}; they are ignored", "write soft limits inside the range, or delete them",
        )
    return narrowed or (lower, upper)


def narrowed_limits(lower: float, upper: float, soft_lower: float, soft_upper: float) -> tuple[float, float] | None:
    """The part of a joint's range inside its soft limits; `None` if that is empty."""
    low, high = max(lower, soft_lower), min(upper, soft_upper)
    return (low, high) if low < high else None


def _lint_bound(limit: Element, attribute: str, where: str, follows: bool) -> Iterator[Finding]:
    sheet, missing = f'write {attribute}="..." from the data sheet', f"{attribute} is missing: it has no bound"
    if attribute not in limit.attributes:
        yield from first_of(limit.line, where, (not follows, warning, missing, sheet))
        return
    value = yield from read_number(limit, attribute, where, largest=math.inf)
    if value is not None:
        nothing = "no effort can be commanded" if attribute == "effort" else "the joint may not move"
        yield from first_of(
            limit.line, where,
            (value < 0.0, error, f"{attribute} is {value:g}; it must not be negative",
             "write the largest magnitude allowed"),
            (value == 0.0 and not follows, warning, f"{attribute} is 0: {nothing}", sheet),
            (value >= UNBOUNDED and not follows, warning, f"{attribute} is {value:g}: it has no bound", sheet),
        )  # fmt: skip


def _lint_dynamics(joint: JointOutline) -> Iterator[Finding]:
    dynamics, where = joint.element.at("dynamics"), f"{joint.where} <dynamics>"
    yield from lint_numbers(dynamics, where, "damping", "friction")
    for attribute in ("damping", "friction"):
        value = dynamics.number(attribute, 0.0)
        if value < 0.0:
            yield error(
                dynamics.line, where, f"{attribute} is {value:g}; it must not be negative, as it would add energy",
                "write its magnitude",
            )


def _lint_friction(joint: JointOutline) -> Iterator[Finding]:
    """Yield friction that leaves nothing of the effort limit, and speeds in wrong units."""
    limit, dynamics = joint.element.at("limit"), joint.element.at("dynamics")
    effort, velocity = limit.number("effort", 0.0), limit.number("velocity", 0.0)
    if joint.kind is JointKind.REVOLUTE and velocity > _MOST_SPEED and not math.log10(velocity).is_integer():
        yield note(
            limit.line, f"{joint.where} <limit>",
            f"velocity is {velocity:g} rad/s, {velocity / (2.0 * math.pi):.3g} turns per second",
            f'write velocity="{math.radians(velocity):.6g}" if it is in degrees per second',
        )
    if effort <= 0.0:
        return
    unit, per = ("N", "m/s") if joint.kind is JointKind.PRISMATIC else ("N m", "rad/s")
    friction, damping = dynamics.number("friction", 0.0), dynamics.number("damping", 0.0)
    fastest = (effort - friction) / damping if damping else math.inf
    yield from first_of(
        dynamics.line, f"{joint.where} <dynamics>",
        (friction >= effort, warning,
         f"friction is {friction:g} {unit}, while the effort limit is {effort:g} {unit}: its drive cannot move it",
         "correct friction or effort; are damping and friction swapped?"),
        (fastest < velocity <= _MOST_SPEED, note,
         f"with damping {damping:g} and friction {friction:g} the effort limit of {effort:g} {unit} is used up at "
         f"{fastest:.3g} {per}, while the velocity limit is {velocity:g} {per}",
         "correct damping, friction or the limits; are damping and friction swapped?"),
    )  # fmt: skip


def _lint_mimic(outline: Outline, joint: JointOutline, span: tuple[float, float] | None) -> Iterator[Finding]:
    mimic, where = joint.element.at("mimic"), f"{joint.where} <mimic>"
    if not (yield from lint_numbers(mimic, where, "multiplier", "offset")):
        return
    multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    if multiplier == 0.0:
        yield warning(
            mimic.line, where, f"multiplier is 0: the joint stays at {offset:g}",
            "write the multiplier, or make it fixed",
        )
    leader = outline.joints[mimic.attributes["joint"]]
    led = collect(_limits(leader, False), [])  # its findings are reported with that joint
    if span is None or led is None or leader.element.first("mimic") is not None:
        return
    reach = sorted(multiplier * x + offset for x in led)
    slack = 1e-3 * max(1e-3, reach[1] - reach[0])
    if reach[0] < span[0] - slack or reach[1] > span[1] + slack:
        yield warning(
            mimic.line, where,
            f"over the range of {leader.where} it moves from {reach[0]:.6g} to {reach[1]:.6g}, outside its own limits "
            f"{span[0]:g} to {span[1]:g}", "widen its limits, narrow the leader's, or correct multiplier and offset",
        )
