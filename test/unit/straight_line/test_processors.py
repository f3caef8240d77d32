"""Machine code for the processors that robots have: what runs here runs, and that for ARM runs under qemu."""

from __future__ import annotations

import ctypes
import math
import shutil
from functools import cache

import numpy as np
import pytest
from support.c_compiler import run as run_command
from support.robots import robot as named

import rne_dynamics as rne
from rne_dynamics.closed_chain.specialised import recipe_of as mechanism_recipe
from rne_dynamics.compiling import native
from rne_dynamics.compiling.linking import Image, c_function, image, linked, load
from rne_dynamics.compiling.native import object_code
from rne_dynamics.compiling.processor import Processor, processor
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.straight_line.batch_code import BATCH, runner
from rne_dynamics.straight_line.recipe import VALID
from rne_dynamics.straight_line.state_code import STATE
from rne_dynamics.straight_line.trace import trace

HOST = processor()
pytestmark = pytest.mark.skipif(HOST is None, reason="no LLVM here")
#: x86-64 with AVX-512, with AVX2, and without both; features are those that LLVM gives the name.
X86 = {
    "avx512f": Processor("skylake-avx512", "", 8),
    "avx2": Processor("haswell", "", 4),
    "sse2": Processor("x86-64", "", 2, fused=False),
}
ARM = Processor("cortex-a57", "", 2)
CASES = ("forward_dynamics_derivatives", "mechanism")
QEMU, ARM_CC = shutil.which("qemu-aarch64"), shutil.which("aarch64-linux-gnu-gcc")
ROWS = 5  # two registers of two and a rest


@cache
def recipe_of(case: str):
    """Of an arm, or of a mechanism, whose code repeats a step."""
    if case != "mechanism":
        return QUANTITIES[case].recipe(named("puma560"))
    return mechanism_recipe(rne.load_model("pantograph"), "inverse_dynamics")


@cache
def program_of(case: str):
    return trace(recipe_of(case))


def forms(case: str):
    """The forms of code that a quantity has: where matrices are multiplied, columns take the lanes of batches."""
    return (STATE,) if recipe_of(case).multiplies else (STATE, BATCH)


def assert_right(found, case: str) -> None:
    expected = program_of(case).answer()
    assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("feature", X86)
def test_x86(feature, case):
    if f"+{feature}," not in f"{HOST.features},":
        pytest.skip(f"this processor has no {feature}")
    recipe, program, target = recipe_of(case), program_of(case), X86[feature]
    for form in forms(case):
        code = object_code(form.text(program, recipe, target), target, optimised=False)
        addresses, _memory = load(linked(code), {})
        if form is STATE:
            out = np.full(math.prod(recipe.shape) + 1, 5.0)
            state = c_function(addresses["state"], *[ctypes.c_void_p] * (len(recipe.sample) + 1), result=ctypes.c_int32)
            assert state(*(x.ctypes.data for x in (*recipe.sample, out))) == VALID
            assert_right(out[:-1], case)
            assert out[-1] == 5.0, "written behind the end"
        else:
            rows = [np.tile(x, (ROWS, 1)) for x in recipe.sample]
            out, refused = np.empty((ROWS, math.prod(recipe.shape))), np.empty(ROWS, np.uint8)
            runner(addresses["run"], len(rows))(ROWS, *(x.ctypes.data for x in (*rows, out, refused)))
            assert not refused.any()
            for row in out:
                assert_right(row, case)


@pytest.fixture
def arm_machine(monkeypatch):
    """LLVM's code for ARM instead of this computer's."""
    native.llvm.initialize_all_targets()
    native.llvm.initialize_all_asmprinters()
    machine = native.llvm.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine(
        cpu=ARM.name, features=ARM.features, opt=3, reloc="pic", codemodel="small"
    )
    monkeypatch.setattr(native, "_machine", lambda target, level=3: machine)


@cache
def arm_objects(case: str) -> list[bytes]:
    """With `arm_machine` only."""
    recipe, program = recipe_of(case), program_of(case)
    return [object_code(form.text(program, recipe, ARM), ARM, optimised=False) for form in forms(case)]


@pytest.mark.parametrize("case", CASES)
def test_arm_is_assembled(case, arm_machine):
    for code in arm_objects(case):
        assert code[:4] == b"\x7fELF"
        assert int.from_bytes(code[18:20], "little") == 183  # EM_AARCH64
        assert image(code).symbols.keys() & {"state", "run"}


@pytest.mark.skipif(not (QEMU and ARM_CC), reason="needs Debian's qemu-user and gcc-aarch64-linux-gnu")
@pytest.mark.parametrize("case", CASES)
def test_arm_runs(case, tmp_path, arm_machine):
    recipe, images = recipe_of(case), [image(code) for code in arm_objects(case)]
    (tmp_path / "main.c").write_text(main_text(recipe, math.prod(recipe.shape), images))
    run_command([ARM_CC, "-O1", "-static", tmp_path / "main.c", "-lm", "-o", tmp_path / "main"])
    status, *lines = run_command([QEMU, tmp_path / "main"]).splitlines()
    assert int(status) == VALID
    found = np.array([float.fromhex(line) for line in lines]).reshape(-1, math.prod(recipe.shape))
    assert len(found) == 1 + ROWS * (len(images) > 1)
    for row in found:
        assert_right(row, case)


def main_text(recipe, results: int, images: list[Image]) -> str:
    """C that loads the images, calls both forms with the sample, and prints the status and all numbers."""
    loads, batch = [], len(images) > 1
    for k, (content, _, table) in enumerate(images):
        loads.append(f"  static const unsigned char c{k}[] = {{{', '.join(map(str, content))}}};")
        loads.append(f"  char *p{k} = mmap(0, sizeof c{k}, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);")
        loads.append(f"  memcpy(p{k}, c{k}, sizeof c{k});")
        loads += [f"  *(void **)(p{k} + {place}) = (void *){name};" for name, place in table.items()]
        loads.append(f"  __builtin___clear_cache(p{k}, p{k} + sizeof c{k});")
    state = f"  int (*state)({{}}) = (void *)(p0 + {images[0].symbols['state']});"
    run = f"  void (*run)(long, {{}}, unsigned char *) = (void *)(p1 + {images[1].symbols['run']});" if batch else ""
    arguments = [f"a{k}" for k in range(len(recipe.sample))]
    arrays = []
    for k, x in enumerate(recipe.sample):
        numbers = ", ".join(v.hex() for v in np.tile(x, ROWS).tolist())
        arrays.append(f"static double a{k}[] = {{{numbers}}};")
    pointers = ", ".join(["double *"] * (len(arguments) + 1))
    rows = f"""
  unsigned char refused[{ROWS}];
  run({ROWS}, {', '.join(arguments)}, out, refused);
  for (int i = 0; i < {ROWS}; i++) if (refused[i]) return 1;
  for (int i = 0; i < {ROWS * results}; i++) printf("%a\\n", out[i]);"""
    begin = "\n".join((*loads, state.format(pointers), run.format(pointers)))
    return f"""#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
{chr(10).join(arrays)}
static double out[{ROWS * results}];
int main(void) {{
{begin}
  printf("%d\\n", state({', '.join(arguments)}, out));
  for (int i = 0; i < {results}; i++) printf("%a\\n", out[i]);{rows if batch else ""}
  return 0;
}}
"""
