from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from analytic.systems import PlanarTwoLink
from support.arms import floating_arm
from support.errors import relative_error
from support.robots import robot

import rne_dynamics as rne
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.composite.momentum import center_of_mass
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.dynamics.forward_dynamics import FORWARD_ENGINES, forward_dynamics
from rne_dynamics.dynamics.kinematics.jacobian import jacobian
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics
from rne_dynamics.errors import ArgumentError, ModelError, RneDynamicsError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.tree import KinematicTree, TreeLink

ARM = assemble(PlanarTwoLink().tree())
ZERO = np.zeros(2)


@pytest.mark.parametrize(
    ("q", "said"),
    [
        ([0.0, 0.0, 0.0], r"q has shape \(3,\); robot 'two_link' wants \(\.\.\., 2\)"),
        (0.5, r"q has shape \(\)"),
        ([0.0, np.nan], r"q\[1\] is nan \(joint 'elbow'\); every number must be finite"),
        (np.array([np.inf, 0.0]), r"q\[0\] is inf \(joint 'shoulder'\)"),
        ([[0.0, 0.0], [0.0, -np.inf]], r"q\[1, 1\] is -inf"),
        (["a", "b"], "q is not an array of real numbers"),
        ([0.0, 1j], "q is not an array of real numbers"),
        ([[0.0], [0.0, 1.0]], "q is not an array of real numbers"),
        (None, "q is not an array of real numbers"),
    ],
)
def test_bad_joint_vectors_are_refused_by_name(q, said):
    with pytest.raises(ArgumentError, match=said):
        mass_matrix(ARM, q)


def test_leading_dimensions_that_do_not_broadcast_are_refused():
    with pytest.raises(
        ArgumentError, match=r"leading dimensions do not broadcast: q \(3, 2\), qd \(4, 2\), qdd \(2,\)"
    ):
        inverse_dynamics(ARM, np.zeros((3, 2)), np.zeros((4, 2)), ZERO)


def test_huge_input_serves():
    fast = np.array([1e200, 0.0])  # its square overflows; it is finite all the same
    assert np.isfinite(inverse_dynamics(ARM, ZERO, ZERO, fast)).all()


def test_inputs_are_never_changed():
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, 5, 2))
    before = [x.copy() for x in (q, qd, qdd)]
    inverse_dynamics(ARM, q, qd, qdd)
    forward_dynamics(ARM, q, qd, qdd)
    forward_dynamics(ARM, q, qd, qdd, method="walker_orin")
    assert all(np.array_equal(a, b) for a, b in zip(before, (q, qd, qdd), strict=True))


@pytest.mark.parametrize("lead", [(), (0,), (4, 0, 2)])
def test_leading_shapes_are_kept(lead):
    q = np.zeros((*lead, 2))
    assert inverse_dynamics(ARM, q, q, q).shape == (*lead, 2)
    assert forward_dynamics(ARM, q, q, q).shape == (*lead, 2)
    assert mass_matrix(ARM, q).shape == (*lead, 2, 2)
    assert jacobian(ARM, q, "lower").shape == (*lead, 6, 2)


@pytest.mark.parametrize(
    ("wrenches", "error", "said"),
    [
        ({"hand": np.zeros(6)}, ModelError, "no link named 'hand'"),
        ({"lower": np.zeros(3)}, ArgumentError, r"wrenches\['lower'\] has shape \(3,\)"),
        ({"lower": [0, 0, 0, 0, 0, np.nan]}, ArgumentError, r"wrenches\['lower'\]\[5\] is nan; every"),
        ({"lower": np.zeros((3, 6))}, ArgumentError, "does not broadcast"),
        (np.zeros(6), ArgumentError, "wrenches is a ndarray; it must map names of links"),
    ],
)
def test_bad_wrenches_are_refused(wrenches, error, said):
    with pytest.raises(error, match=said):
        inverse_dynamics(ARM, ZERO, ZERO, ZERO, wrenches=wrenches)


@pytest.mark.parametrize(
    ("motion", "said"),
    [
        (BaseMotion(linear_acceleration=(0.0, 0.0)), "linear_acceleration has shape"),
        (BaseMotion(angular_velocity=(0.0, 0.0, np.nan)), r"angular_velocity\[2\] is nan"),
        (BaseMotion(rotation=np.diag([1.0, 1.0, -1.0])), "rotation is"),
        (BaseMotion(linear_acceleration=np.zeros((3, 3))), "does not broadcast"),
        (BaseMotion(rotation=np.zeros(9)), "rotation is"),
        (BaseMotion(rotation=np.stack([np.eye(3), -np.eye(3)])), "rotation is"),
        (BaseMotion(rotation=np.tile(np.eye(3), (3, 1, 1))), "does not broadcast"),
        (BaseMotion(np.zeros((2, 3)), np.zeros((5, 3))), r"do not broadcast: .*angular_velocity \(5, 3\)"),
        (BaseMotion(np.zeros((2, 3)), rotation=np.tile(np.eye(3), (5, 1, 1))), "do not broadcast"),
        ((0.0, 0.0, 9.81), "base_motion is a tuple; it must be a BaseMotion"),
    ],
)
def test_bad_base_motions_are_refused(motion, said):
    with pytest.raises(ArgumentError, match=said):
        inverse_dynamics(ARM, np.zeros((2, 2)), ZERO, ZERO, base_motion=motion)


def test_a_batch_of_base_orientations_gives_what_each_gives_alone():
    rng = np.random.default_rng(3)
    model = robot("puma560")
    q, qd, x = (rng.normal(size=(2, 3, model.n)) for _ in range(3))
    turns = np.linalg.qr(rng.normal(size=(2, 3, 3, 3)))[0]
    turns *= np.sign(np.linalg.det(turns))[..., None, None]
    a, w, dw, v = rng.normal(size=(4, 2, 3, 3))
    whole = BaseMotion(a, w, dw, v, turns)
    one = BaseMotion(a[1, 2], w[1, 2], dw[1, 2], v[1, 2], turns[1, 2])
    calls = {
        "inverse": lambda *given, m: rne.inverse_dynamics(model, *given, base_motion=m),
        **{
            method: lambda *given, m, by=method: rne.forward_dynamics(model, *given, base_motion=m, method=by)
            for method in FORWARD_ENGINES
        },
        "reactions": lambda *given, m: rne.joint_reactions(model, *given, base_motion=m).wrench,
        "regressor": lambda *given, m: rne.regressor(model, *given, base_motion=m),
        "derivatives": lambda *given, m: rne.inverse_dynamics_derivatives(model, *given, base_motion=m).q,
        "lagrange_terms": lambda q, qd, _, m: rne.lagrange_terms(model, q, qd, base_motion=m).V,
    }
    for name, call in calls.items():
        together, alone = call(q, qd, x, m=whole), call(q[1, 2], qd[1, 2], x[1, 2], m=one)
        assert relative_error(together[1, 2], alone) < 1e-12, name
    tilted = rne.inverse_dynamics(model, q[0], 0 * q[0], 0 * q[0], base_motion=BaseMotion(rotation=turns[0]))
    for k in range(3):  # gravity alone: the model with gravity turned into the base's axes
        turned_model = replace(model, gravity=model.gravity @ turns[0, k])
        assert relative_error(tilted[k], rne.gravity_torque(turned_model, q[0, k])) < 1e-13


def still(name: str) -> tuple[rne.RobotModel, np.ndarray]:
    """A robot and zeros for its joints."""
    model = floating_arm() if name == "floating_arm" else ARM if name == "two_link" else robot(name)
    return model, np.zeros(model.n)


#: Calls with a robot and zeros, the robot's name, and why they are refused.
REFUSED = [
    (lambda m, z: forward_dynamics(m, z, z, z, method="magic"), "two_link", "method is 'magic'"),
    (lambda m, z: mass_matrix(m, z, method="rows"), "two_link", "method is 'rows'; .* 'composite', 'columns'"),
    (lambda m, z: rne.lagrange_terms(m, z, [0.0, np.nan]), "two_link", r"qd\[1\].*elbow"),
    (lambda m, z: rne.lagrange_terms(m, np.zeros(3), z), "two_link", "wants"),
    (lambda m, z: rne.operator_matrices(m, np.zeros((3, 2)), z), "two_link", "takes one"),
    (lambda m, z: rne.joint_reactions(m, z, z, np.zeros(5)), "puma560", "qdd"),
    (lambda m, z: rne.joint_reactions(m, z, z, z, wrenches={"hand": z}), "puma560", "no link named 'hand'"),
    (lambda m, z: rne.joint_reactions(m, z, z, z)["elbow"], "puma560", "no joint named 'elbow'"),
    (lambda m, z: rne.joint_reactions(m, z, z, z).constraint("elbow"), "puma560", "no joint named 'elbow'"),
    (lambda m, z: rne.joint_reactions(m, z, z, z).actuated("elbow"), "puma560", "no joint named 'elbow'"),
    (lambda m, z: rne.free_body(m, z, z, z, "linc2"), "puma560", "link named 'linc2'"),
    (lambda m, z: rne.free_body(m, z, z, z, "base_link"), "puma560", "no mass"),
    (lambda m, z: rne.free_body(m, z, z, z, "link2", [np.nan, 0.0, 0.0]), "puma560", "finite"),
    (lambda m, z: rne.momentum_rate(m, z, z, z, "here"), "puma560", "point is 'here'"),
    (lambda m, z: rne.momentum_rate(m, z, z, z, "com", point_velocity=ZERO), "puma560", "point_velocity is given"),
    (lambda m, z: rne.momentum_rate(m, [z, z], z, z, np.zeros((3, 3))), "puma560", "do not broadcast"),
    (lambda m, z: rne.momentum(m, z, z, "centre"), "puma560", "point is 'centre'"),
    (lambda m, z: rne.momentum(m, z, z, [0.0, 1.0]), "puma560", r"point has shape \(2,\)"),
    (lambda m, z: rne.momentum(m, z, z, None, point_velocity=[1.0, 0.0, 0.0]), "puma560", "point_velocity is given"),
    (lambda m, z: rne.momentum(m, [z, z], z, np.zeros((3, 3))), "puma560", "do not broadcast"),
    (lambda m, z: rne.momentum(m, z, z, links=["hand"]), "puma560", "no link named 'hand'"),
    (lambda m, z: rne.momentum(m, z, z, links="link1"), "puma560", "list of link names"),
    (lambda m, z: rne.joint_regressor(m, z, z, threshold=np.nan), "puma560", r"threshold is nan; .* \(6,\)"),
    (lambda m, z: rne.joint_regressor(m, z, z, stribeck_velocity=ZERO), "puma560", r"it must be finite, one or \(6,\)"),
    (lambda m, z: rne.regressor(m, m.neutral, z, z, base_motion=BaseMotion()), "floating_arm", "floating base"),
    (lambda m, z: rne.inverse_dynamics_derivatives(m, m.neutral, z, z, base_motion=BaseMotion()), "floating_arm",
     "floating base"),
    (lambda m, z: rne.forward_dynamics_derivatives(m, m.neutral, z, ZERO), "floating_arm", r"tau has shape \(2,\)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "name", "said"), REFUSED)
def test_what_cannot_be_asked_is_refused_by_name(call, name, said):
    with pytest.raises(RneDynamicsError, match=said):
        call(*still(name))


def test_a_robot_without_mass_has_no_mass_centre():
    robot = assemble(KinematicTree("r", (TreeLink("a"),), ()))
    with pytest.raises(ModelError, match="has no mass"):
        center_of_mass(robot, [])
