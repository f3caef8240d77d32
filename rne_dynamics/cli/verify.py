"""`rne verify`: compare all formulations in random states of one robot: disagreement, operations, times."""

from __future__ import annotations

import argparse
from pathlib import Path

from rne_dynamics.cli import verify_flexible, verify_rigid
from rne_dynamics.cli.numbers import whole
from rne_dynamics.cli.robot_argument import MOST_SAMPLED, add_base, add_no_rotors, add_robot, load_robot
from rne_dynamics.cli.terminal import Answer, progress
from rne_dynamics.figures.output_file import figure_file

EXAMPLES = """\
examples:
  rne verify puma560
  rne verify my_arm.urdf --states 1000 --seed 7
  rne verify my_humanoid.urdf --base floating --json
  rne verify panda --plot verify.png        also: operations and times for 2 to 200 joints
  rne verify pantograph                     closed loops: actuated coordinates, constraint forces, free bodies
  rne verify flexible_arm6                  flexible links: recursion, energies, chains of rigid segments

exit code: 0 if every two formulations agree but for round-off (1e-9 relative, 1e-11 between O(n) recursions), 1 if not
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    add_no_rotors(parser)
    add_base(parser)
    parser.add_argument("--states", type=whole(1, 1_000_000), default=200,
                        help="random states of each kind (default: 200)")
    parser.add_argument("--seed", type=whole(0, 2**63 - 1), default=0, help="seed of the random numbers (default: 0)")
    parser.add_argument("--bare", action="store_true", help="gravity only: no external loads, base at rest")
    parser.add_argument("--plot", type=Path, default=None, metavar="FILE",
                        help="also count and time generated chains and trees of 2 to 200 joints and plot them: minutes")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> Answer:
    """Compare; the exit code is 0 if all agree."""
    if args.plot:
        figure_file(args.plot)
    robot = load_robot(args, MOST_SAMPLED)
    with progress() as update:
        if robot.kind == "flexible":
            return verify_flexible.verify(robot, args, update)
        return verify_rigid.verify(robot, args, update)
