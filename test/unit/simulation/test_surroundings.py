"""Springy bodies that links touch: closed forms, SciPy with the same law, and energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from support.arms import MASS, chain, slider

import rne_dynamics as rne
from rne_dynamics.errors import ArgumentError, ModelError, SimulationError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import Friction, JointKind, KinematicTree, TreeJoint, TreeLink
from rne_dynamics.simulation.plant.surroundings import SpringyBody, Surroundings, TouchingPoint

STIFF = 1e4
CART, LIFT = slider(), slider(axis=(0.0, 0.0, 1.0))
CART = slider()
G = -LIFT.gravity[2]
WEIGHT = MASS * G


def wall(**fields: Any) -> SpringyBody:
    """At x = 0, towards −x."""
    return SpringyBody("plane", normal=(-1.0, 0.0, 0.0), **{"stiffness": STIFF, **fields})


def around(*bodies: SpringyBody, touching: tuple[TouchingPoint, ...] = (), **options: Any) -> Surroundings:
    return Surroundings(bodies or (SpringyBody("plane", stiffness=STIFF, **options),), touching)


def test_a_cart_rests_on_a_floor_as_deep_as_its_weight_over_the_stiffness() -> None:
    plant = rne.ArmPlant(slider(Friction(viscous=200.0), axis=(0.0, 0.0, 1.0)), surroundings=around())
    log = rne.free_motion(plant, [0.002], seconds=2.0)
    assert log.q[-1, 0] == pytest.approx(-WEIGHT / STIFF, rel=1e-6)
    np.testing.assert_allclose(log.contact[-1], [[0.0, 0.0, WEIGHT]], rtol=1e-6, atol=1e-9)
    assert log.touching == ("cart",)
    assert log.columns()["contact/cart/z"][0] == 0.0


@pytest.mark.parametrize("damping", [1e-6, 2.0])
def test_depth_and_rebound_of_a_cart_at_a_wall(damping: float) -> None:
    """The first integral of m v dv/dx = −k x (1 + c v): v/c − ln(1 + c v)/c² falls by k x²/(2 m)."""

    def level(v: float) -> float:
        return v / damping - np.log1p(damping * v) / damping**2 if damping > 1e-3 else 0.5 * v * v

    plant, speed = rne.ArmPlant(CART, surroundings=around(wall(damping=damping))), 0.4
    log = rne.free_motion(plant, [-0.0403], [speed], seconds=0.2, dt=1e-4)
    assert log.q.max() == pytest.approx(np.sqrt(2.0 * MASS * level(speed) / STIFF), rel=1e-5)
    back = brentq(lambda v: level(-v) - level(speed), 0.5 * speed / (1.0 + damping), speed)
    assert -log.qd[-1, 0] == pytest.approx(back, rel=2e-5)


def test_bouncing_never_gains_energy() -> None:
    for damping, allowed in ((0.5, 1e-8), (0.0, 1e-5)):
        plant = rne.ArmPlant(LIFT, surroundings=around(damping=damping))
        log = rne.free_motion(plant, [0.1], seconds=1.0)
        assert log.contact.any(axis=(1, 2)).sum() > 50
        energy = log.energy + 0.5 * STIFF * np.maximum(-log.q[:, 0], 0.0) ** 2
        assert np.diff(energy).max() < allowed
        assert (energy[-1] < 0.5 * energy[0]) == (damping > 0.0)


def gantry() -> Any:
    """A cart that slides along x, and on it a foot along z."""
    body = Inertia(1.0)
    along, across = (
        TreeJoint(name, JointKind.PRISMATIC, parent, child, axis=np.eye(3)[axis])
        for name, parent, child, axis in (("x", "base", "cart", 0), ("z", "cart", "foot", 2))
    )
    return assemble(KinematicTree("gantry", (TreeLink("base"), TreeLink("cart", body), TreeLink("foot", body)),
                                  (along, across)))  # fmt: skip


@pytest.mark.slow
def test_what_slides_is_held_back_by_mu_n() -> None:
    plant = rne.ArmPlant(gantry(), surroundings=around(friction=0.3))
    log = rne.free_motion(plant, [0.0, -G / STIFF], [0.8, 0.0], seconds=0.4)
    sliding = log.qd[:, 0] > 1e-3
    normal, along = log.contact[sliding, 0, 2], log.contact[sliding, 0, 0]
    np.testing.assert_allclose(along, -0.3 * normal, rtol=1e-12)
    np.testing.assert_allclose(normal, G, rtol=1e-9)
    np.testing.assert_allclose(log.qd[sliding, 0], 0.8 - 0.15 * G * log.time[sliding], atol=1e-9)
    log = rne.free_motion(plant, [0.0, -G / STIFF], [0.8, 0.0], seconds=0.7)
    assert abs(log.qd[-1, 0]) < 1e-3
    pushed = rne.free_motion(plant, log.q[-1], seconds=0.5, effort=[0.9 * 0.3 * G, 0.0])
    assert 0.0 < pushed.qd[-1, 0] < 1e-3  # it creeps below the slip speed


def law_of(bodies: tuple[SpringyBody, ...], point: TouchingPoint, p: Any, v_at: Any) -> Any:
    """Forces of bodies on a sphere at p in the other terms: signed distances by numerical gradients."""

    def distance(body: SpringyBody, at: Any) -> float:
        local = body.turn.T @ (at - np.array(body.point))
        if body.kind == "plane":
            return float(local[2])
        if body.kind == "sphere":
            return float(np.linalg.norm(local)) - body.radius
        excess = np.abs(local) - 0.5 * np.array(body.size)
        return float(np.linalg.norm(np.maximum(excess, 0.0)) + min(excess.max(), 0.0))

    total = []
    for body in bodies:
        depth = point.radius - distance(body, p)
        if depth <= 0.0:
            continue
        h = 1e-6
        n = np.array([(distance(body, p + h * e) - distance(body, p - h * e)) / (2 * h) for e in np.eye(3)])
        lever = -point.radius * n
        v = v_at(lever)
        normal = body.stiffness * depth * max(1.0 - body.damping * (n @ v), 0.0)
        slide = v - (n @ v) * n
        part = min(np.linalg.norm(slide) / body.slip, 1.0)
        part = part * (1.5 - 0.5 * part * part)
        unit = slide / max(np.linalg.norm(slide), 1e-12)
        total.append((normal * n - body.friction * normal * part * unit, lever))
    return total


@pytest.mark.slow
def test_an_arm_among_a_sphere_a_box_and_a_plane_moves_as_with_scipy() -> None:
    arm = chain(3)
    start, rate = np.array([0.2, 0.3, -0.4]), np.array([0.5, -1.0, 0.7])
    point = TouchingPoint("link3", (0.2, 0.05, 0.1), 0.03)
    at = rne.forward_kinematics(arm, start)["link3"] @ [*point.point, 1.0]
    bodies = (
        SpringyBody("sphere", at[:3] - [0.0, 0.0, 0.27], radius=0.2, stiffness=3e3, friction=0.2, slip=0.05),
        SpringyBody("box", at[:3] + 0.3 * np.eye(3)[1], size=(0.5, 0.3, 0.6), rpy=(0.2, -0.3, 0.5), stiffness=2e3,
                    friction=0.3, slip=0.05, damping=0.4),
        SpringyBody("plane", at[:3] - [0.12, 0.0, 0.0], normal=(2.0, 0.3, 0.1), stiffness=4e3),
    )  # fmt: skip

    def rates(t: float, x: Any) -> Any:
        pose, J = rne.forward_kinematics(arm, x[:3])["link3"], rne.jacobian(arm, x[:3], "link3")
        arm_vector = pose[:3, :3] @ point.point
        twist = J @ x[3:]
        wrench = np.zeros(6)
        for force, lever in law_of(bodies, point, pose[:3, 3] + arm_vector,
                                   lambda d: twist[:3] + np.cross(twist[3:], arm_vector + d)):  # fmt: skip
            wrench += [*force, *np.cross(arm_vector + lever, force)]
        local = np.concatenate([pose[:3, :3].T @ wrench[:3], pose[:3, :3].T @ wrench[3:]])
        return np.concatenate([x[3:], rne.forward_dynamics(arm, x[:3], x[3:], np.zeros(3), wrenches={"link3": local})])

    plant = rne.ArmPlant(arm, surroundings=Surroundings(bodies, (point,)))
    log = rne.free_motion(plant, start, rate, seconds=0.3, dt=5e-4, record_dt=0.01)
    theirs = solve_ivp(rates, (0.0, 0.3), [*start, *rate], "DOP853", log.time, rtol=1e-7, atol=1e-9, max_step=5e-3)
    assert (np.linalg.norm(log.contact[:, 0], axis=1) > 5.0).sum() > 10
    np.testing.assert_allclose(log.q, theirs.y[:3].T, atol=2e-5)


def test_a_mechanism_bounces_without_gaining_energy() -> None:
    arm, start = rne.load_model("pantograph"), [0.0, -0.9, 0.4]

    def heights(log: rne.Log) -> Any:
        return np.array([rne.forward_kinematics(arm.open_tree, q)["wrist"][2, 3] for q in log.tree_q])

    free = rne.free_motion(rne.ArmPlant(arm, friction=False, stops=False), start, seconds=0.0)
    floor = heights(free)[0] - 0.1
    body = SpringyBody("plane", (0.0, 0.0, floor), stiffness=STIFF, damping=0.0)
    around_it = Surroundings((body,), (TouchingPoint("wrist"),))
    plant = rne.ArmPlant(arm, friction=False, stops=False, surroundings=around_it)
    log = rne.free_motion(plant, start, seconds=0.5)
    depth = np.maximum(floor - heights(log), 0.0)
    assert depth.max() > 1e-4
    np.testing.assert_allclose(log.contact[:, 0, 2], STIFF * depth, atol=1e-6)
    energy = log.energy + 0.5 * STIFF * depth**2
    np.testing.assert_allclose(energy, energy[0], atol=2e-4 * abs(energy[0]) + 1e-4)


def test_a_closed_loop_presses_with_the_force_of_its_law() -> None:
    """Joint impedance of K N/m, D below the surface: the force is that of both springs in series."""
    law = rne.ComputedTorque(CART, rne.Gains(np.array([100.0]), np.zeros(1), np.array([20.0])))
    aim = rne.Quintic(np.array([-0.05]), np.array([0.01]), 0.5)
    plant = rne.ArmPlant(CART, surroundings=around(wall()))
    rollout = rne.Rollout(plant, law, aim, seconds=2.0)
    assert not rollout.compiled
    log = rollout.run()
    K = 100.0 * MASS
    assert -log.contact[-1, 0, 0] == pytest.approx(0.01 * K * STIFF / (K + STIFF), rel=1e-4)
    arm = rne.Simulator(plant, [-0.05])
    for effort in log.effort[:-1]:
        arm.command(effort)
        arm.advance()
    assert arm.state.q == pytest.approx(log.q[-1], abs=1e-12)


def test_stiff_walls_and_much_friction_are_stepped_in_parts() -> None:
    plant = rne.ArmPlant(gantry(), surroundings=around(friction=0.8, slip=1e-4))
    log = rne.free_motion(plant, [0.0, 0.001], [0.1, 0.0], seconds=0.2)
    assert abs(log.qd[-1, 0]) < 1e-4
    hard = rne.ArmPlant(CART, surroundings=around(wall(stiffness=1e8, damping=0.0)))
    log = rne.free_motion(hard, [-0.01], [0.5], seconds=0.1)
    assert log.qd[-1, 0] == pytest.approx(-0.5, rel=1e-3)
    with pytest.raises(SimulationError, match=r"too fast for steps of 0\.001 s; give less stiffness"):
        rne.free_motion(rne.ArmPlant(CART, surroundings=around(wall(stiffness=1e13))), [-0.01], [0.5], seconds=0.1)


def test_default_points_and_refusals() -> None:
    still = assemble(KinematicTree("stone", (TreeLink("base"),), ()))
    assert rne.ArmPlant(still, surroundings=around()).touching == ()
    two = around(touching=(TouchingPoint("cart"), TouchingPoint("cart", (0.0, 0.0, 1.0), 0.1)))
    assert rne.ArmPlant(CART, surroundings=two).touching == ("cart", "cart/2")
    with pytest.raises(ModelError, match="no link named 'hand'"):
        rne.ArmPlant(CART, surroundings=around(touching=(TouchingPoint("hand"),)))
    with pytest.raises(ArgumentError, match="'base' of robot 'slider' is fixed to the base"):
        rne.ArmPlant(CART, surroundings=around(touching=(TouchingPoint("base"),)))
    with pytest.raises(SimulationError, match="has flexible links, which touch nothing"):
        rne.ArmPlant(rne.load_model("flexible_arm"), surroundings=around())


@pytest.mark.parametrize(("values", "message"), [
    ({"bodies": []}, "have no bodies"),
    ({"bodies": {}}, "bodies is {}; it must be a list"),
    ({"bodies": [3]}, "a body is 3; write {kind: …"),
    ({"bodies": [{"point": [0, 0, 0]}]}, "a body has no kind; it has point"),
    ({"bodies": [{"kind": "wall"}]}, "no kind named 'wall'"),
    ({"bodies": [{"kind": "plane", "radius": 1.0}]}, "no field named 'radius'"),
    ({"bodies": [{"kind": "plane", "normal": [0, 0, 0]}]}, r"the normal \[0.0, 0.0, 0.0\]; its length"),
    ({"bodies": [{"kind": "plane", "point": [0, 0]}]}, r"the point \[0, 0\]; it must be three"),
    ({"bodies": [{"kind": "plane", "stiffness": 0}]}, "the stiffness 0; it must be a finite number above 0"),
    ({"bodies": [{"kind": "plane", "friction": float("nan")}]}, "the friction nan; it must be a finite number, not"),
    ({"bodies": [{"kind": "box", "size": [1, 0, 1]}]}, "its sides must be above 0"),
    ({"bodies": [{"kind": "sphere"}], "touching": [{"point": [0, 0, 0]}]}, "a touching point has no link"),
    ({"bodies": [{"kind": "sphere"}], "touching": [{"link": "a", "radius": -1}]}, "the radius -1"),
    ({"bodies": [{"kind": "sphere"}], "touching": [{"link": ["a"]}]}, r"touching link \['a'\] is no name"),
])  # fmt: skip
def test_wrong_values_are_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Surroundings.of(**values)
