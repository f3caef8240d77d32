"""`rne send`: move the arm of a running controller, and wait until it is there."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rne_dynamics.cli.arguments import argument, flag, group, node_option, positive, real
from rne_dynamics.cli.start import noted
from rne_dynamics.cli.with_ros.state import wanted_node
from rne_dynamics.control.motion.limits import parse_goal
from rne_dynamics.errors import ArgumentError, ControlError, refuse
from rne_dynamics.recording.yaml_files import read_trajectory

if TYPE_CHECKING:
    from rne_dynamics.control.trajectory import SampledTrajectory
    from rne_dynamics.ros.sessions.running_nodes import RunningModel, RunningNode, RunningNodes

EXAMPLES = """\
examples:
  rne send joint2=-0.8 joint3=30deg                  the other joints stay
  rne send 0 -0.8 0.5 0 0.3 0 --duration 4           one value for each joint
  rne send --home --speed 0.2
  rne send --trajectory panda_excite.yaml --path-tolerance 0.1
  rne send joint1=1.2 --fastest                      as fast as the limits of velocity and effort allow
  rne send --recover                                 hold the arm again after a stop or a fault
  rne send joint1=0.3 --node /left/computed_torque_controller

Ctrl-C brakes the arm on its path and waits until it is at rest.

exit code: 0 if the arm has arrived, 1 if not, 130 after Ctrl-C
"""
#: States from which ~/recover leads back.
ENDED = ("released", "fault")


ARGUMENTS = (
    argument("goal", nargs="*", metavar="JOINT=VALUE|VALUE",
             help="rad or m, or with a unit (30deg, 20mm). Named joints, or all in order"),
    flag("--home", "go to zero, or the nearest position inside the limits; a mechanism to its posture"),
    argument("--trajectory", metavar="FILE",
             help="follow a trajectory_msgs/JointTrajectory in YAML, as of `rne excite`, after a move to its start"),
    flag("--recover", "first hold the arm again, if it is released"),
    group("", (
        argument("--duration", type=real(0.01, 3600.0, "s"), metavar="S",
                 help="time of the motion, or of the move to the start of --trajectory"),
        argument("--speed", type=real(0.01, 1.0), metavar="FRACTION",
                 help="fraction of the velocity limits (default: 0.3)"),
    )),
    flag("--fastest", "as fast as the limits of velocity and effort allow, also along the path of --trajectory, whose "
         "times then do not count; for open arms, needs the extra retime"),
    argument("--tolerance", type=real(1e-9, 10.0), default=0.01,
             help="error within which the arm has arrived, rad or m (default: 0.01)"),
    argument("--path-tolerance", type=positive(10.0, "rad or m"), metavar="ERROR",
             help="constraints.<joint>.trajectory of the controller for this motion, which it aborts if it errs more"),
    argument("--timeout", type=real(0.1, 600.0, "s"), default=10.0, metavar="S",
             help="longest wait for the controller, and for the arm to settle (default: 10)"),
    node_option("the only one that runs"),
)  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Send a motion; 0 if the arm has arrived."""
    from rne_dynamics.ros.sessions.running_nodes import RunningNodes, set_parameters

    kept: dict[RunningNode, dict[str, float]] = {}
    try:
        return _moved(args, kept)
    finally:
        for controller, values in kept.items():
            with RunningNodes() as nodes:
                set_parameters(nodes, controller, values)


def _moved(args: argparse.Namespace, kept: dict[RunningNode, dict[str, float]]) -> int:
    """Send a motion; `kept`: parameters that the controller is to have again afterwards."""
    from rne_dynamics.ros.sessions.in_process import send
    from rne_dynamics.ros.sessions.running_nodes import (
        RunningNodes,
        follows_trajectories,
        path_tolerances,
        read_model,
        set_parameters,
    )

    options = _options(args)
    path = None if args.trajectory is None else read_trajectory(args.trajectory)
    with RunningNodes() as nodes:
        controller = nodes.controller(wanted_node(args))
        nodes.await_interfaces(controller)
        if args.recover:
            _recover(nodes, controller)
            if not (args.goal or args.home or args.trajectory):
                return _held(nodes, controller, args.timeout)
        name, mode = controller.name, controller.mode
        refuse(
            ControlError,
            (not follows_trajectories(nodes, controller), f"{name} follows no trajectories; use "
             "computed_torque_controller"),
            (mode in ENDED, f"{name} has released the arm ({mode}); give --recover to hold it"),
            (not controller.topic, f"it is not known where {name} receives joint states; try again"),
        )  # fmt: skip
        model = read_model(nodes, controller)
        if path is not None and args.fastest:
            path = _fastest(args.trajectory, path, model)
        if path is not None:
            goal = dict(zip(path.joint_names or (), path.positions[-1].tolist(), strict=True))
        elif args.home:
            goal = dict(zip(model.robot.joint_names, model.home.tolist(), strict=True))
        else:
            goal = parse_goal([word.strip() for word in args.goal], model.robot, model.lower, model.upper)
        if args.path_tolerance is not None:
            kept[controller] = path_tolerances(nodes, controller, model.robot.joint_names)
            set_parameters(nodes, controller, dict.fromkeys(kept[controller], args.path_tolerance))
    if noted():  # and the exception was lost: nothing is sent
        raise KeyboardInterrupt

    def say(text: str, error: bool) -> None:
        print(f"{controller.name}: {text}", file=sys.stderr if error else sys.stdout, flush=True)

    return send(controller, model, goal, options, say, path)


def _options(args: argparse.Namespace) -> dict[str, float | bool]:
    """Parameters of the motion, checked."""
    motions, fastest = bool(args.goal) + args.home + (args.trajectory is not None), args.fastest and not args.trajectory
    options = {"duration", "speed", "fastest", "tolerance", "path_tolerance"} & args.given
    named = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(options))
    refuse(
        ArgumentError,
        (motions > 1, "give one of --home, --trajectory and a goal"),
        (not (motions or args.recover), "no goal is given; write JOINT=VALUE, a VALUE for each joint, --home or "
         "--trajectory"),
        (not motions and bool(options), f"{named} is for a motion; give a goal, or leave it out with --recover alone"),
        (fastest and bool({"duration", "speed"} & options), "--duration and --speed are for a motion that is not the "
         "fastest; leave them out"),
    )  # fmt: skip
    given = {"tolerance": args.tolerance, "timeout": args.timeout, "duration": args.duration,
             "velocity_scale": args.speed, "fastest": fastest or None}  # fmt: skip
    return {name: value for name, value in given.items() if value is not None}


def _fastest(file: str, given: SampledTrajectory, model: RunningModel) -> SampledTrajectory:
    """The fastest motion along the path of a trajectory."""
    from rne_dynamics.control.motion.retiming import TOLERANCE, FastestMotion
    from rne_dynamics.recording.yaml_files import read_trajectory_of

    planner = FastestMotion(model.robot, model.velocity, model.effort, model.rate)
    path = planner.along(read_trajectory_of(file, model.robot))
    print(f"{file}: {path.duration:.3f} s, not {given.duration:.3f}, within {TOLERANCE:g} of its path", flush=True)
    return path


def _recover(nodes: RunningNodes, controller: RunningNode) -> None:
    """Let a controller that has released the arm hold it again."""
    if controller.mode not in ENDED:
        print(f"{controller.name}: nothing to recover from, it is {controller.mode}", flush=True)
        return
    asked = nodes.trigger(controller, "recover")
    nodes.spin(asked.LONGEST, asked.over)
    if asked.response is None:
        raise ControlError(f"{controller.name} does not answer ~/recover")
    if not asked.response.success:
        raise ControlError(f"{controller.name} does not recover: {asked.response.message}")
    nodes.spin(1.0, lambda: controller.mode not in ENDED)
    print(f"{controller.name}: recovering", flush=True)


def _held(nodes: RunningNodes, controller: RunningNode, timeout: float) -> int:
    """Wait until the arm is held; 0 if it is."""
    held = nodes.spin(timeout, lambda: controller.mode in ("holding", "floating"))
    print(f"{controller.name}: {controller.mode}", flush=True)
    return 0 if held else 1
