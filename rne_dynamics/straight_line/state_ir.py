"""A program as LLVM assembly: a function of one state.

Scalar instructions, except for sines and cosines: those of up to four joints are computed in one register; and a last
stage that multiplies matrices, as many columns at once as a register has lanes. `repetition` is the
loop around the step of an iteration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rne_dynamics.compiling.instructions import constant
from rne_dynamics.compiling.kinds import FLOAT
from rne_dynamics.compiling.processor import Processor
from rne_dynamics.straight_line.lines import LARGEST_ANGLE, Lines, NodeWriter, declarations, sin_cos
from rne_dynamics.straight_line.recipe import NOT_FINITE, REFUSED, Iteration
from rne_dynamics.straight_line.trace import Program

#: Most angles whose sines share a register.
_ANGLES = 4
#: Operations in a basic block: LLVM's time grows faster than a block, and its code for smaller ones is shorter too.
_BLOCK = 500


def state_text(program: Program, target: Processor) -> str:
    """The function ``i32 state(a0, …, out)`` of pointers to doubles, which always fills `out`, and its declarations."""
    return "\n".join((function_text(program, target, "i32 @state"), *state_declarations()))


def iterated_text(program: Program, iteration: Iteration, target: Processor) -> str:
    """As `state_text` for a program with a step, which is repeated; refused states leave `out` as it is."""
    assert program.step is not None
    parts = (
        function_text(program.step, target, "internal i32 @step", "noinline"),
        function_text(program, target, "internal i32 @answer", "noinline"),
    )
    return "\n".join((*parts, repetition(iteration, len(program.widths) - 1, REFUSED), *state_declarations()))


def function_text(program: Program, target: Processor, head: str, attributes: str = "") -> str:
    """A function of a program's arguments and `out` that returns its status."""
    writer = _StateWriter(program, target)
    writer.write()
    arguments = "".join(f"ptr noalias readonly %a{k}, " for k in range(len(program.widths)))
    return "\n".join((f"define {head}({arguments}ptr noalias %out) {attributes} nounwind {{", *writer.lines.text, "}"))


class _StateWriter(NodeWriter):
    def __init__(self, program: Program, target: Processor) -> None:
        super().__init__(program, Lines(1, fused=target.fused))
        self._angles = min(target.width, _ANGLES)
        self._wrong: list[str] = []
        self._blocks = 0

    def write(self) -> None:
        """Write the function's body."""
        lines = self.lines
        not_finite = self._not_finite()
        self._write_angles()
        self._write_blocks()
        self._wrong += [self.opposite(self.held(guard)) for guard in self.program.graph.guards]
        wrong = "false"
        for one in self._wrong:
            wrong = lines.let(f"or i1 {wrong}, {one}")
        first = lines.let(f"select i1 {not_finite}, i32 {NOT_FINITE}, i32 0")
        second = lines.let(f"select i1 {wrong}, i32 {REFUSED}, i32 0")
        lines.do(f"ret i32 {lines.let(f'or i32 {first}, {second}')}")
        if self._blocks:
            lines.do(f"unreached:\n  ret i32 {REFUSED}")

    def _write_blocks(self) -> None:
        """Write all nodes; blocks end with a branch that is never taken, since LLVM would join them again."""
        needed, places = self.program.needed(), defaultdict[int, list[int]](list)
        for place, x in enumerate(self.program.results):
            places[x].append(place)
        for start in range(0, len(needed), _BLOCK):
            for x in needed[start : start + _BLOCK]:
                self.write_node(x)
                self._store(x, places[x])
            if start + _BLOCK < len(needed):
                self._blocks += 1
                no_memory = self.lines.let("icmp eq ptr %out, null")
                self.lines.do(f"br i1 {no_memory}, label %unreached, label %block{self._blocks}\nblock{self._blocks}:")

    def _store(self, x: int, places: Sequence[int]) -> None:
        """Write a result at once: kept to the end, most of many would be stored twice."""
        for place in places:
            self.lines.do(f"store double {self.names[x]}, ptr {self.lines.element('%out', place)}, align 8")

    def input(self, place: int) -> str:
        """A number of an argument."""
        k, number = self.owner(place)
        return self.lines.let(f"load double, ptr {self.lines.element(f'%a{k}', number)}, align 8")

    def _write_angles(self) -> None:
        """The sines and cosines of angles that depend on no other sine: those of joints, before all else."""
        nodes, depends = self.program.graph.nodes, set[int]()
        angles: dict[int, None] = {}
        for x in self.program.needed():
            node = nodes[x]
            sines = node.name in ("sin", "cos")
            if sines or any(y in depends for y in node.operands):
                depends.add(x)
            if sines and node.operands[0] not in depends:
                angles[node.operands[0]] = None
        for x in self.program.graph.needed(angles):
            self.write_node(x)
        chosen = list(angles)
        for start in range(0, len(chosen), self._angles):
            self.write_sines(chosen[start : start + self._angles])

    def write_sines(self, angles: Sequence[int]) -> None:
        """Sines and cosines of so many angles that they share a register."""
        width = 1 << (len(angles) - 1).bit_length()
        lines = self.lines.of_width(width)
        names = [self.names[x] for x in angles]
        packed = names[0] if width == 1 else self._packed(lines, names)
        sine, cosine = sin_cos(lines, packed)
        size = lines.intrinsic("fabs", packed)
        # an infinite angle makes NaN, as it should; NaN itself compares as false
        large = lines.compare("ogt", size, lines.splat(LARGEST_ANGLE))
        finite = lines.compare("olt", size, lines.splat(float("inf")))
        wrong = lines.let(f"and {lines.mask} {large}, {finite}")
        self._wrong.append(self._any(lines, wrong))
        for k, x in enumerate(angles):
            self.sines[x] = self._lane(lines, sine, k), self._lane(lines, cosine, k)

    def _packed(self, lines: Lines, names: list[str]) -> str:
        vector = lines.splat(0.0)
        for k, name in enumerate(names):
            vector = lines.let(f"insertelement {lines.vector} {vector}, double {name}, i32 {k}")
        return vector

    def _lane(self, lines: Lines, vector: str, k: int) -> str:
        return vector if lines.width == 1 else lines.let(f"extractelement {lines.vector} {vector}, i32 {k}")

    def _any(self, lines: Lines, mask: str) -> str:
        if lines.width == 1:
            return mask
        bits = lines.let(f"bitcast {lines.mask} {mask} to i{lines.width}")
        return lines.let(f"icmp ne i{lines.width} {bits}, 0")

    def _not_finite(self) -> str:
        """Whether an input is NaN or infinite: then 0 x + … is NaN."""
        sums: dict[int, str] = {}
        for k, columns in enumerate(self.program.widths):
            start = 0
            while start < columns:
                width = min(self._angles, 1 << ((columns - start).bit_length() - 1))
                lines = self.lines.of_width(width)
                vector = lines.let(f"load {lines.vector}, ptr {lines.element(f'%a{k}', start)}, align 8")
                sums[width] = lines.multiply_add(vector, lines.splat(0.0), sums.get(width, lines.splat(0.0)))
                start += width
        found = "false"
        for width, total in sums.items():
            lines = self.lines.of_width(width)
            one = self._any(lines, lines.compare("uno", total, total))
            found = self.lines.let(f"or i1 {found}, {one}")
        return found


def state_declarations() -> list[str]:
    """Functions that the functions of this file call."""
    return [line for width in (1, 2, 4) for line in declarations(width)]


def repetition(iteration: Iteration, inputs: int, refused: int) -> str:
    """``i32 @state(a0, …, out)`` that repeats ``@step(a0, x, next)`` and calls ``@answer(x, a0, …, out)`` at the limit.

    A step that returns another number than 0, and too many steps refuse the state: `refused` is in what is returned.
    """
    size = len(iteration.start)
    names = [f"%a{k}" for k in range(inputs)]
    return _TEXT.format(
        size=size, longer=size + 1, bytes=8 * size, most=iteration.most, settled=constant(iteration.settled, FLOAT),
        start=", ".join(f"double {constant(x, FLOAT)}" for x in iteration.start.tolist()),
        parameters="".join(f"ptr noalias readonly {name}, " for name in names),
        refused=refused, inputs="".join(f"ptr {name}, " for name in names),
    )  # fmt: skip


_TEXT = """
@start = internal constant [{size} x double] [{start}], align 64
define i32 @state({parameters}ptr noalias %out) nounwind {{
entry:
  %x = alloca [{size} x double], align 64
  %next = alloca [{longer} x double], align 64
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %x, ptr align 64 @start, i64 {bytes}, i1 false)
  br label %repeat
repeat:
  %count = phi i32 [ 0, %entry ], [ %more, %again ]
  %status = call i32 @step(ptr %a0, ptr %x, ptr %next)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %moved, label %refused
moved:
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %x, ptr align 64 %next, i64 {bytes}, i1 false)
  %place = getelementptr double, ptr %next, i64 {size}
  %change = load double, ptr %place, align 8
  %settled = fcmp ole double %change, {settled}
  br i1 %settled, label %last, label %again
again:
  %more = add i32 %count, 1
  %many = icmp uge i32 %more, {most}
  br i1 %many, label %lost, label %repeat
last:
  %result = call i32 @answer(ptr %x, {inputs}ptr %out)
  ret i32 %result
refused:
  %code = or i32 %status, {refused}
  ret i32 %code
lost:
  ret i32 {refused}
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


def product_text(program: Program, target: Processor) -> str:
    """As `state_text` for a program with a last stage that multiplies matrices."""
    count, n, _ = program.matrices
    size, width, lines = n * n, min(target.width, 1 << (n.bit_length() - 1)), Lines(1)
    inputs = [f"%a{k}" for k in range(len(program.widths))]
    lines.do(f"%terms = alloca [{count * size} x double], align 64")
    lines.do(f"%status = call i32 @terms({', '.join(f'ptr {name}' for name in (*inputs, '%terms'))})")
    last, copied = (lines.element(x, (count - 1) * size) for x in ("%terms", "%out"))
    # the last columns again where they are no whole register
    starts = [*range(0, n - width + 1, width), *([n - width] if n % width else [])]
    for start in (matrix * size + c for matrix in range(count - 1) for c in starts):
        given, answer = (lines.element(x, start) for x in ("%terms", "%out"))
        lines.do(f"call void @product(ptr {last}, ptr {given}, ptr {answer})")
    lines.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {copied}, ptr {last}, i64 {8 * size}, i1 false)")
    head = ", ".join([*(f"ptr noalias readonly {name}" for name in inputs), "ptr noalias %out"])
    return "\n".join((
        function_text(program, target, "internal i32 @terms", "noinline"), _product(n, width, target.fused),
        f"define i32 @state({head}) nounwind {{", *lines.text, "  ret i32 %status", "}",
        *state_declarations(), "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
    ))


def _product(n: int, width: int, fused: bool) -> str:
    """The function ``void product(A, columns, out)``: −A, (n, n), times `width` columns of another such matrix."""
    lines = Lines(width, fused=fused)
    one = lines.of_width(1)
    columns = [lines.let(f"load {lines.vector}, ptr {one.element('%columns', k * n)}, align 8") for k in range(n)]
    for i in range(n):
        total = lines.splat(0.0)
        for k, column in enumerate(columns):
            number = one.let(f"load double, ptr {one.element('%A', i * n + k)}, align 8")
            if width > 1:
                lane = one.let(f"insertelement {lines.vector} poison, double {number}, i32 0")
                number = lines.shuffle(lane, "poison", [0] * width)
            total = lines.multiply_add(number, column, total)
        negative = lines.let(f"fneg {lines.vector} {total}")
        lines.do(f"store {lines.vector} {negative}, ptr {one.element('%out', i * n)}, align 8")
    head = "define internal void @product(ptr noalias readonly %A, ptr noalias readonly %columns, ptr noalias %out)"
    return "\n".join((f"{head} noinline nounwind {{", *lines.text, "  ret void", "}"))
