"""Base of the lifecycle nodes: autostart, robot description, warm kernels, readable refusals."""

from __future__ import annotations

import gc
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from lifecycle_msgs.msg import State as LifecycleStateMessage
from lifecycle_msgs.srv import ChangeState, GetAvailableTransitions, GetState
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter as RosParameter
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from rclpy.wait_for_message import wait_for_message
from std_msgs.msg import String

from rne_dynamics.compiling.first_start import EXPECTED, FirstStart
from rne_dynamics.compiling.progress import watch_compiling
from rne_dynamics.errors import ModelError, ParameterError, RneDynamicsError
from rne_dynamics.model.flexible.arm import FlexibleArm, rigid
from rne_dynamics.model.mechanism import Machine, Mechanism
from rne_dynamics.model.tree import Payload
from rne_dynamics.ros.described_robot import DescribedRobot, load_robot, loaded
from rne_dynamics.ros.hot_loop import SERVICE_PERIOD, HotLoop
from rne_dynamics.ros.loop_clock import LoopClock
from rne_dynamics.ros.node_executor import NodeExecutor
from rne_dynamics.ros.parameter_aliases import ParameterAlias
from rne_dynamics.ros.parameter_service import make_strict
from rne_dynamics.ros.parameters import Parameter, ParameterTable, Values, number, numbers
from rne_dynamics.ros.process_age import seconds_since_start
from rne_dynamics.ros.scheduling import SCHEDULING, settle

Entity = TypeVar("Entity")

#: Seconds between two lines of log that say what a start waits for.
PATIENCE = 2.5
#: How long a configure request over the service waits for the description on its topic, s.
DESCRIPTION_TIMEOUT = 10.0

#: The description is latched: whoever comes late still receives it.
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
#: Only the newest message matters, and waiting for a lost one would only make it older. Matches any publisher.
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
#: Reliable, so that best-effort and reliable subscribers can both listen.
OFFERED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)

COMMON: tuple[Parameter, ...] = (
    Parameter("autostart", True, "Configure and activate when the process starts.", read_only=True),
    Parameter(
        "robot_description", "",
        "The robot: URDF text, a path, a URI or the name of a shipped robot; empty waits for the topic of this name.",
        read_only=True,
    ),
    Parameter(
        "model", "",
        "Instead of robot_description, a model file, which may describe closed loops or flexible links: a path, a URI, "
        "its text or the name of a shipped model.",
        read_only=True,
    ),
    Parameter(
        "joints", (), "Controlled joints in the order of the effort commands; empty takes all the robot has, in the "
        "order of the description (of a mechanism the actuated joints). Joints of the robot that are left out are "
        "locked where joint_states have them; at zero, a mechanism's where its posture has them, until one has come.",
        kind=str, read_only=True,
    ),
    Parameter("gravity", (), "Gravity in the axes of the base link; empty takes the model file's, or 0 0 -9.81.",
              "m/s^2", -100.0, 100.0, length=(0, 3), kind=float, read_only=True),
    Parameter("payload.link", "", "Link that carries the payload; empty for none."),
    Parameter("payload.mass", 0.0, "Mass of the payload.", "kg", 0.0, 10000.0),
    Parameter("payload.com", (0.0, 0.0, 0.0), "Its mass centre in the link's frame.", "m", -100.0, 100.0, length=(3,)),
    Parameter(
        "payload.inertia", (0.0,) * 6, "Its inertia about the mass centre along the link's axes: xx xy xz yy yz zz.",
        "kg m^2", -1e6, 1e6, length=(6,),
    ),
    Parameter("diagnostics_period", 1.0, "Time between two messages on /diagnostics.", "s", 0.5, 60.0, read_only=True),
    *SCHEDULING,
)


class ArmNode(LifecycleNode, ABC):  # type: ignore[misc]  # rclpy may be absent where types are checked
    """A lifecycle node around one robot model, an open arm or a mechanism.

    Where the model file has flexible links, the robot is the rigid arm of the same file, which is what a controller
    knows; `described` has the links as they are.

    Subclasses give `build`, and may give `begin` and `end`; each may raise `RneDynamicsError`, which refuses the
    transition with one logged line.

    Parameters
    ----------
    name
        Node name.
    schema
        Its parameters; `COMMON` is added.
    overrides
        Values that go before those of the ROS command line.
    """

    #: Whether parameters can be changed while the node runs, those that are not read-only.
    live = True
    #: Names that another controller has for this one's parameters.
    aliases: Sequence[ParameterAlias] = ()

    def __init__(self, name: str, schema: Sequence[Parameter], overrides: Sequence[RosParameter] = ()) -> None:
        super().__init__(name, parameter_overrides=list(overrides))
        self.parameters = ParameterTable(self, self.all_parameters(schema), self.aliases, overrides)
        make_strict(self)
        self.finished, self.exit_code = False, 0
        #: Whether an error in this package or in the control loop has ended it: exit code 1, whatever `exit_code` is.
        self.failed = False
        #: Whether whoever wants the process to end has said so more than once; `process.run` sets it.
        self.pressed: Callable[[], bool] = lambda: False
        #: Called before the node may drive the arm for the first time: from then on a signal has to wait for a stop.
        self.about_to_drive: Callable[[], None] = lambda: None
        self._entities: list[Any] = []
        #: What is logged about compiling; the name of the executable is this node's before remapping.
        self._program, self.first_start = name, FirstStart(self.get_logger().info, None)
        self.loop: HotLoop | None = None
        self.model = self.parameters.text("model")
        self.description = self.parameters.text("robot_description")
        self._lifecycle = {service.srv_type: service.callback for service in self.services}
        next(s for s in self.services if s.srv_type is ChangeState).callback = self._on_change_state

    @classmethod
    def all_parameters(cls, schema: Sequence[Parameter]) -> tuple[Parameter, ...]:
        """`COMMON` and those of `schema`, as this kind of node declares them."""
        return (*(COMMON if cls.live else (replace(p, read_only=True) for p in COMMON)), *schema)

    # -- what a node does ---------------------------------------------------------------------------------------------

    @abstractmethod
    def build(self, robot: Machine) -> None:
        """Make laws, publishers and subscriptions for `robot`, and run every kernel once."""

    def begin(self) -> None:
        """Start to act."""

    def end(self) -> None:
        """Come to rest; returns when the arm has been released."""

    # -- topics and timers that live from configure to cleanup --------------------------------------------------------

    def keep(self, entity: Entity) -> Entity:
        """Note a publisher, subscription, service or timer for `release`; returns it."""
        self._entities.append(entity)
        return entity

    def every(self, period: float, callback: Callable[[], None]) -> None:
        """Call back every `period` seconds of a steady clock, which neither /clock nor a changed wall clock moves."""
        self.keep(self.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME)))

    def listen(
        self, kind: type, topic: str, on_message: Callable[[Any], None], period: float | None = None,
        on_deadline: Callable[[bool], None] | None = None, *, raw: bool = False, clock: LoopClock | None = None,
        on_time: Callable[[], None] = lambda: None, profile: QoSProfile = NEWEST,
    ) -> HotLoop:
        """The topic, and the period and clock if any, that drive this node; see `HotLoop`."""
        self.loop = HotLoop(
            self, kind, topic, profile, on_message, period, on_deadline, raw=raw, clock=clock, on_time=on_time
        )
        self.keep(self.loop.subscription)
        return self.loop

    def release(self) -> None:
        """Destroy what was kept."""
        self.parameters.disable_changes()
        destroy: dict[type, Callable[[Any], bool]] = {
            Publisher: self.destroy_publisher, Subscription: self.destroy_subscription,
            Service: self.destroy_service, Timer: self.destroy_timer,
        }
        for entity in reversed(self._entities):
            next(how for kind, how in destroy.items() if isinstance(entity, kind))(entity)
        self._entities.clear()
        self.loop = None

    # -- start and stop of the process --------------------------------------------------------------------------------

    def start(self) -> bool:
        """Configure and activate if `autostart` is set; False if that was refused (the reason has been logged)."""
        if not self.parameters.flag("autostart"):
            self.get_logger().info("autostart is off: waiting for the configure transition")
            return True
        self._await_description(timeout=None)
        if self.trigger_configure() != TransitionCallbackReturn.SUCCESS:
            return False
        self.about_to_drive()
        return bool(self.trigger_activate() == TransitionCallbackReturn.SUCCESS)

    def settle(self) -> None:
        """Have the operating system treat this process as the parameters ask."""
        values = self.parameters
        for refusal in settle(
            int(values.number("realtime_priority")), map(int, numbers(values.values, "cpu_affinity")),
            values.flag("lock_memory"),
        ):
            self.get_logger().warning(refusal)

    def turn(self, executor: NodeExecutor) -> None:
        """One turn of the process's loop; returns within `SERVICE_PERIOD`, so that signals are noticed."""
        if self.loop is not None:
            self.loop.turn(executor)
        else:
            executor.spin_once(timeout_sec=SERVICE_PERIOD)

    def stop(self) -> None:
        """Deactivate if active. Called once when the process ends."""
        if self.is_active:
            self.trigger_deactivate()

    @property
    def is_active(self) -> bool:
        """Whether the node is in the lifecycle state `active`."""
        return bool(self._lifecycle_state().id == LifecycleStateMessage.PRIMARY_STATE_ACTIVE)

    def _lifecycle_state(self) -> LifecycleStateMessage:
        """As its own service ``~/get_state`` answers: rclpy has no other documented way."""
        return self._lifecycle[GetState](GetState.Request(), GetState.Response()).current_state

    # -- transitions --------------------------------------------------------------------------------------------------

    def _on_change_state(self, request: ChangeState.Request, response: ChangeState.Response) -> ChangeState.Response:
        """As rclpy, which raises where the present state has no such transition: that would end the process."""
        wanted, present = request.transition, self._lifecycle_state()
        known = self._lifecycle[GetAvailableTransitions](
            GetAvailableTransitions.Request(), GetAvailableTransitions.Response()
        ).available_transitions
        leaving = [t.transition for t in known if t.start_state.id == present.id]
        there = [t.label if wanted.label else t.id for t in leaving]
        if (wanted.label or wanted.id) in there:
            made: ChangeState.Response = self._lifecycle[ChangeState](request, response)
            return made
        self.get_logger().warning(
            f"transition {wanted.label or wanted.id!r} is refused: state {present.label!r} has "
            f"{', '.join(map(str, there)) or 'none'}"
        )
        response.success = False
        return response

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the description, build the model, warm the kernels."""
        began = time.monotonic()

        def configure() -> None:
            self._await_description(DESCRIPTION_TIMEOUT)
            self.load()
            robot = loaded(self.bare_robot, payload(self.parameters.values))
            rigid_kind = "mechanism" if isinstance(robot, Mechanism) else "arm"
            kind = "flexible" if isinstance(self.described, FlexibleArm) else rigid_kind
            kind = kind if self.described is self.bare_robot else "flexible"
            self.first_start = FirstStart(self.get_logger().info, EXPECTED.get((self._program, kind)))
            try:
                with watch_compiling(self.first_start.note):
                    self.build(robot)
            finally:
                self.first_start.end()
            self.get_logger().info(
                f"ready: robot {robot.name!r}, {robot.n} joints ({', '.join(robot.joint_names)}); configured in "
                f"{time.monotonic() - began:.2f} s, {seconds_since_start():.2f} s after the process started"
            )

        if self._done("configure", configure):
            return TransitionCallbackReturn.SUCCESS
        self._done("release what was configured", self.release)
        return TransitionCallbackReturn.FAILURE

    def _done(self, what: str, action: Callable[[], None]) -> bool:
        """Whether `action` has run to its end; if not, the log says why, rclpy would not.

        An exception that is none of ours is an error in this package: the process ends with exit code 1, the arm being
        stopped first if that is still possible.
        """
        try:
            action()
        except RneDynamicsError as error:
            self.get_logger().error(f"cannot {what}: {error}")
            return False
        except Exception:  # noqa: BLE001 logged, and the arm is stopped
            self.get_logger().fatal(f"cannot {what}, because of an error that should not be: {traceback.format_exc()}")
            self.finished = self.failed = True
            return False
        return True

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start to act."""
        if self._done("activate", self.begin):
            return super().on_activate(state)
        self._done("stop what was activated", self.end)
        return TransitionCallbackReturn.FAILURE

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Come to rest, then fall silent."""
        self._done("stop as it should be", self.end)
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the robot, also the description that came on its topic: the next one may be another."""
        self._done("clean up", self.release)
        self.description = self.parameters.text("robot_description")
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Come to rest if active, then end the process."""
        if state.state_id == LifecycleStateMessage.PRIMARY_STATE_ACTIVE:
            self._done("stop as it should be", self.end)
        self.finished = True
        return super().on_shutdown(state)

    # -- the robot ----------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Make `bare_robot`, the model of the controlled joints without payload, and `locked`; see `load_robot`.

        `described` is the same machine with its links as flexible as the model file says.
        """
        self.take(load_robot(
            self.model, self.description, self.parameters.names("joints"), numbers(self.parameters.values, "gravity")
        ))  # fmt: skip

    def take(self, found: DescribedRobot) -> None:
        """Make `bare_robot`, `described` and `locked` of what was read, or of the same with joints locked elsewhere."""
        self.found, self.described, self.locked = found, found.machine, found.locked
        self.bare_robot = rigid(self.described)

    @property
    def commanded(self) -> tuple[str, ...]:
        """The joints in the order of the effort commands."""
        return self.parameters.names("joints") or self.bare_robot.joint_names

    def collect_garbage(self) -> None:
        """Collect all garbage, also what has lived long: 0.03 ms, because the start's objects are frozen."""
        gc.collect()

    def _await_description(self, timeout: float | None) -> None:
        """Wait for the latched description where there is neither parameter; None waits for ever."""
        waited = 0.0
        while not (self.model or self.description):
            found, message = wait_for_message(
                String, self, "robot_description", qos_profile=LATCHED, time_to_wait=min(PATIENCE, timeout or PATIENCE)
            )
            if found:
                self.description = message.data
                continue
            if not self.context.ok():
                return
            waited += PATIENCE
            if timeout is not None and waited >= timeout:
                raise ModelError(
                    f"no robot description: the parameters robot_description and model are empty and nothing came on "
                    f"{self.resolve_topic_name('robot_description')} within {timeout:g} s; give one of them"
                )
            self.get_logger().info(
                f"waiting for the robot description on {self.resolve_topic_name('robot_description')} "
                "(the parameter robot_description is empty)",
                throttle_duration_sec=10.0,
            )


def payload(values: Values) -> Payload | None:
    """The payload that the parameters describe, if any."""
    link = str(values["payload.link"])
    mass = number(values, "payload.mass")
    if not link:
        if mass > 0.0:
            raise ParameterError(f"parameter payload.mass is {mass} but payload.link is empty; name the link")
        return None
    xx, xy, xz, yy, yz, zz = numbers(values, "payload.inertia")
    inertia = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    return Payload(link, mass, numbers(values, "payload.com"), inertia)
