"""Links from finite-element meshes: against beams assembled from textbook elements, particles and bricks."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.interpolate import RegularGridInterpolator
from scipy.io import mmwrite
from scipy.linalg import eigvalsh
from support.errors import relative_error
from support.flexible_arms import cantilever
from support.flexible_links import beam_frequencies
from support.modal_writer import save_modal_link

from rne_dynamics.errors import DescriptionError, ModelError
from rne_dynamics.flexible import equations_of_motion, linearised, static_deflection
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.beam_modes import modal_link
from rne_dynamics.model.flexible.modal_file import load_modal_link
from rne_dynamics.model.flexible.nodal import nodal_link
from rne_dynamics.model.flexible.nodal_mesh import NodalMesh
from rne_dynamics.model.inertia import Inertia


def element(length: float, mu: float, EA: float, EI: tuple[float, float], GJ: float, polar: float):
    """Stiffness and consistent mass matrix of a straight element along x; `EI` for deflections along y and along z."""
    K, M = np.zeros((12, 12)), np.zeros((12, 12))
    bar_k, bar_m = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0
    for at, k, m in (((0, 6), EA / length, mu * length), ((3, 9), GJ / length, polar * length)):
        K[np.ix_(at, at)] += k * bar_k
        M[np.ix_(at, at)] += m * bar_m
    h = length
    bend_k = np.array([
        [12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2],
        [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2],
    ]) / h**3  # fmt: skip
    bend_m = mu * h / 420.0 * np.array([
        [156, 22 * h, 54, -13 * h], [22 * h, 4 * h**2, 13 * h, -3 * h**2],
        [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h**2, -22 * h, 4 * h**2],
    ])  # fmt: skip
    # along y with the turn about z; along z with the turn about −y
    for at, sign, stiffness in (((1, 5, 7, 11), 1.0, EI[0]), ((2, 4, 8, 10), -1.0, EI[1])):
        turn = np.diag([1.0, sign, 1.0, sign])
        K[np.ix_(at, at)] += stiffness * turn @ bend_k @ turn
        M[np.ix_(at, at)] += turn @ bend_m @ turn
    return K, M


def assembled(count: int, length: float, mu: float, EA: float, EI: tuple[float, float], GJ: float, polar: float,
              R: np.ndarray | None = None, origin=(0.0, 0.0, 0.0)):  # fmt: skip
    """Nodes (P, 3), stiffness and mass (6P, 6P) of a beam from `origin` along the first column of R."""
    R = np.eye(3) if R is None else R
    K, M = np.zeros((6 * count + 6, 6 * count + 6)), np.zeros((6 * count + 6, 6 * count + 6))
    turn = np.kron(np.eye(4), R)
    k, m = (turn @ part @ turn.T for part in element(length / count, mu, EA, EI, GJ, polar))
    for i in range(count):
        at = slice(6 * i, 6 * i + 12)
        K[at, at] += k
        M[at, at] += m
    return np.asarray(origin) + np.outer(np.linspace(0.0, length, count + 1), R[:, 0]), K, M


LENGTH, MU, EI, GJ, SPREAD = 0.8, 0.43, (15.0, 40.0), 9.0, 1e-8
TURNED = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
TURNED[:, 2] *= np.linalg.det(TURNED)
PLACE = np.array([0.1, -0.2, 0.05])


def mesh(count: int, R=None, origin=(0.0, 0.0, 0.0)):
    return assembled(count, LENGTH, MU, 1e6, EI, GJ, 2.0 * SPREAD, R, origin)


def meshed_link(link: str, nodes, mass, *, root, tip, stiffness=None, points=None, **modes):
    mesh = NodalMesh(link, nodes, mass, root=root, tip=tip, stiffness=stiffness, points=points)
    return nodal_link(mesh, **modes)


def nodal(count: int, modes: int = 5, R=None, origin=(0.0, 0.0, 0.0), **more):
    X, K, M = mesh(count, R, origin)
    return meshed_link("beam", X, M, stiffness=K, root=0, tip=count, modes=modes, damping_ratio=0.01, **more)


def beam(count: int, R=None, origin=(0.0, 0.0, 0.0), **more) -> Beam:
    R = np.eye(3) if R is None else R
    return Beam(
        "beam", LENGTH, MU, EI_y=EI[0], EI_z=EI[1], GJ=GJ, spread_y=SPREAD, spread_z=SPREAD, modes=(3, 2, 0),
        axis=R[:, 0], normal=R[:, 1], origin=origin, shapes="finite_element", elements=count, damping=0.01, **more,
    )  # fmt: skip


@pytest.mark.parametrize(("R", "origin"), [(None, np.zeros(3)), (TURNED, PLACE)])
def test_an_assembly_has_the_frequencies_and_momenta_of_the_built_in_beam(R, origin) -> None:
    count = 10
    found, expected = nodal(count, R=R, origin=origin), modal_link(beam(count, R, origin))
    own = np.sqrt(eigvalsh(found.stiffness, np.einsum("klii->kl", found.second)))
    np.testing.assert_allclose(own, np.sort(beam_frequencies(beam(count, R, origin))), rtol=1e-7)
    assert found.inertia.mass == pytest.approx(expected.inertia.mass, rel=1e-12)
    np.testing.assert_allclose(found.inertia.com, expected.inertia.com, atol=1e-12)
    # in bending the elements have no inertia of their sections
    axes = beam(count, R, origin).rotation
    spread = SPREAD * LENGTH * axes @ np.diag([0.0, 1.0, 1.0]) @ axes.T
    np.testing.assert_allclose(found.inertia.inertia, expected.inertia.inertia - spread, rtol=0.0, atol=1e-14)
    # what a mass matrix says of the modes: momentum, moment of momentum, modal masses; the same span of shapes
    X, _, M = mesh(count, R, origin)
    U = nodal_shapes(count, R, origin)
    fixed = np.tile(np.eye(6)[:, :3], (count + 1, 1))
    np.testing.assert_allclose(found.first[:, 0], (fixed.T @ M @ U).T, atol=1e-12 * MU)
    np.testing.assert_allclose(np.einsum("klii->kl", found.second), U.T @ M @ U, atol=1e-11)
    turns = np.concatenate([np.vstack([np.cross(np.eye(3), x).T, np.eye(3)]) for x in X])
    about = found.first[:, 1:] - found.first[:, 1:].transpose(0, 2, 1)
    moments = np.stack([about[:, 1, 2], about[:, 2, 0], about[:, 0, 1]], axis=-1)
    np.testing.assert_allclose(moments, (turns.T @ M @ U).T, atol=1e-12)


def nodal_shapes(count, R, origin):
    """The same eigenvectors, by another routine."""
    _, K, M = mesh(count, R, origin)
    values, vectors = np.linalg.eig(np.linalg.solve(K[6:, 6:], M[6:, 6:]))
    order = np.argsort(-values.real)[:5]
    inner = vectors[:, order].real
    scaled = inner / inner[np.abs(inner).argmax(axis=0), np.arange(5)]
    return np.vstack([np.zeros((6, 5)), scaled])


def test_the_arm_it_makes_moves_as_the_built_in_one_to_the_second_order_of_the_mesh() -> None:
    rng = np.random.default_rng(1)
    load = Inertia(0.2, np.array([0.02, 0.01, 0.03]), 1e-3 * np.eye(3))
    q, qd, delta, deltad = np.array([0.4]), np.array([2.0]), 0.02 * rng.normal(size=5), 0.1 * rng.normal(size=5)
    exact = cantilever(beam(10), load, (0.0, 0.0, -9.81))
    linear = replace(exact.flexible_links[0], coupling=np.zeros((5,) * 3), hardening=np.zeros((5,) * 4))
    exact = FlexibleArm(exact.robot, (linear,))  # elastic forces of higher order need EI along the beam
    errors = []
    for count in (10, 20):
        link, X = nodal(count), mesh(count)[0]
        # the built-in shapes at the nodes of the mesh, exact between them too
        shapes = np.vstack([np.hstack([a.translation, a.rotation]).T for a in map(exact.flexible_links[0].at, X)])
        X, K, M = mesh(count)
        link = meshed_link("beam", X, M, stiffness=K, root=0, tip=count, shapes=shapes)
        arm = FlexibleArm(assemble(exact.robot.tree, gravity=exact.gravity), (link,))
        found, wanted = (equations_of_motion(a, q, delta, qd, deltad) for a in (arm, exact))
        scale = np.sqrt(np.diag(wanted.J))
        elastic = np.concatenate([[0.0], link.damping @ deltad])
        damped = np.concatenate([[0.0], exact.flexible_links[0].damping @ deltad])
        errors.append([
            np.abs((found.J - wanted.J) / np.outer(scale, scale)).max(),
            np.abs((found.bias - elastic - wanted.bias + damped) / scale).max() / np.abs(wanted.bias / scale).max(),
        ])  # fmt: skip
    assert np.array(errors[1]).max() < 2e-3
    assert (np.array(errors[1]) < 0.3 * np.array(errors[0])).all()


@pytest.mark.slow
def test_statics_and_frequencies_with_a_load_at_the_tip() -> None:
    """F L³/3EI is exact for cubic elements with all their modes; a mass at the tip lowers the frequencies alike."""
    load = Inertia(0.3, np.zeros(3), 1e-4 * np.eye(3))
    exact = cantilever(beam(6), load)
    arm = FlexibleArm(assemble(exact.robot.tree, gravity=(0.0, 0.0, 0.0)), (nodal(6, 35),))
    delta = static_deflection(arm, [0.0], wrenches={"tip": [0.0, 1e-5, 2e-5, 0.0, 0.0, 0.0]})
    moved = delta @ arm.flexible_links[0].at([LENGTH, 0.0, 0.0]).translation
    np.testing.assert_allclose(moved[1:], np.array([1e-5 / EI[0], 2e-5 / EI[1]]) * LENGTH**3 / 3.0, rtol=2e-6)
    _, K, M = mesh(6)
    M[-6:, -6:] += np.diag([0.3] * 3 + [1e-4] * 3)
    squares = eigvalsh(K[6:, 6:], M[6:, 6:])[:4]
    np.testing.assert_allclose(linearised(arm, [0.0]).frequencies[:4] ** 2, squares, rtol=1e-4)


def particles(m: int = 3, P: int = 9):
    """Lumped masses that move at random but for three, which are held."""
    rng = np.random.default_rng(0)
    X, mass, U = rng.normal(size=(P, 3)), rng.uniform(0.1, 1.0, P), rng.normal(size=(P, 3, m))
    U[:3] = 0.0
    return X, mass, U


def test_lumped_masses_give_the_sums_over_particles() -> None:
    X, mass, U = particles()
    M, A = sparse.diags(np.repeat(mass, 3)), np.random.default_rng(1).normal(size=(27, 27))
    found = meshed_link(
        "cloud", X, M, shapes=U.reshape(27, 3), stiffness=A @ A.T, root=[0, 1, 2], tip=[6, 7, 8], points=[[3, 4, 5]]
    )
    phi = U.transpose(2, 0, 1)
    np.testing.assert_allclose(found.first[:, 0], np.einsum("p,kpi->ki", mass, phi), atol=1e-12)
    np.testing.assert_allclose(found.first[:, 1:], np.einsum("p,pr,kpi->kri", mass, X, phi), atol=1e-12)
    np.testing.assert_allclose(found.second, np.einsum("p,kpi,lpj->klij", mass, phi, phi), atol=1e-12)
    np.testing.assert_allclose(found.inertia.first_moment, mass @ X, atol=1e-12)
    about = sum(w * (x @ x * np.eye(3) - np.outer(x, x)) for w, x in zip(mass, X, strict=True))
    np.testing.assert_allclose(found.inertia.about_origin, about, atol=1e-12)
    assert not found.shortening.any()
    # a group that moves as a rigid body has that body's displacement and turn
    turn, shift = np.array([0.1, -0.2, 0.3]), np.array([0.5, 0.6, 0.7])
    U[3:6, :, 0] = shift + np.cross(turn, X[3:6] - X[3:6].mean(axis=0))
    link = meshed_link("c", X, M, shapes=U.reshape(27, 3), stiffness=A @ A.T, root=[0, 1, 2], tip=[3, 4, 5])
    there = link.at(link.tip)
    np.testing.assert_allclose(there.translation[0], shift, atol=1e-12)
    np.testing.assert_allclose(there.rotation[0], turn, atol=1e-12)


def test_bricks_give_the_integrals_of_what_they_interpolate() -> None:
    """Trilinear elements on a grid; integrals by Gauss's rule over the interpolation, in SciPy."""
    lines = [np.linspace(0.0, 1.0, 4), np.linspace(-0.1, 0.1, 3), np.linspace(-0.2, 0.2, 3)]
    grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)
    X = grid.reshape(-1, 3)

    def one(x):
        h = x[1] - x[0]
        return h / 6.0 * (np.diag([2.0, *[4.0] * (len(x) - 2), 2.0]) + np.eye(len(x), k=1) + np.eye(len(x), k=-1))

    M = 2700.0 * np.kron(reduce(np.kron, map(one, lines)), np.eye(3))
    U = 1e-3 * np.random.default_rng(2).normal(size=(len(X), 3, 2))
    root = np.flatnonzero(X[:, 0] == 0.0)
    U[root] = 0.0
    K = np.eye(len(M))
    tip = np.flatnonzero(X[:, 0] == 1.0)
    found = meshed_link("block", X, M, shapes=U.reshape(-1, 2), stiffness=K, root=root, tip=tip)
    t, w = np.polynomial.legendre.leggauss(3)
    rules = [
        (np.concatenate([0.5 * (a + b + (b - a) * t) for a, b in pairwise(x)]),
         np.concatenate([0.5 * (b - a) * w for a, b in pairwise(x)])) for x in lines
    ]  # fmt: skip
    at = np.stack(np.meshgrid(*(r[0] for r in rules), indexing="ij"), axis=-1).reshape(-1, 3)
    dm = 2700.0 * reduce(np.multiply.outer, [r[1] for r in rules]).ravel()
    phi = RegularGridInterpolator(lines, U.reshape(*grid.shape[:3], 3, 2))(at)
    assert relative_error(found.first[:, 0], np.einsum("p,pik->ki", dm, phi)) < 1e-12
    assert relative_error(found.first[:, 1:], np.einsum("p,pr,pik->kri", dm, at, phi)) < 1e-12
    assert relative_error(found.second, np.einsum("p,pik,pjl->klij", dm, phi, phi)) < 1e-12
    assert found.inertia.mass == pytest.approx(2700.0 * 0.2 * 0.4)


def test_frequencies_in_place_of_stiffness() -> None:
    X, K, M = mesh(8)
    U = nodal_shapes(8, None, (0.0, 0.0, 0.0))
    omega = np.sqrt(np.einsum("ik,ij,jk->k", U, K, U) / np.einsum("ik,ij,jk->k", U, M, U))
    found = meshed_link("beam", X, M, shapes=U, frequencies=omega, root=0, tip=8)
    np.testing.assert_allclose(found.stiffness, U.T @ K @ U, atol=1e-8 * np.abs(U.T @ K @ U).max())
    with pytest.raises(ModelError, match=r"shapes share .* no eigenvectors of this mass matrix"):
        meshed_link("beam", X, M, shapes=U @ np.triu(np.ones((5, 5))), frequencies=omega, root=0, tip=8)


def test_a_beams_mesh_has_stiffening() -> None:
    X, K, M = mesh(20)
    exact = modal_link(beam(20))
    shapes = np.vstack([np.hstack([a.translation, a.rotation]).T for a in map(exact.at, X)])
    link = meshed_link("beam", X, M, stiffness=K, root=0, tip=20, shapes=shapes)
    assert relative_error(link.shortening, exact.shortening) < 2e-2
    assert relative_error(link.at(link.tip).shortening, exact.at(exact.tip).shortening) < 2e-2
    # by the trapezoidal rule; the square of the slopes is level at both ends, so that its error is of fourth order
    fine = meshed_link("beam", *mesh(40)[::2], stiffness=mesh(40)[1], root=0, tip=40, modes=1)
    coarse = meshed_link("beam", X, M, stiffness=K, root=0, tip=20, modes=1)
    scale = [part.at(part.tip).translation[0] @ part.at(part.tip).translation[0] for part in (coarse, fine)]
    at_tip = [part.at(part.tip).shortening[0, 0, 0] / s for part, s in zip((coarse, fine), scale, strict=True)]
    known = modal_link(replace(beam(20), modes=(1, 0, 0), shapes="clamped_free")).at(exact.tip).shortening[0, 0, 0]
    assert (at_tip[0] - known) / (at_tip[1] - known) == pytest.approx(16.0, abs=0.1)


@pytest.mark.parametrize("kind", [".npz", ".json"])
def test_files(kind: str, tmp_path: Path) -> None:
    X, K, M = mesh(6)
    expected = nodal(6, 4)
    file = tmp_path / f"nodal{kind}"
    if kind == ".npz":
        np.savez(file, nodes=X, mass=M, stiffness=K, root=0, tip=6, modes=4, damping_ratio=0.01)
    else:
        mmwrite(tmp_path / "mass.mtx", sparse.coo_matrix(M), symmetry="symmetric", precision=17)
        mmwrite(tmp_path / "stiffness.mtx", sparse.coo_matrix(K), precision=17)
        mmwrite(tmp_path / "nodes.mtx", X, precision=17)
        file.write_text(json.dumps({
            "nodes": "nodes.mtx", "mass": "mass.mtx", "stiffness": "stiffness.mtx", "root": 0, "tip": 6,
            "modes": ["a", "b", "c", "d"], "points": [3, 6], "damping_ratio": 0.01,
        }))  # fmt: skip
    link = load_modal_link(file, "beam")
    for name in ("first", "second", "stiffness", "damping", "shortening"):
        np.testing.assert_allclose(getattr(link, name), getattr(expected, name), rtol=1e-6, atol=1e-9)
    sent = pickle.loads(pickle.dumps(link))
    np.testing.assert_array_equal(sent.at(sent.tip).rotation, link.at(link.tip).rotation)
    save_modal_link(tmp_path / "integrals.npz", link)  # the other form of the same link
    again = load_modal_link(tmp_path / "integrals.npz", "beam")
    np.testing.assert_allclose(again.second, link.second, atol=1e-15)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mass": np.eye(5)}, r"mass has the shape \(5, 5\) for 7 nodes; it must be \(42, 42\), or \(21, 21\)"),
        ({"mass": np.diag(np.arange(42.0))}, r"the mass matrix gives .* kg to motions along x, y and z"),
        ({"mass": np.triu(np.ones((42, 42)))}, r"mass is not symmetric"),
        ({"stiffness": np.full((42, 42), np.nan)}, r"stiffness has numbers that are not finite"),
        ({"nodes": np.zeros((7, 2))}, r"nodes has the shape \(7, 2\)"),
        ({"root": 6, "shapes": nodal_shapes(6, None, np.zeros(3))}, r"shapes move the root \(nodes \[6\]\)"),
        ({"root": 9}, r"root is \[9\]; every number must be there once, from 0 to 6"),
        ({"root": 0.5}, r"root is 0.5; it must be the number of a node"),
        ({"modes": 40}, r"40 modes are wanted; the mesh has 36 unknowns"),
        ({"modes": None}, r"neither shapes nor stiffness and modes"),
        ({"stiffness": np.zeros((42, 42))}, r"stiffness leaves a motion free"),
        ({"frequencies": np.ones(5)}, r"give stiffness or frequencies, one of the two"),
        ({"shapes": np.zeros((42, 2))}, r"no kinetic energy of its own"),
        ({"modes": ["a"], "shapes": nodal_shapes(6, None, np.zeros(3))}, r"modes names 1 modes, shapes has 5"),
        ({"damping_ratio": -1.0}, r"a ratio of critical damping must not be negative"),
    ],
)  # fmt: skip
def test_faults_are_named(change, said: str) -> None:
    X, K, M = mesh(6)
    given = {"nodes": X, "mass": M, "stiffness": K, "root": 0, "tip": 6, "modes": 4} | change
    with pytest.raises(ModelError, match=r"flexible link 'beam': .*" + said):
        meshed_link("beam", given.pop("nodes"), given.pop("mass"), **given)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mass": "none.mtx"}, r"none.mtx: .*arm.json names it for mass"),
        ({"mass": "arm.json"}, r"mass is 'arm.json'; it must be numbers, or the name of a Matrix Market file"),
        ({"stiffness": "bad.mtx"}, r"bad.mtx: is not a Matrix Market file"),
        ({"root": "x"}, r"root is 'x'; it must be numbers"),
        ({"root": 0.5}, r"root is 0.5; it must be whole numbers: nodes"),
        ({"masss": 1}, r"no key named 'masss'; did you mean 'mass'"),
        ({"tip": None}, r"tip is None; it must be whole numbers"),
        ({"nodes": [[1, 2], [3]]}, r"nodes is not an array of numbers"),
    ],
)
def test_faults_of_files_are_named(change, said: str, tmp_path: Path) -> None:
    X, K, M = mesh(2)
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket nonsense\n")
    data = {"nodes": X.tolist(), "mass": M.tolist(), "stiffness": K.tolist(), "root": 0, "tip": 2, "modes": 2} | change
    (tmp_path / "arm.json").write_text(json.dumps(data))
    with pytest.raises(DescriptionError, match=said):
        load_modal_link(tmp_path / "arm.json", "beam")
