"""A compiled function with all that it calls, as one module of LLVM's."""

from __future__ import annotations

from collections import Counter
from types import FunctionType
from typing import Any

from numpy.typing import NDArray

from rne_dynamics.compiling.apart import FIND, declared
from rne_dynamics.compiling.instructions import constant
from rne_dynamics.compiling.kinds import ELEMENTS, Compiled, Kind, View
from rne_dynamics.compiling.translator import Translator

#: Name of the one function of a module that other modules call.
EXPORTED = "direct"


class Module:
    """Collects functions, their `declarations`, and kernels `imported` apart: module, name, kinds by symbol."""

    def __init__(self) -> None:
        self.declarations: set[str] = set()
        self.imported: dict[str, tuple[str, str, tuple[Kind, ...]]] = {}
        self._functions: list[tuple[Compiled, str, Translator]] = []
        self._calls = Counter[str]()
        self._imports: list[str] = []
        self._constants: dict[str, str] = {}
        self._made: dict[tuple[int, tuple[Kind, ...]], Compiled] = {}

    def function(self, function: Any, kinds: tuple[Kind, ...], name: str = "") -> Compiled:
        """A function for kinds of arguments, translated at the first call; other modules may call it as `EXPORTED`."""
        source: FunctionType = getattr(function, "py_func", function)
        key = id(source), kinds
        if key not in self._made:
            code = Translator(self, source, kinds)
            made = self._made[key] = code.compiled(name or f'"{source.__name__}.{len(self._made)}"')
            self._functions.append((made, getattr(function, "attributes", "alwaysinline"), code))
            self.declarations |= code.declarations
        made = self._made[key]
        self._calls[made.name] += 1
        return made

    def other(self, kernel: Any, kinds: tuple[Kind, ...]) -> Compiled:
        """A kernel with a module of its own: a function that calls it by the address in its cell."""
        wanted = kernel.__module__, kernel.__name__, kinds
        name = next((name for name, known in self.imported.items() if known == wanted), f"cell{len(self.imported)}")
        compiled = declared(f"{name}.call", kernel, kinds)
        if name not in self.imported:
            self.imported[name] = wanted
            self._imports.append(_BY_ADDRESS.format(cell=name, function=compiled))
        return compiled

    def constant(self, array: NDArray[Any]) -> View:
        """An array that is known while functions are translated."""
        element = ELEMENTS[array.dtype.str]
        numbers = ", ".join(f"{element.memory} {constant(x, element.kind)}" for x in array.ravel().tolist())
        text = f"internal constant [{array.size} x {element.memory}] [{numbers}], align 16"
        name = self._constants.setdefault(text, f"@constant{len(self._constants)}")
        return View(array.dtype.str, name, array.shape)

    def text(self) -> str:
        """The module."""
        arena = [ARENA] if any(one.allocates for one in self._made.values()) else []
        find = [FIND] if self.imported else []
        constants = (f"{name} = {text}" for text, name in self._constants.items())
        functions = (code.text(self._head(made, attributes)) for made, attributes, code in self._functions)
        return "\n".join((*constants, *self._imports, *functions, *arena, *find, *sorted(self.declarations)))

    def _head(self, function: Compiled, attributes: str) -> str:
        signature = f"{function.result} @{function.name}({function.parameters})"
        if function.name == EXPORTED:
            return f"define {signature} {attributes} nounwind {{"
        # what is called once becomes a part of its caller
        chosen = "alwaysinline" if self._calls[function.name] == 1 else attributes
        return f"define internal {signature} {chosen} nounwind {{"


#: A function that calls another one by the address in a cell.
_BY_ADDRESS = """
@{cell} = external global i8
define internal {function.result} @{function.name}({function.parameters}) nounwind {{
  %found = call ptr @find(ptr @{cell})
  %result = call {function.result} %found({function.parameters})
  ret {function.result} %result
}}
"""
#: Memory for the arrays that a call makes: chunks, each with a head of the chunk before and of what was free in it.
#: An arena is three pointers: the chunk, the next free byte, and the chunk's end. What a function made is given back at
#: its end, unless it returns arrays.
ARENA = """
define internal noalias ptr @allocate(ptr %arena, i64 %bytes) alwaysinline nounwind {
entry:
  %more = add i64 %bytes, 31
  %size = and i64 %more, -32
  %next_place = getelementptr ptr, ptr %arena, i64 1
  %end_place = getelementptr ptr, ptr %arena, i64 2
  %next = load ptr, ptr %next_place
  %end = load ptr, ptr %end_place
  %after = getelementptr i8, ptr %next, i64 %size
  %fits = icmp ule ptr %after, %end
  br i1 %fits, label %take, label %grow
take:
  store ptr %after, ptr %next_place
  ret ptr %next
grow:
  %made = call ptr @grow(ptr %arena, i64 %size)
  ret ptr %made
}
define internal noalias ptr @grow(ptr %arena, i64 %size) noinline nounwind cold {
entry:
  %next_place = getelementptr ptr, ptr %arena, i64 1
  %end_place = getelementptr ptr, ptr %arena, i64 2
  %next = load ptr, ptr %next_place
  %end = load ptr, ptr %end_place
  %large = icmp ugt i64 %size, 65536
  %chosen = select i1 %large, i64 %size, i64 65536
  %total = add i64 %chosen, 64
  %chunk = call ptr @malloc(i64 %total)
  %old = load ptr, ptr %arena
  store ptr %old, ptr %chunk
  %old_next = getelementptr ptr, ptr %chunk, i64 1
  store ptr %next, ptr %old_next
  %old_end = getelementptr ptr, ptr %chunk, i64 2
  store ptr %end, ptr %old_end
  store ptr %chunk, ptr %arena
  %first = getelementptr i8, ptr %chunk, i64 32
  %new_next = getelementptr i8, ptr %first, i64 %size
  store ptr %new_next, ptr %next_place
  %new_end = getelementptr i8, ptr %chunk, i64 %total
  store ptr %new_end, ptr %end_place
  ret ptr %first
}
define internal void @release(ptr %arena, ptr %chunk, ptr %next) nounwind {
entry:
  %next_place = getelementptr ptr, ptr %arena, i64 1
  %end_place = getelementptr ptr, ptr %arena, i64 2
  br label %test
test:
  %now = load ptr, ptr %arena
  %same = icmp eq ptr %now, %chunk
  br i1 %same, label %end, label %drop
drop:
  %old = load ptr, ptr %now
  store ptr %old, ptr %arena
  %old_end_place = getelementptr ptr, ptr %now, i64 2
  %old_end = load ptr, ptr %old_end_place
  store ptr %old_end, ptr %end_place
  call void @free(ptr %now)
  br label %test
end:
  store ptr %next, ptr %next_place
  ret void
}
declare ptr @malloc(i64)
declare void @free(ptr)
"""
