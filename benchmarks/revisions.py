"""Speed of this checkout over that of another one: each call is timed in both in turn, each in its own process.

A background load affects both alike, since they alternate every few milliseconds. The ratio of a row is the other
checkout's fastest round over this one's: above 1, this checkout is faster.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve()
#: Least time of a round, ns.
SLICE = 2e6
EXAMPLES = """\
examples:
  python benchmarks/revisions.py --other ../old --python ../old/.venv/bin/python
  python benchmarks/revisions.py --other ../old --python ../old/.venv/bin/python --sections calls models --rounds 40

Make the other checkout with `git worktree add ../old REVISION`, and its environment with
`pip install -e '.[bench]' example-robot-data` there.

exit code: 0 if each row reaches --least, 1 if not
"""


def serve(sections: list[str], robots: list[str], large: bool) -> None:
    """The side of one checkout: prepare its calls, then time those that standard input names."""
    del sys.path[0]  # the other checkout has its own comparison, or none
    try:
        import comparison as package
    except ImportError:  # until the comparison moved out of the package
        from rne_dynamics import benchmarking as package  # type: ignore[attr-defined, no-redef]
    from importlib import import_module

    part = {name: import_module(f"{package.__name__}.{name}") for name in ("sections", "plan", "robots", "timing")}
    calls = {}
    with TemporaryDirectory() as folder:
        plan = part["plan"].Plan(part["robots"].robots(robots), frozenset(), not large, Path(folder))
        for name in sections:
            for case in part["sections"].SECTIONS[name].cases(plan):
                for contender in getattr(case, "contenders", ()):
                    key = f"{name}, {case.robot}, {case.quantity}, {contender.name}"
                    calls[key] = part["timing"].statement(contender.call, contender.names)
        print(json.dumps(list(calls)), flush=True)
        for line in sys.stdin:
            key, loops = json.loads(line)
            print(calls[key](loops) / loops if loops else part["timing"].calibrate(calls[key], SLICE), flush=True)


class Side:
    """A checkout's process."""

    def __init__(self, python: str, checkout: Path, arguments: list[str]) -> None:
        self.process = subprocess.Popen(
            [python, HERE, "--serve", *arguments], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{checkout}:{checkout / 'benchmarks'}"},
        )  # fmt: skip
        self.calls: list[str] = self._read()

    def time(self, key: str, loops: int) -> float:
        """Mean time of a call, ns; without loops, the number of calls for one round."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps([key, loops]) + "\n")
        self.process.stdin.flush()
        return float(self._read())

    def _read(self) -> Any:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a checkout's process ended; see its message above")
        return json.loads(line)


def rows(ours: Side, theirs: Side, rounds: int) -> dict[str, tuple[float, float]]:
    """Fastest rounds of both, ns, by call."""
    fastest = {}
    for key in (key for key in ours.calls if key in set(theirs.calls)):
        sides = [(side, int(side.time(key, 0))) for side in (ours, theirs)]
        best = {ours: math.inf, theirs: math.inf}
        for _ in range(rounds):
            random.shuffle(sides)
            for side, loops in sides:
                best[side] = min(best[side], side.time(key, loops))
        fastest[key] = (best[ours], best[theirs])
        print(f"{best[theirs] / best[ours]:6.3f}  {best[ours]:12.1f}  {key}", file=sys.stderr)
    return fastest


def main() -> int:
    """Compare and print; 1 if a row is below the least ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--other", type=Path, metavar="CHECKOUT", help="folder of the other checkout")
    parser.add_argument("--python", default=sys.executable, help="Python of the other checkout (default: this one)")
    parser.add_argument("--sections", nargs="+", default=["calls", "batch", "models", "rollout"], metavar="SECTION")
    parser.add_argument("--robots", nargs="*", default=[], metavar="ROBOT")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--large", action="store_true", help="batches as large as in `make bench`")
    parser.add_argument("--least", type=float, default=0.97, help="least ratio of a row (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.sections, args.robots, args.large)
        return 0
    if args.other is None:
        parser.error("--other: name the folder of the other checkout")
    arguments = ["--sections", *args.sections, "--robots", *args.robots, *(["--large"] if args.large else [])]
    found = rows(
        Side(sys.executable, HERE.parents[1], arguments), Side(args.python, args.other.resolve(), arguments),
        args.rounds,
    )  # fmt: skip
    ratios = {key: theirs / ours for key, (ours, theirs) in found.items()}
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    slow = {key: ratio for key, ratio in ratios.items() if ratio < args.least}
    if args.json:
        ours = {key: fastest for key, (fastest, _) in found.items()}
        print(json.dumps({"mean": mean, "ratios": ratios, "ns": ours}, indent=1))
    else:
        for key, ratio in sorted(slow.items(), key=lambda row: row[1]):
            print(f"{ratio:6.3f}  {key}")
        print(f"{len(ratios)} rows, mean {mean:.3f}, {len(slow)} below {args.least}")
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
