"""Settings of a controller: all that its parameters decide, checked and replaced as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field

from rne_dynamics.control.contact_watch import ContactSettings
from rne_dynamics.control.control_law import ControlLaw, check_delay, check_law
from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.control.guards.base_filter import BaseSensor
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.motion.limits import Tolerances, upper_bounds
from rne_dynamics.control.parameters import check_number, check_parameters, of_node, parameter
from rne_dynamics.control.streaming.limits import StreamLimits
from rne_dynamics.control.streaming.pose_following import PoseLimits
from rne_dynamics.control.supervision.payload_estimate import PayloadTest
from rne_dynamics.control.supervision.states import StopPlan
from rne_dynamics.control.thresholds import ASSUMED_RATE, LONGEST_DELAY
from rne_dynamics.errors import ControlError, refuse
from rne_dynamics.model.inertia import Array, read_only
from rne_dynamics.model.mechanism import RigidRobot

COMPENSATED = ("gravity", "coriolis", "friction")


def check_compensated(names: frozenset[str]) -> None:
    """`ControlError` for a name that is no term in `COMPENSATED`."""
    unknown = sorted(names - set(COMPENSATED))
    if unknown:
        raise ControlError(
            f"hardware_compensates names {', '.join(map(repr, unknown))}; allowed are {', '.join(COMPENSATED)}"
        )


@dataclass(frozen=True)
class StartCheck:
    """The start-up check."""

    duration: float = parameter(
        1.0, "Time after a start for which the arm is held and its efforts are compared with the model's gravity, "
        "before it may move; 0 for no check.", "s", lower=0.0, upper=60.0,
    )
    tolerance: float = parameter(
        0.1, "Largest difference that the check allows, as a fraction of the effort limit.", lower=0.001, upper=1.0
    )
    required: bool = parameter(False, "Refuse motion if no efforts are reported, so that nothing can be compared.")
    #: Certainty of an unknown payload at which motion is refused.
    payload: PayloadTest = field(default_factory=PayloadTest)


@dataclass(frozen=True)
class WrenchRates:
    """How target wrenches come into force. Raises ControlError: a number that is not above 0."""

    timeout: float = parameter(
        0.1, "Time without a message on ~/target_wrench after which the wrench fades to zero.", "s", lower=0.005,
        upper=10.0,
    )
    force_rate: float = parameter(200.0, "Fastest change of its force.", "N/s", lower=1e-2, upper=1e5)
    moment_rate: float = parameter(20.0, "Fastest change of its moment.", "N m/s", lower=1e-3, upper=1e5)

    def __post_init__(self) -> None:
        check_parameters(self, "target_wrench.")


@dataclass(frozen=True, eq=False)
class Settings:
    """Settings of a `Supervisor`."""

    #: The model.
    robot: RigidRobot
    #: Of efforts that go out and of joint states that come in.
    limits: EffortLimits
    states: StateLimits
    #: The law that follows references; None for a controller that only floats.
    tracking: ControlLaw | None
    #: The law of hand guiding.
    floating: GravityCompensation
    #: How the arm is stopped and released.
    stop: StopPlan = field(default_factory=StopPlan)
    #: The start-up check.
    check: StartCheck = field(default_factory=StartCheck)
    feedback_ramp: float = field(default=0.5, metadata=of_node(
        "start.ramp_time", 0.5, "Time after a start in which the feedback is ramped up.", "s", 0.0, 60.0
    ))
    #: Terms that the arm's own electronics adds, left out here.
    compensated: frozenset[str] = frozenset()
    min_rate: float = parameter(
        0.0, "Joint states per second below which the arm is stopped; 0 for none.", "Hz", lower=0.0, upper=10000.0,
    )
    recover_automatically: bool = parameter(
        False, "Whether an arm that was released for lack of joint states is held again as soon as they return, "
        "without ~/recover.",
    )
    #: Shape (n,); no bound for None, or of joints with 0, which is kept as infinity.
    holding_error: Array | None = field(default=None, metadata=of_node(
        "limits.{joint}.holding_error", 0.05, "Largest displacement of an arm that is held; beyond it, the position to "
        "hold follows. 0 for no limit.", "rad or m", 0.0, 10.0,
    ))
    command_delay: float = parameter(
        0.0, "Time from a joint state's stamp until its effort acts; the law is evaluated at the state predicted for "
        "that time. Open arms only. 0 for none, which stays so until the node is cleaned up.", "s", lower=0.0,
        upper=LONGEST_DELAY,
    )
    #: How the motion of the base is measured; None for a base at rest.
    base: BaseSensor | None = None
    #: Limits of setpoints that arrive one at a time; None where none are followed.
    stream: StreamLimits | None = None
    #: Tolerances of the path on which they lead; None for none.
    stream_tolerances: Tolerances | None = None
    #: Why none are followed.
    no_stream: str = "this controller follows no setpoints"
    #: How a link moves to a pose, with `stream`; None where no poses are followed, and the reason.
    pose: PoseLimits | None = None
    no_pose: str = ""
    #: How target wrenches come into force, under laws that apply them.
    wrench: WrenchRates = field(default_factory=WrenchRates)
    #: Efforts per second for which damping is limited until the rate has been measured.
    assumed_rate: float = ASSUMED_RATE
    #: Laws to which `tracking` may change while the arm is driven, to be made ready beforehand.
    others: tuple[ControlLaw, ...] = ()
    #: When external efforts are a contact, and what follows; None where none are observed.
    contact: ContactSettings | None = None
    #: Warnings about the parameters.
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_compensated(self.compensated)
        refuse(
            ControlError,
            (not isinstance(self.floating, GravityCompensation),
             f"floating is {type(self.floating).__name__}; hand guiding takes a GravityCompensation"),
            (isinstance(self.tracking, GravityCompensation),
             "tracking is GravityCompensation, which follows no reference: the arm would drift off. Give it as "
             "`floating`, and tracking=None for a controller that only floats"),
        )
        if self.tracking is not None:
            check_law(self.tracking, self.robot, "tracking", base_moves=self.base is not None)
        check_parameters(self, "")
        check_number(self.feedback_ramp, "start.ramp_time", unit=" s", zero=True)
        if self.holding_error is not None:
            bound = upper_bounds(self.holding_error, self.robot.joint_names, "holding error")
            object.__setattr__(self, "holding_error", read_only(bound))
        without_friction = getattr(self.tracking, "without_friction", None)
        if without_friction is not None and "friction" in self.compensated:  # nor is there friction to damp
            object.__setattr__(self, "tracking", without_friction())
        check_delay(self.tracking, self.command_delay)
        known, timeout = sorted(self.compensated & {"gravity", "coriolis"}), self.states.timeout
        refuse(
            ControlError,
            (self.base is not None and known,
             f"hardware_compensates names {', '.join(known)}, which the arm's electronics compute for a base at "
             "rest; with base_motion.topic leave that out, and switch it off in the arm"),
            (self.base is not None and self.command_delay > 0.0,
             f"command_delay is {self.command_delay:g} s, but delays are compensated for a base at rest only; set "
             "it to 0, or leave base_motion.topic empty"),
            (self.min_rate > 0.0 and 0.0 < timeout < 1.0 / self.min_rate,
             f"min_rate is {self.min_rate:g} Hz, but state_timeout is {timeout:g} s, shorter than one of its periods"),
        )

    @property
    def path_tolerances(self) -> Tolerances:
        """Of the path of a stream."""
        return self.stream_tolerances or Tolerances(self.robot.joint_names)
