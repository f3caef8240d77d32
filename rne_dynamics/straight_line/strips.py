"""Reading a strip of rows into the second cache before its blocks are computed, as LLVM assembly.

Prefetches for the next block, one for every access, overlap with little of a humanoid's blocks, wherever they are put.
Read in order by a loop of nothing else, the same memory comes as fast as it can. 32 joints, 100,000 states, znver5, ns
a state by prefetches and by strips: inverse dynamics 173 and 128 (in cache 100), forward dynamics 217 and 182; 19
joints 73 and 59, 108 and 107. Rows of nine joints lose by it, and so do those of few inputs and many outputs. Not tried
on Intel's processors.
"""

from __future__ import annotations

from collections.abc import Sequence

#: Bytes of a row's inputs from which on strips are read, and of a strip at most, a quarter of a cache.
WIDE, _STRIP = 400, 2**18
#: Rows of a strip at least: a block.
_LEAST = 8


def reading_text(sizes: Sequence[int]) -> str:
    """The function ``void read_strip(row, done, p0, …)``, which reads a strip, `sizes` bytes a row, at its begin."""
    strip = max(_LEAST, 1 << (_STRIP // sum(sizes)).bit_length() - 1)
    parameters = "".join(f", ptr %p{k}" for k in range(len(sizes)))
    reads = (
        f"  %b{k} = mul i64 %count, {size}\n  call void @read(ptr %p{k}, i64 %b{k})" for k, size in enumerate(sizes)
    )
    return _TEXT.format(parameters=parameters, strip=strip, reads="\n".join(reads))


_TEXT = """
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
