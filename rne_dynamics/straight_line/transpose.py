"""Transposition of rows in memory to one vector per column, and back; lane r is row r of a block of states.

With `ahead` each access prefetches the same place of the next block: large arrays are in no cache.
"""

from __future__ import annotations

from rne_dynamics.straight_line.lines import Lines


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
