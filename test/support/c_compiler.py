"""C of `rne.to_c`, compiled with all warnings as errors and called through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np

C = shutil.which("gcc") or shutil.which("cc")
CXX = shutil.which("g++") or shutil.which("c++")
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")
TYPES = {"double": np.float64, "float": np.float32}


def compile_c(sources, target: Path, *options: str) -> Path:
    """Compile and link as C99; an error of the compiler fails the test with its message."""
    run([C, "-std=c99", *STRICT, *options, *sources, "-o", target, "-lm"])
    return target


def compile_cxx(source: Path, *options: str) -> None:
    """Compile as C++, without linking."""
    run([CXX, "-std=c++11", *STRICT, *options, "-x", "c++", "-c", source, "-o", source.with_suffix(".o")])


def run(command) -> str:
    """Standard output of a command that ends with 0."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


class Exported:
    """The files of an export in a folder, compiled as a library."""

    def __init__(self, export, folder: Path, *options: str) -> None:
        folder.mkdir(exist_ok=True)
        for name, text in export.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        self.export, self.folder, self.type = export, folder, TYPES[export.precision]
        self.stem = f"{export.prefix}_dynamics"
        self.source, self.test = folder / f"{self.stem}.c", folder / f"{self.stem}_test.c"
        self._library = ctypes.CDLL(str(compile_c([self.source], folder / "library.so", "-shared", "-fPIC", *options)))
        self.names = (ctypes.c_char_p * len(self.joint_names)).in_dll(self._library, f"{export.prefix}_joint_names")

    @property
    def joint_names(self) -> list[str]:
        """Lines of the array of names in the source."""
        text = self.source.read_text(encoding="utf-8").partition("_joint_names[")[2]
        return text[text.index("{") + 1 : text.index("}")].split(",\n")

    def call(self, function, *inputs, out=None):
        """Status and output of one state."""
        given = [np.ascontiguousarray(x, dtype=self.type) for x in inputs]
        out = np.full(len(function.program.results), 7.0, dtype=self.type) if out is None else out
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*given, out)]
        return getattr(self._library, function.name)(*pointers), out

    def rows(self, function, *rows):
        """Outputs of many states, all of status 0."""
        answers = [self.call(function, *state) for state in zip(*rows, strict=True)]
        assert all(status == 0 for status, _ in answers), function.name
        return np.array([out for _, out in answers])
