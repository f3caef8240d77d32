"""The integrals of document 003 over a beam's shapes, and the shapes at points of its link."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh
from support.errors import relative_error
from support.flexible_links import beam_frequencies

from rne_dynamics.errors import ModelError
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.beam_modes import modal_link
from rne_dynamics.model.flexible.beam_shapes import beam_shapes

ALL_SHAPES = ["clamped_free", "clamped_mass", "pinned", "polynomial", "finite_element"]
number = st.floats(-1.0, 1.0)
vector = st.tuples(number, number, number).map(np.array)


def beam_of(shapes: str, **fields) -> Beam:
    given = {
        "link": "beam", "length": 0.7, "mass_per_length": 0.3, "EI_y": 2.0, "EI_z": 3.0, "GJ": 1.5, "spread_y": 1e-4,
        "spread_z": 2e-4, "modes": (3, 2, 2), "shapes": shapes, "tip_mass": 0.2, "tip_inertia": (1e-4, 2e-3, 3e-3),
        "stiffening": True,
    }  # fmt: skip
    return Beam(**given | fields)


TAPERED = {
    "mass_per_length": [0.4, 0.2, 0.15], "EI_y": [3.0, 1.0], "EI_z": [2.0, 2.5, 1.0, 0.5], "GJ": [2.0, 1.0],
    "spread_y": [2e-4, 1e-4], "spread_z": [1e-4, 2e-4, 1e-4],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("shapes", "fields"), [*((s, {}) for s in ALL_SHAPES), ("polynomial", TAPERED)])
def test_integrals_against_a_sum_over_particles(shapes: str, fields: dict) -> None:
    """Every section as four particles at (±a, ±b), moved by its shapes; midpoints, then Richardson's extrapolation."""
    beam = beam_of(shapes, **fields)
    link = modal_link(beam)
    coarse, fine, finest = (particle_sums(beam, cells) for cells in (600, 1200, 2400))
    for k, got in enumerate((link.first, link.second, link.shortening, link.stiffness)):
        once, twice = (4 * fine[k] - coarse[k]) / 3, (4 * finest[k] - fine[k]) / 3
        assert relative_error(got, (16 * twice - once) / 15) < 2e-10
    inertia = link.inertia
    assert inertia.mass == pytest.approx(finest[4], rel=1e-12)
    assert relative_error(inertia.about_origin, (4 * finest[5] - fine[5]) / 3) < 1e-12


@pytest.mark.parametrize(("shapes", "fields"), [("polynomial", TAPERED), ("clamped_mass", {})])
def test_strain_of_higher_order_is_that_of_the_exact_curvature(shapes: str, fields: dict) -> None:
    """Odd in the amplitudes: energy of sections turned by exp(θ). Even in them: of bending along an exact tangent."""
    beam = beam_of(shapes, **fields)
    link, (y, z, twist) = modal_link(beam), beam_shapes(beam)
    kinks = np.unique(np.concatenate([beam.ends, y.breaks]))
    t, w = np.polynomial.legendre.leggauss(40)
    x, w = (np.concatenate([s * (b - a) * w_ + o for a, b in pairwise(kinks) for o in [at * (a + b)]])
            for s, w_, at in ((0.5, t, 0.5), (0.5, w, 0.0)))  # fmt: skip
    GJ, EI_z, EI_y = (w * beam.along(name, x) for name in ("GJ", "EI_z", "EI_y"))
    rng = np.random.default_rng(4)
    tip = np.array([beam.length])
    size = 0.5 / np.abs(np.concatenate([s.evaluate(tip, d)[0] for s, d in ((y, 1), (z, 1), (twist, 0))]))
    delta = size * rng.uniform(0.5, 1.0, link.modes)
    straight = np.concatenate([delta[: y.count + z.count], np.zeros(twist.count)])

    def fields_of(d: np.ndarray) -> list[np.ndarray]:
        parts = np.split(d, np.cumsum([y.count, z.count]))
        return [s.evaluate(x, k) @ part for s, part, base in zip((y, z, twist), parts, (1, 1, 0), strict=True)
                for k in (base, base + 1)]  # fmt: skip

    def turned(d: np.ndarray) -> float:
        sy, cy, sz, cz, f, df = fields_of(d)
        turn, rate = np.stack([f, -sz, sy], -1), np.stack([df, -cz, cy], -1)
        a = np.linalg.norm(turn, axis=1)[:, None]
        once = np.cross(turn, rate)
        k = rate - (1.0 - np.cos(a)) / a**2 * once + (a - np.sin(a)) / a**3 * np.cross(turn, once)
        return float(0.5 * (GJ @ k[:, 0] ** 2 + EI_z @ k[:, 1] ** 2 + EI_y @ k[:, 2] ** 2))

    def along_tangent(d: np.ndarray) -> float:
        sy, cy, sz, cz, _, _ = fields_of(d)
        c = np.sqrt(1.0 - sy**2 - sz**2)
        change = np.stack([-(sy * cy + sz * cz) / c, cy, cz], -1)
        axis, k = np.stack([0.0 * c, -sz, sy], -1), []
        for e in np.eye(3)[1:]:
            across = np.cross(axis, e)
            section = e + across + np.cross(axis, across) / (1.0 + c)[:, None]
            k.append(np.einsum("pi,pi->p", change, section))
        return float(0.5 * (EI_y @ k[0] ** 2 + EI_z @ k[1] ** 2))

    def limit(of) -> float:
        coarse, fine, finest = (of(s) for s in (0.04, 0.02, 0.01))
        return (16 * (4 * finest - fine) / 3 - (4 * fine - coarse) / 3) / 15

    third = limit(lambda s: (turned(s * delta) - turned(-s * delta)) / (2.0 * s**3))
    assert np.einsum("i,j,k,ijk", delta, delta, delta, link.coupling) / 3.0 == pytest.approx(third, rel=1e-6)
    square = 0.5 * straight @ link.stiffness @ straight
    fourth = limit(lambda s: (along_tangent(s * straight) / s**2 - square) / s**2)
    assert 0.25 * np.einsum("i,j,k,l,ijkl", *[straight] * 4, link.hardening) == pytest.approx(fourth, rel=1e-6)


def particle_sums(beam: Beam, cells: int) -> list[np.ndarray]:
    h = beam.length / cells
    x = h * (np.arange(cells) + 0.5)
    y, z, twist = beam_shapes(beam)
    m = sum(beam.modes)
    at = np.split(np.arange(m), np.cumsum(beam.modes)[:-1])
    bent, slope, curved = np.zeros((3, cells, m, 3))
    for axis, shapes, columns in ((1, y, at[0]), (2, z, at[1])):
        bent[:, columns, axis], slope[:, columns, axis] = shapes.evaluate(x, 0), shapes.evaluate(x, 1)
        curved[:, columns, axis] = shapes.evaluate(x, 2)
    turn = np.zeros((cells, m))
    turn[:, at[2]] = twist.evaluate(x, 0)
    # ∫₀ˣ w'w' to the middle of each cell
    squares = np.einsum("pki,pli->pkl", slope, slope) * h
    drawn = np.cumsum(squares, axis=0) - 0.5 * squares
    mu = beam.along("mass_per_length", x)
    a, b = np.sqrt(beam.along("spread_y", x) / mu), np.sqrt(beam.along("spread_z", x) / mu)
    first, inertia = np.zeros((m, 4, 3)), np.zeros((3, 3))
    second, short = np.zeros((m, m, 3, 3)), np.zeros((m, m, 4, 3))
    for sy in (-1, 1):
        for sz in (-1, 1):
            dm = 0.25 * mu * h
            place = np.stack([np.ones(cells), x, sy * a, sz * b], axis=-1)
            moved = bent.copy()
            moved[:, :, 1] -= turn * (sz * b)[:, None]
            moved[:, :, 2] += turn * (sy * a)[:, None]
            first += np.einsum("p,pr,pki->kri", dm, place, moved)
            second += np.einsum("p,pki,plj->klij", dm, moved, moved)
            short[..., 0] += np.einsum("p,pr,pkl->klr", dm, place, drawn)
            r = place[:, 1:]
            inertia += np.einsum("p,pi,pi->", dm, r, r) * np.eye(3) - np.einsum("p,pi,pj->ij", dm, r, r)
    EI = np.stack([beam.along("EI_y", x), beam.along("EI_z", x)], axis=-1)
    stiffness = h * np.einsum("pi,pki,pli->kl", EI, curved[..., 1:], curved[..., 1:])
    rate = np.zeros((cells, m))
    rate[:, at[2]] = twist.evaluate(x, 1)
    stiffness += h * np.einsum("p,pk,pl->kl", beam.along("GJ", x), rate, rate)
    return [first, second, short, stiffness, np.sum(mu) * h, inertia]


@pytest.mark.slow
@pytest.mark.parametrize("modes", [(1, 1, 1), (1, 1, 2)])
@pytest.mark.parametrize("shapes", ALL_SHAPES)
def test_round_beams_of_any_size_are_taken(shapes: str, modes: tuple[int, int, int]) -> None:
    """Of equal stiffness both ways, with like modes: what couples bending with twist cancels but for round-off."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        length, EI, mu, radius = rng.uniform(0.3, 2.0), 10.0 ** rng.uniform(0.0, 4.0), rng.uniform(0.1, 5.0), 0.02
        spread = 0.25 * mu * radius**2
        link = modal_link(beam_of(
            shapes, length=length, mass_per_length=mu, EI_y=EI, EI_z=EI, GJ=EI / 1.3, spread_y=spread, spread_z=spread,
            modes=modes, tip_mass=rng.uniform(0.0, 3.0), tip_inertia=(0.0, 0.0, 0.0),
        ))  # fmt: skip
        for order in ((1, 0, 2), (1, 2, 0)):
            np.testing.assert_array_equal(link.coupling, link.coupling.transpose(order))


def test_coupling_is_compared_with_what_couples() -> None:
    """Round-off of a beam's third-order strain is taken from files too; real asymmetry is refused."""
    link = modal_link(beam_of("clamped_free", EI_y=2.0, EI_z=2.0, modes=(1, 1, 1)))
    size = np.sqrt(link.stiffness.max() * link.hardening.max())
    noise = np.zeros((3, 3, 3))
    noise[0, 1, 2] = 1.0
    replace(link, coupling=1e-15 * size * noise)
    with pytest.raises(ModelError, match="coupling is not symmetric"):
        replace(link, coupling=1e-3 * size * noise)


def test_known_integrals_of_the_cantilever() -> None:
    """With tip deflection 1: ∫ φ = ±σ/β, ∫ x φ = 1/β² in size, ∫ φ² = L/4, K = EI β⁴ L/4 (Blevins)."""
    beam = Beam("beam", 2.0, 1.5, 0.7, modes=(4, 0, 0))
    link = modal_link(beam)
    b = np.sqrt(np.sqrt(1.5 / 0.7) * beam_frequencies(beam)) * 2.0
    sigma = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
    assert np.abs(link.first[:, 0, 1]) == pytest.approx(1.5 * 2.0 * sigma / b, rel=1e-12)
    assert np.abs(link.first[:, 1, 1]) == pytest.approx(1.5 * 4.0 / b**2, rel=1e-11)
    assert relative_error(link.second[:, :, 1, 1], 1.5 * 2.0 / 4.0 * np.eye(4)) < 1e-12
    assert relative_error(link.stiffness, np.diag(0.7 * b**4 / 8.0 / 4.0)) < 1e-12


def test_polynomial_integrals_are_exact() -> None:
    link = modal_link(Beam("beam", 1.0, 1.0, 1.0, modes=(4, 0, 0), shapes="polynomial"))
    k = np.arange(2, 6)
    assert link.first[:, 0, 1] == pytest.approx(1 / (k + 1), rel=1e-14)
    assert link.first[:, 1, 1] == pytest.approx(1 / (k + 2), rel=1e-14)
    assert relative_error(link.second[:, :, 1, 1], 1 / (k[:, None] + k + 1)) < 1e-14
    curved = k * (k - 1)
    assert relative_error(link.stiffness, np.outer(curved, curved) / (k[:, None] + k - 3)) < 1e-14


def test_static_deflection_of_the_tip() -> None:
    """A force F at the tip against F L³ / 3EI: what the modes leave out, stated."""

    def share(shapes: str, count: int) -> float:
        link = modal_link(Beam("beam", 0.8, 0.2, 1.3, modes=(count, 0, 0), shapes=shapes, elements=80))
        tip = link.at(link.tip).translation[:, 1]
        return float(tip @ np.linalg.solve(link.stiffness, tip) * 3 * 1.3 / 0.8**3)

    assert share("polynomial", 2) == pytest.approx(1.0, abs=1e-13)
    assert share("polynomial", 1) == pytest.approx(0.75, abs=1e-13)
    roots = [1.8751040687, 4.6940911330, 7.8547574382]
    for count in (1, 2, 3):
        assert share("clamped_free", count) == pytest.approx(sum(12 / b**4 for b in roots[:count]), rel=1e-9)
    assert share("clamped_free", 1) == pytest.approx(0.9707, abs=1e-4)
    assert share("finite_element", 3) == pytest.approx(share("clamped_free", 3), abs=2e-9)


def test_damping_is_modal_with_what_the_beam_carries() -> None:
    ratios = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07)
    for shapes in ("polynomial", "clamped_mass"):
        beam = beam_of(shapes, damping=ratios)
        link = modal_link(beam)
        tip = link.at(link.tip)
        mass = np.einsum("klii->kl", link.second) + 0.2 * tip.translation @ tip.translation.T
        mass += tip.rotation @ np.diag(beam.tip_inertia) @ tip.rotation.T
        for block, own in ((slice(0, 3), ratios[:3]), (slice(3, 5), ratios[3:5]), (slice(5, 7), ratios[5:])):
            squares, modes = eigh(link.stiffness[block, block], mass[block, block])
            assert np.sqrt(squares) == pytest.approx(beam_frequencies(beam)[block], rel=1e-10)
            wanted = np.diag(2 * np.array(own) * np.sqrt(squares))
            assert relative_error(modes.T @ link.damping[block, block] @ modes, wanted) < 1e-10
        assert not link.damping[:3, 3:].any()
    assert relative_error(modal_link(beam_of("pinned", damping=0.1)).damping, np.zeros((7, 7))) > 0.0


def test_southwells_coefficient_of_a_spinning_cantilever() -> None:
    """ω² = ω₀² + α Ω² in flapping, α = 1.193 for the first mode at a hub of no radius."""
    link = modal_link(Beam("beam", 1.0, 1.0, 1.0, modes=(1, 0, 0), stiffening=True))
    alpha = link.shortening[0, 0, 1, 0] / link.second[0, 0, 1, 1]
    assert alpha == pytest.approx(1.193, abs=1e-3)
    assert not modal_link(Beam("beam", 1.0, 1.0, 1.0, modes=(1, 0, 0), stiffening=False)).shortening.any()


@pytest.mark.slow
@settings(max_examples=15)
@given(vector, vector, vector, st.sampled_from(["polynomial", "clamped_mass"]), vector)
def test_the_frame_of_the_link_does_not_matter(axis, normal, origin, shapes, point) -> None:
    if np.linalg.norm(np.cross(axis, normal)) < 1e-2:
        return
    plain = beam_of(shapes)
    turned = replace(plain, axis=axis, normal=normal, origin=origin)
    here, there = modal_link(plain), modal_link(turned)
    R = turned.rotation
    assert relative_error(R.T @ R, np.eye(3)) < 1e-13
    assert there.tip == pytest.approx(origin + R @ here.tip, abs=1e-14)
    near, far = here.at(point), there.at(origin + R @ point)
    for a, b in zip(near, far, strict=True):
        assert relative_error(b, a @ R.T, scale=1e-3) < 1e-9
    # the moment about any point of the accelerations that a mode makes
    about = np.einsum("krs,sj->krj", here.first[:, 1:], R.T)
    moved = np.einsum("ir,krj->kij", R, about) + origin[:, None] * (here.first[:, :1] @ R.T)
    assert relative_error(there.first[:, 1:], moved, scale=1e-3) < 1e-12
    assert relative_error(there.second, R @ here.second @ R.T, scale=1e-3) < 1e-12
    assert relative_error(there.inertia.about_origin, here.inertia.moved(R, origin).about_origin) < 1e-12


@pytest.mark.parametrize("shapes", ["polynomial", "pinned"])
def test_points_of_the_link(shapes: str) -> None:
    beam = beam_of(shapes)
    link = modal_link(beam)
    for place in ([0.0, 0.1, 0.2], [-0.3, 0.0, 0.1]):
        assert not any(part.any() for part in link.at(place))
    y, z, twist = (s.evaluate(np.array([0.3, 0.7]), 0) for s in beam_shapes(beam))
    dy, dz, _ = (s.evaluate(np.array([0.3, 0.7]), 1) for s in beam_shapes(beam))
    for row, x, offset in ((0, 0.3, [0.0, 0.05, -0.02]), (1, 0.7, [0.1, 0.05, -0.02])):
        found = link.at(np.array([x, 0.0, 0.0]) + offset)
        rotation = np.zeros((7, 3))
        rotation[:3, 2], rotation[3:5, 1], rotation[5:, 0] = dy[row], -dz[row], twist[row]
        translation = np.cross(rotation, offset)
        translation[:3, 1] += y[row]
        translation[3:5, 2] += z[row]
        assert relative_error(found.rotation, rotation) < 1e-12
        assert relative_error(found.translation, translation) < 1e-12


def test_shortening_is_that_of_a_bent_line_of_the_same_length() -> None:
    """The tip, and a point on a rigid arm fixed to it, against the exact shape of an inextensible line."""
    link = modal_link(beam_of("polynomial", modes=(2, 1, 0)))
    t, weight = np.polynomial.legendre.leggauss(30)
    s, weight = 0.35 * (t + 1), 0.35 * weight
    delta, offset = np.array([0.4, -0.3, 0.5]), np.array([0.2, 0.03, -0.05])

    def second_order(point: np.ndarray, exact) -> None:
        """−½ δδS against the even part of the exact motion for shrinking amplitudes."""
        S = np.einsum("k,l,kli->i", delta, delta, link.at(point).shortening)
        e = 1e-3
        even = (exact(e) + exact(-e) - 2 * exact(0.0)) / (2 * e * e)
        assert even == pytest.approx(-0.5 * S, abs=1e-6 * np.abs(S).max())

    def slopes(e: float, where: np.ndarray) -> np.ndarray:
        wy, wz = np.stack([2 * where, 3 * where**2]) / 0.7 ** np.array([[2.0], [3.0]]), 2 * where / 0.49
        return e * np.stack([delta[:2] @ wy, delta[2] * wz], axis=-1)

    def tip(e: float) -> np.ndarray:
        return np.array([weight @ np.sqrt(1 - (slopes(e, s) ** 2).sum(axis=1)), 0.0, 0.0])

    def arm(e: float) -> np.ndarray:
        v = slopes(e, np.array([0.7]))[0]
        theta = np.array([0.0, -v[1], v[0]])
        angle = np.linalg.norm(theta)
        if angle == 0.0:
            return tip(e) + offset
        k = theta / angle
        once = np.cross(k, offset)
        return tip(e) + offset + math.sin(angle) * once + (1 - math.cos(angle)) * np.cross(k, once)

    second_order(link.tip, tip)
    second_order(link.tip + offset, arm)


def test_without_modes_there_is_but_the_body() -> None:
    link = modal_link(Beam("beam", 1.0, 2.0, modes=(0, 0, 0)))
    assert link.modes == 0
    assert link.inertia.mass == pytest.approx(2.0)
    assert link.at(link.tip).translation.shape == (0, 3)
    assert beam_frequencies(Beam("beam", 1.0, 2.0, modes=(0, 0, 0))).shape == (0,)
