"""Arms that a hand pushes hard, on plants that are not the model: a push is a pure function of arm and number.

In the folder `test`, `python -m support.pushes --to 40` pushes every arm and sums up.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

import numpy as np
from support.compliant import text_of
from support.foreign_episodes import TICK, ForeignRig, Line, controller_values
from support.foreign_plant import Deviation, ForeignArm
from support.moving_bases import Swell
from support.supervised import Rig

import rne_dynamics as rne
from rne_dynamics.c_export.export import end_links
from rne_dynamics.control.guards.base_filter import BaseSensor
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.parameters.tracking import tracking_settings

ON_SHIP, PANTOGRAPH = "puma560 on a moving base", "pantograph"
FOREIGN = ("puma560", "panda", "ur10", "four_joint_arm")
ARMS = (*FOREIGN, ON_SHIP, PANTOGRAPH)
#: A hand's force, N, how long it pushes, s, and the lever of its moment, m: half of them twist too.
FORCE, TIME, LEVER = (4.0, 60.0), (0.1, 1.0), 0.1
#: Time before a push, and after it, s.
BEFORE, AFTER = 0.4, 1.0


def node_settings(robot: RigidRobot, **parameters: object) -> Settings:
    """As `computed_torque_controller` makes them; `__` is a dot. Motion may begin at once."""
    named = {name.replace("__", "."): value for name, value in parameters.items()}
    plain = {"startup_check.duration": 0.0, "start.ramp_time": 0.1}
    return tracking_settings(robot, controller_values(robot, {**plain, **named}))  # type: ignore[arg-type]


def held(name: str, start: Array | None, line: Line, deviation: Deviation, rng: np.random.Generator) -> Rig:
    """The arm, held by the node's defaults at `start`; of the pantograph in its posture."""
    if name == PANTOGRAPH:
        mechanism = rne.load_model(name)
        made = node_settings(mechanism, **{f"limits__{j}__velocity": 4.0 for j in mechanism.joint_names})
        return Rig(mechanism, np.array(mechanism.posture[mechanism.actuated]), made, period=2e-3)
    assert start is not None
    robot = rne.load_urdf(text_of("puma560" if name == ON_SHIP else name))
    made = node_settings(robot)
    if name == ON_SHIP:
        return Rig(robot, start, replace(made, base=BaseSensor()), base=Swell())
    arm = ForeignArm(text_of(name), start, TICK, deviation)
    return ForeignRig(robot, start, made, period=TICK, line=line, rng=rng, arm=arm)


@dataclass
class Pushed:
    """An arm that was pushed: whether it was guided, and the largest speed of a joint, in velocity limits."""

    rig: Rig
    guided: bool
    peak: float
    words: str

    @property
    def stopped(self) -> bool:
        """Whether it is not held or guided any more."""
        return Mode.STOPPING in self.rig.modes


def push(name: str, number: int, *, guided: bool = True, twist: bool = True) -> Pushed:
    """Push an arm in a random direction; its plant, posture and messages are random too."""
    rng = np.random.default_rng(number)
    period, total = 1e-3 * float(rng.choice([1, 2, 4, 10])), 1e-3 * float(rng.choice([0.0, 1.0, 3.0, 6.0]))
    late = total * float(rng.choice([0.0, 0.5, 1.0]))
    line = Line(period, late, float(rng.choice([0.0, 0.2, 0.8])) * min(period, 4e-3))
    deviation = Deviation(
        mass=tuple(rng.uniform(0.5, 1.5, 40)) if rng.random() < 0.6 else (), friction=float(rng.uniform(0.0, 3.0)),
        dry=float(rng.choice([0.0, 0.0, 0.01, 0.03])),
        frequency=np.inf if rng.random() < 0.5 else float(rng.uniform(25.0, 60.0)), rotor=float(rng.uniform(0.3, 1.0)),
        at_motor=bool(rng.random() < 0.7), command_delay=total - late,
    )  # fmt: skip
    start = None
    if name != PANTOGRAPH:
        robot = rne.load_urdf(text_of("puma560" if name == ON_SHIP else name))
        lower, upper = np.maximum(robot.lower, -2.8), np.minimum(robot.upper, 2.8)
        start = lower + (upper - lower) * rng.uniform(0.25, 0.75, robot.n)
    rig = held(name, start, line, deviation, rng)
    rig.run(BEFORE)
    if guided:
        rig.supervisor.hand_guide(True)
    size, time = rng.uniform(*FORCE), rng.uniform(*TIME)
    along, about = (v / np.linalg.norm(v) for v in rng.normal(size=(2, 3)))
    moment = LEVER * size * about if twist and rng.random() < 0.5 else np.zeros(3)
    link = "wrist" if name == PANTOGRAPH else end_links(rig.robot)[-1]
    first = len(rig.speeds)
    rig.run(time, wrenches={link: np.concatenate([size * along, moment])})
    rig.run(AFTER)
    limits = rig.settings.limits.velocity
    peak = float((np.abs(np.array(rig.speeds[first:])) / limits).max())
    words = f"{size:.0f} N, {np.linalg.norm(moment):.1f} N m for {time:.2f} s; {line}, {deviation.command_delay:.3f} s"
    return Pushed(rig, guided, peak, f"{name} {number}: {words}; peak {peak:.2f}; {rig.supervisor.cause}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=int, default=40, help="pushes of each arm")
    parser.add_argument("--held", action="store_true", help="of arms that are held instead of guided")
    parser.add_argument("--no-twist", action="store_true", help="forces only")
    parser.add_argument("arms", nargs="*", default=ARMS)
    options = parser.parse_args()
    for name in options.arms:
        pushed = [push(name, k, guided=not options.held, twist=not options.no_twist) for k in range(options.to)]
        stopped = [one for one in pushed if one.stopped]
        cut = sum("cut" in one.rig.supervisor.cause for one in stopped)
        peaks = [one.peak for one in pushed]
        print(f"{name}: {len(stopped)} of {len(pushed)} stopped, {cut} of them cut; largest speeds: median "
              f"{np.median(peaks):.2f}, 90 % {np.quantile(peaks, 0.9):.2f}, {max(peaks):.2f}", flush=True)
        for one in stopped:
            print(f"    {one.words}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
