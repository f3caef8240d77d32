"""The self-test of an export: a C program with states, and answers of the general kernels run as plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rne_dynamics.c_export.function import Function
from rne_dynamics.c_export.statements import Precision
from rne_dynamics.compiling.plain import PlainKernels
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.model.dice import random_configuration
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import ROTATION
from rne_dynamics.model.robot import RobotModel

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
    return (
        _HEAD.format(**words) + "\n".join(parts) + _TOOLS.format(**words) + _MAIN.format(**words, calls="".join(calls))
    )


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


_HEAD = """\
#include "{prefix}_dynamics.h"

#include <math.h>
#include <stdio.h>

enum {{ STATES = {states}, MOST = {most}, WIDEST = {widest} }};

"""
_TOOLS = """
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
"""
_MAIN = """
int main(void)
{{
    {type} out[MOST], spoilt[WIDEST];
    int k, failures = 0;
{calls}    if (failures == 0)
        printf("{prefix}: {count} functions agree with rne_dynamics in {states} states\\n");
    return failures != 0;
}}
"""
