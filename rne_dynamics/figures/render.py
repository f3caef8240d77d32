"""Shaded picture of a robot made of capsules and drums, by depth buffer in numpy: for moving pictures."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.figures.skeleton import Skeleton, View
from rne_dynamics.figures.style import color_of
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.tree import JointKind

#: Colours of links, of the ground, of joints without motor, of the floor and its lines.
LINK, GROUND, PASSIVE = (0.95, 0.95, 0.95), (0.58, 0.58, 0.58), (0.75, 0.75, 0.75)
FLOOR, TILE = (0.98, 0.98, 0.98), (0.945, 0.945, 0.945)
#: Radius of links and of drums, and half the length of drums, relative to the robot's extent.
THICK, DRUM, HALF = 0.030, 0.043, 0.047
#: Rendered pixels for one pixel of the picture, along each side.
FINE = 2
#: Light from the upper left, towards the reader, in the axes of the view; strength of ambient and mirrored light.
LIGHT = np.array([-0.45, 0.65, 0.6]) / np.linalg.norm([-0.45, 0.65, 0.6])
AMBIENT, GLOSS, SHARP = 0.42, 0.25, 24
#: Shift of shadows on the floor for each metre of height, and their darkness.
LAMP, SHADOW = np.array([0.12, 0.1, 1.0]), 0.16

Pixels = NDArray[np.uint8]


class Part(NamedTuple):
    """A capsule, or a cylinder with flat ends: the ends of its axis in the world, m, radius, m, and colour."""

    a: Array
    b: Array
    radius: float
    color: tuple[float, float, float]
    flat: bool


class Frame(NamedTuple):
    """The part of the view that a picture shows."""

    #: The picture's centre in the view, m.
    centre: tuple[float, float]
    #: Metres for one pixel.
    scale: float
    #: Of the picture, pixels.
    width: int
    height: int
    #: Centre of the floor in the world, m; None to draw none.
    floor: Array | None


def frame_of(drawn: Skeleton, view: View, width: int, height: int) -> Frame:
    """A frame that contains the robot over all its motion, with a floor below robots that move in space."""
    seen = view.project(drawn.points).reshape(-1, 3)
    margin = 2.0 * DRUM * drawn.size
    floor = None
    if not view.planar:
        floor = drawn.points.mean(axis=(0, 1, 2))
        floor[2] = min(0.0, float(drawn.points[..., 2].min())) - THICK * drawn.size
        seen = np.vstack([seen, view.project(floor) - 0.12 * drawn.size * np.array([0.0, 1.0, 0.0])])
    low, high = seen.min(axis=0) - margin, seen.max(axis=0) + margin
    scale = float(max((high[0] - low[0]) / width, (high[1] - low[1]) / height))
    centre = 0.5 * (low + high)
    return Frame((float(centre[0]), float(centre[1])), scale, width, height, floor)


def parts_of(drawn: Skeleton, row: int) -> list[Part]:
    """The solids of one posture."""
    thick, drum, half = THICK * drawn.size, DRUM * drawn.size, HALF * drawn.size
    parts = [
        Part(np.atleast_2d(bar.start)[row], np.atleast_2d(bar.end)[row], thick, GROUND if bar.ground else LINK, False)
        for bar in drawn.bars
    ]
    root = next((np.atleast_2d(bar.start)[0] for bar in drawn.bars if bar.ground), None)
    if root is not None and root[2] <= float(drawn.points[..., 2].min()) + thick:  # a robot on the floor has a foot
        up = np.array([0.0, 0.0, thick])
        parts.append(Part(root - up, root + 0.3 * up, 2.0 * drum, GROUND, True))
    for joint in drawn.joints:
        centre, axis = np.atleast_2d(joint.origin)[row], np.atleast_2d(joint.axis)[row]
        color = PASSIVE if joint.actuated is None else rgb(color_of(joint.actuated))
        wide, long = (0.8 * drum, 1.3 * half) if joint.kind is JointKind.PRISMATIC else (drum, half)
        shrink = 0.75 if joint.actuated is None else 1.0
        parts.append(Part(centre - shrink * long * axis, centre + shrink * long * axis, shrink * wide, color, True))
    return parts


def rgb(text: str) -> tuple[float, float, float]:
    """Red, green and blue from 0 to 1 of ``#RRGGBB``."""
    return (int(text[1:3], 16) / 255.0, int(text[3:5], 16) / 255.0, int(text[5:7], 16) / 255.0)


def render(parts: list[Part], view: View, frame: Frame) -> Pixels:
    """The picture; shape (height, width, 3)."""
    x, y = _pixels(frame, FINE)
    image = _floor(parts, view, frame).repeat(FINE, axis=0).repeat(FINE, axis=1)
    depth = np.full((len(y), len(x)), -np.inf)
    for part in parts:
        a, b = view.project(part.a), view.project(part.b)
        rows, columns = _covered(x, y, np.minimum(a, b) - part.radius, np.maximum(a, b) + part.radius)
        z, normal = _hit(x[None, columns], y[rows, None], a, b, part)
        nearer = z > depth[rows, columns]
        depth[rows, columns][nearer] = z[nearer]
        image[rows, columns][nearer] = _shaded(normal[nearer], np.array(part.color))
    small = image.reshape(frame.height, FINE, frame.width, FINE, 3).mean(axis=(1, 3))
    return np.asarray(np.clip(255.0 * small + 0.5, 0.0, 255.0), dtype=np.uint8)


def _shaded(normal: Array, color: Array) -> Array:
    half = LIGHT + np.array([0.0, 0.0, 1.0])
    half /= np.linalg.norm(half)
    diffuse = AMBIENT + (1.0 - AMBIENT) * np.clip(normal @ LIGHT, 0.0, 1.0)
    rim = 0.75 + 0.25 * np.clip(2.5 * normal[:, 2], 0.0, 1.0)  # darker outlines separate parts of one colour
    mirrored = GLOSS * np.clip(normal @ half, 0.0, 1.0) ** SHARP
    return np.asarray(np.clip((rim * diffuse)[:, None] * color + mirrored[:, None], 0.0, 1.0))


def _hit(x: Array, y: Array, a: Array, b: Array, part: Part) -> tuple[Array, Array]:
    """Depth of the nearest point of a part at each pixel, −∞ outside it, and the normal there; axes of the view."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    z, normal = np.full(shape, -np.inf), np.zeros((*shape, 3))
    length = float(np.linalg.norm(b - a))
    d = (b - a) / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    m = np.stack(np.broadcast_arrays(x - a[0], y - a[1], np.full(shape, -a[2])), axis=-1)
    along = m @ d
    w, e = m - along[..., None] * d, np.array([0.0, 0.0, 1.0]) - d[2] * d
    p = 1.0 - d[2] ** 2
    if p > 1e-9 and length > 0.0:  # |w + t e|² = r²
        root = w[..., 2] ** 2 - p * ((w * w).sum(axis=-1) - part.radius**2)
        t = (np.sqrt(np.maximum(root, 0.0)) - w[..., 2]) / p
        reach = along + t * d[2]
        hit = (root > 0.0) & (reach >= 0.0) & (reach <= length)
        z[hit], normal[hit] = t[hit], (w[hit] + t[hit, None] * e) / part.radius
    for end, out in ((a, -d), (b, d)):
        off = np.stack(np.broadcast_arrays(x - end[0], y - end[1]), axis=-1)
        if not part.flat:
            square = part.radius**2 - (off**2).sum(axis=-1)
            height = np.sqrt(np.maximum(square, 0.0))
            hit = (square > 0.0) & (end[2] + height > z)
            z[hit] = end[2] + height[hit]
            normal[hit] = np.concatenate([off[hit], height[hit, None]], axis=1) / part.radius
        elif out[2] > 1e-9:
            height = -(off @ out[:2]) / out[2]
            hit = ((off**2).sum(axis=-1) + height**2 <= part.radius**2) & (end[2] + height > z)
            z[hit], normal[hit] = end[2] + height[hit], out
    return z, normal


def _floor(parts: list[Part], view: View, frame: Frame) -> Array:
    """White, or floor tiles with the soft shadow of a lamp above; shape (height, width, 3)."""
    x, y = _pixels(frame, 1)
    image = np.ones((len(y), len(x), 3))
    towards = view.axes[2]
    if frame.floor is None or towards[2] < 0.1:
        return image
    height = float(frame.floor[2])
    t = (height - y * view.axes[1][2]) / towards[2]  # depth at which the floor is seen, by rows
    at = (x[None, :, None] * view.axes[0] + (y[:, None] * view.axes[1] + t[:, None] * towards)[:, None])[..., :2]
    wide = frame.scale * max(frame.width, frame.height)
    power = 10.0 ** math.floor(math.log10(wide))
    tile = power * next(f for f in (0.1, 0.2, 0.5, 1.0) if f * power > 0.07 * wide)
    odd = (np.floor(at / tile).sum(axis=-1) % 2.0)[..., None]
    far = np.linalg.norm(at - frame.floor[:2], axis=-1) / wide
    fade = np.clip(1.6 - 2.4 * far, 0.0, 1.0)
    image = 1.0 - fade[..., None] * (1.0 - (odd * np.array(TILE) + (1.0 - odd) * np.array(FLOOR)))
    dark = np.zeros(at.shape[:2])
    for part in parts:
        ends = np.array([p - (p[2] - height) * LAMP for p in (part.a, part.b)])
        seen, reach = view.project(ends), 1.5 * part.radius
        rows, columns = _covered(x, y, seen.min(axis=0) - reach, seen.max(axis=0) + reach)
        here, span = at[rows, columns] - ends[0, :2], ends[1, :2] - ends[0, :2]
        s = np.clip((here @ span) / max(float(span @ span), 1e-12), 0.0, 1.0)
        distance = np.linalg.norm(here - s[..., None] * span, axis=-1) / part.radius
        dark[rows, columns] = np.maximum(dark[rows, columns], np.clip(1.5 - distance, 0.0, 1.0))
    return np.asarray(image * (1.0 - SHADOW * dark * fade)[..., None])


def _pixels(frame: Frame, fine: int) -> tuple[Array, Array]:
    """Coordinates of the columns from left to right, and of the rows from the top down, m."""
    columns, rows, step = fine * frame.width, fine * frame.height, frame.scale / fine
    x: Array = frame.centre[0] + step * np.linspace(-0.5, 0.5, columns) * (columns - 1)
    y: Array = frame.centre[1] - step * np.linspace(-0.5, 0.5, rows) * (rows - 1)
    return x, y


def _covered(x: Array, y: Array, low: Array, high: Array) -> tuple[slice, slice]:
    """Rows and columns of a rectangle of the view."""
    columns, rows = np.searchsorted(x, (low[0], high[0])), np.searchsorted(-y, (-high[1], -low[1]))
    return slice(*rows), slice(*columns)
