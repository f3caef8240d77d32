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


def repeated_block(iteration: Iteration, inputs: int, width: int) -> str:
    """``@block(a0, …, out, refused)``: repeats ``@step`` until no state changes, then calls ``@answer``.

    A state that is settled, or refused, stays as it is while others go on: its answer does not depend on them.
    """
    size, lines = len(iteration.start), Lines(width)
    lanes = range(width)
    names = "".join(f"ptr %a{k}, " for k in range(inputs))
    lines.do("call void @step(ptr %a0, ptr %x, ptr %next, ptr %flags)")
    wrong = _set_flags(lines, "%flags")
    change = lines.splat(0.0)
    for r in lanes:
        place = lines.let(f"getelementptr double, ptr %next, i64 {r * (size + 1) + size}")
        one = lines.let(f"load double, ptr {place}, align 8")
        change = lines.let(f"insertelement {lines.vector} {change}, double {one}, i32 {r}")
    settled = lines.compare("ole", change, lines.splat(iteration.settled))
    active = lines.let(f"xor {lines.mask} %done, {lines.splat_mask(True)}")
    fails = lines.let(f"and {lines.mask} {active}, {wrong}")
    moves = lines.let(f"xor {lines.mask} {active}, {fails}")
    for r in lanes:
        old = lines.let(f"getelementptr double, ptr %x, i64 {r * size}")
        new = lines.let(f"getelementptr double, ptr %next, i64 {r * (size + 1)}")
        one = lines.let(f"extractelement {lines.mask} {moves}, i32 {r}")
        chosen = lines.let(f"select i1 {one}, ptr {new}, ptr {old}")
        lines.do(f"call void @llvm.memmove.p0.p0.i64(ptr {old}, ptr {chosen}, i64 {8 * size}, i1 false)")
    lines.do(f"%bad_after = or {lines.mask} %bad, {fails}")
    ended = lines.let(f"or {lines.mask} {wrong}, {settled}")
    lines.do(f"%done_after = or {lines.mask} %done, {ended}")
    all_done = lines.let(f"bitcast {lines.mask} %done_after to i{width}")
    lines.do(f"%end = icmp eq i{width} {all_done}, -1")
    last = Lines(width, ["", *lines.text])  # its names come after those of the loop
    last.do(f"call void @answer(ptr %x, {names}ptr %out, ptr %flags)")
    refused = last.let(f"or {last.mask} %bad_end, {_set_flags(last, '%flags')}")
    last.do(f"%bytes = zext {last.mask} {refused} to <{width} x i8>")
    return _TEXT.format(
        parameters="".join(f"ptr noalias %a{k}, " for k in range(inputs)), mask=lines.mask, size=width * size,
        longer=width * (size + 1), width=width, bytes=8 * width * size, most=iteration.most,
        start=", ".join(f"double {Lines(1).splat(x)}" for x in iteration.start.tolist() * width),
        repeated="\n".join(lines.text), true=lines.splat_mask(True), last="\n".join(last.text[len(lines.text) + 1 :]),
    )  # fmt: skip


def _set_flags(lines: Lines, pointer: str) -> str:
    """Which bytes of a block are not 0."""
    flags = lines.let(f"load <{lines.width} x i8>, ptr {pointer}, align 1")
    return lines.let(f"icmp ne <{lines.width} x i8> {flags}, zeroinitializer")


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
{repeated}
  br i1 %end, label %last, label %again
again:
  %more = add i32 %count, 1
  %open = xor {mask} %done_after, {true}
  %bad_or_open = or {mask} %bad_after, %open
  %many = icmp uge i32 %more, {most}
  br i1 %many, label %last, label %repeat
last:
  %bad_end = phi {mask} [ %bad_after, %repeat ], [ %bad_or_open, %again ]
{last}
  store <{width} x i8> %bytes, ptr %refused, align 1
  ret void
}}
"""


def load_columns(lines: Lines, pointer: str, columns: int, start: int, ahead: bool) -> list[str]:
    """Load up to `width` columns of a block of rows from `start` on, one vector each."""
    count = min(lines.width, columns - start)
    rows = [_load(lines, _element(lines, pointer, r * columns + start), count) for r in range(lines.width)]
    for r in range(lines.width, 2 * lines.width if ahead else lines.width):
        _prefetch(lines, _element(lines, pointer, r * columns + start), written=False)
    return _transposed(lines, rows)[:count]


def store_columns(lines: Lines, pointer: str, columns: int, start: int, vectors: list[str], ahead: bool) -> None:
    """Store at most `width` vectors into the columns from `start` on."""
    padded = vectors + ["zeroinitializer"] * (lines.width - len(vectors))
    for r, row in enumerate(_transposed(lines, padded)):
        _store(lines, _element(lines, pointer, r * columns + start), row, len(vectors))
        if ahead:
            _prefetch(lines, _element(lines, pointer, (lines.width + r) * columns + start), written=True)


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


def _element(lines: Lines, pointer: str, place: int) -> str:
    return lines.let(f"getelementptr double, ptr {pointer}, i64 {place}")


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
