"""The dynamics of a robot as C99: header, source, self-test and CMake file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.c_export.files import checked_prefix, cmake_file, distinct, head, header, prefix_of, source_file
from rne_dynamics.c_export.function import EXPORTED, Function
from rne_dynamics.c_export.statements import PRECISIONS, Precision
from rne_dynamics.compiling.plain import PlainKernels
from rne_dynamics.dynamics.declared.arguments import Arm, check_open_arm
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import ArgumentError, ModelError, refuse
from rne_dynamics.model.dice import random_configuration
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import ROTATION
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.graph import LARGEST, TooLargeError
from rne_dynamics.straight_line.trace import Program, trace


@dataclass(frozen=True)
class CExport:
    """Result of `to_c`."""

    #: What all identifiers begin with.
    prefix: str
    #: ``"double"`` or ``"float"``.
    precision: str
    #: The functions.
    functions: tuple[Function, ...]
    #: The texts by file name.
    files: dict[str, str]


def to_c(
    robot: RobotModel,
    *,
    precision: Literal["double", "float"] = "double",
    links: Sequence[str] | None = None,
    quantities: Sequence[str] | None = None,
    prefix: str | None = None,
    source: str = "",
    progress: Callable[[str, float], None] = lambda what, done: None,
) -> CExport:
    """Write the dynamics of a robot as straight-line C99, of constants, +, −, ·, /, sin, cos and sqrt.

    Parameters
    ----------
    robot
        An open arm, at most a few dozen joints.
    precision
        The type of all numbers.
    links
        Links whose Jacobians are written; by default the last link of each body from which nothing hangs.
    quantities
        Those of `EXPORTED` to write; all by default.
    prefix
        What identifiers begin with; the robot's name by default.
    source
        Name of the description's file, for the comments.
    progress
        Is called with what is done next and the share that is done.

    Raises
    ------
    ArgumentError
        An unknown precision or quantity, an invalid prefix, a link that does not move or is named twice.
    ModelError
        An unknown link, a robot without moving joints, a mechanism or flexible arm, a joint that moves no inertia,
        constants outside the range of floats.
    TooLargeError
        A quantity of more than `LARGEST` operations; the message names what can be exported.
    """
    check_open_arm(robot)
    if robot.n == 0:
        raise ModelError(f"robot {robot.name!r} has no joint that moves; there is nothing to export")
    if precision not in PRECISIONS:
        raise ArgumentError(f"precision is {precision!r}; it must be one of {', '.join(map(repr, PRECISIONS))}")
    number = PRECISIONS[precision]
    name = prefix_of(robot.name) if prefix is None else checked_prefix(prefix)
    cases = _cases(robot, name, links, quantities)
    functions = tuple(_traced(robot, cases, number, progress))
    progress("self-test", len(cases) / (len(cases) + 1))
    file = f"{name}_dynamics"
    files = {
        f"{file}.h": header(robot, name, source, functions, number),
        f"{file}.c": source_file(robot, name, source, functions, number),
        f"{file}_test.c": head(robot, source, "Self-test of the dynamics") + self_test(robot, name, functions, number),
        "CMakeLists.txt": cmake_file(robot, name),
    }
    return CExport(name, precision, functions, files)


def end_links(robot: RobotModel) -> list[str]:
    """The last link of each body from which no other body hangs."""
    inner = set(robot.topology[:, 0].tolist())
    ends = {frame.body: name for name, frame in robot.links.items() if frame.body >= 0 and frame.body not in inner}
    return list(ends.values())


def _cases(
    robot: RobotModel, prefix: str, links: Sequence[str] | None, quantities: Sequence[str] | None
) -> list[tuple[str, str, str]]:
    """Name in C, quantity and link of each function."""
    chosen = [x for x in EXPORTED if quantities is None or x in quantities]
    refuse(
        ArgumentError,
        (not chosen or set(quantities or ()) - set(EXPORTED),
         f"quantities are {list(quantities or ())}; choose from {', '.join(EXPORTED)}"),
        (links is not None and "jacobian" not in chosen,
         f"links are given, but quantities are {', '.join(chosen)}; add jacobian"),
    )  # fmt: skip
    at = end_links(robot) if links is None else list(links)
    refuse(
        ArgumentError,
        *((robot.link(link).body < 0,
           f"link {link!r} of robot {robot.name!r} is fixed to the base: its Jacobian is zero; name links that move, "
           f"as {', '.join(end_links(robot))}") for link in at),
        (len(set(at)) < len(at), f"links are {', '.join(at)}; name each once"),
        (chosen == ["jacobian"] and not at,
         "no links are given, and quantities are jacobian alone; name a link, or another quantity"),
    )  # fmt: skip
    cases = [(f"{prefix}_{x}", x, "") for x in chosen if x != "jacobian"]
    if "jacobian" in chosen:
        cases += [(f"{prefix}_jacobian_{part}", "jacobian", link) for link, part in distinct(at).items()]
    return cases


def _traced(
    robot: RobotModel, cases: list[tuple[str, str, str]], precision: Precision, progress: Callable[[str, float], None]
) -> Iterator[Function]:
    """The functions; all are tried before one that is too large is reported."""
    large, fitting = list[str](), list[str]()
    for done, (name, quantity, link) in enumerate(cases):
        progress(f"{quantity} {link}".rstrip(), done / (len(cases) + 1))
        try:
            program = trace(QUANTITIES[quantity].recipe(robot, link))
        except TooLargeError:
            large.append(quantity)
            continue
        if quantity not in fitting:
            fitting.append(quantity)
        inputs = QUANTITIES[quantity].inputs
        if not program.regular or not _inertias_beyond_round_off(robot, inputs, program, precision):
            hint = "export doubles" if program.regular else f"correct the description (see `{rne('check')}`)"
            raise ModelError(
                f"robot {robot.name!r} has a joint that moves no inertia beyond the round-off of {precision.type}, so "
                f"that it has no forward_dynamics; {hint}, or choose other quantities"
            )
        if not large:
            yield Function(name, quantity, link, inputs, program)
    if large:
        fits = f"choose as quantities: {', '.join(fitting)}; or lock joints" if fitting else "lock joints"
        raise TooLargeError(
            f"robot {robot.name!r} is too large: {', '.join(dict.fromkeys(large))} would be more than {LARGEST} "
            f"operations; {fits}"
        )


def _inertias_beyond_round_off(
    robot: RobotModel, inputs: Sequence[str], program: Program, precision: Precision
) -> bool:
    """Whether the guards of a program hold in the sample and in the states of the self-test, in this precision."""
    graph, samples = program.graph, [program.graph.values]
    if graph.guards:
        given = states(robot, precision)
        rows = np.concatenate([given[x] for x in inputs], axis=1)
        samples += [graph.evaluated(row) for row in rows.tolist()]
    return all(x[g.left] > precision.coarser * x[g.right] for x in samples for g in graph.guards)


STATES = 5
#: Largest difference of answers over the largest entry of a state.
TOLERANCES = {"double": 1e-12, "float": 1e-4}
#: Or what so large random changes make of the answer, if that is more: 64 round-offs, of all numbers at once.
_MOVED, _DRAWS = 64.0 * float(np.finfo(np.float64).eps), 3


def answers(
    robot: RobotModel, quantity: str, link: str, rows: Sequence[Array], parameters: Array | None = None
) -> Array:
    """A quantity of states by the general kernel as plain Python, a row each; of the robot or of other `parameters`."""
    declared = QUANTITIES[quantity]
    given = robot.parameters if parameters is None else parameters
    arm = Arm(robot.topology, given, robot.base_at_rest.reshape(1, 12), np.empty((1, 0, 6)))
    out = np.zeros((len(rows[0]), *declared.shape(robot)))
    batch = PlainKernels({}, np.zeros)(declared.for_robot(robot).batch)
    fault = batch(arm, declared.extra(robot, link), *rows, out)
    assert fault < 0, "a model that moves no inertia is refused before"
    return out.reshape(len(out), -1)


def allowed(
    robot: RobotModel, function: Function, rows: Sequence[Array], expected: Array, precision: Precision
) -> Array:
    """Largest difference of two answers where only round-off separates them, for each state; shape (STATES, 1).

    Round-offs in model and state make much where terms cancel, or accelerations follow from small inertias.
    """
    rng = np.random.default_rng(3)
    largest: Array = TOLERANCES[precision.type] * np.abs(expected).max(axis=1, keepdims=True)
    for _ in range(_DRAWS):
        parameters, *others = (x + _MOVED * x * rng.normal(size=x.shape) for x in (robot.parameters, *rows))
        turn = parameters[:, ROTATION : ROTATION + 9]
        turn += _MOVED * rng.normal(size=turn.shape)
        apart = answers(robot, function.quantity, function.link, others, parameters) - expected
        largest = np.maximum(largest, precision.coarser * np.abs(apart).max(axis=1, keepdims=True))
    return largest


def states(robot: RobotModel, precision: Precision) -> dict[str, Array]:
    """States of the self-test as the program reads them; efforts are those of random accelerations."""
    rng = np.random.default_rng(2)
    given = {"q": random_configuration(robot, rng, STATES), "qd": rng.normal(size=(STATES, robot.n))}
    given["qdd"] = rng.normal(size=(STATES, robot.n))
    given = {name: _rounded(rows, precision) for name, rows in given.items()}
    given["tau"] = _rounded(answers(robot, "inverse_dynamics", "", [given["q"], given["qd"], given["qdd"]]), precision)
    return given


def self_test(robot: RobotModel, prefix: str, functions: Sequence[Function], precision: Precision) -> str:
    """The program's text after its head."""
    given = states(robot, precision)
    used = [name for name in given if any(name in function.inputs for function in functions)]
    parts = [_array(f"given_{name}", given[name], precision) for name in used]
    calls = []
    for function in functions:
        rows = [given[name] for name in function.inputs]
        expected = answers(robot, function.quantity, function.link, rows)
        parts.append(_array(f"expected_{function.name}", expected, precision))
        largest = allowed(robot, function, rows, expected, precision)
        parts.append(_array(f"allowed_{function.name}", largest, precision))
        calls.append(_calls(function))
    most = max(len(function.program.results) for function in functions)
    words: dict[str, Any] = {
        "P": prefix.upper(), "prefix": prefix, "type": precision.type, "fabs": f"fabs{precision.suffix}",
        "states": STATES, "most": most, "count": len(functions),
        "zero": f"0.0{precision.suffix}",
        "untouched": f"12345.0{precision.suffix}", "widest": max(robot.nq, robot.n),
    }  # fmt: skip
    return _TEST.format(**words, arrays="\n".join(parts), calls="".join(calls))


def _rounded(rows: Array, precision: Precision) -> Array:
    return rows.astype(np.float32).astype(np.float64) if precision.suffix else rows


def _array(name: str, rows: Array, precision: Precision) -> str:
    entries = ",\n".join("    {" + ", ".join(precision.constant(x) for x in row) + "}" for row in rows.tolist())
    return f"static const {precision.type} {name}[STATES][{rows.shape[1]}] = {{\n{entries}\n}};\n"


def _calls(function: Function) -> str:
    """Compare one function in all states, then give it NaN in each place of each input."""
    name, count = function.name, len(function.program.results)
    states = ", ".join(f"given_{x}[k]" for x in function.inputs)
    expected = f"expected_{name}[k], {count}, allowed_{name}[k][0]"
    lines = [
        "    for (k = 0; k < STATES; k++) {",
        "        fill(out);",
        f'        failures += differs("{name}", k, {name}({states}, out), out, {expected});',
        "    }",
    ]
    for x, width in zip(function.inputs, function.program.widths, strict=True):
        others = ", ".join("spoilt" if y == x else f"given_{y}[0]" for y in function.inputs)
        lines += [
            f"    for (k = 0; k < {width}; k++) {{",
            "        fill(out);",
            f"        spoil(spoilt, given_{x}[0], {width}, k);",
            f'        failures += accepts("{name}", "{x}", k, {name}({others}, out), out);',
            "    }",
        ]
    return "\n".join(lines) + "\n"


_TEST = """\
#include "{prefix}_dynamics.h"

#include <math.h>
#include <stdio.h>

enum {{ STATES = {states}, MOST = {most}, WIDEST = {widest} }};

{arrays}
static void fill({type} *out)
{{
    int i;
    for (i = 0; i < MOST; i++)
        out[i] = {untouched};
}}

static void spoil({type} *spoilt, const {type} *given, int count, int place)
{{
    int i;
    for (i = 0; i < count; i++)
        spoilt[i] = i == place ? ({type})NAN : given[i];
}}

/* 1 and a message if the status is not OK, or the answer not the expected one */
static int differs(const char *name, int state, int status, const {type} *found, const {type} *expected, int count,
                   {type} allowed)
{{
    {type} error = {zero};
    int i, right = 1;
    for (i = 0; i < count; i++) {{
        const {type} apart = {fabs}(found[i] - expected[i]);
        right = right && isfinite(found[i]);
        error = apart > error ? apart : error;
    }}
    if (status == {P}_OK && right && error <= allowed)
        return 0;
    printf("FAILED: %s, state %d: status %d, %g from the answer, allowed is %g\\n", name, state, status, (double)error,
           (double)allowed);
    return 1;
}}

/* 1 and a message if NaN is not reported, or the output written */
static int accepts(const char *name, const char *input, int place, int status, const {type} *out)
{{
    int i, untouched = 1;
    for (i = 0; i < MOST; i++)
        untouched = untouched && !(out[i] > {untouched}) && !(out[i] < {untouched});
    if (status == {P}_NOT_FINITE && untouched)
        return 0;
    printf("FAILED: %s with NaN in %s[%d]: status %d, output %s\\n", name, input, place, status,
           untouched ? "untouched" : "written");
    return 1;
}}

int main(void)
{{
    {type} out[MOST], spoilt[WIDEST];
    int k, failures = 0;
{calls}    if (failures == 0)
        printf("{prefix}: {count} functions agree with rne_dynamics in {states} states\\n");
    return failures != 0;
}}
"""
