"""Logs as other programs write them: names of columns, shapes, separators, faults."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.errors import ArgumentError, RecordingError
from rne_dynamics.recording.logs import read_log
from rne_dynamics.recording.mcap_file import save_mcap
from rne_dynamics.recording.recording import read_text_table
from rne_dynamics.simulation.runs.log import Log

JOINTS = ("shoulder", "elbow", "wrist")
ARM = SimpleNamespace(joint_names=JOINTS, n=3, name="arm", rigid=rne.load_urdf("planar2"))
ROWS = 60
T = 0.01 * np.arange(ROWS)
Q, QD, TAU = (np.sin(T[:, None] + np.arange(3)) + k for k in range(3))


def text_file(tmp_path, header, arrays, *, separator=",", comma=False, end="\n"):
    point = "," if comma else "."
    rows = [separator.join(f"{x:.12g}".replace(".", point) for x in row) for row in np.column_stack(arrays)]
    file = tmp_path / "log.csv"
    file.write_text("\n".join([*header, *rows]) + end, encoding="utf-8")
    return file


def check(recording, rows=ROWS):
    assert recording.joint_names == JOINTS
    assert np.allclose(recording.t, T[:rows], atol=1e-6)
    assert np.allclose(recording.q, Q[:rows])
    assert np.allclose(recording.effort, TAU[:rows])
    assert recording.qd is None or np.allclose(recording.qd, QD[:rows])


def numbered(pattern, first=0):
    return [pattern.format(k) for k in range(first, first + 3)]


@pytest.mark.parametrize(("time", "q", "qd", "tau"), [
    ("time", numbered("q{}"), numbered("qd{}"), numbered("tau{}")),
    ("t", numbered("joint_{}_pos", 1), numbered("joint_{}_vel", 1), numbered("joint_{}_torque", 1)),
    ("Time [s]", numbered("Position {} [rad]"), numbered("Velocity {} [rad/s]"), numbered("Torque {} [Nm]")),
    ("__time", numbered("/joint_states/position[{}]"), numbered("/joint_states/velocity[{}]"),
     numbered("/joint_states/effort[{}]")),
    ("%time", numbered("field.position{}"), numbered("field.velocity{}"), numbered("field.effort{}")),
    ("timestamp", numbered("actual_q_{}"), numbered("actual_qd_{}"), numbered("actual_current_{}")),
    ("time", numbered("q_meas[{}]"), numbered("dq_meas[{}]"), numbered("tau_J[{}]")),
])  # fmt: skip
def test_usual_names_are_known(tmp_path, time, q, qd, tau):
    check(read_log(text_file(tmp_path, [",".join([time, *q, *qd, *tau])], [T, Q, QD, TAU]), ARM))


@pytest.mark.parametrize(("position", "effort", "stamp"), [
    ("/joint_states/{}/position", "/joint_states/{}/effort", "/joint_states/header/stamp"),
    ("q/{}", "effort/{}", "time"), ("pos_{}", "tau_{}", "t"), ("{}.q", "{}.current", "t"),
])  # fmt: skip
def test_joints_are_ordered_by_name(tmp_path, position, effort, stamp):
    order = [2, 0, 1]
    header = [stamp, *(p.format(JOINTS[k]) for p in (position, effort) for k in order), effort.format("gripper")]
    check(read_log(text_file(tmp_path, [",".join(header)], [T, Q[:, order], TAU[:, order], T]), ARM))


def test_what_was_commanded_is_not_taken_for_measured(tmp_path):
    names = [*numbered("target_q_{}"), *numbered("actual_q_{}"), *numbered("target_moment_{}"), *numbered("current_{}")]
    header = [",".join(["time", *names])]
    check(read_log(text_file(tmp_path, header, [T, 0 * Q, Q, 0 * TAU, TAU]), ARM))
    only = [",".join(["time", *numbered("q_{}"), *numbered("tau_cmd_{}")])]
    file = text_file(tmp_path, only, [T, Q, TAU])
    with pytest.raises(RecordingError, match="--columns tau=tau_cmd"):
        read_log(file, ARM)
    check(read_log(file, ARM, "tau=tau_cmd_*"))


@pytest.mark.parametrize(("separator", "comma", "header"), [
    (";", False, ["t;q1;q2;q3;tau1;tau2;tau3"]), (";", True, ["t;q1;q2;q3;tau1;tau2;tau3"]),
    (" ", False, ["# run of Monday, arm 2", "# t q1 q2 q3 tau1 tau2 tau3"]),
    ("\t", False, ["% t, q1, q2, q3, tau1, tau2, tau3"]),
    (", ", False, ["Robot: arm", "", "t,q1,q2,q3,tau1,tau2,tau3"]),
    (",", False, ['"t","q1","q2","q3","tau1","tau2","tau3"']), (",", False, ["\ufefft,q1,q2,q3,tau1,tau2,tau3"]),
])  # fmt: skip
def test_separators_and_titles(tmp_path, separator, comma, header):
    check(read_log(text_file(tmp_path, header, [T, Q, TAU], separator=separator, comma=comma), ARM))


def test_columns_by_number_without_header(tmp_path):
    file = text_file(tmp_path, [], [T, Q, QD, TAU])
    check(read_log(file, ARM, "t=1,q=2-4,qd=5:7,tau=8,9,10"))
    for columns, said in (
        (None, r"has 10 columns without names.*--columns t=1,q=2-4,tau=5-7"), ("t=1,q=2-3,tau=8-10", "names 2 columns"),
        ("position=1", "--columns is 'position=1'"),
    ):
        with pytest.raises((RecordingError, ArgumentError), match=said):
            read_log(file, ARM, columns)


def test_arrays_of_an_npz(tmp_path):
    file = tmp_path / "log.npz"
    times = 1_460_000_000.0 + T
    np.savez(file, positions=Q.T, torques=TAU.T, times=times[None], note=np.array("a run"), positions_target=0 * Q)
    check(read_log(file, ARM))
    np.savez(file, Pos=Q, Torques=TAU[:, [1, 2, 0]], n=np.arange(ROWS))
    check(read_log(file, ARM, "q=Pos,tau=Torques[3,1,2],t=100Hz"))
    names = np.array(["wrist", "shoulder", "elbow", "finger"])
    whole = [np.column_stack((x, T))[:, [2, 0, 1, 3]] for x in (Q, TAU)]
    np.savez(file, joint_names=names, time=T, q=whole[0], effort=whole[1])
    check(read_log(file, ARM))
    np.savez(file, time=T[:-2], q=Q[:-1], tau=TAU)
    found = read_log(file, ARM)
    check(found, ROWS - 2)
    assert any("do not end with the same row" in note for note in found.notes)


def test_logs_that_the_simulator_writes(tmp_path):
    robot = rne.load_urdf("planar2")
    log = Log(robot.joint_names, T, Q[:, :2], QD[:, :2], TAU[:, :2], lambda: (0.0 * T, 0.0 * T))
    log.save_csv(tmp_path / "run.csv")
    log.save_npz(tmp_path / "run.npz")
    save_mcap(log, tmp_path / "run.mcap")
    for name in ("run.csv", "run.npz", "run.mcap"):
        found = read_log(tmp_path / name, robot)
        assert np.allclose(found.effort, TAU[:, :2])
        assert np.allclose(found.q, Q[:, :2])
        assert np.allclose(found.t, T)


@pytest.mark.parametrize(("arrays", "columns", "said"), [
    ({"time": T, "q": np.c_[Q, T], "effort": np.c_[TAU, T]}, None, "have 4 columns, the robot 3 joints"),
    ({"time": T[:-30], "q": Q, "tau": TAU}, None, "t 30, q 60, tau 60 rows"),
    ({"time": T[:-30], "q": Q, "tau": TAU}, "q=1-3,t=100Hz,tau=tau", "q=1-3 names columns of 30, 60, 60 rows"),
    ({"note": np.array(["nothing", "was logged"])}, "t=100Hz", r"no column is known .* positions.*; it has no numbers"),
    ({"q": Q, "tau": TAU}, "t=0Hz,q=q,tau=tau", "no column named '0Hz'"),
    ({"q": Q, "tau": TAU}, "t=.Hz,q=q,tau=tau", "no column named '.Hz'"),
])  # fmt: skip
def test_arrays_that_are_no_log(arrays, columns, said, tmp_path):
    np.savez(tmp_path / "log.npz", **arrays)
    with pytest.raises(RecordingError, match=said):
        read_log(tmp_path / "log.npz", ARM, columns)


def test_units_of_names_and_of_arguments(tmp_path):
    names = ["time_ms", *numbered("pos_deg_{}"), *numbered("tau_{}")]
    check(read_log(text_file(tmp_path, [",".join(names)], [1e3 * T, np.degrees(Q), TAU]), ARM))
    names = ["t", *numbered("q{}"), *numbered("i{}")]
    file = text_file(tmp_path, [",".join(names)], [1e9 * T, np.degrees(Q), TAU / 2.0])
    check(read_log(file, ARM, units={"t": "ns", "q": "deg"}, gains=np.full(3, 2.0)))
    with pytest.raises(ArgumentError, match="units are q=grad; allowed are"):
        read_log(file, ARM, units={"q": "grad"})


def test_degrees_are_those_of_joints_that_turn(tmp_path):
    robot, factors = rne.load_urdf("scara"), np.array([180.0 / np.pi, 180.0 / np.pi, 1.0, 180.0 / np.pi])
    q = Q[:, [0, 1, 2, 0]]
    np.savez(tmp_path / "log.npz", time=T, q=q * factors, tau=q)
    assert np.allclose(read_log(tmp_path / "log.npz", robot, units={"q": "deg"}).q, q)


def test_positions_within_a_turn_are_unwrapped_but_not_degrees(tmp_path):
    header, t = ["t,q1,q2,q3,tau1,tau2,tau3"], 0.05 * np.arange(ROWS)
    q = np.column_stack((2.5 + 3.0 * np.sin(t), 2.9 + 2.0 * t, 0.1 * t))
    fast = np.column_stack((125.0 * t, 125.0 * np.sin(t), np.degrees(q[:, 2])))  # 6.25 degrees a row
    for logged, expected in ((np.angle(np.exp(1j * q)), q), (fast, fast)):
        assert np.allclose(read_log(text_file(tmp_path, header, [t, logged, TAU]), ARM).q, expected)


def test_stamps_of_seconds_and_nanoseconds(tmp_path):
    seconds = 1_700_000_000 + np.floor(0.7 + T)
    names = ["header.stamp.sec", "header.stamp.nanosec", *numbered("position.{}"), *numbered("effort.{}")]
    check(read_log(text_file(tmp_path, [",".join(names)], [seconds, 1e9 * (0.7 + T - np.floor(0.7 + T)), Q, TAU]), ARM))


def test_a_last_row_that_is_cut_off_is_left_out(tmp_path):
    for end in ("\n0.6,0.5", "\n0.6,1,2,3,4,5,6"):
        found = read_log(text_file(tmp_path, ["t,q1,q2,q3,tau1,tau2,tau3"], [T, Q, TAU], end=end), ARM)
        check(found)
        assert any("the last line" in note for note in found.notes)


def test_rows_that_are_not_finite_doubled_or_out_of_order(tmp_path):
    header, t, q, tau = ["t,q1,q2,q3,tau1,tau2,tau3"], T.copy(), Q.copy(), TAU.copy()
    q[10, 1], tau[20, 2], t[30] = np.nan, np.inf, T[29]
    t[[40, 41]], q[[40, 41]], tau[[40, 41]] = T[[41, 40]], Q[[41, 40]], TAU[[41, 40]]
    found = read_log(text_file(tmp_path, header, [t, q, tau]), ARM)
    kept = np.setdiff1d(np.arange(ROWS), [10, 30])
    for values, expected in ((found.t, T), (found.q, Q), (found.effort, TAU)):
        assert np.allclose(values, expected[kept], atol=1e-3)
    said = ("1 of 60 rows without time and all positions", "1 of 59 rows have the time", "1 of 58 rows lack torques")
    assert all(part in " ".join(found.notes) for part in (*said, "out of order"))
    tau[:, 1] = np.nan
    again = np.r_[T[:30], T[:30]]
    for times, said in ((again, "times fall from 0.29 to 0 s after row 30"), (T, "torques of some joint")):
        with pytest.raises(RecordingError, match=said):
            read_log(text_file(tmp_path, header, [times, Q, tau]), ARM)


def test_gaps_are_said(tmp_path):
    late = T + np.where(np.arange(ROWS) < 20, 0.0, 3.0)
    found = read_log(text_file(tmp_path, ["t,q1,q2,q3,tau1,tau2,tau3"], [late, Q, TAU]), ARM)
    assert np.allclose(found.q, Q)
    assert any("1 gaps of up to 3.01 s" in note for note in found.notes)


def test_rows_of_other_topics_are_left_out(tmp_path):
    names = [*numbered("/joint_states/position[{}]"), *numbered("/joint_states/effort[{}]"), "/rosout/level"]
    rows = [f"{','.join(f'{x:.12g}' for x in row)},\n{row[0] + 0.004},,,,,,,1" for row in np.c_[T, Q, TAU]]
    (tmp_path / "log.csv").write_text("\n".join([",".join(["__time", *names]), *rows, ""]))
    check(read_log(tmp_path / "log.csv", ARM))


def test_two_arms_in_one_table_are_not_guessed(tmp_path):
    names = [*numbered("left_q{}"), *numbered("right_q{}"), *numbered("tau{}")]
    file = text_file(tmp_path, [",".join(["t", *names])], [T, Q, QD, TAU])
    with pytest.raises(RecordingError, match=r"positions may be left_q\* or right_q\*; choose with --columns q="):
        read_log(file, ARM)
    check(read_log(file, ARM, "q=left_q"))


@pytest.mark.parametrize(("text", "said"), [
    ("", "no rows of numbers"), ("no numbers\nat all\n", "no rows of numbers"),
    ("t,q\n1,2\n3,4,5\n6,7\n", "row 2 has 3 cells; the rows before have 2"),
    ("t,q\n1,2\n3,open\n6,7\n8,9\n", "row 2, column 2 is 'open' among numbers"),
])  # fmt: skip
def test_text_that_is_no_table(tmp_path, text, said):
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(RecordingError, match=said):
        read_text_table(tmp_path / "log.csv")


def test_files_that_are_none(tmp_path):
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04 cut off")
    table = text_file(tmp_path, [], [T, Q])
    for file, options, said in (
        (tmp_path / "none.csv", {}, "does not exist"), (tmp_path / "cut.npz", {}, "cannot be read"),
        (table, {"topic": "/joint_states"}, "has no topics"), (tmp_path, {"columns": "q=positions"}, "has topics, no"),
    ):
        with pytest.raises((RecordingError, ArgumentError), match=said):
            read_log(file, ARM, **options)
