"""The loop around the step of an iteration for a block of states, as LLVM assembly."""

from __future__ import annotations

from rne_dynamics.straight_line.lines import Lines
from rne_dynamics.straight_line.recipe import Iteration


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
