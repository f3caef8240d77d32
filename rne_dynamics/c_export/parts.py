"""A long sequence of statements in parts: functions of C that share an array.

In a function of thousands of values, a compiler keeps most of them in memory, and the code outgrows the processor's
cache of instructions: it then runs at half its speed. In functions of a few hundred operations, most values are in
registers. A part contains no test: behind a test, compilers compute what is needed only there, and keep alive until
then what it is computed from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rne_dynamics.c_export.statements import Precision, Statement

#: About the largest number of operations of a part; with fewer, more values pass through memory.
LONGEST = 400
#: The array of C that parts share.
SHARED = "shared"


class Parts(NamedTuple):
    """Statements in parts."""

    #: Lines of each part.
    bodies: list[list[str]]
    #: Where the shared array has the values that are needed after the last part, by name.
    places: dict[str, int]
    #: Length of the shared array.
    size: int


def in_parts(statements: Sequence[Statement], kept: Sequence[str], precision: Precision) -> Parts:
    """Statements in parts; `kept` are the values needed after the last one, in the first places of the shared array."""
    parts = _divided(statements)
    last = {name: k for k, part in enumerate(parts) for one in part for name in one.uses}
    last |= dict.fromkeys(kept, len(parts))
    results = {name: place for place, name in enumerate(kept)}
    places, free, size, bodies = dict(results), list[int](), len(results), list[list[str]]()
    for k, part in enumerate(parts):
        here, body = {one.name for one in part}, list[str]()
        for one in part:
            for name in one.uses:
                if name not in here:
                    here.add(name)
                    body.append(f"const {precision.type} {name} = {SHARED}[{places[name]}];")
            body.append(f"const {precision.type} {one.name} = {one.text};")
            if last[one.name] > k:
                if one.name not in places:
                    places[one.name] = free.pop() if free else size
                    size = max(size, places[one.name] + 1)
                body.append(f"{SHARED}[{places[one.name]}] = {one.name};")
        free += [places[name] for name in sorted(here) if last[name] == k and name in places]
        bodies.append(body)
    return Parts(bodies, results, size)


def _divided(statements: Sequence[Statement]) -> list[list[Statement]]:
    """The statements in parts of equal length, as few as `LONGEST` allows."""
    total = sum(one.operations for one in statements)
    count, done = max(1, round(total / LONGEST)), 0
    parts: list[list[Statement]] = [[] for _ in range(count)]
    for one in statements:
        parts[min(count - 1, done * count // total)].append(one)
        done += one.operations
    return [part for part in parts if part]
