"""The files of an export besides the self-test: header, source and CMake file."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import chain, count

from rne_dynamics import __version__
from rne_dynamics.c_export.function import EXPORTED, Function
from rne_dynamics.c_export.statements import SINES, Precision, sines
from rne_dynamics.dynamics.quantities import QUANTITIES
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
        part = part_of_identifier(name) or "link"
        numbered = (f"{part}_{k}" for k in count(2))
        found[name] = next(one for one in chain([part], numbered) if one not in found.values())
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
            length, effort = _UNITS[(kind == PRISMATIC or (kind == FLOATING and k < 3))]
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


def header(robot: RobotModel, prefix: str, source: str, functions: Sequence[Function], precision: Precision) -> str:
    """The header, of a robot whose description is called `source`."""
    declarations = "\n\n".join(
        f"/* {_meaning(robot, function)} */\n{prefix.upper()}_CHECKED\n{function.declaration(precision)};"
        for function in functions
    )
    text = _HEADER.format(P=prefix.upper(), nq=robot.nq, n=robot.n, prefix=prefix, declarations=declarations)
    return head(robot, source, "Rigid-body dynamics") + description(robot, prefix) + text


def _meaning(robot: RobotModel, function: Function) -> str:
    """Text of a function's comment: quantity, and sizes of its arrays."""
    what = EXPORTED[function.quantity][1]
    if function.link:
        what += (
            f" of link {comment(function.link)}: rows are linear, then angular velocity of its frame at its origin, in "
            "world axes."
        )
    sizes = ", ".join(f"{x} ({w})" for x, w in zip(function.inputs, function.program.widths, strict=True))
    shape = " x ".join(map(str, QUANTITIES[function.quantity].shape(robot)))
    return f"{what}\n   {sizes}; {function.output} ({shape}). {function.operations} operations."


def source_file(
    robot: RobotModel, prefix: str, source: str, functions: Sequence[Function], precision: Precision
) -> str:
    """The source with all functions; raises as `Function.definition`."""
    names = ",\n".join(f"    {string(name)}" for name in robot.joint_names)
    text = head(robot, source, "Rigid-body dynamics") + _SOURCE.format(prefix=prefix, P=prefix.upper(), names=names)
    definitions = "\n".join(function.definition(prefix, precision) for function in functions)
    if f"{SINES}(" in definitions:
        text += sines(precision)
    if any(function.program.graph.guards for function in functions):
        text += _TESTS.format(type=precision.type, zero=precision.constant(0.0))
    return f"{text}\n{definitions}"


def cmake_file(robot: RobotModel, prefix: str) -> str:
    """The CMake file of the library and its test."""
    return _CMAKE.format(file=f"{prefix}_dynamics", name=comment(robot.name), mark=MARK, version=__version__)


_HEADER = """
#ifndef {P}_DYNAMICS_H
#define {P}_DYNAMICS_H

#ifdef __cplusplus
extern "C" {{
#endif

#define {P}_NQ {nq}
#define {P}_N {n}

#define {P}_OK 0
#define {P}_NOT_FINITE 1
#define {P}_NO_INERTIA 2

#if defined(__GNUC__)
#define {P}_CHECKED __attribute__((warn_unused_result))
#else
#define {P}_CHECKED
#endif

/* Names of the velocity coordinates in UTF-8, to compare the order with that of the caller. */
extern const char *const {prefix}_joint_names[{P}_N];

{declarations}

#ifdef __cplusplus
}}
#endif

#endif /* {P}_DYNAMICS_H */
"""
_SOURCE = """
#include "{prefix}_dynamics.h"

#include <math.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || defined(_M_FP_FAST)
#error "compile without -ffast-math and -ffinite-math-only: they remove the tests for NaN and infinity"
#endif

/* Parts of functions, not inlined: in small functions compilers have most values in registers. */
#if defined(__GNUC__)
#define {P}_PART static __attribute__((noinline))
#else
#define {P}_PART static
#endif

const char *const {prefix}_joint_names[{P}_N] = {{
{names}
}};
"""
_TESTS = """
static int all_finite(const {type} *x, int count)
{{
    int k;
    for (k = 0; k < count; k++)
        if (!isfinite(x[k]))
            return 0;
    return 1;
}}

static int all_positive(const {type} *x, int count)
{{
    int k;
    for (k = 0; k < count; k++)
        if (!(x[k] > {zero}))
            return 0;
    return 1;
}}
"""
_CMAKE = """\
# {mark} of rne_dynamics {version}: the dynamics of {name} as a static library.
#
#   cmake -S . -B build && cmake --build build && ctest --test-dir build
#
# In another project: add_subdirectory(FOLDER) and target_link_libraries(CONTROLLER {file}).
cmake_minimum_required(VERSION 3.10...3.31)
project({file} LANGUAGES C)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({file} STATIC {file}.c)
target_include_directories({file} PUBLIC $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}>)
set_target_properties({file} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE ON)
if(UNIX)
  target_link_libraries({file} PUBLIC m)
endif()

if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  enable_testing()
  add_executable({file}_test {file}_test.c)
  target_link_libraries({file}_test {file})
  add_test(NAME {file}_test COMMAND {file}_test)
endif()
"""
