"""A program as LLVM assembly: a function over rows that computes `width` rows at a time."""

from __future__ import annotations

from collections.abc import Sequence

from rne_dynamics.compiling.processor import Processor
from rne_dynamics.straight_line.batch_repetition import repeated_block
from rne_dynamics.straight_line.lines import Lines, declarations
from rne_dynamics.straight_line.node_writer import NodeWriter
from rne_dynamics.straight_line.recipe import Iteration
from rne_dynamics.straight_line.sin_cos import LARGEST_ANGLE, sin_cos
from rne_dynamics.straight_line.strips import reading_text
from rne_dynamics.straight_line.trace import Program
from rne_dynamics.straight_line.transpose import load_columns, store_columns


def module_text(
    program: Program, target: Processor, iteration: Iteration | None = None, *, reads_strips: bool = False
) -> str:
    """The module; `batch_code` describes its function `run`. With `reads_strips` it reads memory as `strips` says."""
    widths, width, ahead = program.widths, target.width, not reads_strips
    if iteration is None or program.step is None:
        blocks = [_block(program, target, "block", ahead)]
    else:
        widths = widths[1:]
        blocks = [_block(program.step, target, "step", ahead), _block(program, target, "answer", ahead)]
        blocks.append(repeated_block(iteration, len(widths), width))
    if reads_strips:
        blocks.append(reading_text([8 * columns for columns in (*widths, len(program.results))]))
    loop = _RUN.format(**_loop_parts(widths, len(program.results), width, reads_strips))
    return "\n".join((*blocks, loop, _declarations(width)))


def _block(program: Program, target: Processor, name: str, ahead: bool) -> str:
    """A function for one block of rows, which prefetches the next one if `ahead`."""
    writer = _BlockWriter(program, target, ahead)
    writer.write()
    parameters = ", ".join([*(f"ptr noalias %a{k}" for k in range(len(program.widths))), "ptr noalias %out"])
    head = f"define internal void @{name}({parameters}, ptr noalias %refused) noinline nounwind {{"
    return "\n".join((head, *writer.lines.text, "  ret void", "}"))


class _BlockWriter(NodeWriter):
    """Writes nodes in order; inputs are loaded at their first use."""

    def __init__(self, program: Program, target: Processor, ahead: bool) -> None:
        super().__init__(program, Lines(target.width, fused=target.fused))
        self._ahead = ahead
        self._inputs: dict[int, str] = {}
        self._sin_cos: dict[int, tuple[str, str]] = {}
        self._finite = self.lines.splat(0.0)  # stays zero while all inputs are finite
        self._good: list[str] = []

    def write(self) -> None:
        """Write the block."""
        program = self.program
        self.write_nodes()
        for place in range(sum(program.widths)):
            self.input(place)
        self._good += [self.held(guard) for guard in program.graph.guards]
        for start in range(0, len(program.results), self.lines.width):
            some = program.results[start : start + self.lines.width]
            vectors = [self.names[x] for x in some]
            store_columns(self.lines, "%out", len(program.results), start, vectors, self._ahead)
        self._refuse()

    def input(self, place: int) -> str:
        """A vector of one input of `width` states."""
        if place in self._inputs:
            return self._inputs[place]
        k, number = self.owner(place)
        start = number - number % self.lines.width
        vectors = load_columns(self.lines, f"%a{k}", self.program.widths[k], start, self._ahead)
        for j, vector in enumerate(vectors, self.starts[k] + start):
            self._inputs[j] = vector
            self._finite = self.lines.multiply_add(vector, self.lines.splat(0.0), self._finite)
        return self._inputs[place]

    def sin_cos(self, x: int) -> tuple[str, str]:
        """Sines and cosines of one angle of `width` states."""
        if x not in self._sin_cos:
            name = self.names[x]
            self._sin_cos[x] = sin_cos(self.lines, name)
            size = self.lines.intrinsic("fabs", name)
            self._good.append(self.lines.compare("ole", size, self.lines.splat(LARGEST_ANGLE)))
        return self._sin_cos[x]

    def _refuse(self) -> None:
        """Set the byte of rows with an infinite or NaN input, a too large angle, or a violated guard."""
        lines = self.lines
        good = lines.compare("oeq", self._finite, lines.splat(0.0))
        for mask in self._good:
            good = lines.let(f"and {lines.mask} {good}, {mask}")
        bytes_ = lines.let(f"zext {lines.mask} {self.opposite(good)} to <{lines.width} x i8>")
        lines.do(f"store <{lines.width} x i8> {bytes_}, ptr %refused, align 1")


def _declarations(width: int) -> str:
    vector = f"<{width} x double>"
    return "\n".join((
        *declarations(width),
        f"declare {vector} @llvm.masked.load.v{width}f64.p0(ptr, i32, <{width} x i1>, {vector})",
        f"declare void @llvm.masked.store.v{width}f64.p0({vector}, ptr, i32, <{width} x i1>)",
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
    ))


def _loop_parts(widths: Sequence[int], results: int, width: int, reads_strips: bool) -> dict[str, object]:
    """The parts of the loop over blocks that depend on the program."""
    arrays = [(f"%a{k}", 8 * columns) for k, columns in enumerate(widths)]
    arrays += [("%out", 8 * results), ("%refused", 1)]
    here, scratch, copies_in, copies_out, passed, rest = [], [], [], [], [], []
    for k, (name, size) in enumerate(arrays):
        here += [f"  %o{k} = mul i64 %row, {size}", f"  %p{k} = getelementptr i8, ptr {name}, i64 %o{k}"]
        passed.append(f"ptr %p{k}")
        scratch.append(f"  %s{k} = alloca [{max(width * size, 1)} x i8], align 64")
        rest += [f"  %e{k} = mul i64 %done, {size}", f"  %t{k} = getelementptr i8, ptr {name}, i64 %e{k}"]
        rest += [f"  %l{k} = mul i64 %left, {size}"]
        if name.startswith("%a"):
            for lane in range(width):  # what is missing in the block is its first row, as good as any
                place = f"%f{k}_{lane}"
                copies_in += [f"  {place} = getelementptr i8, ptr %s{k}, i64 {lane * size}"]
                copies_in += [f"  call void @llvm.memcpy.p0.p0.i64(ptr {place}, ptr %t{k}, i64 {size}, i1 false)"]
            copies_in += [f"  call void @llvm.memcpy.p0.p0.i64(ptr %s{k}, ptr %t{k}, i64 %l{k}, i1 false)"]
        else:
            copies_out += [f"  call void @llvm.memcpy.p0.p0.i64(ptr %t{k}, ptr %s{k}, i64 %l{k}, i1 false)"]
    return {
        "parameters": ", ".join(f"ptr noalias {name}" for name, _ in arrays),
        "width": width,
        "scratch": "\n".join(scratch),
        "here": "\n".join(here),
        "passed": ", ".join(passed),
        "read": f"  call void @read_strip(i64 %row, i64 %done, {', '.join(passed[:-1])})" if reads_strips else "",
        "rest": "\n".join((*rest, *copies_in)),
        "tail": ", ".join(f"ptr %s{k}" for k in range(len(arrays))),
        "copies_out": "\n".join(copies_out),
    }


#: Whole blocks are computed in place, the remaining rows in a buffer of one block.
_RUN = """
define void @run(i64 %rows, {parameters}) nounwind {{
entry:
{scratch}
  %left = urem i64 %rows, {width}
  %done = sub i64 %rows, %left
  br label %next
next:
  %row = phi i64 [ 0, %entry ], [ %after, %whole ]
  %more = icmp ult i64 %row, %done
  br i1 %more, label %whole, label %end
whole:
{here}
{read}
  call void @block({passed})
  %after = add i64 %row, {width}
  br label %next
end:
  %none = icmp eq i64 %left, 0
  br i1 %none, label %out_of_rows, label %tail
tail:
{rest}
  call void @block({tail})
{copies_out}
  br label %out_of_rows
out_of_rows:
  ret void
}}
"""
