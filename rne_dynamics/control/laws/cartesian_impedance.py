"""Cartesian impedance and operational-space computed torque of a tool, with a posture in the null space."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.control.control_law import LawTolerances, Reference
from rne_dynamics.control.felt_inertia import posture_inertia
from rne_dynamics.control.impedance import (
    LEAST_RATIO,
    RATIO,
    SPEED,
    Softening,
    Springs,
    put_bounded,
    put_impedance,
    uniform_ratio,
)
from rne_dynamics.control.laws.computed_torque import GAIN_P, SCALE, STEEPNESS, TABLE_ROWS, VISCOUS
from rne_dynamics.control.laws.joint_impedance import chosen_stiffness
from rne_dynamics.control.motion.limits import described_velocity
from rne_dynamics.control.parameters import check_number, frozen_vector, joint_parameter, law_parameter
from rne_dynamics.control.task_space import (
    ACCELERATION,
    MOTION,
    VELOCITY,
    TaskModel,
    add_wrench,
    effective_inertia,
    limit_part,
    put_pose_error,
    task_model,
    task_size,
    task_terms,
    turn_rows,
)
from rne_dynamics.control.thresholds import ASSUMED_RATE
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.dynamics.kinematics.jacobian import jacobian
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics
from rne_dynamics.errors import ControlError, refuse
from rne_dynamics.model.inertia import Array, set_fields
from rne_dynamics.model.layout import BASE
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.spatial.cholesky import backward, factor, forward
from rne_dynamics.spatial.rows import matrix_times, product

#: Axes of the tool in messages.
AXES = ("x", "y", "z", "rx", "ry", "rz")
#: Rows of `CartesianImpedance.numbers`: stiffness, or bandwidth; damping ratio; others: largest force and moment, the
#: length ℓ and the mobility a₀ of `task_space`, whether axes are the tool's, whether inertia gives the stiffness.
#: Then, in two rows, a wrench to apply besides, in axes of the base and of the link.
_STIFFNESS, _RATIO, _OTHERS, _WRENCH = range(4)
#: Chosen stiffness of the tool as a multiple of what springs at the joints would give it, and of the posture as a part.
TOOL, POSTURE = 2.0, 0.2
#: The length is this part of the tool's usual distance from the base; a direction counts as singular where the tool is
#: so much heavier than usual.
LENGTH, SINGULAR = 1.0 / 3.0, 3.0
#: Part of the postures that are heavier than a good one: many of those of `posture_inertia` are singular.
GOOD_POSTURE = 0.75
#: Speed that a joint may always have besides the reference's, in velocity limits, to let the tool move as desired.
BESIDES = 0.02
#: Bounds of what is chosen: length, m; compliance of a tool, m/N or rad/(N·m); mobility, 1/kg.
SHORTEST_LEVER, SOFTEST, MOST_HEAVY = 0.01, 1e-5, 1e-4


@helper
def put_tool(
    square: Array, tool: tuple[Array, Array, Array, Array], ratio: Array, rows: Array, wrench: Array, table: Array,
    state: tuple[Array, Array, Reference], L: Array, rate: float, terms: Array,
) -> None:
    """Rows inertia, coriolis, gravity and feedback of `terms`, from the tool's wrench and the posture's springs.

    The null space takes N = 1 − Jᵀ Λ J M⁻¹ of these. `square`: M, c, g; `tool`: J, J M⁻¹, Λ, stiffness; `rows`: error
    of pose, velocity and acceleration that the reference's joint motion does not give; `state`: q, q̇, reference.
    In a posture that differs from the reference's, nearer to a singular one, the tool's motion may take more than the
    velocity limits: as much of it is followed as they allow, and accelerations fade out from half of that on.
    """
    J, Y, light, heavy = tool
    q, qd, reference = state
    n, uniform = q.shape[0], uniform_ratio(ratio)
    mean_ratio = (ratio[0] + ratio[1] + ratio[2] + ratio[3] + ratio[4] + ratio[5]) / 6.0
    # by joints and axes: Jᵀ, and its products with the inertia and the stiffness of the tool
    JT, inertial, moved = np.empty((n, 6)), np.empty((n, 6)), np.empty((n, 6))
    stiff, mean = np.empty((n, 6)), np.empty((n, 6))
    N, weighted, K, Z = np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    spring, velocity, steady, pull = np.empty(n), np.empty((3, n)), np.empty(n), np.empty(n)
    for j in range(n):
        pull[j] = table[GAIN_P, j] * (reference.q[j] - q[j])
        for i in range(6):
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for k in range(6):
                a += light[i, k] * Y[k, j]
                b += light[i, k] * J[k, j]
                c += heavy[i, k] * J[k, j]
                d += 0.5 * (ratio[i] + ratio[k]) * heavy[i, k] * J[k, j]
            JT[j, i], inertial[j, i], moved[j, i], stiff[j, i], mean[j, i] = J[i, j], a, b, c, d
    for i in range(n):
        for j in range(n):
            N[i, j] = (1.0 if i == j else 0.0) - product(JT[i], inertial[j])
            weighted[i, j] = table[GAIN_P, j] * N[i, j]
    free = 2.0
    matrix_times(inertial, rows[1], steady)
    for i in range(n):
        ahead = reference.qd[i] if steady[i] > 0.0 else -reference.qd[i]
        fast = abs(steady[i]) - BESIDES * table[SPEED, i]
        if fast > 0.0:
            free = min(free, max(table[SPEED, i] - ahead, 0.0) / fast)
    for i in range(n):
        spring[i] = product(JT[i], wrench) + product(N[i], pull)
        wanted = reference.qd[i] + min(free, 1.0) * steady[i]
        velocity[0, i], velocity[1, i], velocity[2, i] = wanted - qd[i], wanted, table[SPEED, i]
        terms[0, i] = product(square[i], reference.qdd) + max(free - 1.0, 0.0) * product(moved[i], rows[2])
        terms[1, i], terms[2, i] = square[n, i], square[n + 1, i]
        for j in range(i + 1):
            posture = product(weighted[i], N[j])
            K[i, j] = K[j, i] = posture + product(JT[i], stiff[j])
            Z[i, j] = Z[j, i] = mean_ratio * posture + product(JT[i], mean[j])
    put_impedance(L, K, Z, uniform, spring, velocity, rate, terms[3], terms[4])


@kernel
def cartesian_impedance_kernel(
    model: tuple[Any, Any, Any], table: Array, q: Array, qd: Array, reference: Reference, integral: Array, terms: Array
) -> None:
    """`CartesianImpedance.law`: `TorqueTerms` into the first rows of `terms`; `model`: `(arm, rate, numbers)`."""
    n = q.shape[0]
    arm, rate, numbers = model
    length, least, local, shaped = numbers[_OTHERS, 2], numbers[_OTHERS, 3], numbers[_OTHERS, 4], numbers[_OTHERS, 5]
    found, rows, wrench = np.empty(task_size(n)), np.empty((3, 6)), np.empty(6)
    task_terms(arm, q, qd, reference, found)
    square, motions = found[: n * (n + 8)].reshape((n + 8, n)), found[n * (n + 8) :].reshape((2, MOTION))
    M, J = square[:n], square[n + 2 :]
    put_pose_error(motions[1], motions[0], rows[0])
    for i in range(6):
        rows[1, i] = motions[1, VELOCITY + i]
        rows[2, i] = motions[1, ACCELERATION + i] - motions[0, ACCELERATION + i]
    if local != 0.0:
        turn_rows(motions[0], J, rows)
    L, Y, A = np.empty((n, n)), np.empty((6, n)), np.empty((6, 6))
    if not factor(M, L):
        terms[:5, :] = np.nan
        return
    for i in range(6):
        Y[i] = J[i]
        forward(L, Y[i])  # rows of J L⁻ᵀ
        rows[1, i] -= product(J[i], reference.qd)
        rows[2, i] -= product(J[i], reference.qdd)
    for i in range(6):
        for j in range(i + 1):
            A[i, j] = A[j, i] = product(Y[i], Y[j])
    for i in range(6):
        backward(L, Y[i])  # rows of J M⁻¹
    light, heavy = np.empty((6, 6)), np.empty((6, 6))
    effective_inertia(A, length, least, np.empty((6, 6)), light, heavy)
    # K and Z at the tool, as `put_impedance` takes them: springs along axes, or proportional to the inertia
    stiff = numbers[_STIFFNESS]
    for i in range(6):
        for j in range(6):
            heavy[i, j] = heavy[i, j] * stiff[i] * stiff[j] if shaped != 0.0 else (stiff[i] if i == j else 0.0)
    matrix_times(heavy, rows[0], wrench)
    limit_part(wrench, 0, numbers[_OTHERS, 0])
    limit_part(wrench, 3, numbers[_OTHERS, 1])
    tool, state = (J, Y, light, heavy), (q, qd, reference)
    put_tool(square, tool, numbers[_RATIO], rows, wrench, table, state, L, rate[0], terms)
    force, moment = numbers[_OTHERS, 0], numbers[_OTHERS, 1]
    add_wrench(motions[0], J, local, numbers[_WRENCH:], wrench, force, moment, terms[3])
    put_bounded(table, q, reference, terms)


@dataclass(frozen=True, eq=False)
class CartesianImpedance(Springs):
    """τ = Jᵀ(K e + D ė + Λ(ẍ_d − J̇ q̇)) + N K₀(q_d − q) + c(q, q̇) + g(q) + friction(q̇_d), of a tool.

    The desired pose is that of the joint reference; e is the error of place and turn (rotation vector) of the tool. A
    wrench F from outside deflects it by K⁻¹ F at rest, up to the limits of force and moment; every mode has the damping
    ratio. Joints that the pose leaves free follow the reference's posture, by springs K₀ in the null space N, which do
    not move the tool. With `mode` ``"operational_space"`` K is Λ ω²: the error obeys ë + 2 ζ ω ė + ω² e = Λ⁻¹ F.

    It is defined at singular postures, see `control/task_space.py`. Modes too fast for `rate` are softened.

    Parameters
    ----------
    robot
        The model of an open arm; every joint must be driven.
    link, tool
        Link of the tool's frame, the last one if empty; the tool's point in that frame, m, (3,).
    axes
        Of stiffness, ratios and bandwidth: ``"base"`` or ``"tool"``.
    mode
        ``"impedance"`` or ``"operational_space"``.
    stiffness, damping_ratio
        K, N/m and N·m/rad, negative ones are chosen; ζ; along x, y, z and about them, (6,).
    bandwidth
        ω of ``"operational_space"``, rad/s, (6,).
    null_space_stiffness
        K₀ of each joint, N·m/rad or N/m, (n,); negative ones are chosen. Its damping ratio is the mean of the tool's.
    force_limit, moment_limit
        Largest force and moment of the spring, N and N·m; 0 for none.
    friction_compensation, rate
        As for `JointImpedance`.
    length, heaviest
        ℓ of `control/task_space.py`, m, and 1/a₀, kg; negative ones are chosen.

    Raises
    ------
    ControlError
        A robot with closed loops or a floating joint, a link that does not move, or a number outside its range.
    ModelError
        An unknown link.
    """

    robot: RigidRobot
    link: str = law_parameter("", "Link of the tool's frame; the last one if empty.", at_configure=True)
    tool: Array = law_parameter(
        (0.0, 0.0, 0.0), "The tool's point in the frame of the link.", "m", lower=-10.0, upper=10.0
    )
    axes: str = law_parameter("base", "Axes of stiffness, damping ratio and bandwidth.", choices=("base", "tool"))
    mode: str = law_parameter(
        "impedance", "Whether stiffness is given (impedance), or bandwidth (operational_space).",
        choices=("impedance", "operational_space"),
    )
    stiffness: Array = law_parameter(
        (-1.0,) * 6, "Stiffness along x, y, z, N/m, and about them, N m/rad; negative ones are computed from the "
        "joints' effort limits.", lower=-1.0, upper=1e5,
    )
    damping_ratio: Array = law_parameter(
        (RATIO,) * 6, "Damping ratio; 1 does not overshoot.", lower=LEAST_RATIO, upper=3.0
    )
    bandwidth: Array = law_parameter(
        (20.0,) * 6, "Natural frequency in mode operational_space.", "rad/s", lower=0.0, upper=1e3
    )
    null_space_stiffness: Array = joint_parameter(
        -1.0, "Stiffness of the posture in the null space. If negative, 20 % of the effort limit at a deflection of 1 "
        "rad or m.", "N m/rad or N/m", lower=-1.0, upper=1e5,
    )
    force_limit: float = law_parameter(0.0, "Largest force of the spring; 0 for no limit.", "N", lower=0.0, upper=1e5)
    moment_limit: float = law_parameter(
        0.0, "Largest moment of the spring; 0 for no limit.", "N m", lower=0.0, upper=1e5
    )
    friction_compensation: FrictionCompensation | None = field(default_factory=FrictionCompensation)
    rate: float = ASSUMED_RATE
    length: float = -1.0
    heaviest: float = -1.0
    name: ClassVar[str] = "Cartesian impedance"
    kernel: ClassVar[Callable[..., None]] = cartesian_impedance_kernel
    #: A joint may be off where the tool is not.
    tolerances: ClassVar[LawTolerances] = Springs.tolerances._replace(goal=0.1)
    #: Kinds of robots that it does not drive, with the reason; of closed loops the constructor says it.
    refused_kinds: ClassVar[Mapping[str, str]] = MappingProxyType({
        "flexible": "links bend, so that the joints do not say where the tool is; use computed_torque",
    })
    #: Friction, and K₀ as a gain, rows as of `ComputedTorque`, (TABLE_ROWS, n); numbers of the tool.
    table: Array = field(init=False, repr=False)
    numbers: Array = field(init=False, repr=False)
    #: Along which axes the stiffness was not chosen, bool (6,).
    given: NDArray[np.bool_] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        robot, n = self.robot, self.robot.n
        if robot.loops:
            raise ControlError(
                f"Cartesian impedance is for open arms: robot {robot.name!r} has closed loops, whose passive joints "
                "move its links too; use joint_impedance or computed_torque"
            )
        super().__post_init__()
        links = robot.open_tree.links
        link = self.link or max(links, key=lambda name: (links[name].body, list(links).index(name)))
        if robot.open_tree.link(link).body == BASE:
            raise ControlError(f"Cartesian impedance: link {link!r} does not move; give parameter link one that does")
        refuse(
            ControlError,
            (self.axes not in ("base", "tool"), f"Cartesian impedance: axes is {self.axes!r}; allowed: base, tool"),
            (self.mode not in ("impedance", "operational_space"),
             f"Cartesian impedance: mode is {self.mode!r}; allowed: impedance, operational_space"),
        )  # fmt: skip
        checked: dict[str, Any] = {"tool": _vector(self.tool, "tool", -10.0, 3)} | {
            name: _vector(getattr(self, name), name, lowest)
            for name, lowest in (("damping_ratio", LEAST_RATIO), ("bandwidth", 0.0), ("stiffness", -np.inf))
        }
        for name in ("force_limit", "moment_limit"):
            check_number(getattr(self, name), f"Cartesian impedance: {name}", zero=True)
        springs = frozen_vector(self.null_space_stiffness, n, "null-space stiffness", names=robot.joint_names)
        shaped, given = self.mode == "operational_space", checked["stiffness"] >= 0.0
        if min(self.length, self.heaviest) <= 0.0 or not given.all():
            length, heaviest, stiffness = _usual(robot, link, checked["tool"])
            checked |= {
                "stiffness": _vector(np.where(given, checked["stiffness"], stiffness), "stiffness", 0.0),
                "length": self.length if self.length > 0.0 else length,
                "heaviest": self.heaviest if self.heaviest > 0.0 else heaviest,
            }
        springs = frozen_vector(np.where(springs < 0.0, POSTURE * chosen_stiffness(robot), springs), n, "")
        set_fields(
            self, **checked, link=link, null_space_stiffness=springs, given=given | shaped, rate=float(self.rate)
        )
        table, numbers = np.zeros((TABLE_ROWS, n)), np.zeros((_WRENCH + 2, 6))
        table[GAIN_P], table[SPEED], table[VISCOUS:SCALE] = springs, described_velocity(robot), self._friction.rows
        table[SCALE], table[STEEPNESS] = self.friction_scale, self.steepness
        numbers[_STIFFNESS], numbers[_RATIO] = self.bandwidth if shaped else self.stiffness, self.damping_ratio
        numbers[_OTHERS] = (
            self.force_limit, self.moment_limit, self.length, 1.0 / self.heaviest, self.axes == "tool", shaped
        )
        set_fields(self, table=table, numbers=numbers)

    @cached_property
    def model(self) -> tuple[TaskModel, Array, Array]:
        """What `cartesian_impedance_kernel` takes, the base at rest."""
        return task_model(self.robot.open_tree, self.link, self.tool), self.damped_rate, self.numbers

    @cached_property
    def softening(self) -> Softening:
        """Of its modes, in all postures."""
        study = posture_inertia(self.robot)
        J, R, _ = _motions(self.robot, study.postures, self.link, self.tool)
        if self.axes == "tool":
            J = np.concatenate([np.swapaxes(R, 1, 2) @ J[:, :3], np.swapaxes(R, 1, 2) @ J[:, 3:]], axis=1)
        JT, K = np.swapaxes(J, 1, 2), np.diag(self.stiffness)
        if self.mode == "operational_space":
            S = np.diag([1.0] * 3 + [self.length] * 3)
            a, U = np.linalg.eigh(S @ J @ study.inverse @ JT @ S)
            U = np.diag(self.bandwidth) @ S @ U / np.sqrt(np.maximum(a, 1.0 / self.heaviest))[:, None, :]
            K = U @ np.swapaxes(U, 1, 2)
        return Softening.of(study, JT @ K @ J, self.damping_ratio, JT)

    def apply_wrench(self, wrenches: Array) -> None:
        """As of `ControlLaw`; the limits of force and moment are for spring and wrench together."""
        self.numbers[_WRENCH:] = wrenches

    def check_rate(self, rate: float) -> tuple[str, ...]:
        """As of `ControlLaw`: axes whose stiffness was given and is softened."""
        return self.softening.check(min(rate, self.rate), self.name, AXES, self.given)


def _vector(value: Any, what: str, lowest: float, size: int = 6) -> Array:
    names = tuple(f"{what} {axis}" for axis in AXES[:size])
    return frozen_vector(value, size, "Cartesian impedance:", lowest=lowest, names=names)


def _motions(robot: RigidRobot, postures: Array, link: str, tool: Array) -> tuple[Array, Array, Array]:
    """Of the tool in many postures: Jacobian, (B, 6, n), in axes of the base, its turn and its place."""
    tree = robot.open_tree
    J = np.array([jacobian(tree, q, link) for q in postures])
    poses = np.array([forward_kinematics(tree, q)[link] for q in postures])
    arm = poses[:, :3, :3] @ tool
    J[:, :3] += np.swapaxes(np.cross(np.swapaxes(J[:, 3:], 1, 2), arm[:, None]), 1, 2)
    return J, poses[:, :3, :3], poses[:, :3, 3] + arm


def _usual(robot: RigidRobot, link: str, tool: Array) -> tuple[float, float, Array]:
    """Length, heaviest and stiffness as is usual over the postures of a tool, for those that are not given."""
    study = posture_inertia(robot)
    J, _, place = _motions(robot, study.postures, link, tool)
    length = max(LENGTH * float(np.median(np.linalg.norm(place, axis=1))), SHORTEST_LEVER)
    S, JT = np.diag([1.0] * 3 + [length] * 3), np.swapaxes(J, 1, 2)
    mobility = np.linalg.eigvalsh(S @ J @ study.inverse @ JT @ S)[:, max(6 - robot.n, 0)]
    yielding = np.median(np.diagonal(J @ np.diag(1.0 / chosen_stiffness(robot)) @ JT, axis1=1, axis2=2), axis=0)
    means = np.repeat(np.maximum([yielding[:3].mean(), yielding[3:].mean()], SOFTEST), 3)
    return length, SINGULAR / max(float(np.quantile(mobility, GOOD_POSTURE)), MOST_HEAVY), TOOL / means


LAW = CartesianImpedance
