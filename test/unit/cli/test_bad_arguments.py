"""Absurd numbers, missing folders and unknown robots: one line on standard error and exit code 1 or 2, in no time."""

from __future__ import annotations

import argparse
import importlib
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rne_dynamics.cli.arguments import declare
from rne_dynamics.cli.main import COMMANDS, Parser, main
from rne_dynamics.description.share import share_file

URDF = str(share_file("urdf/planar2.urdf"))
#: What a command needs besides the option that is tried.
NEEDED = {
    "check": [URDF], "export": [URDF], "guide": ["planar2"], "info": ["planar2"],
    "new": [URDF], "plot": ["none.csv"], "send": ["--home"], "simulate": ["planar2"], "verify": ["planar2"],
    "view": ["planar2"], "compare": ["planar2"], "excite": ["planar2"],
    "residual": ["planar2", "none.csv"], "identify": ["planar2", "none.csv"],
}  # fmt: skip
#: Solids and the other kinds of bodies of `rne inertia`, one of each kind of options.
BODIES = {"box": ["0.1", "0.2", "0.3", "--mass", "1"], "mesh": ["part.stl", "--mass", "1"], "robot": ["planar2"]}
#: Options whose number may be as large, or as near to zero, as it wants: errors, times and places of any size.
HUGE = {"tolerance", "integral", "seconds", "dt", "bandwidth", "base_smoothing", "mass", "density", "scale", "xyz",
        "rpy", "about", "axes", "begin", "end"}  # fmt: skip
SECONDS = 5.0


def parsers(command: str) -> Iterator[tuple[list[str], argparse.ArgumentParser]]:
    """Words before the option, and the parser, of a command; of `rne inertia` by body."""
    parser = Parser(prog=f"rne {command}")
    declare(parser, importlib.import_module(f"rne_dynamics.cli.{COMMANDS[command].folder}.{command}").ARGUMENTS)
    if command != "inertia":
        yield [command, *NEEDED.get(command, [])], parser
        return
    (bodies,) = (a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    yield from (([command, body, *words], bodies[body]) for body, words in BODIES.items())


def numbers(command: str) -> Iterator[tuple[list[str], str, bool]]:
    for words, parser in parsers(command):
        for action in parser._actions:
            if action.option_strings and callable(action.type) and action.type is not Path:
                assert action.type not in (int, float), f"rne {words[0]} {action.option_strings[0]} takes nan and inf"
                yield [*words, action.option_strings[0]], action.nargs or 1, action.dest in HUGE


def refused(capsys: pytest.CaptureFixture[str], words: list[str]) -> str:
    """The one line with which a command is refused."""
    began = time.process_time()  # of this process: other load does not count
    try:
        code = main(words)
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr().err
    assert code in (1, 2), (words, code, said)
    assert said.startswith("rne "), said
    assert said.count("\n") == 1, said
    assert time.process_time() - began < SECONDS, words
    return said


@pytest.mark.parametrize("command", COMMANDS)
def test_numbers_that_mean_nothing_are_refused_by_name(capsys, command):
    for words, count, huge in numbers(command):
        tried = ["nan", "inf", "-inf", "one"] + ([] if huge else ["1e300", "-1"])
        for value in tried:
            assert words[-1] in refused(capsys, [*words, *[value] * count]), value


#: What a command refuses, and with what words, by the words that come first.
REFUSED = {
    "simulate puma560": [
        ("--start joint2 --free", "--start is 'joint2'; write JOINT=POSITION, as --start joint1=0.5"),
        ("--to joint2=nan", "--to is 'joint2=nan'"),
        ("--to joint3=1", "'joint3' cannot reach 1; its limits are"),
        ("--to joint9=1", "has no joint named 'joint9'"),
        ("--start joint2=0.1", "--start needs --to or --free"),
        ("--to joint2=1 --free", "leave it out with --free"),
        ("--method adaptive", "free motion only"),
        ("--free --method adaptive", "Coulomb friction"),
        ("--out log.txt", "its ending must be .csv, .npz or .mcap"),
        ("--unknown-payload hand=1", "no link named 'hand'"),
        ("--unknown-payload link6=-1", "mass must not be negative"),
        ("--dt 0.0003", "not a whole multiple"),
        ("--base floating", "floating"),
        ("--scene nowhere.yaml", "nowhere.yaml cannot be read"),
        ("--scene examples/wall.yaml --dae", "leave it out with --dae"),
        ("--mismatch masses=0.1", "did you mean 'mass'"),
        ("--mismatch delay=soon", "delay is 'soon'"),
        ("--mismatch worn", "write NAME=VALUE, or the path of a .yaml file"),
        ("--mismatch worn.yaml", "worn.yaml cannot be read"),
        ("--mismatch script=3", "script is 3; it must be a list"),
        ("--mismatch delay=0.0015 --seconds 3", "delay is 0.0015 s; it must be a whole number of steps"),
        ("--mismatch mass=0.1 --free", "leave it out with --free"),
    ],
    "simulate": [
        ("puma560 --preset first", "only pantograph has presets"),
        ("pantograph --preset third", "it has first, second, second-hanging, quintic"),
        ("pantograph --preset first --free", "leave out --free"),
        ("pantograph --base floating", "base is fixed"),
        ("puma560 --shaper zv", "--shaper is for controlled moves of flexible links; robot 'puma560' has none"),
        ("flexible_arm --free --shaper zv", "robot 'flexible_arm' moves freely"),
        ("puma560 --method gauss", "method is 'gauss', which is for arms with flexible links"),
        ("flexible_arm --shaper zv --modes 9", "--modes is 9; it must be 1 to 4 for arm 'flexible_arm'"),
        ("pantograph --dae", "--dae is for open rigid arms, and robot 'pantograph' has closed loops"),
        ("flexible_arm --dae", "has flexible links"),
        ("puma560 --dae --to joint1=1", "--to is for a controlled move"),
        ("puma560 --dae --method gauss", "--method is for joint coordinates"),
        ("puma560 --dae --base-motion x.csv", "--base-motion moves the base"),
        ("puma560 --dae --law pd_gravity", "--law is for a controlled move; leave it out with --dae"),
        ("puma560 --dae --seconds 1e9", "1e+12 steps"),
        ("nothing", "nothing"),
    ],
    "compare": [
        ("puma560 --springs --trials 3", "give one"),
        ("puma560 --dask tcp://127.0.0.1:1 --processes 3", "give one"),
        ("flexible_arm", "flexible links"),
        ("iris_simple", "robot 'iris' has no joint or a floating one; the moves need driven joints"),
        ("four_bar --springs", "--springs is for open arms without mimic joints, and robot 'four_bar' is none"),
        ("puma560 --payload-link base_link", "--payload-link is 'base_link', which does not move"),
        ("puma560 --payload-link hand", "no link named 'hand'"),
    ],
    "simulate planar2": [
        ("--bandwidth -3", "--bandwidth is -3; it must be positive\n"),
        ("--seconds 1e9", "1e+12 steps, and 1.76e+05 GB of log; at most 1e+08 steps and 4 GB"),
        ("--dt 1", "--dt is 1.0 s, longer than a control cycle at --control-rate 1000 (0.001 s)"),
        ("--dt 1e-12", "6e+12 steps"),
        ("--seconds 1e-12", "--seconds is 1e-12, less than a control cycle of 0.001 s"),
        ("--control-rate 1e-9", "less than a control cycle of 1e+09 s"),
        ("--free --bandwidth 9", "--bandwidth is for a controlled move; leave it out with --free"),
        ("--free --law pd_gravity", "--law is for a controlled move"),
        ("--modes 2", "--modes needs --shaper"),
        ("--payload tip=nan", "--payload is 'tip=nan'"),
        ("--payload 3", "write LINK=KG"),
        ("--base-unknown", "need --base-motion"),
        ("--base-motion none.csv", "none.csv: the base motion cannot be read"),
        ("--base-motion examples/ship_motion.csv --free --base floating", "floating base, whose motion is simulated"),
    ],
    "demo": [
        ("--rate 10", "--rate is 10; it must be between 50 and 5000 Hz"),
        ("nothing", "nothing"),
        ("planar2 --robot panda", "two robots are given, 'planar2' and 'panda'; give one"),
        ("planar2 --modes 2", "--modes needs --shaper or --compare"),
    ],
    "new": [
        ("-", "ROBOT is -; the nodes need a file too"),
        ("planar2 --rate 1", "--rate is 1; it must be between 10 and 10000 Hz"),
        ("planar2 --out arm.txt", "its ending must be .yaml or .yml"),
        ("quadrotor_base", "has no joint that can be driven"),
    ],
    "excite": [
        ("scara --box joint1", "write JOINT=LOW,HIGH"),
        ("scara --box joint1=10mm,20mm", "its unit is rad or deg"),
        ("scara --box elbow=0,1", "elbow"),
        ("scara --box joint1=1,0", "inside the limits"),
        ("four_bar", "no open arm"),
        ("scara --harmonics 1", "between 2 and 20"),
        ("scara --out e.txt", "its ending must be .yaml or .yml"),
    ],
    "inertia": [
        ("box 1 2 3", "box: neither mass nor density is given; give exactly one of mass (kg) and density (kg/m^3)"),
        ("box 1 2 3 --mass 1 --density 2", "box: both mass and density are given"),
        ("box 1 2 3 --material steel --density 2", "both --density 2 and --material steel are given; give one"),
        ("box 1 2 3 --material unobtainium", "no material named 'unobtainium'"),
        ("box 1 -2 3 --mass 1", "box: y is -2 m; it must be finite and above 0"),
        ("composite nowhere.yaml", "nowhere.yaml: No such file or directory"),
        ("robot puma560 --link link9", "no link named 'link9'; did you mean"),
        ("robot puma560 --link base_link", "has no mass; add --subtree for its descendants"),
        ("robot puma560 --link tool0 --subtree", "has no mass; name another with --link"),
        ("robot puma560 --at joint9=1", "no joint named 'joint9'"),
        ("robot puma560 --at joint1=x", "--at is 'joint1=x': 'x' of joint 'joint1' is no position; write a number"),
    ],
    "verify": [
        ("planar2 --states 0", "--states is 0"),
        ("planar2 --seed -1", "--seed is -1"),
        ("pantograph --base floating", "--base floating is for a URDF"),
    ],
    "info pantograph": [("--base floating", "--base floating is for a URDF")],
    "": [  # whole lines
        ("check no_such.urdf", "rne check: no_such.urdf does not exist"),
        ("simulate shuttle_arm", "joint 'shoulder_pitch' needs 2.263e+04 to hold the arm at the demo's start"),
        ("simulate puma560 --plot x.foo", "--plot is 'x.foo'; its ending must be .png, .svg or .pdf"),
        ("simulate puma560 --plot file/x.png", "which cannot be written: 'file' is no folder"),
        ("simulate puma560 --out file/x.csv", "--out is 'file/x.csv', which cannot be written"),
        ("simulate puma560 --out .", "--out is '.'; name a file"),
        ("simulate puma560 --movie x.mp4", "--movie is 'x.mp4'; its ending must be .gif"),
        ("simulate puma560 --report x.pdf", "--report is 'x.pdf'; its ending must be .html or .htm"),
        ("export puma560 --out file/x.urdf", "'file' is no folder"),
        ("export puma560 --language c --out file/c", "'file' is no folder"),
        ("demo --out x.foo", "--out is 'x.foo'; its ending must be"),
        ("demo --config x.yaml", "--config x.yaml cannot be read: No such file or directory"),
        ("demo --config file", "--config file is no parameter file; it needs keys such as /**/simulator"),
        ("new puma560 --out file/x.yaml", "'file' is no folder"),
        ("simulate puma560 --tolerance 0", "--tolerance is 0; it must be positive"),
        ("simulate planar2 --free --base floating --record a.mcap", "a floating base has 7"),
        ("simulate planar2 --record a.csv", "its ending must be .mcap"),
    ],
    "export": [
        ("panda --precision float", "--precision is for C; add --language c"),
        ("panda --no-rotors", "--no-rotors is for C"),
        ("pantograph --language c", "C is written for open rigid arms"),
        ("flexible_arm --language c", "C is written for open rigid arms"),
        ("panda --language c --link hand", "no link named 'hand'"),
        ("panda --language c --quantities gravity", "choose from inverse_dynamics"),
        ("panda --language c --prefix 1", "must be a letter"),
    ],
    "view planar2": [("--port 70000", "--port is 70000; it must be between 1 and 65535")],
}  # fmt: skip


@pytest.mark.parametrize(("words", "message"), [
    (f"{first} {words}", message) for first, rows in REFUSED.items() for words, message in rows
])
def test_what_makes_no_sense_is_refused_in_words(capsys, tmp_path, monkeypatch, root, words, message):
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(root / "examples")
    Path("file").touch()
    assert message in refused(capsys, shlex.split(words))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["examples", "file"], "nothing is left behind"


@pytest.mark.parametrize(
    "words",
    [
        "simulate planar2 --out {}/a.csv", "simulate planar2 --record {}/a.mcap", "simulate planar2 --plot {}/a.png",
        "simulate planar2 --movie {}/a.gif", "simulate planar2 --report {}/a.html",
        "demo --out {}/a.png", "demo --movie {}/a.gif",
        "demo --report {}/a.html", "demo --record {}/a.mcap", "guide planar2 --out {}/a.png",
        "plot none.csv --out {}/a.png",
        "new planar2 --out {}/a.yaml", "export planar2 --out {}/a.urdf",
        "export planar2 --language c --out {}/a",
    ],
)  # fmt: skip
def test_no_command_makes_the_folder_of_its_files(capsys, tmp_path, words):
    missing = tmp_path / "missing"
    assert f"no folder '{missing}'; create it first" in refused(capsys, words.format(missing).split())
    assert not missing.exists()
