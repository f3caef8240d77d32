"""Drawings of robots from their descriptions: links, joints, motors and closed loops, in the neutral posture.

    python examples/draw_robots.py delta five_bar my_arm.urdf --plot robots.svg
"""

from __future__ import annotations

import argparse
from pathlib import Path

import rne_dynamics as rne
from rne_dynamics.figures.skeleton import draw_schematic, skeleton, tree_positions, view_of
from rne_dynamics.figures.style import canvas, figure_file

#: Drawings side by side, and the width of one, inches.
COLUMNS, WIDTH = 3, 3.6


def draw(path: Path, names: list[str]) -> None:
    """One drawing for each robot."""
    rows = -(-len(names) // COLUMNS)
    with canvas(path, WIDTH * min(len(names), COLUMNS), WIDTH * rows) as figure:
        places = figure.subplots(rows, min(len(names), COLUMNS), squeeze=False).ravel()
        for axes, name in zip(places, names, strict=False):
            robot = rne.load_model(name)
            drawn = skeleton(robot, tree_positions(robot, robot.neutral))
            draw_schematic(axes, drawn, view_of(drawn))
            loops = f", {len(robot.loops)} loops" if len(robot.loops) > 1 else ", 1 loop" * len(robot.loops)
            axes.set_title(f"{robot.name}: {robot.n} actuated{loops}")
        for axes in places[len(names) :]:
            axes.set_axis_off()


def main() -> None:
    """Draw the robots of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="+", metavar="ROBOT", help="names of shipped robots, URDF or model files")
    parser.add_argument("--plot", type=Path, required=True, metavar="FILE", help="the picture: .png, .svg or .pdf")
    args = parser.parse_args()
    figure_file(args.plot, "--plot")
    draw(args.plot, args.robots)
    print(f"wrote {args.plot}")


if __name__ == "__main__":
    main()
