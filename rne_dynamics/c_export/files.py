"""The files of an export besides the self-test: header, source and CMake file."""

from __future__ import annotations

from collections.abc import Sequence

from rne_dynamics import __version__
from rne_dynamics.c_export.description import MARK, comment, description, head, string
from rne_dynamics.c_export.function import EXPORTED, Function
from rne_dynamics.c_export.statements import SINES, Precision, sines
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.model.robot import RobotModel


def header(robot: RobotModel, prefix: str, source: str, functions: Sequence[Function], precision: Precision) -> str:
    """The header, of a robot whose description is called `source`."""
    status = prefix.upper()
    parts = [
        head(robot, source, "Rigid-body dynamics"),
        description(robot, prefix),
        _HEADER.format(P=status, nq=robot.nq, n=robot.n, prefix=prefix),
    ]
    for function in functions:
        declaration = function.declaration(precision)
        parts.append(f"/* {_meaning(robot, function)} */\n{status}_CHECKED\n{declaration};\n\n")
    return "".join(parts) + _HEADER_END.format(P=status)


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

"""
_HEADER_END = """\
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
