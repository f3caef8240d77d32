from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from support.mechanisms import MECHANISMS, five_bar, four_bar, ladder, slider_crank, states

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble, assembled
from rne_dynamics.closed_chain.independence import evaluated
from rne_dynamics.closed_chain.packed import loop_clusters, pack, workspace
from rne_dynamics.errors import ArgumentError, AssemblyError
from rne_dynamics.model.mechanism import Loop, LoopFrame
from rne_dynamics.model.tree import rotation_about


def residual(mechanism, q_tree) -> float:
    """The largest of all loops' gaps, in m or rad."""
    packed = pack(mechanism)
    work = workspace(packed)
    return max(np.abs(evaluated(packed, work, row).residual).max() for row in np.atleast_2d(q_tree))


@pytest.mark.parametrize("name", MECHANISMS)
def test_loops_close_to_round_off(name):
    mechanism = MECHANISMS[name]()
    q, _, _ = states(mechanism, 20)
    for start in (None, "previous"):
        tree = assemble(mechanism, q, start=start)
        np.testing.assert_array_equal(tree[:, mechanism.actuated], q)
        assert residual(mechanism, tree) < 1e-13


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "slider_crank"])
def test_branch_is_kept_whatever_the_stride(name):
    mechanism = MECHANISMS[name]()
    far = mechanism.neutral + (2.0 * np.pi if name != "five_bar" else -1.0)
    path = mechanism.neutral + np.linspace(0.0, 1.0, 500)[:, None] * (far - mechanism.neutral)
    small_steps = assemble(mechanism, path, start="previous")
    at_once = assemble(mechanism, far)
    np.testing.assert_allclose(at_once, small_steps[-1], atol=1e-9)
    if name == "four_bar":  # a full turn of a crank brings everything back
        np.testing.assert_allclose(at_once[1:], [mechanism.posture[1] - 2 * np.pi, mechanism.posture[2]], atol=1e-9)
    # a bunch of rows from one posture is each of them alone
    np.testing.assert_array_equal(assemble(mechanism, path[::100])[-1], assemble(mechanism, path[400]))


def test_branches_of_a_five_bar():
    up = five_bar()
    down = assembled(replace(up, posture=up.posture * [1, -1, 1, -1] + [0, 0.6, 0, -0.6]))
    assert not np.allclose(up.posture, down.posture, atol=0.1)
    q = up.neutral + 0.1
    for mechanism in (up, down):
        tree = assemble(mechanism, q)
        assert np.abs(tree - mechanism.posture).max() < 0.5
        np.testing.assert_array_equal(assemble(up, q, start=mechanism.posture), tree)


def test_out_of_reach_names_the_loop_and_the_gap():
    mechanism = five_bar()
    # both cranks turned outwards: their ends are 1.0 m apart and the rods 0.9 m together
    said = r"loop 'tip' of mechanism 'five_bar' cannot close at left 3\.14\d+.* 100 mm and .* followed to left 2\.\d+"
    with pytest.raises(AssemblyError, match=said):
        assemble(mechanism, [np.pi, 0.0])


def test_angles_beyond_all_strides_are_refused_before_any():
    mechanism = rne.load_model("five_bar")
    far = mechanism.neutral + 2.0**31
    for _ in range(2):  # the first call loads
        began = time.process_time()
        with pytest.raises(AssemblyError):
            assemble(mechanism, far)
    assert time.process_time() - began < 0.2  # 20,000 strides took 2 s


def test_posture_that_is_only_near_is_made_exact_and_one_far_off_refused():
    rough = slider_crank().with_posture([1.0, -1.0, 0.5])
    exact = assembled(rough)
    assert residual(exact, exact.posture) < 1e-15
    np.testing.assert_allclose(assemble(rough, [1.3]), assemble(exact, [1.3]), atol=1e-13)
    far = replace(exact, loops=(replace(exact.loops[0], b=LoopFrame("rod", position=np.array([0.02, 0, 0]))),))
    with pytest.raises(AssemblyError, match=r"loop 'pin' .* cannot close at crank 1: 56\.2\d mm"):
        assembled(far)


def test_redundant_constraints_that_contradict_each_other_a_little():
    """Angles written with few digits, as in many a URDF: the axes of a planar linkage are not quite parallel."""
    mechanism = four_bar("coupler")
    loop = mechanism.loops[0]
    bent = replace(loop, a=replace(loop.a, rotation=rotation_about(np.array([1.0, 0.0, 0.0]), 3.7e-6)))
    q_tree = assemble(replace(mechanism, loops=(bent,)), [1.2])
    np.testing.assert_allclose(q_tree, assemble(mechanism, [1.2]), atol=1e-5)
    crooked = replace(loop, a=replace(loop.a, rotation=rotation_about(np.array([1.0, 0.0, 0.0]), 1e-2)))
    with pytest.raises(AssemblyError, match=r"0\.57\d* deg remain"):
        assemble(replace(mechanism, loops=(crooked,)), [1.2])


def test_loops_that_share_no_passive_joint_are_closed_apart():
    assert loop_clusters(ladder(3)) == [[0], [1], [2]]
    joined = replace(
        ladder(3),
        loops=(
            *ladder(3).loops,
            Loop("brace", LoopFrame("right0"), LoopFrame("right1"), np.array([0, 0, 1, 0, 0, 0])),
        ),
    )
    assert loop_clusters(joined) == [[0, 1, 3], [2]]
    assert residual(joined, assemble(joined, joined.neutral + 0.2)) < 1e-13


@pytest.mark.parametrize(("q", "start", "said"), [
    (lambda m: np.zeros(3), None, r"q has shape \(3,\); robot 'five_bar' wants \(\.\.\., 2\)"),
    (lambda m: [0.0, np.nan], None, r"q\[1\] is nan"),
    (lambda m: m.neutral, "last", "start is 'last'; it must be 'previous'"),
    (lambda m: m.neutral, np.zeros(2), r"start has shape \(2,\)"),
    (lambda m: np.tile(m.neutral, (2, 1)), np.zeros((3, 4)), r"start has shape \(3, 4\); its rows do not broadcast"),
])  # fmt: skip
def test_arguments_that_are_refused(q, start, said):
    with pytest.raises(ArgumentError, match=said):
        assemble(five_bar(), q(five_bar()), start=start)


def test_leading_shapes():
    mechanism = five_bar()
    assert assemble(mechanism, np.tile(mechanism.neutral, (2, 3, 1))).shape == (2, 3, 4)
    assert assemble(mechanism, np.zeros((0, 2))).shape == (0, 4)
