"""Hash of a function with everything it calls and reads: the key of its machine code on disk.

Machine code of a kernel contains that of its helpers, in whatever module, and the constants that they read. The hash
covers the bytecode of all of them and these constants, not files. Edits elsewhere, comments, reinstalling and moving
the package keep the machine code; an edit of any part discards it. File times and sizes play no role.
"""

from __future__ import annotations

import hashlib
import pickle
import secrets
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

PACKAGE = __name__.partition(".")[0]
#: Their functions count by name only.
LIBRARIES = {"llvmlite", "numpy"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_NAMED = (type, FunctionType, BuiltinFunctionType, np.ufunc)


#: By function: the hash of its own text, and the functions that it reads.
Known = dict[FunctionType, tuple[bytes, list[FunctionType | None]]]


def fingerprint(function: Callable[..., Any], known: Known | None = None) -> str:
    """Hash of a function with all functions and constants that it reads; what is `known` is not read again."""
    known = {} if known is None else known
    seen: set[FunctionType] = set()
    waiting = [_function_of(function)]
    digest = hashlib.sha256()
    while waiting:
        body = waiting.pop()
        if body is None or body in seen:
            continue
        seen.add(body)
        if body not in known:
            found: list[FunctionType | None] = []
            known[body] = hashlib.sha256(_local(body, found).encode()).digest(), found
        digest.update(known[body][0])
        waiting += known[body][1]
    return digest.hexdigest()


@cache
def writers() -> str:
    """Hash of what writes machine code."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted((*package.glob("compiling/*.py"), *package.glob("straight_line/*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _function_of(value: object) -> FunctionType | None:
    """The Python function behind `value`, if it is one or was compiled from one."""
    inner = getattr(value, "py_func", value)
    if not isinstance(inner, FunctionType) or inner.__module__.partition(".")[0] in LIBRARIES:
        return None
    return inner


def _local(function: FunctionType, found: list[FunctionType | None]) -> str:
    """One function without those that it calls, which are added to `found` in the order of their names."""
    code = function.__code__
    cells = function.__closure__ or ()
    values = {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells, strict=True)}
    parts = [function.__module__, function.__qualname__, _code(code), _value(function.__defaults__)]
    for name, value in (*values.items(), *_read(code, function.__globals__)):
        inner = _function_of(value)
        if inner is None:
            parts.append(f"{name}={_value(value)}")
        else:
            parts.append(f"{name}->{inner.__module__}.{inner.__qualname__} {getattr(value, 'attributes', None)}")
            found.append(inner)
    return "\n".join(parts)


def _code(code: CodeType) -> str:
    """Bytecode with its names and constants, without line numbers."""
    constants = [_code(c) if isinstance(c, CodeType) else _value(c) for c in code.co_consts]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags)
    return f"{code.co_code.hex()} {names!r} {constants!r}"


def _read(code: CodeType, scope: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names and values of what `code`, or code inside it, may read from its module and from modules of this package."""
    for name in code.co_names:
        if name in scope:
            value = scope[name]
            yield name, value
            if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == PACKAGE:
                for attribute in code.co_names:
                    if attribute in vars(value):
                        yield f"{name}.{attribute}", vars(value)[attribute]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _read(constant, scope)


def _value(value: object) -> str:
    """Text of a constant: the same in every process, different for different constants."""
    if isinstance(value, Enum):
        return f"{type(value).__qualname__}.{value.name}={_value(value.value)}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str}{value.shape}{hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, tuple):
        return f"{type(value).__qualname__}({','.join(map(_value, value))})"
    if isinstance(value, (set, frozenset)):
        return f"{{{','.join(sorted(map(_value, value)))}}}"
    if isinstance(value, dict):
        return f"{{{','.join(sorted(f'{_value(k)}:{_value(v)}' for k, v in value.items()))}}}"
    if isinstance(value, ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, _NAMED):
        fields = getattr(value, "_fields", "")
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}{fields}"
    if isinstance(value, (*_PLAIN, np.generic)):
        return f"{type(value).__name__} {value!r}"
    if type(value).__module__.partition(".")[0] in LIBRARIES:  # pickled, they also hold what use has left in them
        return f"{type(value).__qualname__} {value}"
    try:
        return f"{type(value).__qualname__} {hashlib.sha256(pickle.dumps(value, 4)).hexdigest()}"
    except (pickle.PickleError, TypeError, AttributeError):
        return secrets.token_hex(16)  # has no text: its kernel is compiled in every process
