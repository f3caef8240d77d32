"""C of `rne.to_c`: compiled with all warnings as errors, and compared with the plain functions."""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.arms import docked_vehicle, gripper
from support.c_compiler import TYPES, C, Exported, compile_c, compile_cxx, run
from support.errors import relative_error
from support.robots import robot as load
from support.wheel import wheel_robots

import rne_dynamics as rne
from rne_dynamics.c_export import function as function_file
from rne_dynamics.c_export.export import end_links
from rne_dynamics.c_export.statements import PRECISIONS, sines
from rne_dynamics.errors import ArgumentError, ModelError, RneDynamicsError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink, rotation_about
from rne_dynamics.straight_line.graph import TooLargeError

pytestmark = pytest.mark.skipif(C is None, reason="no C compiler: sudo apt install gcc")

#: An arm, a floating base, a prismatic joint, mimic joints, and all kinds of joints in one tree.
ROBOTS = {
    "ur5": lambda: load("ur5_robot.urdf"),
    "flying arm": lambda: load("hextilt_flying_arm_5.urdf", "floating"),
    "scara": lambda: load("scara"),
    "gripper": gripper,
    "vehicle": docked_vehicle,
}
TOLERANCES = {"double": 1e-12, "float": 1e-4}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Export and compile each robot once."""
    made = {}

    def get(name: str, precision: str = "double") -> Exported:
        if (name, precision) not in made:
            folder = tmp_path_factory.mktemp(f"{name}_{precision}".replace(" ", "_"))
            made[name, precision] = Exported(rne.to_c(ROBOTS[name](), precision=precision, source="some.urdf"), folder)
        return made[name, precision]

    return get


def states(robot, count: int, rounded: type) -> dict[str, np.ndarray]:
    """Random states as numbers of a type; efforts are those of random accelerations."""
    rng = np.random.default_rng(5)
    given = {"q": rne.random_configuration(robot, rng, count)}
    given |= {name: rng.normal(size=(count, robot.n)) for name in ("qd", "qdd")}
    given = {name: rows.astype(rounded).astype(float) for name, rows in given.items()}
    given["tau"] = rne.inverse_dynamics(robot, **given).astype(rounded).astype(float)
    return given


def largest_errors(robot, code: Exported, count: int) -> dict[str, float]:
    """Of each function the largest difference to the plain function, over the largest entry of each answer.

    Accelerations differ by the round-off of all efforts times the inverse of the mass matrix: of arms with small
    inertias by more than 1e-12 or 1e-4, as which that counts here.
    """
    given = states(robot, count, code.type)
    found = {}
    for function in code.export.functions:
        rows = [given[name] for name in function.inputs]
        options = {"link": function.link} if function.link else {}
        expected = getattr(rne, function.quantity)(robot, *rows, **options).reshape(count, -1)
        answers = code.rows(function, *rows).astype(float)
        tolerance = TOLERANCES[code.export.precision]
        allowed = np.full(count, tolerance)
        if function.quantity == "forward_dynamics":
            M, c = rne.mass_matrix(robot, given["q"]), rne.bias_torque(robot, given["q"], given["qd"])
            efforts = sum(np.linalg.norm(x, axis=1) for x in ((M @ expected[:, :, None])[:, :, 0], given["tau"], c))
            moved = efforts * np.linalg.norm(np.linalg.inv(M), 2, (1, 2)) / np.abs(expected).max(axis=1)
            allowed = np.maximum(allowed, 2.0 * np.finfo(code.type).eps * moved)
        errors = [relative_error(a, b) for a, b in zip(answers, expected, strict=True)]
        found[function.name] = tolerance * max(errors / allowed)
    return found


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("flying arm", "double"), ("gripper", "double"), ("scara", "float"),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in (("vehicle", "double"), ("ur5", "float"))),
    ],
)
def test_all_functions_agree_with_the_plain_functions(name, precision, exported):
    code = exported(name, precision)
    assert {f.quantity for f in code.export.functions} == {
        "inverse_dynamics", "forward_dynamics", "gravity_torque", "bias_torque", "mass_matrix", "jacobian"
    }  # fmt: skip
    assert max(largest_errors(ROBOTS[name](), code, 50).values()) < TOLERANCES[precision]


def test_parts_of_any_length_give_the_same_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(function_file, "LONGEST", 25)
    robot = ROBOTS["gripper"]()
    assert max(largest_errors(robot, Exported(rne.to_c(robot), tmp_path), 10).values()) < 1e-12


@pytest.mark.parametrize("name", ["flying arm", "gripper"])
def test_nan_and_infinity_anywhere_give_a_status_and_no_output(name, exported):
    code = exported(name)
    given = states(ROBOTS[name](), 1, float)
    for function in code.export.functions:
        inputs = [given[x][0] for x in function.inputs]
        for k, vector in enumerate(inputs):
            for place in range(len(vector)):
                for value in (np.nan, np.inf, -np.inf):
                    spoilt = [x.copy() for x in inputs]
                    spoilt[k][place] = value
                    status, out = code.call(function, *spoilt)
                    assert status == 1, (function.name, function.inputs[k], place, value)
                    assert (out == 7.0).all()


def test_a_result_that_overflows_gives_a_status(exported):
    code = exported("scara", "float")
    function = next(f for f in code.export.functions if f.quantity == "inverse_dynamics")
    status, out = code.call(function, np.ones(4), np.full(4, 1e30), np.zeros(4))
    assert status == 1
    assert (out == 7.0).all()


def test_a_quaternion_is_normalised_and_one_without_length_refused(exported):
    code, robot = exported("flying arm"), ROBOTS["flying arm"]()
    function = next(f for f in code.export.functions if f.quantity == "gravity_torque")
    q = states(robot, 1, float)["q"][0]
    scaled = q.copy()
    scaled[3:7] *= 3.0
    assert relative_error(code.call(function, scaled)[1], rne.gravity_torque(robot, q)) < 1e-12
    scaled[3:7] = 0.0
    assert code.call(function, scaled)[0] == 1


def test_the_output_may_be_the_memory_of_an_input(exported):
    code = exported("gripper")
    given = states(ROBOTS["gripper"](), 1, float)
    for quantity in ("inverse_dynamics", "forward_dynamics"):
        function = next(f for f in code.export.functions if f.quantity == quantity)
        inputs = [given[x][0].copy() for x in function.inputs]
        expected = code.call(function, *inputs)[1]
        for shared in inputs:
            copies = [x if x is shared else x.copy() for x in inputs]
            before = shared.copy()
            assert code.call(function, *copies, out=shared)[0] == 0
            np.testing.assert_array_equal(shared, expected)
            shared[:] = before


def radial() -> rne.RobotModel:
    """A rod on a slide that turns, parallel to the axis: without inertia while the rod is on the axis."""
    joints = (
        TreeJoint("turn", JointKind.REVOLUTE, "base", "rail"),
        TreeJoint("slide", JointKind.PRISMATIC, "rail", "mass", axis=np.array([1.0, 0.0, 0.0])),
    )
    rod = Inertia(2.0, np.zeros(3), np.diag([1.0, 1.0, 0.0]))
    links = (TreeLink("base"), TreeLink("rail"), TreeLink("mass", rod))
    return assemble(KinematicTree("radial", links, joints))


@pytest.mark.parametrize(("precision", "distance"), [("double", 0.0), ("float", 1e-3)])
def test_a_state_in_which_a_joint_moves_no_inertia_gives_a_status(precision, distance, tmp_path):
    code = Exported(rne.to_c(radial(), precision=precision), tmp_path)
    function = next(f for f in code.export.functions if f.quantity == "forward_dynamics")
    status, out = code.call(function, [0.3, distance], [0.1, 0.2], [1.0, 1.0])
    assert status == 2
    assert (out == 7.0).all()
    assert code.call(function, [np.nan, distance], [0.1, 0.2], [1.0, 1.0])[0] == 1
    status, out = code.call(function, [0.3, 0.5], [0.0, 0.0], [1.0, 1.0])
    assert status == 0
    np.testing.assert_allclose(out, [1.0 / (2.0 * 0.25), 0.5], rtol=1e-6)


def test_inertia_below_the_round_off_of_floats_is_refused():
    needle, tip = Inertia(1.0, np.zeros(3), np.diag([1.0, 1.0, 1e-7])), Inertia(0.0, np.zeros(3), np.diag([1e-7] * 3))
    joints = (
        TreeJoint("spin", JointKind.REVOLUTE, "base", "needle"),
        TreeJoint("bend", JointKind.REVOLUTE, "needle", "tip", axis=np.array([1.0, 0.0, 0.0])),
    )
    links = (TreeLink("base"), TreeLink("needle", needle), TreeLink("tip", replace(tip, mass=1e-6)))
    robot = assemble(KinematicTree("needle", links, joints))
    assert rne.to_c(robot).functions
    with pytest.raises(ModelError, match=r"no inertia beyond the round-off of float.*export doubles"):
        rne.to_c(robot, precision="float")


def test_a_joint_without_inertia_is_refused():
    joint = TreeJoint("spin", JointKind.REVOLUTE, "base", "nothing")
    robot = assemble(KinematicTree("nothing", (TreeLink("base"), TreeLink("nothing")), (joint,)))
    with pytest.raises(ModelError, match="moves no inertia"):
        rne.to_c(robot)
    assert [f.quantity for f in rne.to_c(robot, quantities=["mass_matrix"]).functions] == ["mass_matrix"]


def test_the_self_test_succeeds_and_fails_if_a_number_is_changed(exported):
    code = exported("scara", "float")
    program = compile_c([code.source, code.test], code.folder / "self_test")
    assert "agree with rne_dynamics in 5 states" in run([program])
    text = code.source.read_text()
    changed = code.folder / "changed.c"
    body = re.search(rf"[_ ]{code.export.functions[1].name}\([^{{]*{{", text).end()  # its first part if it has any
    found = re.compile(r"(?<![\w.])\d+\.\d*[1-9]\d*").search(text, body)
    changed.write_text(f"{text[: found.start()]}1.01f * {found[0]}{text[found.end() :]}")
    program = compile_c([changed, code.test], code.folder / "changed", "-Wno-error", "-w")
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "FAILED: scara_" in done.stdout


def turntables() -> rne.RobotModel:
    """Four vertical axes on oblique arms: gravity's efforts are nothing but round-off."""
    rng, up = np.random.default_rng(1), np.array([0.0, 0.0, 1.0])
    links, joints = [TreeLink("base")], []
    for k in range(4):
        u = rng.normal(size=3)
        turn = rotation_about(u / np.linalg.norm(u), 1.1)
        up = turn.T @ up
        place = rng.normal(size=3)
        joints.append(TreeJoint(f"axis{k}", JointKind.REVOLUTE, links[-1].name, f"arm{k}", turn, place, up))
        links.append(TreeLink(f"arm{k}", Inertia(10.0, rng.normal(size=3), 10.0 * np.eye(3))))
    return assemble(KinematicTree("turntables", tuple(links), tuple(joints)))


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["double", "float"])
def test_the_self_test_allows_round_off_of_terms_that_cancel(precision, tmp_path):
    robot = turntables()
    efforts = rne.gravity_torque(robot, np.array([0.3, -0.2, 0.5, 1.0]))
    assert 0.0 < np.abs(efforts).max() < 1e-11
    code = Exported(rne.to_c(robot, precision=precision), tmp_path)
    program = compile_c([code.source, code.test], tmp_path / "self_test")
    assert "agree with rne_dynamics" in run([program])


@pytest.mark.slow
def test_cmake_configures_builds_and_tests(exported):
    code = exported("scara", "float")
    build = code.folder / "build"
    run(["cmake", "-S", code.folder, "-B", build])
    run(["cmake", "--build", build])
    assert "100% tests passed" in run(["ctest", "--test-dir", build])


def test_fast_math_is_refused(exported):
    code = exported("scara", "float")
    done = subprocess.run([C, "-ffast-math", "-fsyntax-only", code.source], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "they remove the tests for NaN" in done.stderr


def test_code_in_floats_has_no_doubles(exported):
    source = exported("scara", "float").source.read_text()
    assert "sinf(" in source
    assert not re.search(r"double|[^f\w](sin|cos|sqrt)\(|\d\.\d+(?![\df]|e)", source.partition("#endif")[2])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_sines_and_cosines_are_those_of_numpy(precision, tmp_path):
    source, kind = tmp_path / "sines.c", TYPES[precision]
    call = f"void run(const {precision} *x, int count, {precision} *s, {precision} *c);\n"
    call += call.replace(";\n", " { sines_and_cosines(x, count, s, c); }\n")
    source.write_text("#include <math.h>\n" + sines(PRECISIONS[precision]) + call)
    library = ctypes.CDLL(str(compile_c([source], tmp_path / "sines.so", "-shared", "-fPIC")))
    rng, quarters = np.random.default_rng(3), np.pi / 4.0 * np.arange(-12000, 12001)
    turns, far = rng.uniform(-7.0, 7.0, 100_000), rng.uniform(-9999.0, 9999.0, 100_000)
    for angles in (turns, far, quarters, np.array([2e4, 1.0])):
        x, found = angles.astype(kind), np.empty((2, len(angles)), kind)
        library.run(*(ctypes.c_void_p(x.ctypes.data), len(x), *(ctypes.c_void_p(row.ctypes.data) for row in found)))
        assert np.abs(found - [np.sin(x.astype(float)), np.cos(x.astype(float))]).max() < np.finfo(kind).eps


def awkward() -> rne.RobotModel:
    """A robot whose names are no identifiers, and end comments and strings if written as they are."""
    names = ('*/ "quoted" \\', "a b", "a-b", "??/", "überarm", "机器", "0", "int")
    links, joints = [TreeLink("world")], []
    for k, name in enumerate(names):
        links.append(TreeLink(f"{name}", Inertia(1.0, np.array([0.1, 0.2, 0.3]), np.eye(3))))
        joints.append(TreeJoint(f"joint {name}", JointKind.REVOLUTE, links[-2].name, name, axis=np.eye(3)[k % 3]))
    return assemble(KinematicTree('2nd /* "arm" */ ??/ \n é', tuple(links), tuple(joints)))


def test_names_that_are_no_identifiers(tmp_path, monkeypatch):
    monkeypatch.setattr(function_file, "LONGEST", 20)
    robot = awkward()
    export = rne.to_c(robot, links=list(robot.link_names[1:]), quantities=["gravity_torque", "jacobian"],
                      source="a*/b.urdf")  # fmt: skip
    code = Exported(export, tmp_path)
    compile_cxx(code.source)
    compile_cxx(code.test)
    assert export.prefix == "robot_2nd_arm_e"
    assert [f.name.partition("jacobian_")[2] for f in export.functions[1:]] == [
        "quoted", "a_b", "a_b_2", "link", "uberarm", "link_2", "0", "int"
    ]  # fmt: skip
    assert [x.decode() for x in code.names] == list(robot.joint_names)
    assert max(largest_errors(robot, code, 3).values()) < 1e-12


def test_links_are_the_ends_or_those_that_are_named():
    panda = load("panda.urdf")
    assert end_links(panda) == ["panda_leftfinger", "panda_rightfinger"]
    links, quantities = ["panda_link4", "panda_hand"], ["jacobian", "gravity_torque"]
    export = rne.to_c(panda, links=links, quantities=quantities, prefix="Arm1")
    assert [f.name for f in export.functions] == [
        "Arm1_gravity_torque", "Arm1_jacobian_panda_link4", "Arm1_jacobian_panda_hand"
    ]  # fmt: skip
    assert "ARM1_OK" in export.files["Arm1_dynamics.h"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"links": ["panda_link0"]}, ArgumentError, "fixed to the base.*name links that move, as panda_link8"),
        ({"links": ["hand"]}, ModelError, "no link named 'hand'"),
        ({"links": ["panda_link1"] * 2}, ArgumentError, "name each once"),
        ({"links": ["panda_link1"], "quantities": ["mass_matrix"]}, ArgumentError, "add jacobian"),
        ({"links": [], "quantities": ["jacobian"]}, ArgumentError, "no links are given"),
        ({"quantities": []}, ArgumentError, "choose from inverse_dynamics"),
        ({"quantities": ["gravity"]}, ArgumentError, r"\['gravity'\]; choose from"),
        ({"precision": "half"}, ArgumentError, "'half'; it must be one of 'double', 'float'"),
        ({"prefix": "7up"}, ArgumentError, "must be a letter"),
        ({"prefix": "a__b"}, ArgumentError, "single underscores"),
    ],
)
def test_options_that_cannot_be(options, error, message):
    with pytest.raises(error, match=message):
        rne.to_c(load("panda"), **options)


def test_robots_that_cannot_be():
    for name in ("pantograph", "flexible_arm"):
        with pytest.raises(RneDynamicsError):
            rne.to_c(rne.load_model(name))
    tree = load("planar2").tree
    fixed = replace(tree, joints=tuple(replace(joint, kind=JointKind.FIXED) for joint in tree.joints))
    with pytest.raises(ModelError, match="no joint that moves"):
        rne.to_c(assemble(fixed))
    spin = TreeJoint("spin", JointKind.REVOLUTE, "base", "nothing")
    weightless = assemble(KinematicTree("nothing", (TreeLink("base"), TreeLink("nothing")), (spin,)))
    with pytest.raises(ModelError, match="moves no inertia"):
        rne.to_c(weightless)
    assert [f.quantity for f in rne.to_c(weightless, quantities=["mass_matrix"]).functions] == ["mass_matrix"]
    with pytest.raises(TooLargeError, match=r"forward_dynamics would be more than 30000 .*: inverse_dynamics, gr"):
        rne.to_c(load("talos_full_v2.urdf", "floating"),
                 quantities=["forward_dynamics", "inverse_dynamics", "gravity_torque"])  # fmt: skip


@pytest.mark.slow
def test_a_robot_that_is_too_large_is_refused_with_what_fits():
    talos = load("talos_full_v2.urdf", "floating")
    with pytest.raises(TooLargeError, match=r"forward_dynamics would be more than 30000 .*: inverse_dynamics, gr"):
        rne.to_c(talos, quantities=["forward_dynamics", "inverse_dynamics", "gravity_torque"])


def test_the_example_of_the_documentation(root, tmp_path):
    page = (root / "docs" / "export_c.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```c\n(.*?)^```", page, re.M | re.S)
    code = Exported(rne.to_c(load("panda")), tmp_path)
    main = tmp_path / "main.c"
    main.write_text(example)
    program = compile_c([main, code.source], tmp_path / "main")
    printed = run([program]).split()
    q = [float(x) for x in re.search(r"q\[PANDA_N\] = \{(.*?)\}", example)[1].split(",")]
    np.testing.assert_allclose(list(map(float, printed)), rne.gravity_torque(load("panda"), q), atol=1e-3)


@pytest.mark.soak
@pytest.mark.parametrize(("base", "precision"), [("fixed", "double"), ("floating", "double"), ("fixed", "float")])
@pytest.mark.parametrize("path", wheel_robots(), ids=lambda path: path.stem)
def test_every_robot_of_the_wheel(path: Path, base, precision, tmp_path):
    robot = rne.load_urdf(path, base=base)
    try:
        export = rne.to_c(robot, precision=precision)
    except RneDynamicsError as error:
        refused = str(error)
        assert re.search("choose as quantities|no joint that moves|moves no inertia", refused), refused
        return
    code = Exported(export, tmp_path)
    library = code.folder / "library.so"
    run([compile_c([code.test, library], code.folder / "self_test", f"-Wl,-rpath,{code.folder}")])
    errors = largest_errors(robot, code, 10)
    assert max(errors.values()) < TOLERANCES[precision], errors
