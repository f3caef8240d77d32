"""One list names the undocumented parts of numba in use; all of them exist in the installed version."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pkgutil import resolve_name

import pytest
from support.package_source import MODULES, source, subpackage

from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.compiling.numba_parts import ATTRIBUTES, IMPORTED, OPTIONS

FILES = [path for path in MODULES if subpackage(path) == "compiling"]


def test_the_list_is_complete_and_everything_in_it_is_used() -> None:
    imported, attributes, own, options = set(), set(), {"_fields", "__version__", "__name__"}, set()
    for path in FILES:
        imported |= {e.name for e in source(path).imports if e.name.startswith(("numba.core.", "numba.np."))}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Attribute(value=ast.Name(id="self"), attr=name) | ast.FunctionDef(name=name):
                    own.add(name)
                case ast.Attribute(attr=name) | ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(name), _]):
                    attributes.add(name)
                case ast.keyword(arg=str(name)) | ast.Constant(value=str(name)):
                    options.add(name)
    assert imported == set(IMPORTED)
    private = {name for name in attributes if name.startswith("_") and not name.startswith("__")}
    assert private - own <= set(ATTRIBUTES)
    assert set(ATTRIBUTES) <= attributes
    assert set(OPTIONS) <= options


@pytest.mark.skipif(not COMPILED, reason="numba is not installed")
@pytest.mark.parametrize("name", IMPORTED)
def test_the_installed_numba_has_what_is_imported(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    try:
        resolve_name(f"{module}:{attribute}")
    except AttributeError:
        import_module(name)


@pytest.mark.skipif(not COMPILED, reason="numba is not installed")
def test_a_numba_without_a_part_is_refused_with_a_message() -> None:
    program = (
        "import numba.core.caching as c; del c._Cache\n"
        "from rne_dynamics.errors import MissingDependencyError\n"
        "from rne_dynamics.compiling.jit import kernel\n"
        "try: kernel(lambda x: x)\n"
        "except MissingDependencyError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "_Cache" in done.stdout
    assert "tested with numba" in done.stdout
