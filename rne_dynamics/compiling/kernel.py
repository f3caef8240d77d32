"""Kernels: functions of Python that are compiled at their first call, for the kinds of its arguments."""

from __future__ import annotations

import hashlib
import pickle
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rne_dynamics.compiling import apart, store
from rne_dynamics.compiling.fingerprint import Known, fingerprint, writers
from rne_dynamics.compiling.jit import new_array, python_function
from rne_dynamics.compiling.kinds import Compiled, Kind, kind_of, made
from rne_dynamics.compiling.linking import linked, load
from rne_dynamics.compiling.processor import llvmlite_version, processor


class Content(NamedTuple):
    """A kernel compiled for kinds of arguments."""

    #: How other kernels call it.
    compiled: Compiled
    #: Python's objects that it compares with, by the names of symbols; NumPy's types by their text.
    objects: Mapping[str, Any]
    #: Kernels that it calls apart, by the symbols of their cells: module, name and kinds.
    imported: Mapping[str, tuple[str, str, tuple[Kind, ...]]]
    #: Code as `load` takes it.
    code: bytes


class Loaded(NamedTuple):
    """A kernel in memory: how kernels call it, addresses of its functions, and what its memory belongs to."""

    compiled: Compiled
    addresses: Mapping[str, int]
    keep: Any


class Kernel:
    """A function of numbers, C-contiguous arrays and tuples, compiled for each kinds of arguments and kept on disk.

    `releases_lock`: other threads of Python run meanwhile; `rare`: compiled fast, runs slowly. `attributes`: LLVM's, of
    the function as a part of others; `loaded`: its machine code in this process, by kinds.
    """

    attributes = ""
    _making: ClassVar[threading.RLock] = threading.RLock()
    _known: ClassVar[Known] = {}

    def __init__(self, function: Callable[..., Any], *, releases_lock: bool = False, rare: bool = False) -> None:
        self.py_func, self._releases_lock, self._rare = function, releases_lock, rare
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.__module__, self.__doc__ = function.__module__, function.__doc__
        self.loaded: dict[tuple[tuple[Kind, ...], int | None], Loaded] = {}
        self._kinds: set[tuple[Kind, ...]] = set()
        self._call: Callable[..., Any] = self._dispatch

    def __call__(self, *arguments: Any) -> Any:
        """Result of the function for these arguments."""
        return self._call(*arguments)

    def __reduce__(self) -> str:
        return self.__qualname__

    def _dispatch(self, *arguments: Any) -> Any:
        """A call with arguments that no function of `_call` takes: of new kinds, or of subclasses."""
        plain = tuple(map(_plain, arguments))
        kinds = tuple(map(kind_of, plain))
        if kinds not in self._kinds:
            address = self.load(kinds).addresses["entry"]
            self._call = python_function(address, self.__name__, (self._call,))  # passes on what is not of its kinds
            # an entry is no method of Python: a class with it is called in 60 % of the time of `Kernel.__call__`
            self.__class__ = type("Kernel", (Kernel,), {"__call__": self._call})
            self._kinds.add(kinds)
        return self._call(*plain)

    def filling(self, kinds: tuple[Kind, ...], first: int, given: tuple[Any, ...], name: str, doc: str) -> Any:
        """See `jit.filling`; `given` is what `FillingEntry` reads."""
        loaded = self.load(kinds, first=first)
        return python_function(loaded.addresses["entry"], name, (*given, loaded), doc)

    def load(self, kinds: tuple[Kind, ...], *, first: int | None = None) -> Loaded:
        """The machine code for these kinds, from disk or compiled now; with `first` its entry is a `FillingEntry`."""
        found = self.loaded.get((kinds, first))
        if found is None:
            with Kernel._making:
                found = self.loaded.get((kinds, first)) or self._made(kinds, first)
                self.loaded[kinds, first] = found
        return found

    def _made(self, kinds: tuple[Kind, ...], first: int | None) -> Loaded:
        name = self.name(kinds, first)
        kept = store.load(name)
        if kept is None:
            content = self._compiled(kinds, first)
            store.save(name, pickle.dumps(tuple(content)))
        else:
            content = Content(*pickle.loads(kept))
        symbols = {x: id(_object(y)) for x, y in content.objects.items()}
        for symbol, (module, function, others) in content.imported.items():
            symbols[symbol] = apart.cell_address(getattr(import_module(module), function), others)
        symbols |= {"PyArray_New": new_array(), apart.SYMBOL: apart.ADDRESS}
        found, keep = load(content.code, symbols)
        return Loaded(content.compiled, found, keep)

    def _compiled(self, kinds: tuple[Kind, ...], first: int | None) -> Content:
        # here: a process whose machine code is on disk needs no compiler
        from rne_dynamics.compiling.module import EXPORTED, Module
        from rne_dynamics.compiling.native import object_code
        from rne_dynamics.compiling.python_entry import FillingEntry, PythonEntry

        target = processor()
        assert target is not None
        module = Module()
        if first is None:
            entry = PythonEntry(module.function(self, kinds, EXPORTED), releases_lock=self._releases_lock)
        else:
            entry = FillingEntry(module.function(self, kinds), first)
        text = entry.text()
        module.declarations |= entry.declarations
        code = linked(object_code(f"{module.text()}\n{text}", target, optimised=True, rare=self._rare))
        kept = {x: ("dtype", y.str) if isinstance(y, np.dtype) else y for x, y in entry.objects.items()}
        return Content(entry.function, kept, module.imported, code)

    def name(self, kinds: tuple[Kind, ...], first: int | None = None) -> str:
        """Name of the file: the function, and a hash of all that its machine code depends on."""
        parts = (self._made_of, kinds, first, self._releases_lock, self._rare, processor())
        stem = f"{self.__module__.removeprefix('rne_dynamics.')}.{self.__qualname__.replace('<locals>.', '')}"
        return f"{stem}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}"

    @cached_property
    def _made_of(self) -> tuple[str, ...]:
        return fingerprint(self.py_func, self._known), writers(), llvmlite_version()


def _object(kept: Any) -> Any:
    """One of `Content.objects`."""
    if isinstance(kept, tuple):
        return np.dtype(kept[1])
    return sys.intern(kept) if isinstance(kept, str) else kept


def _plain(value: Any) -> Any:
    """An argument as compiled functions take it."""
    if isinstance(value, np.ndarray):
        if not value.flags.aligned or not value.dtype.isnative:
            raise TypeError("compiled functions take arrays that are aligned, in the processor's byte order")
        return value.view(np.ndarray).view(np.dtype(value.dtype.str))
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    return made(type(value), [*map(_plain, value)]) if isinstance(value, tuple) else value
