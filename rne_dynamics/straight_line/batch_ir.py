"""A program as LLVM assembly: a function over rows that computes `width` rows at a time.

Rows in memory are transposed to one vector per column, and back; lane r is row r of a block of states. With `ahead`
each access prefetches the same place of the next block: large arrays are in no cache. `repetition` is the loop around
the step of an iteration for a block of states.

Strips: a strip of rows is read into the second cache before its blocks are computed. Prefetches for the next block, one
for every access, overlap with little of a humanoid's blocks, wherever they are put. Read in order by a loop of nothing
else, the same memory comes as fast as it can. 32 joints, 100,000 states, znver5, ns a state by prefetches and by
strips: inverse dynamics 173 and 128 (in cache 100), forward dynamics 217 and 182; 19 joints 73 and 59, 108 and 107.
Rows of nine joints lose by it, and so do those of few inputs and many outputs. Not tried on Intel's processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rne_dynamics.compiling.instructions import constant
from rne_dynamics.compiling.kinds import FLOAT
from rne_dynamics.compiling.processor import Processor
from rne_dynamics.straight_line.lines import LARGEST_ANGLE, Lines, NodeWriter, declarations, sin_cos
from rne_dynamics.straight_line.recipe import Iteration
from rne_dynamics.straight_line.trace import Program


def module_text(
    program: Program, target: Processor, iteration: Iteration | None = None, *, reads_strips: bool = False
) -> str:
    """The module; `batch_code` describes its function `run`. With `reads_strips` it reads memory in strips."""
    widths, width, ahead = program.widths, target.width, not reads_strips
    if iteration is None or program.step is None:
        blocks = [_block(program, target, "block", ahead)]
    else:
        widths = widths[1:]
        blocks = [_block(program.step, target, "step", ahead), _block(program, target, "answer", ahead)]
        blocks.append(repeated_block(iteration, len(widths), width))
    if reads_strips:
        blocks.append(reading_text([8 * columns for columns in (*widths, len(program.results))]))
    blocks.append(_loop(widths, len(program.results), width, reads_strips))
    return "\n".join((*blocks, _declarations(width)))


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

    def write_sines(self, angles: Sequence[int]) -> None:
        """Sines and cosines of angles of `width` states."""
        for x in angles:
            self.sines[x] = sin_cos(self.lines, self.names[x])
            size = self.lines.intrinsic("fabs", self.names[x])
            self._good.append(self.lines.compare("ole", size, self.lines.splat(LARGEST_ANGLE)))

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


class _Array(NamedTuple):
    """An array that `run` takes: its number, its name, and the bytes of a row."""

    k: int
    name: str
    size: int


def _loop(widths: Sequence[int], results: int, width: int, reads_strips: bool) -> str:
    """The function `run`: whole blocks are computed in place, the remaining rows in a buffer of one block."""
    inputs = [_Array(k, f"%a{k}", 8 * columns) for k, columns in enumerate(widths)]
    outputs = [_Array(len(inputs), "%out", 8 * results), _Array(len(inputs) + 1, "%refused", 1)]
    arrays = inputs + outputs
    passed = ", ".join(f"ptr %p{x.k}" for x in arrays)
    strip = f"  call void @read_strip(i64 %row, i64 %done, {', '.join(f'ptr %p{x.k}' for x in arrays[:-1])})"
    return _RUN.format(
        parameters=", ".join(f"ptr noalias {x.name}" for x in arrays), width=width, passed=passed,
        scratch="\n".join(f"  %s{x.k} = alloca [{max(width * x.size, 1)} x i8], align 64" for x in arrays),
        here="\n".join(_PLACE.format(x=x) for x in arrays), read=strip if reads_strips else "",
        rest="\n".join(_REST.format(x=x) for x in arrays),
        # what is missing in the block is its first row, as good as any
        lanes="\n".join(_LANE.format(x=x, r=r, place=r * x.size) for x in inputs for r in range(width)),
        copies_in="\n".join(_COPY.format(x=x, to="s", of="t") for x in inputs),
        tail=", ".join(f"ptr %s{x.k}" for x in arrays),
        copies_out="\n".join(_COPY.format(x=x, to="t", of="s") for x in outputs),
    )  # fmt: skip


_PLACE = """\
  %o{x.k} = mul i64 %row, {x.size}
  %p{x.k} = getelementptr i8, ptr {x.name}, i64 %o{x.k}"""
_REST = """\
  %e{x.k} = mul i64 %done, {x.size}
  %t{x.k} = getelementptr i8, ptr {x.name}, i64 %e{x.k}
  %l{x.k} = mul i64 %left, {x.size}"""
_LANE = """\
  %f{x.k}_{r} = getelementptr i8, ptr %s{x.k}, i64 {place}
  call void @llvm.memcpy.p0.p0.i64(ptr %f{x.k}_{r}, ptr %t{x.k}, i64 {x.size}, i1 false)"""
_COPY = "  call void @llvm.memcpy.p0.p0.i64(ptr %{to}{x.k}, ptr %{of}{x.k}, i64 %l{x.k}, i1 false)"
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
{lanes}
{copies_in}
  call void @block({tail})
{copies_out}
  br label %out_of_rows
out_of_rows:
  ret void
}}
"""


def repeated_block(iteration: Iteration, inputs: int, width: int) -> str:
    """``@block(a0, …, out, refused)``: repeats ``@step`` until no state changes, then calls ``@answer``.

    A state that is settled, or refused, stays as it is while others go on: its answer does not depend on them.
    """
    size, lines, lanes = len(iteration.start), Lines(width), range(width)
    changes = ["zeroinitializer", *(f"%change{r}" for r in lanes)]
    return _TEXT.format(
        parameters="".join(f"ptr noalias %a{k}, " for k in range(inputs)), size=width * size, width=width,
        longer=width * (size + 1), bytes=8 * width * size, most=iteration.most, vector=lines.vector, mask=lines.mask,
        start=", ".join(f"double {constant(x, FLOAT)}" for x in iteration.start.tolist() * width),
        gathered="\n".join(
            _CHANGE.format(r=r, place=r * (size + 1) + size, vector=lines.vector, before=changes[r]) for r in lanes
        ),
        change=changes[-1], settled=lines.splat(iteration.settled), true=lines.splat_mask(True),
        moved="\n".join(
            _MOVE.format(r=r, old=r * size, new=r * (size + 1), mask=lines.mask, bytes=8 * size) for r in lanes
        ),
        names="".join(f"ptr %a{k}, " for k in range(inputs)),
    )  # fmt: skip


_CHANGE = """\
  %place{r} = getelementptr double, ptr %next, i64 {place}
  %one{r} = load double, ptr %place{r}, align 8
  %change{r} = insertelement {vector} {before}, double %one{r}, i32 {r}"""
_MOVE = """\
  %old{r} = getelementptr double, ptr %x, i64 {old}
  %new{r} = getelementptr double, ptr %next, i64 {new}
  %moves{r} = extractelement {mask} %moves, i32 {r}
  %chosen{r} = select i1 %moves{r}, ptr %new{r}, ptr %old{r}
  call void @llvm.memmove.p0.p0.i64(ptr %old{r}, ptr %chosen{r}, i64 {bytes}, i1 false)"""
_TEXT = """
@start = internal constant [{size} x double] [{start}], align 64
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
define internal void @block({parameters}ptr noalias %out, ptr noalias %refused) noinline nounwind {{
entry:
  %x = alloca [{size} x double], align 64
  %next = alloca [{longer} x double], align 64
  %flags = alloca [{width} x i8], align 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %x, ptr align 64 @start, i64 {bytes}, i1 false)
  br label %repeat
repeat:
  %count = phi i32 [ 0, %entry ], [ %more, %again ]
  %done = phi {mask} [ zeroinitializer, %entry ], [ %done_after, %again ]
  %bad = phi {mask} [ zeroinitializer, %entry ], [ %bad_after, %again ]
  call void @step(ptr %a0, ptr %x, ptr %next, ptr %flags)
  %flagged = load <{width} x i8>, ptr %flags, align 1
  %wrong = icmp ne <{width} x i8> %flagged, zeroinitializer
{gathered}
  %settled = fcmp ole {vector} {change}, {settled}
  %active = xor {mask} %done, {true}
  %fails = and {mask} %active, %wrong
  %moves = xor {mask} %active, %fails
{moved}
  %bad_after = or {mask} %bad, %fails
  %ended = or {mask} %wrong, %settled
  %done_after = or {mask} %done, %ended
  %all_done = bitcast {mask} %done_after to i{width}
  %end = icmp eq i{width} %all_done, -1
  br i1 %end, label %last, label %again
again:
  %more = add i32 %count, 1
  %open = xor {mask} %done_after, {true}
  %bad_or_open = or {mask} %bad_after, %open
  %many = icmp uge i32 %more, {most}
  br i1 %many, label %last, label %repeat
last:
  %bad_end = phi {mask} [ %bad_after, %repeat ], [ %bad_or_open, %again ]
  call void @answer(ptr %x, {names}ptr %out, ptr %flags)
  %last_flagged = load <{width} x i8>, ptr %flags, align 1
  %last_wrong = icmp ne <{width} x i8> %last_flagged, zeroinitializer
  %invalid = or {mask} %bad_end, %last_wrong
  %bytes = zext {mask} %invalid to <{width} x i8>
  store <{width} x i8> %bytes, ptr %refused, align 1
  ret void
}}
"""


def load_columns(lines: Lines, pointer: str, columns: int, start: int, ahead: bool) -> list[str]:
    """Load up to `width` columns of a block of rows from `start` on, one vector each."""
    count = min(lines.width, columns - start)
    rows = [_load(lines, lines.element(pointer, r * columns + start), count) for r in range(lines.width)]
    for r in range(lines.width, 2 * lines.width if ahead else lines.width):
        _prefetch(lines, lines.element(pointer, r * columns + start), written=False)
    return _transposed(lines, rows)[:count]


def store_columns(lines: Lines, pointer: str, columns: int, start: int, vectors: list[str], ahead: bool) -> None:
    """Store at most `width` vectors into the columns from `start` on."""
    padded = vectors + ["zeroinitializer"] * (lines.width - len(vectors))
    for r, row in enumerate(_transposed(lines, padded)):
        _store(lines, lines.element(pointer, r * columns + start), row, len(vectors))
        if ahead:
            _prefetch(lines, lines.element(pointer, (lines.width + r) * columns + start), written=True)


def _transposed(lines: Lines, rows: list[str]) -> list[str]:
    """Transpose by swapping each bit of the row index with the same bit of the lane index."""
    width = lines.width
    bit = width // 2
    while bit:
        swapped = list(rows)
        for i in range(width):
            if not i & bit:
                a, b = rows[i], rows[i | bit]
                low = [width + (lane ^ bit) if lane & bit else lane for lane in range(width)]
                high = [width + lane if lane & bit else lane ^ bit for lane in range(width)]
                swapped[i], swapped[i | bit] = lines.shuffle(a, b, low), lines.shuffle(a, b, high)
        rows = swapped
        bit //= 2
    return rows


def _some(lines: Lines, count: int) -> str:
    chosen = ", ".join(f"i1 {str(lane < count).lower()}" for lane in range(lines.width))
    return f"{lines.mask} <{chosen}>"


def _load(lines: Lines, pointer: str, count: int) -> str:
    if count == lines.width:
        return lines.let(f"load {lines.vector}, ptr {pointer}, align 8")
    return lines.let(  # memory after the last row must not be read
        f"call {lines.vector} @llvm.masked.load.v{lines.width}f64.p0(ptr {pointer}, i32 8, "
        f"{_some(lines, count)}, {lines.vector} zeroinitializer)"
    )


def _store(lines: Lines, pointer: str, row: str, count: int) -> None:
    if count == lines.width:
        lines.do(f"store {lines.vector} {row}, ptr {pointer}, align 8")
        return
    lines.do(
        f"call void @llvm.masked.store.v{lines.width}f64.p0({lines.vector} {row}, ptr {pointer}, i32 8, "
        f"{_some(lines, count)})"
    )


def _prefetch(lines: Lines, pointer: str, *, written: bool) -> None:
    """Memory after the last block may be named too: a prefetch never faults."""
    lines.do(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 {int(written)}, i32 3, i32 1)")


#: Bytes of a row's inputs from which on strips are read, and of a strip at most, a quarter of a cache.
WIDE, _STRIP = 400, 2**18
#: Rows of a strip at least: a block.
_LEAST_ROWS = 8


def reading_text(sizes: Sequence[int]) -> str:
    """The function ``void read_strip(row, done, p0, …)``, which reads a strip, `sizes` bytes a row, at its begin."""
    strip = max(_LEAST_ROWS, 1 << (_STRIP // sum(sizes)).bit_length() - 1)
    parameters = "".join(f", ptr %p{k}" for k in range(len(sizes)))
    reads = (
        f"  %b{k} = mul i64 %count, {size}\n  call void @read(ptr %p{k}, i64 %b{k})" for k, size in enumerate(sizes)
    )
    return _STRIP_TEXT.format(parameters=parameters, strip=strip, reads="\n".join(reads))


_STRIP_TEXT = """
define internal void @read(ptr %first, i64 %bytes) noinline nounwind {{
entry:
  br label %next
next:
  %place = phi i64 [ 0, %entry ], [ %after, %next ]
  %line = getelementptr i8, ptr %first, i64 %place
  %unused = load volatile i8, ptr %line, align 1
  %after = add i64 %place, 64
  %more = icmp slt i64 %after, %bytes
  br i1 %more, label %next, label %end
end:
  ret void
}}

define internal void @read_strip(i64 %row, i64 %done{parameters}) noinline nounwind {{
entry:
  %phase = urem i64 %row, {strip}
  %begins = icmp eq i64 %phase, 0
  br i1 %begins, label %strip, label %end
strip:
  %left = sub i64 %done, %row
  %short = icmp slt i64 %left, {strip}
  %count = select i1 %short, i64 %left, i64 {strip}
{reads}
  br label %end
end:
  ret void
}}
"""
