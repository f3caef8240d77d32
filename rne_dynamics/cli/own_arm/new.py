"""`rne new`: a parameter file for one's own arm, from its URDF."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.cli.answer import Answer, Line
from rne_dynamics.cli.arguments import MOST_SAMPLED, ROBOT, argument, flag, load_robot, real
from rne_dynamics.cli.with_ros.moves import start_posture
from rne_dynamics.control.felt_inertia import checked_damping, joint_inertia, rounded_down
from rne_dynamics.control.gains import advised_bandwidth
from rne_dynamics.control.motion.limits import described_velocity
from rne_dynamics.control.thresholds import ASSUMED_RATE
from rne_dynamics.description.sources import find, names_model_file
from rne_dynamics.dispatch import closed, gravity_torque
from rne_dynamics.errors import ArgumentError, ModelError, refuse
from rne_dynamics.figures.style import output_file
from rne_dynamics.figures.tracking import PRISMATIC, joint_units
from rne_dynamics.model.friction import SCALED, joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.protocol import Robot

EXAMPLES = """\
examples:
  rne new my_arm.urdf                         writes my_arm.yaml
  rne new my_arm.urdf --out config/my_arm.yaml --rate 500
  rne new ur10                                an arm of the example-robot-data wheel
  rne new my_arm.urdf.xacro --arg tool:=gripper
  rne new my_arm.urdf --force                 replaces my_arm.yaml

The file is for all nodes of this package: config:=my_arm.yaml of the launch files, --config of rne commands. Limits are
those of the URDF. An effort limit that it does not give is a line to fill in, without which controllers do not start.

exit code: 0 if the file is written, 1 if not
"""

#: Bounds of --rate, Hz.
_SLOWEST, _FASTEST = 10.0, 10000.0


ARGUMENTS = (
    *ROBOT,
    argument("--out", metavar="FILE", help="the parameter file, .yaml (default: the robot's name, in this folder)"),
    flag("--force", "replace the file if it exists"),
    argument("--rate", type=real(_SLOWEST, _FASTEST, "Hz"), default=ASSUMED_RATE, metavar="HZ",
             help="joint states per second that always come, from which gains and damping follow (default: "
             f"{ASSUMED_RATE:g})"),
    flag("--json", "print what was written as JSON"),
)  # fmt: skip


def run(args: argparse.Namespace) -> Answer:
    """Write the file; the answer is what is missing and what comes next."""
    if args.robot == "-":
        raise ArgumentError("ROBOT is -; the nodes need a file too, so give its path")
    path = _path(args)
    settings = settings_of(load_robot(args, MOST_SAMPLED), args.rate)
    path.write_text(file_text(settings, args.robot), encoding="utf-8")
    steps = next_commands(args, path, settings)
    report = {"file": str(path), "joints": list(settings.robot.joint_names), "fill_in": settings.without("effort"),
              "notes": settings.notes, "next": steps}  # fmt: skip
    wrote = Line(f"wrote {path}: {settings.robot.n} joints of {settings.robot.name}")
    notes, commands = (f"  {note}" for note in settings.notes), (Line(f"  {step}") for step in steps)
    return Answer(report, [wrote, *notes, "next:", *commands])


def _path(args: argparse.Namespace) -> Path:
    """The file to write; `ArgumentError` if it exists, without --force, or is the robot's own."""
    source = find(args.robot)
    stem = source.name.split(".")[0] if "/" in args.robot or "." in args.robot else args.robot
    default = f"{stem}_params.yaml" if names_model_file(args.robot) else f"{stem}.yaml"
    path = output_file(args.out or default, (".yaml", ".yml"), "--out")
    refuse(
        ArgumentError,
        (path.exists() and source.exists() and path.samefile(source),
         f"--out is {str(path)!r}, the robot's own file; name another"),
        (path.exists() and not args.force,
         f"{path} exists; name another file with --out, or replace it with --force"),
    )  # fmt: skip
    return path


def next_commands(args: argparse.Namespace, path: Path, settings: ArmSettings) -> list[str]:
    """The commands to go on with, as they can be typed here."""
    file = shlex.quote(str(path))
    mappings = [word for mapping in args.mappings for word in ("--arg", mapping)]
    robot = shlex.join([args.robot, *mappings, *["--lenient"] * args.lenient])
    steps = [rne(f"check {robot}"), rne(f"guide {robot} --config {file}")]
    if shutil.which("ros2") and not args.lenient:
        source = shlex.quote(f"{'model' if names_model_file(args.robot) else 'urdf'}:={args.robot}")
        more = " " + shlex.quote(f"xacro_args:={' '.join(args.mappings)}") if args.mappings else ""
        started = f"ros2 launch rne_dynamics simulated_arm.launch.py {source}{more} config:={file}"
    else:
        started = rne(f"demo --robot {robot} --config {file}")
    return [*steps, started]


#: Names that YAML reads as text without quotes; words that it reads as something else.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
#: Least significant digits of written limits; gains and damping are rounded down to three.
_DIGITS = 7


_FILE = """\
# {name}: parameters of all nodes of rne_dynamics, written by `rne new {robot}`.
# Units: rad, rad/s, N m for joints that turn; m, m/s, N for joints that slide.
# `/**/` makes a section count in any namespace. docs/parameters.md lists every parameter.
{notes}
/**/computed_torque_controller:
  ros__parameters:
    # joints in the order of the efforts sent to the driver; joints left out are locked where they are measured
    {joints}
    command_interfaces: [effort]
    # age of the last joint state at which the arm is stopped, s
    state_timeout: 0.1
    {rate}
    # part of the description's joint friction that is compensated, 0 to 1
    friction_compensation: {friction}
    {payload}
    # speed of all trajectories, 0 to 1: start low on a real arm
    speed_scaling: 1.0
    # Accelerations per error (1/s^2, 1/s^3, 1/s): the model turns them into efforts, so that all joints have
    # the same. p = w^2, d = 2 w with w = {w} rad/s: errors die out without overshoot. w is at most a
    # sixth of the joint states per second. Lower it if the arm hums, raise it if the arm lags.
    gains:
{gains}
    # damping when a hand guides the arm, from the inertia that each joint feels and the rate
    hand_guiding:
{guiding}
    # errors at which a trajectory is aborted, and within which its goal is reached
    constraints:
{constraints}
{limits}

# The arm floats, and a hand moves it.
/**/gravity_compensation:
  ros__parameters:
    {joints}
    state_timeout: 0.1
    {rate}
    # less than all of the friction: what is left keeps the arm where it is let go
    friction_compensation: {part}
    {payload}
    # Damping against motion, N m s/rad or N s/m: a quarter of what is stable at that rate, at most 1.
    gains:
{floating}
{limits}

# Between a controller and the driver: takes the arm over if efforts stop (docs/effort_gate.md).
/**/effort_gate:
  ros__parameters:
    {joints}
    command_timeout: 0.02  # s; a few periods of the controller
    state_timeout: 0.1
{gate_limits}

# The simulated arm. Position and effort limits are those of the description.
/**/simulator:
  ros__parameters:
    {joints}
    rate: 1000.0  # joint states per second
    # posture at the start, inside the position limits
    initial_position:
{start}

# Point-to-point moves.
/**/move:
  ros__parameters:
    {joints}
    velocity_scale: 0.3  # of the velocity limits
"""
_MARGIN = "# position_margin: distance to the position limits that trajectories keep; soft walls begin there."
_PAYLOAD = """\
# payload: link, mass (kg), mass centre in the link's frame (m); an empty link for nothing
    # payload: {{link: {link}, mass: 1.0, com: [0.0, 0.0, 0.05]}}
    payload: {{link: "", mass: 0.0, com: [0.0, 0.0, 0.0]}}"""
#: A node assumes `ASSUMED_RATE` by itself.
_RATE = """\
# joint states per second below which the arm is stopped; gains and damping below are stable at {rate}
    {comment}min_rate: {rate}"""


def file_text(s: ArmSettings, robot: str) -> str:
    """The parameter file of an arm; `robot` is what the command line named."""
    names, w = [_name(joint) for joint in s.robot.joint_names], rounded_down(advised_bandwidth(s.rate))
    damping = [_n(rounded_down(d)) for d in s.damping]

    def each(values: Iterable[str]) -> str:
        return "\n".join(f"      {name}: {value}" for name, value in zip(names, values, strict=True))

    floating = [
        f"{{d: {d}}}  # feels an inertia of {x:.3g} at the start posture"
        for d, x in zip(damping, s.inertia, strict=True)
    ]
    tolerances = [_SLIDING if units is PRISMATIC else _TURNING for units in joint_units(s.robot)]
    return _FILE.format(
        name=" ".join(s.robot.name.split()), robot=" ".join(robot.split()), joints=f"joints: [{', '.join(names)}]",
        w=_n(w), notes="".join(f"# NOTE: {note}.\n" for note in s.notes),
        payload=_PAYLOAD.format(link=_name(s.robot.link_names[-1])),
        rate=_RATE.format(rate=_n(s.rate), comment="# " if s.rate == ASSUMED_RATE else ""),
        friction=1.0 if s.friction else 0.0, part=0.7 if s.friction else 0.0,
        gains=each([f"{{p: {_n(w * w)}, i: 0.0, d: {_n(2.0 * w)}}}"] * len(names)),
        guiding=each(f"{{damping: {d}}}" for d in damping), floating=each(floating), start=each(map(_n, s.start)),
        constraints=each(f"{{trajectory: {_n(along)}, goal: {_n(goal)}}}" for along, goal in tolerances),
        limits=_limits(s), gate_limits=_limits(s, margin=False),
    )  # fmt: skip


def _limits(s: ArmSettings, *, margin: bool = True) -> str:
    """The section of the limits; the `margin` is for controllers, which follow trajectories."""
    lines = ["# Largest effort and speed, from the description; it is the upper bound, and lower values here count."]
    if margin:
        lines.append(_MARGIN)
    lines.append("limits:")
    for j, name in enumerate(s.robot.joint_names):
        _, _, velocity, effort = joint_units(s.robot)[j]
        lower, upper = (f"{x:.5g}" if np.isfinite(x) else "no limit" for x in (s.robot.lower[j], s.robot.upper[j]))
        lines.append(f"  {_name(name)}:" + (f"  # from {lower} to {upper}" if margin else ""))
        given = {what: limits[j] for what, limits in s.limits.items()}
        for (what, limit), unit in zip(given.items(), (effort, velocity), strict=True):
            missing = f"# {what}:   # FILL IN, {unit}: the description gives no limit"
            lines.append(f"    {what}: {_n(limit)}" if np.isfinite(limit) else f"    {missing}")
        if margin:
            lines.append("    position_margin: 0.0")
        elif not np.isfinite(list(given.values())).any():
            lines.append("    effort_rate: 0.0  # the default, so that this section is not empty")
    return "\n".join(f"    {line}" for line in lines)


def _name(text: str) -> str:
    """A name as YAML reads it back."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text, ensure_ascii=False)


def _n(value: float) -> str:
    """A number that YAML reads as a float."""
    mantissa, exponent, power = f"{float(value) + 0.0:.{_DIGITS}g}".partition("e")
    return (mantissa if "." in mantissa else f"{mantissa}.0") + exponent + power


#: Tolerances of turning and of sliding joints, in motion and at the goal, rad and m.
_TURNING, _SLIDING = (0.1, 0.01), (0.02, 0.002)


@dataclass(frozen=True, eq=False)
class ArmSettings:
    """What the parameter file of one arm says; (n,) is one value a joint."""

    robot: RigidRobot
    #: Joint states per second for which gains and damping are stable, Hz.
    rate: float
    #: The description's limits of ``effort`` and ``velocity``, N·m or N, rad/s or m/s; infinite where it gives none, or
    #: 0; (n,) each.
    limits: dict[str, Array]
    #: Of gravity compensation and hand guiding, N·m·s/rad or N·s/m; (n,).
    damping: Array
    #: That each joint feels at the start while the others yield and are held, in the mean, kg·m² or kg; (n,).
    inertia: Array
    #: Posture inside the limits, rad or m; (n,).
    start: Array

    @property
    def friction(self) -> bool:
        """Whether the description gives any."""
        return bool(joint_friction(self.robot).rows[:SCALED].any())

    def without(self, limit: str) -> list[str]:
        """Joints whose ``effort`` or ``velocity`` limit the description does not give."""
        return [name for name, x in zip(self.robot.joint_names, self.limits[limit], strict=True) if not np.isfinite(x)]

    @property
    def notes(self) -> list[str]:
        """Missing parts of the description, and notes for the first motion, a sentence each."""
        strong, fast = self.without("effort"), self.without("velocity")
        missing = (
            (strong, f"fill in limits.JOINT.effort of {', '.join(strong)}: the description gives no effort limit (or "
             "0), and controllers do not start without one"),
            (fast, f"fill in limits.JOINT.velocity of {', '.join(fast)}: the description gives no velocity limit, so "
             "trajectories may be of any speed and setpoints are not followed"),
            (not self.friction, "the description gives no joint friction, so friction_compensation has no effect"),
        )  # fmt: skip
        holding = gravity_torque(self.robot, self.start)
        rows = zip(self.robot.joint_names, holding, self.limits["effort"], joint_units(self.robot), strict=True)
        return [note for holds, note in missing if holds] + [
            f"joint {name!r} needs {abs(held):.3g} {units.effort} to hold the start posture, more than its "
            f"effort limit of {limit:.3g}: check the masses, or the limit"
            for name, held, limit, units in rows if abs(held) > limit
        ]  # fmt: skip


def settings_of(whole: Robot, rate: float) -> ArmSettings:
    """The settings of an arm whose joint states come at `rate` Hz or faster; `ModelError` for undriven joints."""
    robot = closed(whole).rigid
    if robot.n == 0 or robot.nq != robot.n:
        raise ModelError(
            f"robot {robot.name!r} has no joint that can be driven, or a floating one; controllers drive turning and "
            "sliding joints on a fixed base"
        )
    start = start_posture(robot)
    return ArmSettings(
        robot, rate,
        {"effort": np.where(robot.effort_limit > 0.0, robot.effort_limit, np.inf),
         "velocity": described_velocity(robot)},
        checked_damping(robot, np.full(robot.n, -1.0), rate, "gains.{joint}.d").value,
        joint_inertia(robot, start).felt, start,
    )  # fmt: skip
