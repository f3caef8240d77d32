"""Flexible arms compared with chains of rigid segments with springs, and with published figures.

A chain of N springs a link is in error by a multiple of 1/N²: halving its segments leaves a quarter.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh
from support.flexible_arms import Y, cantilever, two_link_arm
from support.flexible_links import two_beams
from support.segment_motion import motion, tip
from support.segments import held_frequencies, segment_frequencies, segmented, settled

import rne_dynamics as rne
from rne_dynamics.description.share import share_file
from rne_dynamics.flexible.energy import flexible_forward_kinematics
from rne_dynamics.flexible.equations import equations_of_motion, flexible_forward_dynamics
from rne_dynamics.flexible.linearised import linearised
from rne_dynamics.flexible.static import static_deflection
from rne_dynamics.model.flexible.beam import Beam

#: βL of the cantilever.
ROOTS = np.array([1.87510407, 4.69409113, 7.85475744])
#: First flapping frequency of a uniform cantilever on a hub without radius over spin, both times √(μL⁴/EI); Wright,
#: Smith, Thresher and Wang, J. Appl. Mech. 49, 1982.
FLAPPING = {1.0: 3.6816, 2.0: 4.1373, 6.0: 7.3604, 12.0: 13.1702}


def _orders(errors):
    """Orders of convergence of errors whose segments are halved from one to the next."""
    return np.log2(np.abs(errors[:-1]) / np.abs(errors[1:]))


@pytest.mark.slow
def test_a_cantilevers_frequencies():
    arm = cantilever(Beam("beam", 1.0, 1.0, EI_y=1.0, modes=(1, 0, 0)))
    errors = np.array([held_frequencies(segmented(arm, N), [0.0])[:3] / ROOTS**2 - 1.0 for N in (20, 40, 80)])
    np.testing.assert_allclose(_orders(errors), 2.0, atol=0.02)
    assert np.abs(errors[-1]).max() < 2.1e-4
    np.testing.assert_allclose((4.0 * errors[-1] - errors[-2]) / 3.0, 0.0, atol=1e-6)


def test_frequencies_of_the_published_arm_at_a_posture():
    arm, q = two_link_arm((4, 4), shapes="polynomial"), [0.2, 0.5 * np.pi]
    modes = linearised(arm, q).frequencies[:3]
    errors = np.array([held_frequencies(segmented(arm, N), q)[:3] / modes - 1.0 for N in (10, 20, 40)])
    np.testing.assert_allclose(_orders(errors), 2.0, atol=0.02)
    np.testing.assert_allclose((4.0 * errors[-1] - errors[-2]) / 3.0, 0.0, atol=3e-6)


def test_a_tip_sags_alike():
    """So little that what small deflections leave out is far below the chain's error."""
    beam = Beam("beam", 1.0, 1.0, EI_z=1.0, modes=(0, 3, 0), shapes="polynomial")  # exact: the deflection is a quartic
    load = rne.Inertia(0.3, np.zeros(3), 1e-3 * np.eye(3))
    arm, q = cantilever(beam, load, (0.0, 0.0, -1e-5), Y), np.array([0.3])
    bent, straight = (
        flexible_forward_kinematics(arm, q, delta).position[-1] for delta in (static_deflection(arm, q), np.zeros(3))
    )
    errors = []
    for N in (5, 10, 20):
        chain = segmented(arm, N)
        errors.append(np.linalg.norm(tip(chain, "beam", settled(chain, q)) - bent) / np.linalg.norm(bent - straight))
    np.testing.assert_allclose(_orders(np.array(errors)), 2.0, atol=0.01)
    assert errors[-1] < 1e-3


@pytest.mark.slow
def test_a_tip_takes_the_same_path_after_a_pulse_of_torque():
    arm, q = two_link_arm((3, 3), shapes="polynomial"), np.array([0.2, 0.5 * np.pi])
    times, n, nz = np.linspace(0.0, 0.5, 26), arm.n, arm.nz

    def pulse(t):
        return np.array([5e-4 * np.sin(np.pi * t / 0.2) ** 2 if t < 0.2 else 0.0, 0.0])

    def rate(t, s):
        parts = s[:n], s[n:nz], s[nz : nz + n], s[nz + n :]
        return np.concatenate([s[nz:], *flexible_forward_dynamics(arm, *parts, pulse(t))])

    start = np.concatenate([q, np.zeros(2 * nz - n)])
    found = solve_ivp(rate, (0.0, 0.5), start, method="DOP853", t_eval=times, rtol=1e-9, atol=1e-12)
    positions, amplitudes = found.y[:n].T, found.y[n:nz].T
    path, rigid = (
        flexible_forward_kinematics(arm, positions, delta).position[:, -1] for delta in (amplitudes, 0.0 * amplitudes)
    )
    bending = np.linalg.norm(path - rigid, axis=1).max()
    errors = []
    for N in (5, 10):
        chain = segmented(arm, N)
        moved = tip(chain, "link2", motion(chain, chain.posture(q), pulse, times))
        errors.append(np.abs(moved - path).max() / bending)
    np.testing.assert_allclose(_orders(np.array(errors)), 2.0, atol=0.05)
    assert errors[-1] < 6e-4


def _flapping(stiffening):
    beam = Beam("beam", 1.0, 1.0, EI_z=1.0, modes=(0, 6, 0), shapes="polynomial", stiffening=stiffening)
    return cantilever(beam)


def _modal_frequency(arm, spin):
    """The lowest with the joint turning steadily; the straight beam is in balance."""
    m, h = arm.modes, 1e-4
    bent = h * np.vstack([np.eye(m), -np.eye(m)])
    J, bias = equations_of_motion(arm, [0.0], bent, [spin], np.zeros(m))
    K = (bias[:m, 1:] - bias[m:, 1:]).T / (2.0 * h)
    return np.sqrt(eigh(0.5 * (K + K.T), J[0, 1:, 1:], eigvals_only=True)[0])


@pytest.mark.slow
@pytest.mark.parametrize("spin", [2.0, 12.0])
def test_spin_stiffens(spin):
    coarse, fine = (held_frequencies(segmented(_flapping(False), N), [0.0], [spin])[0] for N in (20, 40))
    chain = (4.0 * fine - coarse) / 3.0
    assert chain == pytest.approx(FLAPPING[spin], abs=6e-5)
    assert _modal_frequency(_flapping(True), spin) == pytest.approx(chain, rel=2e-5)  # the modes are six
    assert _modal_frequency(_flapping(False), spin) == pytest.approx(ROOTS[0] ** 2, rel=1e-6)


@pytest.mark.slow
def test_spin_stiffens_what_carries_a_body():
    """Its mass centre far beyond the tip, whose turn draws it in as much as the shortening does."""
    beam = Beam("beam", 1.0, 1.0, EI_z=1.0, modes=(0, 6, 0), shapes="polynomial", stiffening=True)
    arm = cantilever(beam, rne.Inertia(1.0, np.array([0.5, 0.0, 0.0]), 1e-3 * np.eye(3)))
    coarse, fine = (held_frequencies(segmented(arm, N), [0.0], [4.0])[0] for N in (20, 40))
    assert _modal_frequency(arm, 4.0) == pytest.approx((4.0 * fine - coarse) / 3.0, rel=1e-6)


def test_unbent_it_is_the_rigid_arm():
    arm = two_beams("finite_element", stiffening=False)[0]
    chain, q = segmented(arm, 4), np.array([0.3, -0.8, 0.05])
    assert chain.robot.mass == pytest.approx(arm.mass, rel=1e-14)
    assert len(chain.springs) == 2 * 4 * 3
    at = chain.posture(q)
    M, g = rne.mass_matrix(chain.robot, at), rne.gravity_torque(chain.robot, at)
    rigid = rne.mass_matrix(arm.robot, q)
    np.testing.assert_allclose(M[np.ix_(chain.joints, chain.joints)], rigid, atol=1e-13 * np.abs(rigid).max())
    np.testing.assert_allclose(g[chain.joints], rne.gravity_torque(arm.robot, q), rtol=0.0, atol=1e-12)
    hand = rne.forward_kinematics(arm.robot, q).position[arm.robot.link_names.index("hand")]
    np.testing.assert_allclose(tip(chain, "upper", at), hand, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("modes", [(5, 5, 0), (0, 0, 5)])
def test_oblique_beams_bend_and_twist_alike(modes):
    # sections so slender in bending that their own turning does not count, which the modes leave out
    arm = two_beams("polynomial", stiffening=False, modes=modes, spread=1e-6 if modes[0] else 1.0)[0]
    arm = type(arm)(rne.assemble(arm.robot.tree, gravity=(0.0, 0.0, 0.0)), arm.flexible_links)
    q = [0.3, -0.8, 0.05]
    lowest = linearised(arm, q).frequencies[:2]
    coarse, fine = (held_frequencies(segmented(arm, N), q)[:2] for N in (8, 16))
    # what is left is the truncation: the box half way makes a kink in the torsion that powers of x do not have
    np.testing.assert_allclose((4.0 * fine - coarse) / 3.0, lowest, rtol=1e-4 if modes[0] else 3e-3)


def test_six_joints_with_two_modes_a_plane_meet_the_limit_of_the_segments(tmp_path):
    """The second and third frequency within 1 %, as documents/003_flexible.md shows; all four are within 0.1 %."""
    text = share_file("urdf/flexible_arm6.yaml").read_text().replace("urdf: flexible_arm6.urdf", "urdf: flexible_arm6")
    text = text.replace("{y: 1, z: 1, torsion: 1}", "{y: 2, z: 2, torsion: 1}").replace("[0.01, 0.01, 0.002]", "0.01")
    (tmp_path / "arm.yaml").write_text(text.replace("clamped_mass", "polynomial"))
    modal, limit = segment_frequencies(rne.load_model(tmp_path / "arm.yaml"))
    np.testing.assert_allclose(modal, limit, rtol=1e-3)
