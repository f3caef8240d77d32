"""Machine code as a function of Python, without a Python function in front of it."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from rne_dynamics.compiling import objects


class Otherwise:
    """What an entry calls with arguments that it does not take; keeps the entry's memory.

    Parameters
    ----------
    function
        Takes the same arguments.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.keep: tuple[Any, ...] = ()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The other function's answer."""
        return self._function(*arguments, **named)


def python_function(address: int, name: str, doc: str, otherwise: Callable[..., Any], *keep: object) -> Any:
    """The function of Python whose machine code, an `entry_ir.entry_text`, lies at an address.

    Parameters
    ----------
    address
        Where it is.
    name, doc
        Of the function; `doc` begins with its signature, as those of functions in C do.
    otherwise
        Called with all arguments that the entry does not take.
    keep
        What its memory belongs to.
    """
    self = Otherwise(otherwise)
    made, definition = objects.python_function(address, name, self, doc)
    self.keep = (definition, *keep)
    return made


@cache
def addresses() -> Mapping[str, int] | None:
    """Addresses for `entry_ir.SYMBOLS`; None where objects do not lie in memory as entries expect."""
    if not objects.lie_as_expected():
        return None
    api = ctypes.pythonapi
    functions = {"increment": api.Py_IncRef, "decrement": api.Py_DecRef, "call_python": api.PyObject_Vectorcall}
    found = {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in functions.items()}
    found |= {"array_type": id(np.ndarray), "double_dtype": id(np.dtype(np.float64)), "out_name": id(sys.intern("out"))}
    return MappingProxyType({**found, "new_array": objects.new_array()})
