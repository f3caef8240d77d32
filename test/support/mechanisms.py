"""Mechanisms with closed loops built in code, as the tree and loops that tests want."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from rne_dynamics.closed_chain.assembly import assembled
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.share import shipped_models
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.mechanism import Loop, LoopFrame, LoopKind, Mechanism
from rne_dynamics.model.tree import JointKind, KinematicTree, Mimic, TreeJoint, TreeLink, rotation_about

X, Y, Z = np.eye(3)
#: Names of the mechanisms that ship.
SHIPPED = tuple(name for name in shipped_models() if isinstance(load_model(name), Mechanism))


def bar(length: float, mass: float = 1.0, along=X) -> Inertia:
    """A bar that is no symmetric body, from the origin along an axis."""
    middle = 0.5 * length * along + np.array([0.0, 0.01, 0.02]) * length
    return Inertia(mass, middle, mass * length**2 * np.array([[0.02, 1e-3, 0], [1e-3, 0.085, -2e-3], [0, -2e-3, 0.09]]))


def revolute(name: str, parent: str, child: str, position=(0.0, 0.0, 0.0), axis=Z, rotor: float = 0.0) -> TreeJoint:
    return TreeJoint(name, JointKind.REVOLUTE, parent, child, position=np.array(position), axis=axis,
                     rotor_inertia=rotor)  # fmt: skip


def tree(name: str, inertias: dict[str, Inertia], joints: list[TreeJoint], gravity=(0.0, -9.81, 0.0)):
    links = (TreeLink("base"), *(TreeLink(link, inertia) for link, inertia in inertias.items()))
    return assemble(KinematicTree(name, links, tuple(joints)), gravity=gravity)


def _posture(robot, values: dict[str, float]) -> np.ndarray:
    return np.array([values.get(name, 0.0) for name in robot.joint_names])


@cache
def four_bar(cut: str = "rocker", kind: LoopKind = LoopKind.REVOLUTE, turned: bool = True) -> Mechanism:
    """Crank 0.2, coupler 0.5, rocker 0.4, ground 0.45 m; cut at one of its three moving joints.

    Modelled in space and turned out of the coordinate planes, so that three of five constraints are redundant.
    """
    a, b, c, d = 0.2, 0.5, 0.4, 0.45
    R = rotation_about(np.array([2.0, -3.0, 6.0]) / 7.0, 0.7) if turned else np.eye(3)
    inertias = {"frame": Inertia(), "crank": bar(a, 1.0), "coupler": bar(b, 2.0), "rocker": bar(c, 1.5)}
    joints = [
        TreeJoint("mount", JointKind.FIXED, "base", "frame", rotation=R),
        revolute("crank", "frame", "crank", rotor=0.02),
    ]
    rocker = revolute("rocker", "frame", "rocker", (d, 0.0, 0.0))
    if cut == "coupler":  # at the joint of coupler and rocker
        joints += [revolute("coupler", "crank", "coupler", (a, 0, 0)), rocker]
        ends = LoopFrame("rocker", position=c * X), LoopFrame("coupler", position=b * X)
        posture = {"crank": 0.8, "coupler": -0.6, "rocker": 1.5}
    elif cut == "rocker":  # at the ground: one chain of three
        inertias["rocker"] = bar(c, 1.5)
        joints += [
            revolute("coupler", "crank", "coupler", (a, 0, 0)),
            TreeJoint("knee", JointKind.REVOLUTE, "coupler", "rocker_flange", position=b * X),
            TreeJoint("turned", JointKind.FIXED, "rocker_flange", "rocker", rotation=rotation_about(Z, np.pi),
                      position=c * X),
        ]  # fmt: skip
        inertias["rocker_flange"] = Inertia()
        ends = LoopFrame("frame", position=d * X), LoopFrame("rocker")
        posture = {"crank": 0.8, "coupler": -0.4, "knee": -1.6}
    else:  # at the crank's end
        joints += [rocker, revolute("coupler", "rocker", "coupler_end", (c, 0, 0)),
                   TreeJoint("turned", JointKind.FIXED, "coupler_end", "coupler", position=b * X,
                             rotation=rotation_about(Z, np.pi))]  # fmt: skip
        inertias["coupler_end"] = Inertia()
        ends = LoopFrame("crank", position=a * X), LoopFrame("coupler")
        posture = {"crank": 0.8, "rocker": 1.5, "coupler": 1.2}
    robot = tree("four_bar", inertias, joints)
    return assembled(Mechanism(robot, (Loop.of_kind("knee", kind, *ends),), ("crank",), _posture(robot, posture)))


@cache
def slider_crank() -> Mechanism:
    """Crank 0.15 m, rod 0.4 m, slider along x with a rotor; the rod's end pinned to the slider."""
    inertias = {"crank": bar(0.15), "rod": bar(0.4, 1.5), "slider": Inertia(0.8, np.array([0.02, 0.01, 0.0]))}
    joints = [
        revolute("crank", "base", "crank", rotor=0.05),
        revolute("rod", "crank", "rod", (0.15, 0, 0)),
        TreeJoint("slider", JointKind.PRISMATIC, "base", "slider", position=np.array([0.1, 0.05, 0]), axis=X,
                  rotor_inertia=0.3),
    ]  # fmt: skip
    robot = tree("slider_crank", inertias, joints)
    pin = Loop.of_kind("pin", LoopKind.REVOLUTE, LoopFrame("slider"), LoopFrame("rod", position=0.4 * X))
    return assembled(Mechanism(robot, (pin,), ("crank",), _posture(robot, {"crank": 1.0, "rod": -1.2, "slider": 0.35})))


@cache
def five_bar(actuated: tuple[str, ...] = ("left", "right")) -> Mechanism:
    """Two cranks of 0.3 m on a ground of 0.4 m, two couplers of 0.45 m pinned together at their ends."""
    inertias = {"left": bar(0.3), "left_rod": bar(0.45), "right": bar(0.3, 1.2), "right_rod": bar(0.45, 0.7)}
    joints = [
        revolute("left", "base", "left", rotor=0.03),
        revolute("left_rod", "left", "left_rod", (0.3, 0, 0)),
        revolute("right", "base", "right", (0.4, 0, 0), rotor=0.02),
        revolute("right_rod", "right", "right_rod", (0.3, 0, 0)),
    ]
    robot = tree("five_bar", inertias, joints)
    ends = LoopFrame("left_rod", position=0.45 * X), LoopFrame("right_rod", position=0.45 * X)
    values = {"left": 1.9, "left_rod": -1.2, "right": 1.2, "right_rod": 1.2}
    return assembled(
        Mechanism(robot, (Loop.of_kind("tip", LoopKind.REVOLUTE, *ends),), actuated, _posture(robot, values))
    )


@cache
def geared_five_bar() -> Mechanism:
    """The five-bar with its right crank geared to the left one: one freedom."""
    bars = five_bar()
    tree_ = bars.robot.tree
    joints = tuple(replace(j, mimic=Mimic("left", -0.8, 2.72)) if j.name == "right" else j for j in tree_.joints)
    robot = assemble(replace(tree_, joints=joints), gravity=bars.gravity)
    values = {"left": 1.9, "left_rod": -1.2, "right_rod": 1.2}
    return assembled(Mechanism(robot, bars.loops, ("left",), _posture(robot, values)))


@cache
def ladder(loops: int, kind: LoopKind = LoopKind.REVOLUTE) -> Mechanism:
    """Parallelograms in series, each standing on the coupler of the one before, its left bar driven."""
    inertias: dict[str, Inertia] = {}
    joints, closed, floor = [], [], "base"
    for k in range(loops):
        left, right, top = f"left{k}", f"right{k}", f"top{k}"
        inertias |= {left: bar(0.3), right: bar(0.3, 0.8), top: bar(0.2, 0.6)}
        joints += [
            revolute(left, floor, left, rotor=0.01),
            revolute(top, left, top, (0.3, 0, 0)),
            revolute(right, floor, right, (0.2, 0, 0)),
        ]
        closed.append(
            Loop.of_kind(f"loop{k}", kind, LoopFrame(right, position=0.3 * X), LoopFrame(top, position=0.2 * X))
        )
        floor = top
    robot = tree(f"ladder{loops}", inertias, joints)
    angles = {f"{bar_}{k}": 1.2 + 0.3 * (-1) ** k for k in range(loops) for bar_ in ("left", "right")}
    angles |= {f"top{k}": -angles[f"left{k}"] for k in range(loops)}
    return assembled(Mechanism(robot, tuple(closed), tuple(f"left{k}" for k in range(loops)), _posture(robot, angles)))


@cache
def crank_and_rocker_in_space() -> Mechanism:
    """A crank about z and a rocker about x, joined by a rod: a universal joint of two revolutes, and a ball."""
    inertias = {"crank": bar(0.2), "cross": Inertia(), "rod": bar(0.6), "rocker": bar(0.35, along=Z)}
    joints = [
        revolute("crank", "base", "crank", rotor=0.02),
        revolute("first", "crank", "cross", (0.2, 0, 0), axis=Z),
        revolute("second", "cross", "rod", axis=Y),
        revolute("rocker", "base", "rocker", (0.5, 0.3, 0.1), axis=X),
    ]
    robot = tree("space_linkage", inertias, joints, gravity=(1.0, -2.0, -9.0))
    ball = Loop.of_kind("ball", LoopKind.SPHERICAL, LoopFrame("rocker", position=0.35 * Z),
                        LoopFrame("rod", position=0.6 * X))  # fmt: skip
    values = {"crank": 0.4, "first": 0.2, "second": -0.7, "rocker": 0.2}
    return assembled(Mechanism(robot, (ball,), ("crank",), _posture(robot, values)))


@cache
def delta() -> Mechanism:
    """Three legs of a driven shoulder and two universal joints, welded to one platform, which only translates."""
    inertias: dict[str, Inertia] = {}
    joints, values, loops = [], {}, []
    for k, angle in enumerate((0.0, 2.0 * np.pi / 3.0, 4.0 * np.pi / 3.0)):
        turn = rotation_about(Z, angle)
        upper, cross, lower, wrist = (f"{part}{k}" for part in ("upper", "cross", "lower", "wrist"))
        end = "platform" if k == 0 else f"tab{k}"
        inertias |= {upper: bar(0.2), cross: Inertia(), lower: bar(0.45, 0.4), wrist: Inertia()}
        inertias[end] = Inertia(0.5 if k == 0 else 0.02, np.array([-0.03, 0.01, 0.02]), 1e-4 * np.eye(3))
        joints += [
            TreeJoint(f"shoulder{k}", JointKind.REVOLUTE, "base", upper, turn, turn @ (0.2 * X), Y, rotor_inertia=0.01),
            revolute(f"elbow{k}", upper, cross, (0.2, 0, 0), Y),
            revolute(f"swing{k}", cross, lower),
            revolute(f"back{k}", lower, wrist, (0.45, 0, 0)),
            revolute(f"wrist{k}", wrist, end, axis=Y),
        ]
        values |= {f"shoulder{k}": 0.4, f"elbow{k}": 2.407 - 0.4, f"wrist{k}": -2.407}
        if k:  # the platform's frame is the first leg's end; its middle lies 0.05 m inwards
            place = turn @ (0.05 * X) - 0.05 * X
            loops.append(Loop.of_kind(f"leg{k}", LoopKind.WELD, LoopFrame("platform", turn, place), LoopFrame(end)))
    robot = tree("delta", inertias, joints, gravity=(0.0, 0.0, -9.81))
    return assembled(Mechanism(robot, tuple(loops), ("shoulder0", "shoulder1", "shoulder2"), _posture(robot, values)))


@cache
def three_rrr() -> Mechanism:
    """A platform in a vertical plane on three legs of a driven and two passive hinges each (3-RRR)."""
    inertias: dict[str, Inertia] = {}
    joints, values, loops = [], {}, []
    corners = [0.1 * np.array([np.cos(a), np.sin(a), 0.0]) for a in np.radians([210.0, 330.0, 90.0])]
    for k, corner in enumerate(corners):
        crank, rod, foot = f"crank{k}", f"rod{k}", 3.5 * corner
        inertias |= {crank: bar(0.25, 0.8), rod: bar(0.25, 0.5)}
        reach, turn = np.linalg.norm(foot - corner), np.arctan2(*(corner - foot)[1::-1])
        bend = np.arccos(reach / 0.5)
        joints += [revolute(crank, "base", crank, foot, rotor=0.002), revolute(rod, crank, rod, (0.25, 0, 0))]
        values |= {crank: turn + bend, rod: -2.0 * bend}
    inertias["platform"] = Inertia(1.5, np.array([0.1, 0.0, 0.0]), 0.01 * np.eye(3))
    joints.append(revolute("platform", "rod0", "platform", (0.25, 0, 0)))
    # the platform's frame is at its first corner, turned so that its centre is along x
    values["platform"] = np.radians(30.0) - values["crank0"] - values["rod0"]
    inward = rotation_about(Z, -np.radians(30.0))
    for k in (1, 2):
        place = inward @ (corners[k] - corners[0])
        loops.append(Loop.of_kind(f"leg{k}", LoopKind.PLANAR_PIN, LoopFrame("platform", position=place),
                                  LoopFrame(f"rod{k}", position=0.25 * X)))  # fmt: skip
    robot = tree("three_rrr", inertias, joints)
    return assembled(Mechanism(robot, tuple(loops), ("crank0", "crank1", "crank2"), _posture(robot, values)))


@cache
def rod_between_balls(axisymmetric: bool = True) -> Mechanism:
    """`crank_and_rocker_in_space` with a ball at the crank's end too: the rod may spin about itself."""
    rod = Inertia(0.8, 0.3 * X, np.diag([2e-4, 0.02, 0.02])) if axisymmetric else bar(0.6)
    inertias = {"crank": bar(0.2), "cross": Inertia(), "fork": Inertia(), "rod": rod, "rocker": bar(0.35, along=Z)}
    joints = [
        revolute("crank", "base", "crank", rotor=0.02),
        revolute("first", "crank", "cross", (0.2, 0, 0), axis=Z),
        revolute("second", "cross", "fork", axis=Y),
        revolute("spin", "fork", "rod", axis=X),
        revolute("rocker", "base", "rocker", (0.5, 0.3, 0.1), axis=X),
    ]
    robot = tree("rod_between_balls", inertias, joints, gravity=(1.0, -2.0, -9.0))
    ball = Loop.of_kind("ball", LoopKind.SPHERICAL, LoopFrame("rocker", position=0.35 * Z),
                        LoopFrame("rod", position=0.6 * X))  # fmt: skip
    values = {"crank": 0.4, "first": 0.2, "second": -0.7, "rocker": 0.2}
    return assembled(Mechanism(robot, (ball,), ("crank",), _posture(robot, values)))


@cache
def two_legs() -> Mechanism:
    """Two legs of six driven joints from the ground to one body: twelve motors for six freedoms."""
    axes, inertias, joints = (Z, X, Y, Y, Y, X), {}, []
    for leg, side in (("left", 0.1), ("right", -0.1)):
        parent, place = "base", np.array([0.0, side, 0.0])
        for k, axis in enumerate(axes):
            link = f"{leg}{k}"
            inertias[link] = bar(0.2, 1.0, along=Z)
            joints.append(revolute(link, parent, link, place, axis=axis, rotor=0.01))
            parent, place = link, (0.0 if k < 2 else 0.2) * Z
    robot = tree("two_legs", inertias, joints, gravity=(0.0, 0.0, -9.81))
    hip = Loop.of_kind("hip", LoopKind.WELD, LoopFrame("left5", position=np.array([0.0, -0.1, 0.1])),
                       LoopFrame("right5", position=np.array([0.0, 0.1, 0.1])))  # fmt: skip
    bent = {f"{leg}{k}": value for leg in ("left", "right") for k, value in ((2, -0.4), (3, 0.9), (4, -0.5))}
    return assembled(Mechanism(robot, (hip,), robot.joint_names, _posture(robot, bent)))


@cache
def stewart_platform() -> Mechanism:
    """Six driven struts between balls at both ends carry a platform: six freedoms, and every strut spins idly."""
    tube, stem = (Inertia(m, z * Z, np.diag([0.01, 0.01, s])) for m, z, s in ((2.0, 0.2, 2e-3), (1.0, -0.2, 8e-4)))
    inertias: dict[str, Inertia] = {}
    joints, values, loops = [], {}, []
    feet, tips = (
        [np.array([r * np.cos(a), r * np.sin(a), 0.0]) for a in np.radians(degrees)]
        for r, degrees in ((0.6, [-10, 10, 110, 130, 230, 250]), (0.35, [-50, 50, 70, 170, 190, 290]))
    )
    for k, (foot, tip) in enumerate(zip(feet, tips, strict=True)):
        way = tip + 0.7 * Z - foot
        x, y, z = way / np.linalg.norm(way)
        names = [f"{part}{k}" for part in ("tilt", "lean", "spin", "strut")]
        inertias |= {names[0]: Inertia(), names[1]: Inertia(), names[2]: tube, names[3]: stem}
        joints += [
            revolute(names[0], "base", names[0], foot, axis=X),
            revolute(names[1], names[0], names[1], axis=Y),
            revolute(names[2], names[1], names[2]),
            TreeJoint(names[3], JointKind.PRISMATIC, names[2], names[3], axis=Z, rotor_inertia=0.5),
        ]
        values |= {names[0]: np.arctan2(-y, z), names[1]: np.arcsin(x), names[3]: float(np.linalg.norm(way))}
        if k:
            place = LoopFrame("platform", position=tip - tips[0])
            loops.append(Loop.of_kind(f"ball{k}", LoopKind.SPHERICAL, place, LoopFrame(names[3])))
    inertias |= {"ring": Inertia(), "fork": Inertia(), "platform": Inertia(8.0, -tips[0], np.diag([0.3, 0.3, 0.6]))}
    joints += [revolute("ball_y", "strut0", "ring", axis=Y), revolute("ball_x", "ring", "fork", axis=X),
               revolute("ball_z", "fork", "platform")]  # fmt: skip
    values |= {"ball_y": -values["lean0"], "ball_x": -values["tilt0"]}
    robot = tree("stewart_platform", inertias, joints, gravity=(0.0, 0.0, -9.81))
    driven = tuple(f"strut{k}" for k in range(6))
    return assembled(Mechanism(robot, tuple(loops), driven, _posture(robot, values)))


#: Mechanisms above whose actuated joints are its coordinates, by name.
MECHANISMS = {
    "four_bar": four_bar,
    "slider_crank": slider_crank,
    "five_bar": five_bar,
    "geared_five_bar": geared_five_bar,
    "two_parallelograms": lambda: ladder(2),
    "space_linkage": crank_and_rocker_in_space,
    "delta": delta,
}


def states(mechanism: Mechanism, rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions within 0.3 rad of the posture, velocities and accelerations; each (rows, n)."""
    rng = np.random.default_rng(seed)
    shape = rows, mechanism.n
    return mechanism.neutral + rng.uniform(-0.3, 0.3, shape), rng.normal(size=shape), 3.0 * rng.normal(size=shape)


def changed(mechanism: Mechanism, **joints) -> Mechanism:
    """The same mechanism with fields of some joints changed."""
    tree = mechanism.robot.tree
    kept = tuple(replace(joint, **joints.get(joint.name, {})) for joint in tree.joints)
    robot = assemble(replace(tree, joints=kept), gravity=mechanism.gravity)
    return Mechanism(robot, mechanism.loops, mechanism.joint_names, mechanism.posture)


def gap(mechanism: Mechanism, posture) -> float:
    """Largest distance, m, between the points that each loop holds together."""
    poses = forward_kinematics(mechanism.robot, posture)
    points = [
        [poses[frame.link] @ np.append(frame.position, 1.0) for frame in (loop.a, loop.b)] for loop in mechanism.loops
    ]
    blocked = [loop.blocked[:3] for loop in mechanism.loops]
    frames = [poses[loop.a.link][:3, :3] @ loop.a.rotation for loop in mechanism.loops]
    gaps = (R.T @ (b - a)[:3] for (a, b), R in zip(points, frames, strict=True))
    return max(float(np.linalg.norm(way[held])) for way, held in zip(gaps, blocked, strict=True))
