"""Object code in memory: sections side by side, relocations done, and addresses of what lies elsewhere in a table.

What is on disk is loaded without LLVM, whose library takes 100 MB of memory. The code is
position-independent, so all relocations are done before it is kept (System V ABI, AMD64 supplement, section 4.4; ELF
for the Arm 64-bit architecture, section 5.7); only addresses of others are filled in when it is loaded.
"""

from __future__ import annotations

import ctypes
import mmap
import pickle
import platform
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from rne_dynamics.errors import RneDynamicsError

_X86, _ARM = 62, 183
_WRITABLE, _ALLOCATED, _RELOCATIONS, _UNWINDING = 1, 2, 4, ".eh_frame"
_STUBS = {_X86: struct.pack("<Hi2x", 0x25FF, 0), _ARM: struct.pack("<3I4x", 0x90000010, 0xF9400210, 0xD61F0200)}


class _Relocation(NamedTuple):
    place: int
    kind: int
    symbol: int
    addend: int


class _Kind(NamedTuple):
    #: Writes a distance or an address over what is at a place: content, place, symbol.
    write: Callable[[bytearray, int, int], None]
    #: Whether the symbol's entry in the table is meant, and whether a jump that a stub may pass on.
    table: bool = False
    jump: bool = False


class Image(NamedTuple):
    """Machine code that may lie on any page."""

    content: bytes
    #: Places of its own functions.
    symbols: Mapping[str, int]
    #: Places of the addresses of others.
    table: Mapping[str, int]


def image(code: bytes) -> Image:
    """Object code (ELF, 64 bits, little-endian, position-independent) as an image; RneDynamicsError for variables."""
    (processor,) = struct.unpack_from("<H", code, 18)
    sections = _sections(code)
    content, places = bytearray(), dict[int, int]()
    for k, section in enumerate(sections):
        if not section.flags & _ALLOCATED or section.name == _UNWINDING:
            continue
        if section.flags & _WRITABLE:
            raise RneDynamicsError(f"machine code has variables, in its section {section.name}")
        content += bytes(-len(content) % max(section.alignment, 1))
        places[k] = len(content)
        content += code[section.start :][: section.size]
    symbols = _symbols(code, sections, places)
    relocations = list(_relocations(code, sections, places))
    kinds, stub = _KINDS[processor], _STUBS[processor]
    for x in relocations:
        if x.kind not in kinds:
            raise RneDynamicsError(f"machine code has a relocation of kind {x.kind}, which this package does not know")
    content += bytes(-len(content) % 16)
    stubs = {}
    for symbol in sorted({x.symbol for x in relocations if kinds[x.kind].jump and symbols[x.symbol][1] is None}):
        stubs[symbol] = len(content)
        relocations += _stub_relocations(processor, len(content), symbol)
        content += stub
    named = sorted({x.symbol for x in relocations if kinds[x.kind].table})
    table = {symbol: len(content) + 8 * k for k, symbol in enumerate(named)}
    content += bytes(8 * len(named))
    for x in relocations:
        kind, (name, place) = kinds[x.kind], symbols[x.symbol]
        target = table[x.symbol] if kind.table else stubs.get(x.symbol, place)
        if target is None or (kind.table and place is not None) or (place is None and not name):
            raise RneDynamicsError(f"machine code refers to {name} by a relocation of kind {x.kind}")
        kind.write(content, x.place, target + x.addend)
    own = {name: place for name, place in symbols if name and place is not None}
    return Image(bytes(content), own, {symbols[x][0]: place for x, place in table.items()})


def linked(code: bytes) -> bytes:
    """Object code as `load` takes it; see `image`."""
    return pickle.dumps(tuple(image(code)))


class _Section(NamedTuple):
    name: str
    kind: int
    flags: int
    start: int
    size: int
    link: int
    info: int
    alignment: int


def _sections(code: bytes) -> list[_Section]:
    (start,), (count, names) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<HH", code, 60)
    heads = [struct.unpack_from("<IIQQQQIIQQ", code, start + 64 * k) for k in range(count)]
    return [
        _Section(_text(code, heads[names][4] + name), kind, flags, place, size, link, info, alignment)
        for name, kind, flags, _, place, size, link, info, alignment, _ in heads
    ]


def _text(code: bytes, start: int) -> str:
    return code[start : code.index(b"\0", start)].decode()


def _symbols(
    code: bytes, sections: Sequence[_Section], places: Mapping[int, int]
) -> list[tuple[str, int | None]]:
    """Name and place of each symbol; None where it lies elsewhere."""
    (table,) = (s for s in sections if s.kind == 2)
    names = sections[table.link].start
    return [
        (_text(code, names + name), places[section] + value if section in places else None)
        for name, _, _, section, value, _ in struct.iter_unpack("<IBBHQQ", code[table.start :][: table.size])
    ]


def _relocations(
    code: bytes, sections: Sequence[_Section], places: Mapping[int, int]
) -> Iterator[_Relocation]:
    for section in sections:
        if section.kind == _RELOCATIONS and section.info in places:
            for offset, info, addend in struct.iter_unpack("<QQq", code[section.start :][: section.size]):
                yield _Relocation(places[section.info] + offset, info & 0xFFFFFFFF, info >> 32, addend)


def _stub_relocations(processor: int, place: int, symbol: int) -> list[_Relocation]:
    if processor == _X86:
        return [_Relocation(place + 2, 9, symbol, -4)]
    return [_Relocation(place, 311, symbol, 0), _Relocation(place + 4, 312, symbol, 0)]


def _distance(content: bytearray, place: int, target: int) -> None:
    struct.pack_into("<i", content, place, target - place)


def _arm_field(value: Callable[[int, int], int], bits: int, first: int) -> Callable[[bytearray, int, int], None]:
    """Writes so many bits of a value, of place and target, into an instruction, from its bit `first` on."""

    def write(content: bytearray, place: int, target: int) -> None:
        (instruction,) = struct.unpack_from("<I", content, place)
        struct.pack_into("<I", content, place, instruction | (value(place, target) & ((1 << bits) - 1)) << first)

    return write


def _arm_page(content: bytearray, place: int, target: int) -> None:
    pages = (target >> 12) - (place >> 12)
    _arm_field(lambda *_: pages, 2, 29)(content, place, target)
    _arm_field(lambda *_: pages >> 2, 19, 5)(content, place, target)


def _arm_low(shift: int) -> Callable[[bytearray, int, int], None]:
    return _arm_field(lambda _, target: (target & 0xFFF) >> shift, 12, 10)


_ARM_JUMP = _Kind(_arm_field(lambda place, target: (target - place) >> 2, 26, 0), jump=True)
#: By processor, and by the number of the kind in its ABI.
_KINDS: dict[int, dict[int, _Kind]] = {
    _X86: {
        2: _Kind(_distance, jump=True), 4: _Kind(_distance, jump=True),
        **dict.fromkeys((9, 41, 42), _Kind(_distance, table=True)),
    },
    _ARM: {
        261: _Kind(_distance), 275: _Kind(_arm_page), 277: _Kind(_arm_low(0)), 278: _Kind(_arm_low(0)),
        284: _Kind(_arm_low(1)), 285: _Kind(_arm_low(2)), 286: _Kind(_arm_low(3)), 299: _Kind(_arm_low(4)),
        282: _ARM_JUMP, 283: _ARM_JUMP, 311: _Kind(_arm_page, table=True), 312: _Kind(_arm_low(3), table=True),
    },
}  # fmt: skip


def load(code: bytes, imports: Mapping[str, int]) -> tuple[Mapping[str, int], Any]:
    """Addresses of the functions in `linked` code, whose `imports` are given or C's, and what its memory belongs to."""
    content, symbols, table = Image(*pickle.loads(code))
    size = len(content)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.write(content)
    for name, place in table.items():
        struct.pack_into("<Q", memory, place, imports[name] if name in imports else _of_process(name))
    start = ctypes.c_char.from_buffer(memory)
    base = ctypes.addressof(start)
    if _libc().mprotect(ctypes.c_void_p(base), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC):
        raise RneDynamicsError(
            "this computer lets no program execute machine code that it has written (mprotect: "
            f"{ctypes.get_errno()}). Fix: allow it, or set RNE_DYNAMICS_PLAIN=1, which is about 200 times slower"
        )
    if platform.machine().lower() in ("aarch64", "arm64"):  # which may still hold other instructions of these addresses
        ctypes.CDLL("libgcc_s.so.1").__clear_cache(ctypes.c_void_p(base), ctypes.c_void_p(base + size))
    return {name: base + place for name, place in symbols.items()}, (memory, start)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@cache
def _of_process(name: str) -> int:
    libraries = (_libc(), ctypes.CDLL("libm.so.6"))
    for library in libraries:
        if hasattr(library, name):
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    raise RneDynamicsError(f"machine code calls {name}, which this computer's C library does not have")


def c_function(address: int, *arguments: Any, result: Any = None) -> Callable[..., Any]:
    """A function of these C types at an address. It does not hold Python's lock."""
    return ctypes.CFUNCTYPE(result, *arguments)(address)
