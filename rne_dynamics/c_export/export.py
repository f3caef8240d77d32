"""The dynamics of a robot as C99: header, source, self-test and CMake file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.c_export.description import head
from rne_dynamics.c_export.files import cmake_file, header, source_file
from rne_dynamics.c_export.function import EXPORTED, Function
from rne_dynamics.c_export.identifiers import checked_prefix, distinct, prefix_of
from rne_dynamics.c_export.self_test import self_test, states
from rne_dynamics.c_export.statements import PRECISIONS, Precision
from rne_dynamics.dynamics.declared.arguments import check_open_arm
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import ArgumentError, ModelError
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
    unknown = [x for x in quantities or () if x not in EXPORTED]
    if unknown or (quantities is not None and not quantities):
        raise ArgumentError(f"quantities are {list(quantities or ())}; choose from {', '.join(EXPORTED)}")
    chosen = [x for x in EXPORTED if quantities is None or x in quantities]
    if links is not None and "jacobian" not in chosen:
        raise ArgumentError(f"links are given, but quantities are {', '.join(chosen)}; add jacobian")
    at = end_links(robot) if links is None else list(links)
    for link in at:
        if robot.link(link).body < 0:
            raise ArgumentError(
                f"link {link!r} of robot {robot.name!r} is fixed to the base: its Jacobian is zero; name links that "
                f"move, as {', '.join(end_links(robot))}"
            )
    if len(set(at)) < len(at):
        raise ArgumentError(f"links are {', '.join(at)}; name each once")
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
