"""The hardware, played in lock-step: an arm with drives behind the topics of a real one; its reports can be falsified.

Time is simulated and published on the topic ``clock``. A turn is one period: physics, the new time, the joint state.
After each message the driver waits until the controller has dealt with it, see `ros.clock_seen`, and has all efforts
that were sent until then. So a pause of any process makes the campaign slower and changes nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Int64MultiArray

from rne_dynamics.dynamics.gravity import gravity_torque
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.ros.cdr import NANOSECONDS
from rne_dynamics.ros.clock_seen import MODES, ClockSeen
from rne_dynamics.ros.faults.fault import ReactionError
from rne_dynamics.ros.faults.judge import Heard
from rne_dynamics.ros.glance import TakenByHand
from rne_dynamics.ros.hot_loop import take
from rne_dynamics.ros.lifecycle import OFFERED
from rne_dynamics.ros.messages import EFFORT_TOPIC
from rne_dynamics.simulation.drive_faults import DriveFaults, FaultySimulator
from rne_dynamics.simulation.plant import ArmPlant

#: Joint states per second, and steps of the physics between two.
RATE, SUBSTEPS = 250.0, 2
#: One period, ns.
PERIOD = round(NANOSECONDS / RATE)
#: Where the simulated time begins, ns: far from zero, which is no stamp.
BEGIN = 1_000_000 * NANOSECONDS
#: Longest wait for a controller that is alive, s: a machine may be busy, but not for ever.
LONGEST_WAIT = 60.0
#: How often a time is published again that nobody has acknowledged, s.
AGAIN = 0.5
#: Age at which the drives let a command go and the brakes bite, simulated s.
COMMAND_TIMEOUT = 0.2
#: Every effort must be heard, so that every step between two is known.
EVERYTHING = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)

#: Makes of the true joint state the messages that go out instead; none for silence.
Falsify = Callable[[JointState], Iterable[JointState]]


def honest(message: JointState) -> Iterable[JointState]:
    """The joint state as it is."""
    return (message,)


class Driver:
    """An arm and its drives, moved on by whoever calls `turn`.

    The brakes hold the arm until the first command, and again once the last one is older than `COMMAND_TIMEOUT`.

    Parameters
    ----------
    node
        Where it publishes and listens; no executor may spin it.
    controller
        Name of the controller's node.
    robot
        The arm.
    home
        Where it starts, rad or m; shape (n,).
    """

    def __init__(self, node: Node, controller: str, robot: RobotModel, home: Array) -> None:
        self.node, self.robot, self.home = node, robot, home
        self.states = node.create_publisher(JointState, "joint_states", OFFERED)
        self._clock = node.create_publisher(Clock, "clock", OFFERED)
        self._commands: Subscription | None = None
        self.start_listening()
        self._acknowledgements = node.create_subscription(
            Int64MultiArray, f"{controller}/clock_seen", lambda message: None, EVERYTHING, callback_group=TakenByHand()
        )
        self._wait_set = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, node.context.handle)
        self.heard = Heard()
        #: Whether there is a controller that acknowledges, so that it is waited for.
        self.linked = False
        #: Asked while it is waited for; it may raise, or end the wait by unlinking.
        self.watch: Callable[[], None] = lambda: None
        #: Told each acknowledgement: the controller's mode.
        self.on_mode: Callable[[str], None] = lambda mode: None
        #: What the clock says, ns.
        self.stamp, self._turns = BEGIN, 0
        self._last_effort = 0
        self._seen = ClockSeen(0, 0, 0, 0)
        self.restart()
        self._warm_up()

    def _warm_up(self) -> None:
        """Compile what a turn needs."""
        self.simulator.warm_up()
        self.simulator.command(self.weight())
        self.simulator.advance(1, {self.robot.link_names[-1]: np.zeros(6)})
        self.restart()

    def restart(
        self, plant: RobotModel | None = None, home: Array | None = None, stop_stiffness: Array | None = None
    ) -> None:
        """Back home, or elsewhere, at rest, brakes on, honest; `plant` is the arm as it truly is, if not the model.

        Time goes on. For `stop_stiffness` see `FaultySimulator`.
        """
        truth = plant or self.robot
        self.simulator = FaultySimulator(
            ArmPlant(truth), self.home if home is None else home, dt=1.0 / (RATE * SUBSTEPS),
            command_timeout=COMMAND_TIMEOUT, on_timeout="brake", stop_stiffness=stop_stiffness,
        )
        self.restart_reports()
        #: Positions, speeds and what the motors truly gave, after each turn; (n,) each.
        self.way: list[Array] = []
        self.speeds: list[Array] = []
        self.given: list[Array] = []

    def restart_reports(self) -> None:
        """Honest again, and nobody pushes."""
        self.falsify: Falsify = honest
        self.wrenches: dict[str, Array] = {}
        self.simulator.push = None
        self.simulator.faults = DriveFaults.none(self.robot.n)

    def start_listening(self) -> None:
        """Listen to efforts; none is waited for before the first one has come."""
        self._hears = False
        self._commands = self.node.create_subscription(
            Float64MultiArray, EFFORT_TOPIC, lambda message: None, EVERYTHING, callback_group=TakenByHand()
        )

    def stop_listening(self) -> None:
        """Take no efforts any more."""
        self.node.destroy_subscription(self._commands)
        self._commands, self._hears = None, False

    @property
    def time(self) -> float:
        """Simulated time that has passed since the beginning, s, wherever the clock was set meanwhile."""
        return self._turns / RATE

    @property
    def q(self) -> Array:
        """Where the arm truly is, (n,)."""
        return self.simulator.state.q

    @property
    def qd(self) -> Array:
        """How fast it truly moves, (n,)."""
        return self.simulator.state.qd

    @property
    def driven(self) -> bool:
        """Whether a command that is not too old drives the arm, and not only with zeros."""
        return not self.simulator.braked and bool(self.simulator.applied_effort.any())

    def weight(self) -> Array:
        """What it takes to hold the arm of the model where it is, N·m or N; (n,)."""
        return gravity_torque(self.robot, self.q)

    # -- time ---------------------------------------------------------------------------------------------------------

    def turn(self) -> None:
        """One period: the physics under the last command, the new time, a joint state."""
        self.listen()
        self.given.append(self.simulator.given_effort)
        self.simulator.advance(SUBSTEPS, self.wrenches or None)
        self.way.append(self.q)
        self.speeds.append(self.qd)
        self.stamp += PERIOD
        self._turns += 1
        if not self.linked:  # what is frozen finds only the last messages, which `link` and the next turn send
            return
        self.tell_time()
        for message in self.falsify(self.report()):
            self.publish(self.states, message)

    def link(self, *, anew: bool = True) -> None:
        """Wait until the controller acknowledges the present time, and from now on for each message.

        `anew` where it has been configured since it was waited for last, so that it counts from zero.
        """
        self.linked = True
        self._seen = ClockSeen(0, 0, 0, 0)
        if anew:
            self._last_effort, self._hears = 0, False
        self.tell_time()
        self._seen = self._seen._replace(time=0)
        self.tell_time()  # the second answer comes after all messages that waited before the first

    def unlink(self) -> None:
        """From now on time goes on without the controller: it is gone, or cannot act."""
        self.linked = False

    def tell_time(self) -> None:
        """Publish the present time, and wait until it is acknowledged."""
        self._take_acknowledgements()
        self._seen = self._seen._replace(time=-1)
        self._publish_time()
        self._await(lambda: self._seen.time == self.stamp, "the time")

    def publish(self, publisher: Publisher, message: JointState) -> None:
        """Publish a joint state, and wait until it is acknowledged; once more where it was lost on the way.

        The controller takes a joint state that waits right after a time. Two times that are acknowledged without it
        show that there is none.
        """
        before = self._seen.states
        while self.linked and self._seen.states == before:
            publisher.publish(message)
            self._await(lambda: self._seen.states > before, "a joint state", AGAIN)
            for _ in range(2):
                if self._seen.states == before:
                    self.tell_time()

    def _publish_time(self) -> None:
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(self.stamp, NANOSECONDS)
        self._clock.publish(message)

    def _await(self, done: Callable[[], bool], what: str, seconds: float = np.inf) -> None:
        """Wait for an acknowledgement and for the efforts that were sent before it, `seconds` at most."""
        began = told = time.monotonic()
        while self.linked:
            self._take_acknowledgements()
            self.listen()
            if done() and not (self._hears and self._last_effort < self._seen.efforts):
                return
            self.watch()
            now = time.monotonic()
            if now - began > seconds:
                return
            if now - told > AGAIN:  # the same time again changes nothing and is acknowledged again
                self._publish_time()
                told = now
            if now - began > LONGEST_WAIT:
                raise ReactionError(f"the controller has not acknowledged {what} within {LONGEST_WAIT:g} s")
            self._wait_set.clear_entities()
            self._wait_set.add_subscription(self._acknowledgements.handle)
            self._wait_set.wait(NANOSECONDS // 100)

    def _take_acknowledgements(self) -> None:
        while (taken := take(self._acknowledgements, Int64MultiArray)) is not None:
            self._seen = ClockSeen(*taken[0].data)
            self.on_mode(MODES[self._seen.mode].value)

    def listen(self) -> None:
        """Take the commands that have come; the drives follow the last."""
        while self._commands is not None and (taken := take(self._commands, Float64MultiArray)) is not None:
            message, info = taken
            self._last_effort, self._hears = info["publication_sequence_number"], True
            effort = list(message.data)
            self.heard.add(self.time, self._last_effort, effort)
            if len(effort) == self.robot.n and np.isfinite(effort).all():  # as drives do; the judge sees all
                self.simulator.command(effort)

    def report(self, q: Array | None = None) -> JointState:
        """The joint state as it truly is, or with other positions, (n,)."""
        message = JointState(
            name=list(self.robot.joint_names), position=(self.q if q is None else q).tolist(),
            velocity=self.qd.tolist(), effort=self.simulator.applied_effort.tolist(),
        )
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.stamp, NANOSECONDS)
        return message

    @property
    def publishers(self) -> int:
        """How many nodes publish efforts."""
        return int(self.node.count_publishers(EFFORT_TOPIC))
