"""Base of the lifecycle nodes: autostart, robot description, transitions with logged reasons of a refusal."""

from __future__ import annotations

import gc
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from lifecycle_msgs.msg import State as LifecycleStateMessage
from lifecycle_msgs.srv import ChangeState, GetAvailableTransitions, GetState
from rclpy.client import Client
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter as RosParameter
from rclpy.publisher import Publisher
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from rclpy.wait_for_message import wait_for_message
from std_msgs.msg import String

from rne_dynamics.compiling.apart import load_all
from rne_dynamics.control.locked_joints import LockedJoints, Measured
from rne_dynamics.errors import ModelError, ParameterError, RneDynamicsError
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.loop.hot_loop import SERVICE_PERIOD, HotLoop, NodeExecutor
from rne_dynamics.ros.messages.topic_wait import LATCHED
from rne_dynamics.ros.node.process import apply_scheduling, log_at, seconds_since_start
from rne_dynamics.ros.node.robot import DescribedRobot, load_robot, relocked
from rne_dynamics.ros.parameters.files import Parameter, ParameterAlias, Values
from rne_dynamics.ros.parameters.table import COMMON, ParameterTable, make_strict, payload

Entity = TypeVar("Entity")


#: Time between two log lines about what a start waits for, s.
WAITING_PERIOD = 2.5
#: How long a configure request over the service waits for the description on its topic, s.
DESCRIPTION_TIMEOUT = 10.0


class ArmNode(LifecycleNode, ABC):  # type: ignore[misc]  # rclpy may be absent where types are checked
    """A lifecycle node around one robot model, an open arm or a mechanism.

    If the model file has flexible links, the robot is the rigid arm of the same file, the one that a controller uses;
    `described` has the flexible links.

    Subclasses define `build`, and may define `begin` and `end`; each may raise `RneDynamicsError`, which refuses the
    transition with one logged line.

    `name`: node name. `schema`: its parameters; `COMMON` is added. `overrides`: values that override those of the ROS
    command line.
    """

    #: Whether parameters can be changed while the node runs, those that are not read-only.
    live = True
    #: Names of another controller for these parameters.
    aliases: Sequence[ParameterAlias] = ()
    _unmodelled = ""

    def __init__(self, name: str, schema: Sequence[Parameter], overrides: Sequence[RosParameter] = ()) -> None:
        super().__init__(name, parameter_overrides=list(overrides))
        self._entities: list[Any] = []
        #: The topic and the period that drive this node, if any.
        self.loop: HotLoop | None = None
        self.parameters = ParameterTable(self, self.all_parameters(self.adapted(schema)), self.aliases, overrides)
        make_strict(self)
        self.finished, self.exit_code = False, 0
        #: Whether an error in this package or in the control loop has ended it: the process then exits with 1.
        self.failed = False
        #: Whether more than one signal to end the process has come; set by `process.run`.
        self.signalled_again: Callable[[], bool] = lambda: False
        #: Called before the node may drive the arm for the first time: from then on a signal stops the arm first.
        self.about_to_drive: Callable[[], None] = lambda: None
        self.model = self.parameters["model"]
        self.description = self.parameters["robot_description"]
        self._lifecycle = {service.srv_type: service.callback for service in self.services}
        next(s for s in self.services if s.srv_type is ChangeState).callback = self._on_change_state

    @classmethod
    def all_parameters(cls, schema: Sequence[Parameter]) -> tuple[Parameter, ...]:
        """`COMMON` and those of `schema`, as this kind of node declares them."""
        return (*(COMMON if cls.live else (replace(p, read_only=True) for p in COMMON)), *schema)

    def adapted(self, schema: Sequence[Parameter]) -> Sequence[Parameter]:
        """The schema for what the node is given."""
        return schema

    # -- entities and log ----------------------------------------------------------------------------------------------

    def keep(self, entity: Entity) -> Entity:
        """Note a publisher, subscription, service, client or timer for `release`; returns it."""
        self._entities.append(entity)
        return entity

    def every(self, period: float, callback: Callable[[], None]) -> None:
        """Call back every `period` seconds of the steady clock, independently of /clock and the wall clock."""
        self.keep(self.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME)))

    def offer(self, kind: type, name: str, action: Callable[[Any], object], message: Callable[[], str]) -> None:
        """Offer a service of std_srvs: `action` takes its requests; its error, or `message`, is the response."""
        def answer(request: Any, response: Any) -> Any:
            try:
                action(request)
                response.success, response.message = True, message()
            except RneDynamicsError as error:
                response.success, response.message = False, str(error)
            return response

        self.keep(self.create_service(kind, name, answer))

    def log(self, level: str, text: str) -> None:
        """Log a text as "info", "warning" or "error"."""
        log_at(self.get_logger(), level, text)

    # -- for subclasses -----------------------------------------------------------------------------------------------

    @abstractmethod
    def build(self, robot: RigidRobot) -> None:
        """Make laws, publishers and subscriptions for `robot`, and run every kernel once."""

    def begin(self) -> None:
        """Start to operate."""

    def end(self) -> None:
        """Come to rest; returns when the arm has been released."""

    def release(self) -> None:
        """Destroy what was kept, and let changes of parameters take effect at the next configuration."""
        self.parameters.prepare = None
        destroy: dict[type, Callable[[Any], bool]] = {
            Publisher: self.destroy_publisher, Subscription: self.destroy_subscription,
            Service: self.destroy_service, Timer: self.destroy_timer, Client: self.destroy_client,
        }
        for entity in reversed(self._entities):
            next(how for kind, how in destroy.items() if isinstance(entity, kind))(entity)
        self._entities.clear()
        self.loop = None

    # -- start and stop of the process --------------------------------------------------------------------------------

    def start(self) -> bool:
        """Configure and activate if `autostart` is set; False if that was refused (the reason has been logged)."""
        if not self.parameters["autostart"]:
            self.get_logger().info("autostart is off: waiting for the configure transition")
            return True
        self._await_description(timeout=None)
        if self.trigger_configure() != TransitionCallbackReturn.SUCCESS:
            return False
        self.about_to_drive()
        return bool(self.trigger_activate() == TransitionCallbackReturn.SUCCESS)

    def apply_scheduling(self) -> None:
        """Apply the scheduling parameters to this process."""
        for refusal in apply_scheduling(self.parameters.values):
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
        """By its own service ``~/get_state``: rclpy has no other documented way."""
        return self._lifecycle[GetState](GetState.Request(), GetState.Response()).current_state

    # -- transitions --------------------------------------------------------------------------------------------------

    def _on_change_state(self, request: ChangeState.Request, response: ChangeState.Response) -> ChangeState.Response:
        """As rclpy, which would raise, and so end the process, if the present state has no such transition."""
        wanted, present = request.transition, self._lifecycle_state()
        known = self._lifecycle[GetAvailableTransitions](
            GetAvailableTransitions.Request(), GetAvailableTransitions.Response()
        ).available_transitions
        leaving = [t.transition for t in known if t.start_state.id == present.id]
        there = [t.label if wanted.label else t.id for t in leaving]
        if (wanted.label or wanted.id) in there:
            return self._lifecycle[ChangeState](request, response)
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
            robot = self.bare_robot.with_payload(payload(self.parameters.values))
            self.build(robot)
            load_all()
            self.get_logger().info(
                f"ready: robot {robot.name!r}, {robot.n} joints ({', '.join(robot.joint_names)}); configured in "
                f"{time.monotonic() - began:.2f} s, {seconds_since_start():.2f} s after the process started"
            )

        if self._done("configure", configure):
            return TransitionCallbackReturn.SUCCESS
        self._done("release what was configured", self.release)
        return TransitionCallbackReturn.FAILURE

    def _done(self, what: str, action: Callable[[], None]) -> bool:
        """Whether `action` has completed; if not, the reason is logged. An internal error ends the process with 1."""
        try:
            action()
        except RneDynamicsError as error:
            self.get_logger().error(f"cannot {what}: {error}")
            return False
        except Exception:  # noqa: BLE001 logged, and the arm is stopped
            self.get_logger().fatal(f"cannot {what}, because of an internal error: {traceback.format_exc()}")
            self.finished = self.failed = True
            return False
        return True

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start to operate."""
        if self._done("activate", self.begin):
            return super().on_activate(state)
        self._done("stop what was activated", self.end)
        return TransitionCallbackReturn.FAILURE

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Come to rest, then send nothing more."""
        self._done("stop as planned", self.end)
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Drop the robot, also the description that came on its topic: the next one may differ."""
        self._done("clean up", self.release)
        self.description = self.parameters["robot_description"]
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Come to rest if active, then end the process."""
        if state.state_id == LifecycleStateMessage.PRIMARY_STATE_ACTIVE:
            self._done("stop as planned", self.end)
        self.finished = True
        return super().on_shutdown(state)

    # -- the robot ----------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Make `bare_robot`, of the controlled joints without payload, `locked`, and `described`; see `load_robot`."""
        self._unmodelled = ""
        self.take(load_robot(
            self.model, self.description, self.parameters["joints"], self.parameters["gravity"]
        ))  # fmt: skip

    def take(self, found: DescribedRobot) -> None:
        """Take a robot: as it was read, or with joints locked at other positions."""
        self.found, self.described, self.locked = found, found.robot, found.locked
        self.bare_robot = self.described.rigid

    @property
    def commanded(self) -> tuple[str, ...]:
        """The joints in the order of the effort commands."""
        return self.parameters["joints"] or self.bare_robot.joint_names

    def topic_of(self, parameter: str) -> str:
        """The full name of the topic or node that a parameter names, empty for none; `ParameterError` for no name."""
        topic = self.parameters[parameter]
        try:
            return self.resolve_topic_name(topic) if topic else ""
        except RuntimeError as error:  # rclpy's own for it is private
            why = str(error).partition(", at /")[0]
            raise ParameterError(f"parameter {parameter} is {topic!r}, which is no ROS name: {why}") from None

    def relock(
        self, others: LockedJoints, measured: Mapping[str, Measured], changed: Callable[[Values], Callable[[], None]]
    ) -> str:
        """Lock `others` where they are `measured`, as a change of parameters; why there is no such model, or empty."""
        now = time.monotonic()
        if positions := others.update(now, measured):
            try:
                self.take(relocked(self.found, positions))
                adopt = changed(self.parameters.values)
            except RneDynamicsError as error:
                self._unmodelled = f"no model with {others.report(now)}: {error}"
            else:
                self._unmodelled = ""
                adopt()
        return self._unmodelled

    def _await_description(self, timeout: float | None) -> None:
        """Wait for the latched description if both parameters are empty; None waits without limit."""
        waited = 0.0
        while not (self.model or self.description):
            found, message = wait_for_message(
                String, self, "robot_description", qos_profile=LATCHED,
                time_to_wait=min(WAITING_PERIOD, timeout or WAITING_PERIOD),
            )
            if found:
                self.description = message.data
                continue
            if not self.context.ok():
                return
            gc.collect()
            waited += WAITING_PERIOD
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
