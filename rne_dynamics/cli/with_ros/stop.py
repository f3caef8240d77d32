"""`rne stop`: stop the arms of running controllers, and wait until they are at rest."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from rne_dynamics.advice import rne
from rne_dynamics.cli.arguments import argument, node_option, positive
from rne_dynamics.cli.start import report
from rne_dynamics.cli.with_ros.state import stale, wanted_node

if TYPE_CHECKING:
    from rne_dynamics.ros.sessions.running_nodes import Request, RunningNode, RunningNodes

EXAMPLES = """\
examples:
  rne stop                                           every controller that runs
  rne stop --node /left/computed_torque_controller

Each arm is braked on its path, then held and released as the controller's parameter stop.policy says. This is no
emergency stop: it needs the network, the controller and the drives.

exit code: 0 if every controller has stopped and its arm is at rest, 1 if not, 130 after Ctrl-C
"""
#: A joint slower than this is at rest, rad/s or m/s, and how long it has to be, s.
AT_REST, RESTING = 0.02, 0.3
#: Longest stop that is waited for, s; and time in `stopping` after which an arm at rest counts as held by its policy.
LONGEST, HELD_BY_POLICY = 30.0, 4.0
#: Time without efforts after which an arm has come to rest if it does, s.
SETTLED = 5.0
#: States in which a controller sends nothing to the arm.
SILENT = ("released", "fault", "inactive", "unconfigured")
EMERGENCY = "USE THE EMERGENCY STOP if the arm moves"


ARGUMENTS = (
    node_option("all that run"),
    argument("--timeout", type=positive(3600.0, "s"), default=LONGEST, metavar="S",
             help=f"longest wait for rest (default: {LONGEST:g})"),
)  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Stop; 0 if every arm is known to be at rest."""
    from rne_dynamics.ros.sessions.running_nodes import Request, RunningNodes

    wanted, asked = wanted_node(args), dict[str, Request]()
    try:
        with RunningNodes() as nodes:
            _ask(nodes, wanted, asked)
            if not asked:
                return _nothing(wanted)
            nodes.spin(Request.LONGEST, lambda: all(map(Request.over, asked.values())))
            stopped = [nodes.known[name] for name, request in asked.items() if _confirmed(name, request)]
            resting = [await_rest(nodes, node, args.timeout) for node in stopped]
    except KeyboardInterrupt:
        what = f"the stop was requested of {', '.join(asked)} and goes on there" if asked else "NOTHING WAS STOPPED"
        return report("rne stop", f"interrupted: {what}; rest is NOT confirmed. {EMERGENCY}")
    return 0 if len(stopped) == len(asked) and all(resting) else 1


def _ask(nodes: RunningNodes, wanted: str | None, asked: dict[str, Request]) -> None:
    """Request a stop of each controller as soon as it is found; of the gates if there is no controller."""
    from rne_dynamics.ros.sessions.running_nodes import DISCOVERY

    deadline = time.monotonic() + DISCOVERY
    while time.monotonic() < deadline and not nodes.complete and wanted not in asked:
        nodes.spin(0.02)
        nodes.look()
        for node in nodes.of("controller"):
            if wanted in (None, node.name) and node.name not in asked:
                asked[node.name] = nodes.trigger(node, "stop")
                print(f"{node.name}: stop requested", flush=True)
        for request in asked.values():
            request.over()
    for node in nodes.of("gate") if not asked else []:  # the gate holds and releases the arm
        if wanted in (None, node.name):
            asked[node.name] = nodes.trigger(node, "stop")


def _confirmed(name: str, request: Request) -> bool:
    """Whether a node has confirmed that it stops."""
    response = request.response
    if response is not None and response.success:
        return True
    said = "DOES NOT ANSWER" if response is None else f"DOES NOT STOP: {response.message}"
    _shout(f"{name} {said}. {EMERGENCY}")
    return False


def _nothing(wanted: str | None) -> int:
    if wanted is None:
        return _shout(f"NOTHING WAS STOPPED: no controller answers. {EMERGENCY}. Is ROS_DOMAIN_ID that of the arm?")
    return _shout(f"NOTHING WAS STOPPED: {wanted} does not answer. {EMERGENCY}. `{rne('stop')}` stops all that run")


def await_rest(nodes: RunningNodes, node: RunningNode, timeout: float) -> bool:
    """Wait until the arm of a stopped controller is at rest; whether it is known to be."""
    begun = still_since = silent_since = time.monotonic()
    place: dict[str, float] | None = None
    while (now := time.monotonic()) - begun < timeout:
        nodes.spin(0.05)
        nodes.look()
        if node.mode not in SILENT:
            silent_since = now
        if node.joints is None or stale(node):
            still_since, place = now, None
            if now - silent_since > SETTLED:
                _shout(f"{node.name}: {node.mode}; whether the arm is at rest is NOT KNOWN: no joint states come on "
                       f"{node.topic or 'its topic'}. {EMERGENCY}")
                return False
            continue
        q, qd = (
            {name: x for name, x in zip(node.joints.name, values, strict=False) if name in node.controlled}
            for values in (node.joints.position, node.joints.velocity)
        )
        same = place is not None and all(abs(x - place[name]) < AT_REST * RESTING for name, x in q.items())
        if not same or any(abs(speed) > AT_REST for speed in qd.values()):
            still_since, place = now, q
        still = now - still_since >= RESTING
        if still and node.mode in SILENT:
            where = ", ".join(f"{name} {x:.4g}" for name, x in q.items())
            call = f"ros2 service call {node.name}/recover std_srvs/srv/Trigger"
            again = f"`{call}` lets efforts pass" if node.kind == "gate" else f"`{rne('send --recover')}` holds it"
            print(f"{node.name}: {node.mode}, the arm is at rest at {where}. {again} again")
            return True
        if still and node.mode == "stopping" and now - begun > HELD_BY_POLICY:
            print(f"{node.name}: the arm is at rest and still held (stop.policy, or long stop times)")
            return True
        if now - silent_since > SETTLED:
            _shout(f"{node.name}: {node.mode}, and the arm still MOVES: without brakes it sinks, or another node "
                   f"drives it. {EMERGENCY}")
            return False
    _shout(f"{node.name}: after {timeout:g} s its state is {node.mode or 'not known'} and the arm is not at rest. "
           f"{EMERGENCY}")
    return False


def _shout(text: str) -> int:
    """Print on standard error; returns the exit code."""
    print(f"rne stop: {text}", file=sys.stderr, flush=True)
    return 1
