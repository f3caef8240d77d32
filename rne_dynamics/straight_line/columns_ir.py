"""A program with a last stage for the columns of matrices, as LLVM assembly.

The first stage is scalar; the last one computes as many columns at once as a register has lanes.
"""

from __future__ import annotations

from rne_dynamics.compiling.processor import Processor
from rne_dynamics.straight_line.lines import Lines
from rne_dynamics.straight_line.node_writer import NodeWriter
from rne_dynamics.straight_line.state_ir import function_text, state_declarations
from rne_dynamics.straight_line.trace import Program


def columns_text(program: Program, target: Processor) -> str:
    """As `state_text` for a program with a last stage for columns."""
    assert program.column is not None
    n = program.column.widths[1]
    columns = min(target.width, 1 << (n.bit_length() - 1))
    parts = (
        function_text(program, target, "internal i32 @terms", "noinline"),
        _block(program.column, columns),
        _state(program, n, columns),
    )
    declared = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    return "\n".join((*parts, *state_declarations(), declared))


def _block(column: Program, width: int) -> str:
    """The function ``void columns(shared, columns, out)`` for as many columns as a register has lanes."""
    writer = _ColumnWriter(column, Lines(width))
    writer.write()
    head = "define internal void @columns(ptr noalias readonly %shared, ptr noalias readonly %column, ptr noalias %out)"
    return "\n".join((f"{head} noinline nounwind {{", *writer.lines.text, "  ret void", "}"))


def _state(program: Program, n: int, width: int) -> str:
    """The function itself: all terms, the columns of the first matrices, and a copy of the others."""
    size, replaced = n * n, program.replaced
    shared = len(program.results) - size
    lines = Lines(1)
    lines.do(f"%terms = alloca [{len(program.results)} x double], align 64")
    inputs = [f"%a{k}" for k in range(len(program.widths))]
    lines.do(f"%status = call i32 @terms({', '.join(f'ptr {name}' for name in (*inputs, '%terms'))})")
    first = lines.let(f"getelementptr double, ptr %terms, i64 {shared}")
    # the last columns again where they are no whole register
    starts = [*range(0, n - width + 1, width), *([n - width] if n % width else [])]
    for start in (matrix * size + c for matrix in range(replaced) for c in starts):
        given = lines.let(f"getelementptr double, ptr %terms, i64 {start}")
        answer = lines.let(f"getelementptr double, ptr %out, i64 {start}")
        lines.do(f"call void @columns(ptr {first}, ptr {given}, ptr {answer})")
    rest, copied = (lines.let(f"getelementptr double, ptr {x}, i64 {replaced * size}") for x in ("%terms", "%out"))
    count = 8 * (shared - replaced * size)
    lines.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {copied}, ptr {rest}, i64 {count}, i1 false)")
    head = ", ".join([*(f"ptr noalias readonly {name}" for name in inputs), "ptr noalias %out"])
    return "\n".join((f"define i32 @state({head}) nounwind {{", *lines.text, "  ret i32 %status", "}"))


class _ColumnWriter(NodeWriter):
    """Numbers of the shared matrix are the same in all lanes, a number of the column is one row of as many columns."""

    def write(self) -> None:
        """Write the function's body."""
        self.write_nodes()
        lines, n = self.lines, self.program.widths[1]
        for row, x in enumerate(self.program.results):
            place = lines.let(f"getelementptr double, ptr %out, i64 {row * n}")
            lines.do(f"store {lines.vector} {self.names[x]}, ptr {place}, align 8")

    def input(self, place: int) -> str:
        """A number of the shared matrix or of the column."""
        (size, n), lines, one = self.program.widths, self.lines, self.lines.of_width(1)
        if place >= size:
            row = lines.let(f"getelementptr double, ptr %column, i64 {(place - size) * n}")
            return lines.let(f"load {lines.vector}, ptr {row}, align 8")
        pointer = one.let(f"getelementptr double, ptr %shared, i64 {place}")
        number = one.let(f"load double, ptr {pointer}, align 8")
        if lines.width == 1:
            return number
        lane = one.let(f"insertelement {lines.vector} poison, double {number}, i32 0")
        return lines.shuffle(lane, "poison", [0] * lines.width)

    def sin_cos(self, x: int) -> tuple[str, str]:
        """Not in a stage for columns."""
        raise AssertionError("a stage for columns has no angles")
