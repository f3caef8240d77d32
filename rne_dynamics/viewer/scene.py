"""The robot in the 3-D scene of a viser server, and the joints' efforts as bars."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from rne_dynamics.description.sources import Source
from rne_dynamics.dispatch import follower
from rne_dynamics.dynamics.kinematics.kinematics import LinkPoses
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics as open_forward_kinematics
from rne_dynamics.errors import ModelError, RneDynamicsError
from rne_dynamics.flexible.energy import flexible_forward_kinematics
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.principal import principal_axes
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.tree import ONE_FREEDOM
from rne_dynamics.simulation.plant.surroundings import SpringyBody
from rne_dynamics.viewer.meshes import BentSurface, link_meshes, merged, reach


class Kinematics:
    """Poses of all links; of a mechanism its loops are closed, from the last posture on."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._follower = follower(robot.rigid) if robot.loops else None

    def poses(self, q: Array, *, posture: Array | None = None, delta: Array | None = None) -> LinkPoses:
        """Poses in the root link's frame at q, (n,), a tree's `posture`, amplitudes `delta`; raises as a `Follower`."""
        if self.robot.kind == "flexible" and delta is not None:
            return flexible_forward_kinematics(self.robot, q, delta)
        if posture is None and self._follower is not None:
            self._follower.follow(q, np.zeros(self.robot.n))
            posture = self._follower.posture
        return open_forward_kinematics(self.robot.open_tree, q if posture is None else posture)


def moving_links(robot: Robot) -> tuple[str, ...]:
    """Links that move, of those that are fixed together the first; the last is likely the tool."""
    seen: dict[int, str] = {}
    for name, frame in robot.links.items():
        if frame.body >= 0:
            seen.setdefault(frame.body, name)
    return tuple(seen.values())


#: Vertical field of view, rad; direction from the robot to the camera.
FIELD_OF_VIEW, FROM = 0.7, np.array([1.0, -1.25, 0.6])
#: Distance to the camera over the one at which the robot fills the picture; how far the robot is left of the middle,
#: over its radius, since the panel is on the right.
DISTANCE, LEFT_OF_PANEL = 1.3, 0.3
GHOST, ELLIPSOID, CENTRE, AXIS = (60, 150, 90), (220, 120, 40), (30, 30, 30), (40, 90, 200)
FORCE, PIN, TOUCHED = (200, 40, 60), (150, 60, 170), (70, 110, 150)
#: Length of an arrow over the robot's size, for a force equal to its weight.
WEIGHT_ARROW = 0.5
#: The reference is drawn where a link's origin is further from its place than this, over the robot's size.
APART = 0.003
#: Poses that differ by less are not sent again.
UNCHANGED = 1e-5


class ArmScene:
    """A robot with the URDF `source`, its reference as a ghost, what explains its dynamics; the camera is for `q`."""

    def __init__(self, server: Any, robot: Robot, source: Source | None, q: Array) -> None:
        self._server, self._scene, self.robot = server, server.scene, robot
        self._scenes, self.missing = link_meshes(robot, source)
        self._size = reach(robot)
        self._kinematics, self._ghost_kinematics = Kinematics(robot), Kinematics(robot.rigid)
        #: Factor by which bending is drawn larger than it is.
        self.exaggeration = 1.0
        #: Poses of the links as drawn: ``R_WL`` (3, 3) and ``p_WL`` (3,) by name.
        self.poses: dict[str, tuple[Array, Array]] = {}
        self._root = self._scene.add_frame("/arm", show_axes=False)
        self._frames = {name: self._scene.add_frame(node("/arm", name), show_axes=False) for name in robot.link_names}
        self._sent: dict[str, Array] = {}
        self._bent: dict[str, tuple[slice, BentSurface, Any]] = {}
        self._delta: Array | None = None
        self._add_meshes()
        self._overlays: dict[str, list[Any]] = {"inertia": [], "centres": [], "axes": [], "loops": []}
        self._add_overlays()
        self._ghost: dict[str, Any] = {}
        self._arrows: dict[str, Any] = {}
        self.show(q)
        self._place_camera()

    # -- the arm ------------------------------------------------------------------------------------------------------

    def show(
        self, q: Array, *, posture: Array | None = None, delta: Array | None = None,
        base: tuple[Array, Array] | None = None,
    ) -> None:
        """Draw a state, base at (3,) and ``R_WB`` (3, 3); else as `Kinematics.poses`, whose errors leave all as is."""
        drawn = None if delta is None else self.exaggeration * delta
        found = self._kinematics.poses(q, posture=posture, delta=drawn)
        if base is not None:
            self._root.position, self._root.wxyz = base[0], quaternion(base[1])
        p, R = (np.zeros(3), np.eye(3)) if base is None else base
        turns = quaternion(found.rotation)
        for k, name in enumerate(found.robot.link_names):
            self.poses[name] = R @ found.rotation[k], p + R @ found.position[k]
            self._place(self._frames[name], turns[k], found.position[k])
        if drawn is not None and (self._delta is None or np.abs(drawn - self._delta).max() > 1e-7):
            self._delta = drawn
            for places, surface, mesh in self._bent.values():
                mesh.vertices = surface.vertices(drawn[places]).astype(np.float32)

    def _place(self, handle: Any, turn: Array, position: Array) -> None:
        now = np.concatenate([turn, position])
        before = self._sent.get(handle.name)
        if before is None or np.abs(now - before).max() > UNCHANGED:
            self._sent[handle.name] = now
            handle.wxyz, handle.position = turn, position

    def _add_meshes(self) -> None:
        starts = np.cumsum([0, *(link.modes for link in self.robot.flexible_links)])
        flexible = {link.link: (link, int(starts[k])) for k, link in enumerate(self.robot.flexible_links)}
        for name, scene in self._scenes.items():
            if name in flexible:
                link, start = flexible[name]
                with contextlib.suppress(ModelError):  # shapes known at some points only: drawn stiff, its end moves
                    surface = BentSurface(link, scene)
                    mesh = self._scene.add_mesh_simple(
                        node("/arm", name, "mesh"), surface.vertices(np.zeros(link.modes)), surface.triangles,
                        color=(90, 125, 175), side="double", flat_shading=True,
                    )  # fmt: skip
                    self._bent[name] = slice(start, start + link.modes), surface, mesh
                    continue
            self._scene.add_glb(node("/arm", name, "mesh"), scene.export(file_type="glb"))

    # -- what explains the dynamics -----------------------------------------------------------------------------------

    def _add_overlays(self) -> None:
        small = 0.012 * self._size
        for link in self.robot.tree.links:
            ellipsoid = None if link.inertia is None else equivalent_ellipsoid(link.inertia)
            if link.inertia is None or ellipsoid is None:
                continue
            axes, half_axes = ellipsoid
            self._overlays["inertia"].append(self._scene.add_icosphere(
                node("/arm", link.name, "inertia"), 1.0, ELLIPSOID, scale=tuple(half_axes), opacity=0.45,
                wxyz=quaternion(axes), position=link.inertia.com, visible=False, cast_shadow=False,
            ))  # fmt: skip
            self._overlays["centres"].append(self._scene.add_icosphere(
                node("/arm", link.name, "centre"), small, CENTRE, position=link.inertia.com, visible=False,
            ))  # fmt: skip
        for joint in self.robot.tree.joints:
            if joint.kind in ONE_FREEDOM:
                half = 0.08 * self._size * joint.axis
                self._overlays["axes"].append(self._scene.add_arrows(
                    node("/arm", joint.child, "axis"), np.array([[-half, half]]), AXIS,
                    **self._thickness(0.5), visible=False,
                ))  # fmt: skip
        for loop in self.robot.loops:
            self._overlays["loops"] += [
                self._scene.add_icosphere(
                    node("/arm", frame.link, f"loop {loop.name} {end}"), 1.5 * small, PIN, position=frame.position,
                    visible=False,
                )
                for end, frame in (("a", loop.a), ("b", loop.b))
            ]

    def overlay(self, name: str, visible: bool) -> None:
        """Show or hide ``"inertia"``, ``"centres"``, ``"axes"`` or ``"loops"``."""
        for handle in self._overlays[name]:
            handle.visible = visible

    def ghost(self, q: Array | None) -> None:
        """Draw the reference at joint positions `q`, (n,); `None` for no reference."""
        apart = 0.0
        with contextlib.suppress(RneDynamicsError):  # a reference at which loops do not close has no picture
            apart = 0.0 if q is None else self._place_ghost(q)
        for handle in self._ghost.values():
            update(handle, visible=apart > APART * self._size)  # two surfaces in one place flicker

    def _place_ghost(self, q: Array) -> float:
        """Draw the reference; returns the largest distance between it and the arm along an axis, m."""
        found, apart = self._ghost_kinematics.poses(q), 0.0
        for name, scene in self._scenes.items() if not self._ghost else ():
            self._ghost[name] = self._scene.add_mesh_simple(
                node("/ghost", name), *merged(scene), color=GHOST, opacity=0.3, cast_shadow=False, receive_shadow=False,
            )  # fmt: skip
        for k, name in enumerate(found.robot.link_names):
            apart = max(apart, float(np.abs(found.position[k] - self.poses[name][1]).max()))
            if name in self._ghost:
                self._place(self._ghost[name], quaternion(found.rotation[k]), found.position[k])
        return apart

    def forces(self, forces: Mapping[str, tuple[Array, Array]]) -> None:
        """Draw forces, N: by any name the point where each acts and its vector in the world, (3,) each."""
        unit = WEIGHT_ARROW * self._size / max(9.81 * self.robot.mass, 1e-6)
        for name, (point, force) in forces.items():
            ends = np.array([[point, point + unit * force]])
            if name not in self._arrows:
                self._arrows[name] = self._scene.add_arrows(f"/forces/{name}", ends, FORCE, **self._thickness(1.0))
            self._arrows[name].points = ends.astype(np.float32)
        for name, arrow in self._arrows.items():
            update(arrow, visible=name in forces)

    def _thickness(self, factor: float) -> dict[str, float]:
        s = factor * self._size
        return {"shaft_radius": 0.008 * s, "head_radius": 0.02 * s, "head_length": 0.05 * s}

    def surroundings(self, bodies: Iterable[SpringyBody]) -> None:
        """Draw what the arm may touch; of a plane a square in front of the robot."""
        middle = np.mean([position for _, position in self.poses.values()], axis=0)
        look = {"opacity": 0.3, "cast_shadow": False, "receive_shadow": False}
        for k, body in enumerate(bodies):
            name, turn, place, size = f"/surroundings/{k}", quaternion(body.turn), np.array(body.point), body.size
            if body.kind == "sphere":
                self._scene.add_icosphere(name, body.radius, TOUCHED, position=place, **look)
                continue
            if body.kind == "plane":
                side, thickness, z = 0.8 * self._size, 0.01 * self._size, body.turn[:, 2]
                size = side, side, thickness
                place = middle - (z @ (middle - place) + 0.5 * thickness) * z
            self._scene.add_box(name, TOUCHED, np.array(size), wxyz=turn, position=place, **look)

    # -- camera and floor ---------------------------------------------------------------------------------------------

    def _place_camera(self) -> None:
        corners = [
            np.asarray(scene.bounding_box.vertices) @ self.poses[name][0].T + self.poses[name][1]
            for name, scene in self._scenes.items()
        ]
        points = np.concatenate(corners) if corners else np.array([[-0.1, -0.1, 0.0], [0.1, 0.1, 0.2]])
        low, high = points.min(axis=0), points.max(axis=0)
        centre, radius = 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low))
        camera = self._server.initial_camera
        camera.fov, camera.near, camera.far = FIELD_OF_VIEW, 0.01 * radius, 100.0 * radius
        away = FROM / np.linalg.norm(FROM)
        right = np.cross([0.0, 0.0, 1.0], away)
        aim = centre + LEFT_OF_PANEL * radius * right / np.linalg.norm(right)
        camera.look_at = aim
        camera.position = aim + DISTANCE * radius / np.sin(0.5 * FIELD_OF_VIEW) * away
        cell = 10.0 ** np.floor(np.log10(max(radius, 1e-3)))
        self._scene.add_grid(
            "/floor", 8.0 * radius, 8.0 * radius, cell_size=0.5 * cell, section_size=cell, plane="xy",
            position=(0.0, 0.0, min(0.0, float(low[2]))), cell_color=(236, 238, 241), section_color=(216, 220, 226),
        )  # fmt: skip


def update(handle: Any, **values: object) -> None:
    """Set attributes of a handle, of which viser sends each to all visitors: only those that differ."""
    for name, value in values.items():
        if getattr(handle, name) != value:
            setattr(handle, name, value)


def node(*parts: str) -> str:
    """A name in the scene's tree; slashes in names of links are no levels."""
    return "/".join([parts[0], *(part.replace("/", "∕") for part in parts[1:])])


def quaternion(R: Array) -> Array:
    """Unit quaternions w, x, y, z, shape (…, 4), of rotations, shape (…, 3, 3)."""
    from scipy.spatial.transform import Rotation

    return np.asarray(np.roll(Rotation.from_matrix(R).as_quat(), 1, axis=-1))


#: Least half axis over the largest: a rod would otherwise be invisible.
THINNEST = 0.02


def equivalent_ellipsoid(body: Inertia) -> tuple[Array, Array] | None:
    """Axes as columns (3, 3) and half axes (3,), m, of the uniform ellipsoid of the same mass, mass centre and moments.

    `None` without mass.
    Of half axes a, b, c the moments are m (b² + c²)/5, m (a² + c²)/5, m (a² + b²)/5, so that
    a² = 5 (I_b + I_c − I_a) / (2 m). Where moments contradict the triangle inequality, a² is taken as 0.
    """
    if not body.mass > 0.0:
        return None
    principal = principal_axes(body.inertia)
    squares = 2.5 / body.mass * (principal.moments.sum() - 2.0 * principal.moments)
    half_axes = np.sqrt(np.maximum(squares, 0.0))
    return principal.axes, np.maximum(half_axes, THINNEST * max(half_axes.max(), 1e-3))


#: Colours of the terms; a term without one is grey.
COLOURS = {
    "inertia": "#4c78a8", "coriolis": "#72b7b2", "gravity": "#54a24b", "friction": "#b79a20", "feedback": "#e45756",
}  # fmt: skip
OTHER, TOTAL, OVER = "#9aa3ad", "#20262e", "#c81e3a"
#: Fraction of the limit from which a bar's number is red.
NEAR_LIMIT = 0.95
#: Efforts below this fraction of the bar's half width are shown as 0.
ROUND_OFF = 1e-5


def bars(
    names: Sequence[str], effort: Array, limit: Array, terms: Mapping[str, Array], scale: Array | None = None
) -> str:
    """HTML of one row a joint: terms and the total, N·m or N, (n,), of the effort limit or, without one, of `scale`."""
    rows = [
        _row(name, float(effort[j]), float(limit[j]), {k: float(v[j]) for k, v in terms.items()},
             0.0 if scale is None else float(scale[j]))
        for j, name in enumerate(names)
    ]  # fmt: skip
    legend = "".join(
        f'<span style="margin-right:.8em;white-space:nowrap"><span style="color:{COLOURS.get(name, OTHER)}">■</span> '
        f"{escape(name)}</span>"
        for name in terms
    )
    return (
        '<div class="rne-bars" style="padding:0 .9em;font-size:12px;line-height:1.35">'
        f'<div style="margin:.2em 0 .5em;display:flex;flex-wrap:wrap">{legend}<span style="white-space:nowrap">'
        f'<span style="color:{TOTAL}">┃</span> total</span></div>{"".join(rows)}</div>'
    )


def _row(name: str, effort: float, limit: float, terms: Mapping[str, float], scale: float) -> str:
    known = [abs(v) for v in (effort, *terms.values()) if np.isfinite(v)]
    half = limit if np.isfinite(limit) and limit > 0.0 else max(scale, *known, 1e-9)
    pieces, ends = [], {True: 50.0, False: 50.0}
    for term, value in terms.items():
        width = 50.0 * min(abs(value) / half, 2.0) if np.isfinite(value) else 0.0
        start = ends[True] if value > 0.0 else ends[False] - width
        ends[value > 0.0] += width if value > 0.0 else -width
        pieces.append(_block(start, width, COLOURS.get(term, OTHER)))
    if np.isfinite(effort):
        pieces.append(_block(50.0 + 50.0 * float(np.clip(effort / half, -1.0, 1.0)) - 0.7, 1.4, TOTAL, high=True))
    red = np.isfinite(limit) and abs(effort) >= NEAR_LIMIT * limit
    shown = 0.0 if abs(effort) < ROUND_OFF * half else effort
    number = f"{shown:.3g}" if np.isfinite(effort) else "?"
    allowed = f" / {limit:.4g}" if np.isfinite(limit) else ""
    return (
        '<div style="display:flex;justify-content:space-between"><span style="overflow:hidden;text-overflow:ellipsis">'
        f'{escape(name)}</span><span style="color:{OVER if red else "#555"};white-space:nowrap">{number}{allowed}'
        '</span></div><div style="position:relative;height:10px;background:#eef1f4;border-radius:3px;overflow:hidden;'
        f'margin-bottom:4px">{_block(49.8, 0.4, "#aab2bc", high=True)}{"".join(pieces)}</div>'
    )


def _block(left: float, width: float, colour: str, *, high: bool = False) -> str:
    top, height = ("0", "100%") if high else ("20%", "60%")
    return (
        f'<div style="position:absolute;left:{left:.2f}%;width:{width:.2f}%;top:{top};height:{height};'
        f'background:{colour}"></div>'
    )
