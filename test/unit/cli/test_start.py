"""The console script: what happens before the commands are imported."""

import subprocess
import sys

PROGRAM = """
import sys
from rne_dynamics.cli.start import main

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
sys.argv = ["rne", "list"]
sys.exit(main())
"""


def test_ctrl_c_during_imports_is_one_line():
    for module in ("rne_dynamics.cli.main", "rne_dynamics.cli.overview", "rne_dynamics.cli.list"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(module=module)], capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
        assert done.returncode == 130, done.stderr
        assert done.stderr.endswith("interrupted\n")
        assert done.stderr.count("\n") == 1


def test_it_passes_the_exit_code_on():
    program = "import sys; from rne_dynamics.cli.start import main; sys.argv = ['rne', 'nosuch']; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
