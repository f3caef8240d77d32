"""The loop around the step of an iteration, as LLVM assembly."""

from __future__ import annotations

from rne_dynamics.compiling.instructions import constant
from rne_dynamics.compiling.kinds import FLOAT
from rne_dynamics.straight_line.recipe import Iteration


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
