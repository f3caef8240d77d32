"""Files with modal integrals: written, read back, and every fault refused by name."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.errors import relative_error
from support.flexible_links import beam_frequencies
from support.modal_writer import save_modal_link

from rne_dynamics.errors import DescriptionError, ModelError
from rne_dynamics.model.flexible.beam import Beam
from rne_dynamics.model.flexible.beam_modes import modal_link
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.flexible.modal_file import load_modal_link

POINTS = np.array([[0.1, 0.2, 0.3], [0.25, 0.2, 0.3]])
BEAM = Beam(
    "arm", 0.5, 0.3, 1.0, 2.0, 0.5, 1e-4, 2e-4, origin=[0.1, 0.2, 0.3], modes=(2, 1, 1), damping=0.02, stiffening=True
)


@pytest.fixture(scope="module")
def modal() -> ModalLink:
    return modal_link(BEAM)


@pytest.fixture(scope="module")
def good(modal: ModalLink, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("modal") / "arm.json"
    save_modal_link(path, modal, POINTS)
    return json.loads(path.read_text())


def reread(tmp_path: Path, data: dict[str, Any]) -> ModalLink:
    path = tmp_path / "arm.json"
    path.write_text(json.dumps(data))
    return load_modal_link(path, "arm")


def same(found: ModalLink, wanted: ModalLink) -> None:
    for name in ("first", "second", "shortening", "stiffness", "damping", "coupling", "hardening", "tip"):
        assert relative_error(getattr(found, name), getattr(wanted, name)) < 1e-14, name
    assert relative_error(found.inertia.about_origin, wanted.inertia.about_origin) < 1e-14
    assert found.mode_names == wanted.mode_names


@pytest.mark.parametrize("kind", [".json", ".npz"])
def test_round_trip(kind: str, modal: ModalLink, tmp_path: Path) -> None:
    path = tmp_path / f"arm{kind}"
    save_modal_link(path, modal, POINTS)
    found = load_modal_link(path, "arm")
    same(found, modal)
    for point in (*POINTS, modal.tip):
        for a, b in zip(found.at(point + 5e-5), modal.at(point), strict=True):
            assert relative_error(a, b) < 1e-14
    again = tmp_path / f"again{kind}"  # its own points where none are asked for
    save_modal_link(again, found)
    same(load_modal_link(again, "arm"), modal)
    with pytest.raises(ModelError, match=r"'arm': its mode shapes are not known at \[0.4, 0.2, 0.3\] m. "
                       r"The nearest of 3 points, .* is 0.15 m away, more than the tolerance of 0.0001 m"):  # fmt: skip
        found.at([0.4, 0.2, 0.3])
    with pytest.raises(ModelError, match="not known at"):
        save_modal_link(again, found, [[0.3, 0.2, 0.3]])


def homogeneous(data: dict[str, Any], factor: float) -> dict[str, Any]:
    """The same integrals as the report writes them: 4×4, with C instead of mass, com and inertia."""
    m = len(data["modes"])
    mass, com, inertia = (np.array(data.pop(key)) for key in ("mass", "com", "inertia"))
    about = inertia + mass * (com @ com * np.eye(3) - np.outer(com, com))
    C = np.empty((4, 4))
    C[0, 0], C[0, 1:], C[1:, 0] = mass, mass * com, mass * com
    C[1:, 1:] = 0.5 * np.trace(about) * np.eye(3) - about
    first, second = np.zeros((m, 4, 4)), np.zeros((m, m, 4, 4))
    first[:, :, 1:], second[:, :, 1:, 1:] = data["C_k"], data["C_kl"]
    for key, array in (("C", C), ("C_k", first), ("C_kl", second)):
        data[key] = (factor * array).tolist()
    return data


def test_the_conventions(good: dict[str, Any], modal: ModalLink, tmp_path: Path) -> None:
    same(reread(tmp_path, homogeneous(copy.deepcopy(good), 1.0)), modal)
    same(reread(tmp_path, homogeneous(copy.deepcopy(good), 0.5) | {"convention": "report"}), modal)
    plain = reread(tmp_path, {key: good[key] for key in good if key not in ("damping", "shortening", "shortenings")})
    assert not plain.damping.any()
    assert not plain.shortening.any()
    ratio = {key: good[key] for key in good if key != "damping"} | {"damping_ratio": 0.02}
    assert relative_error(reread(tmp_path, ratio).damping, modal.damping) < 1e-11
    counted = reread(tmp_path, ratio | {"modes": 4, "damping_ratio": [0.02, 0.01, 0.03, 0.0]})
    assert counted.mode_names == ("mode1", "mode2", "mode3", "mode4")
    # one ratio for each of the link's own modes, by frequency
    mass = np.einsum("klii->kl", modal.second)
    omega = np.sqrt(np.diag(modal.stiffness) / np.diag(mass))  # these shapes are orthogonal
    order = np.argsort(omega)
    wanted = np.zeros(4)
    wanted[order] = 2 * np.array([0.02, 0.01, 0.03, 0.0]) * omega[order]
    assert relative_error(counted.damping, np.diag(wanted * np.diag(mass))) < 1e-10
    assert np.sort(omega) == pytest.approx(np.sort(beam_frequencies(BEAM)), rel=1e-10)


def test_a_point_at_the_origin_that_does_not_move_is_welcome(good: dict[str, Any], tmp_path: Path) -> None:
    data = copy.deepcopy(good)
    data["points"][0] = [0.0, 0.0, 0.0]  # it was the beam's root
    assert not reread(tmp_path, data).at([0.0, 0.0, 0.0]).translation.any()


def scaled(key: str, factor: float):
    return lambda d: d.update({key: (factor * np.array(d[key])).tolist()})


def put(**values: Any):
    return lambda d: d.update(values)


def drop(*keys: str):
    def change(d: dict[str, Any]) -> None:
        for key in keys:
            del d[key]

    return change


def entry(key: str, index: tuple[int, ...], value: float):
    def change(d: dict[str, Any]) -> None:
        array = np.array(d[key])
        array[index] = value
        d[key] = array.tolist()

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (drop("K", "tip"), r"has no K, no tip; it must have modes, C_k"),
        (put(Q=1), r"has no key named 'Q'"),
        (put(dampin=1), r"has no key named 'dampin'; did you mean 'damping'"),
        (put(K=[[1.0]]), r"K has the shape \(1, 1\); it must be \(4, 4\)"),
        (put(K=[[1.0], [1.0, 2.0]]), r"K is not an array of numbers; it must have the shape \(4, 4\)"),
        (put(C_k="none"), r"C_k is not an array of numbers; it must have the shape \(4, 4, 3\) or \(4, 4, 4\)"),
        (put(C_kl=[1.0]), r"C_kl has the shape \(1,\); it must be \(4, 4, 3, 3\) or \(4, 4, 4, 4\)"),
        (entry("C_k", (0, 0, 0), np.nan), r"C_k has numbers that are not finite"),
        (entry("K", (0, 1), 3.0), r"K is not symmetric"),
        (scaled("K", -1.0), r"stiffness has the eigenvalue -.*: every bending must store energy"),
        (scaled("damping", -1.0), r"damping has the eigenvalue -.*: damping only takes energy out"),
        (entry("C_kl", (0, 1, 1, 1), 3.0), r"C_kl is not symmetric: C_kl\[k, l\] must be the transpose"),
        (entry("shortening", (0, 1, 1, 1), 3.0), r"shortening is not symmetric"),
        (entry("shortenings", (0, 0, 1, 1), 3.0), r"shortenings are not symmetric"),
        (scaled("C_k", 2.0), r"no body has such integrals: .*without the report's 1/2"),
        (scaled("C_kl", 0.5), r"no body has such integrals"),
        (scaled("C_kl", 0.0), r"no body has such integrals"),
        (lambda d: [scaled("C_kl", 0.0)(d), scaled("C_k", 0.0)(d)], r"C_kl gives a mode without any motion of mass"),
        (put(mass=-1.0), r"mass is -1.0 kg"),
        (put(mass=0.0), r"mass is 0.0 kg; it must be above 0"),
        (put(com=[0.0]), r"com has the shape \(1,\)"),
        (put(C=np.eye(4).tolist()), r"has mass and com and inertia and C; it must have either C or all of mass, com"),
        (drop("com"), r"has mass and inertia; it must have either"),
        (drop("mass", "com", "inertia"), r"has none of them; it must have either"),
        (lambda d: [drop("mass", "com", "inertia")(d), put(C=(-np.eye(4)).tolist())(d)], r"C is .*must be symmetric"),
        (put(damping_ratio=0.1), r"has both damping and damping_ratio"),
        (lambda d: [drop("damping")(d), put(damping_ratio=[0.1])(d)], r"damping_ratio has the shape \(1,\)"),
        (lambda d: [drop("damping")(d), put(damping_ratio=-0.1)(d)], r"damping_ratio is -0.1; a ratio"),
        (put(modes=[]), r"modes is \[\]; it must be a list of names, or how many"),
        (put(modes=["a", "a", "b", "c"]), r"mode names are a, a, b, c; every name must be there once"),
        (put(modes=0), r"modes is 0"),
        (put(convention="half"), r"convention is 'half'; it must be integrals .* or report"),
        (put(points=[]), r"points has no points"),
        (put(points=3.0), r"points has no points"),
        (put(points=[[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]), r"points has the shape \(3, 2\); it must be \(3, 3\)"),
        (put(translations=[1.0]), r"translations has the shape \(1,\); it must be \(3, 4, 3\)"),
        (put(tolerance=1.0), r"points 0 and 1, .* are 0.15 m apart, within the tolerance of 1 m"),
        (put(tolerance=0.0), r"tolerance is 0.0 m; it must be finite and above 0"),
        (put(tip=[0.0, 0.0, 1.0]), r"its mode shapes are not known at \[0.0, 0.0, 1.0\] m"),
        (entry("points", (1,), 0.0), r"translations moves the root, the origin of the link's frame"),
    ],
)
def test_faults_are_named(change, said: str, good: dict[str, Any], tmp_path: Path) -> None:
    data = copy.deepcopy(good)
    change(data)
    with pytest.raises(DescriptionError, match=r"arm\.json: .*" + said):
        reread(tmp_path, data)


def test_homogeneous_coordinates_do_not_move(good: dict[str, Any], tmp_path: Path) -> None:
    for key, index in (("C_k", (0, 1, 0)), ("C_kl", (0, 0, 0, 1))):
        data = homogeneous(copy.deepcopy(good), 1.0)
        entry(key, index, 1.0)(data)
        with pytest.raises(DescriptionError, match=rf"{key} is not zero in the .*homogeneous coordinate"):
            reread(tmp_path, data)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", b"{", "a.json: is not JSON"),
        ("a.json", b"[1]", "holds a list; it must be an object"),
        ("a.json", b'{"K": 1, "K": 2}', "K is given twice; give it once"),
        ("a.json", b"\xff\xfe", "is not JSON"),
        ("a.npz", b"PK", "a.npz: is not a NumPy archive of plain arrays"),
        ("a.csv", b"", "ends in '.csv'; a file with modal integrals ends in .json or .npz"),
        ("a.json", None, "a.json: No such file or directory"),
    ],
)
def test_files_that_are_none(name: str, content: bytes | None, said: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DescriptionError, match=said):
        load_modal_link(tmp_path / name, "arm")


def test_an_archive_with_objects_in_it_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", K=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DescriptionError, match="is not a NumPy archive of plain arrays"):
        load_modal_link(tmp_path / "a.npz", "arm")
