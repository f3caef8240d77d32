from __future__ import annotations

import io
import os
import re
import time
from pathlib import Path

import pytest
from support.urdf_text import ARM, arm

from rne_dynamics.advice import install_ros
from rne_dynamics.description.sources import MOST_BYTES, Source, read_stdin
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import DescriptionError, MissingDependencyError

XACRO = """\
<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="robot">
  <xacro:arg name="link" default="base"/>
  <xacro:arg name="mass" default="2"/>
  <xacro:property name="half" value="${float(1) / 2}"/>
  <link name="$(arg link)"><inertial><mass value="$(arg mass)"/><origin xyz="${half} 0 0"/></inertial></link>
</robot>
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my arm.urdf"
    path.write_text(ARM)
    return path


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package `arm_description` in an ament prefix, with a secret next to it."""
    share = tmp_path / "prefix" / "share"
    folder = share / "arm_description"
    (folder / "urdf").mkdir(parents=True)
    (folder / "urdf" / "arm.urdf").write_text(ARM)
    (folder / "package.xml").write_text("<package/>")
    (share / "secret.urdf").write_text(ARM)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere{os.pathsep}{os.pathsep}{tmp_path / 'prefix'}")
    return folder


def refusal(source: object, **kwargs: object) -> str:
    with pytest.raises(DescriptionError) as caught:
        load_urdf(source, **kwargs)  # type: ignore[arg-type]  # sources of every kind
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_paths_text_bytes_and_uris_give_the_same_robot(file: Path, package: Path) -> None:
    sources = [
        file, str(file), ARM, ARM.encode(), file.as_uri(), f"file://localhost{file}", "\ufeff" + ARM,
        Source("x", ARM.encode()), read_stdin(io.BytesIO(ARM.encode())), "package://arm_description/urdf/arm.urdf",
    ]
    for source in sources:
        assert load_urdf(source).joint_names == ("shoulder",)  # type: ignore[arg-type]  # sources of every kind
    # whatever encoding a string declares
    assert load_urdf('<?xml version="1.0" encoding="utf-16"?>' + arm(('"arm"', '"Käfer"'))).name == "Käfer"
    file.write_text(arm(("0 1 0", "0 0 0")))
    assert refusal(file.as_uri()).startswith(f"{file}:13: joint 'shoulder' <axis>: ")


def test_a_shipped_name_wins_over_a_file_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "puma560").write_text(ARM)
    monkeypatch.chdir(tmp_path)
    assert load_urdf("puma560").n == 6
    assert load_urdf("./puma560").n == 1


def test_what_is_not_there_names_what_is_near(file: Path) -> None:
    assert "did you mean 'puma560'?" in refusal("puma")
    assert f"does not exist; did you mean {str(file)!r}" in refusal(file.with_name("my_arm.urdf"))


def test_folders_and_unreadable_files(tmp_path: Path) -> None:
    loop = tmp_path / "loop.urdf"
    loop.symlink_to(loop)
    for source, said in (
        (tmp_path, "is a folder"), (loop, "cannot be read"), ("x" * 5000, "cannot be read"), ("a\0b", "null character"),
        (" ", "<text>:1: file: is empty"), (b"", "<text>:1: file: is empty"),
        ('<robot name="\ud800"/>', "<text>:1: has the lone surrogate '\\ud800'"),
    ):  # fmt: skip
        assert said in refusal(source)


def test_the_largest_file_allowed_ends_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "padded.urdf"
    path.write_text(ARM + "<!--" + "x" * (MOST_BYTES - len(ARM) - 7) + "-->")
    start = time.process_time()
    assert load_urdf(path).n == 1
    assert time.process_time() - start < 10.0


def test_standard_input() -> None:
    source = read_stdin(io.BytesIO(ARM.encode()))
    assert source.name == "<stdin>"
    assert load_urdf(source).n == 1


def test_files_of_100_megabytes_and_endless_ones_are_refused_at_once(tmp_path: Path) -> None:
    large = tmp_path / "large.urdf"
    with large.open("wb") as stream:
        stream.truncate(100 * 1024 * 1024)
    for source in (large, b"<" * 100_000_000, Path("/dev/zero")):
        start = time.process_time()
        pipe = source == Path("/dev/zero")
        assert ("a pipe or a device" if pipe else f"larger than {MOST_BYTES // 1_000_000} MB") in refusal(source)
        assert time.process_time() - start < 0.5
    with pytest.raises(DescriptionError, match="<stdin> is larger than"):
        read_stdin(io.BytesIO(b" " * (MOST_BYTES + 1)))


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("http://example.org/arm.urdf", "scheme 'http' is unknown; give a path, file:// or package://"),
        ("file://otherhost/arm.urdf", "write file:///absolute/path.urdf"),
        ("file:///no/such/arm.urdf", "/no/such/arm.urdf does not exist"),
        ("package://arm_description", "write package://PACKAGE/PATH"),
        ("package://../secret.urdf", "write package://PACKAGE/PATH"),
        ("package://other_description/urdf/arm.urdf", "package 'other_description' is not found"),
        ("package://arm_description/urdf/leg.urdf", "has no file 'urdf/leg.urdf'"),
        ("package://arm_description/../secret.urdf", "leads outside package 'arm_description', which is refused"),
        ("package://arm_description/urdf/../../secret.urdf", "leads outside package"),
        ("package://arm_description/%2e%2e/secret.urdf", "leads outside package"),
        ("package://arm_description//etc/passwd", "leads outside package"),
        ("package://arm_description/a%00b", "leads outside package"),
    ],
)
def test_faulty_uris(package: Path, uri: str, says: str) -> None:
    assert says in refusal(uri)


def test_dots_inside_the_package_percent_signs_and_links_of_a_symlink_install(package: Path, tmp_path: Path) -> None:
    (package / "urdf" / "my arm.urdf").write_text(ARM)
    (tmp_path / "source.urdf").write_text(ARM)
    (package / "urdf" / "linked.urdf").symlink_to(tmp_path / "source.urdf")
    for path in ("launch/../urdf/./arm.urdf", "urdf/my%20arm.urdf", "urdf/linked.urdf"):
        assert load_urdf(f"package://arm_description/{path}").n == 1


def test_the_package_finds_itself_without_ros(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    assert load_urdf("package://rne_dynamics/urdf/puma560.urdf").n == 6


@pytest.fixture
def xacro_file(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(XACRO)
    return path


def test_xacro_with_arguments(xacro_file: Path, package: Path, file: Path) -> None:
    model = load_urdf(str(xacro_file), mappings={"link": "leg", "mass": "3.5"})
    assert (model.link_names, model.mass) == (("leg",), 3.5)
    (package / "arm.xacro").write_text(XACRO)
    assert load_urdf("package://arm_description/arm.xacro", mappings={"mass": "4"}).mass == 4.0
    for source in (file, ARM):
        assert "(mass) are for xacro only; give a file that ends in .xacro" in refusal(source, mappings={"mass": "1"})
    xacro_file.write_text('<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + XACRO)
    assert "<!DOCTYPE robot>" in refusal(xacro_file)


def test_xacro_includes_from_its_own_folder(xacro_file: Path) -> None:
    (xacro_file.parent / "part.xacro").write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="more" value="2"/></robot>'
    )
    include = '<xacro:include filename="part.xacro"/><xacro:property name="half" value="${more}"/>'
    xacro_file.write_text(XACRO.replace('<xacro:property name="half" value="${float(1) / 2}"/>', include))
    assert load_urdf(xacro_file).tree.links[0].inertia.com[0] == 2.0  # type: ignore[union-attr]  # it has one


FIND = '<xacro:include filename="$(find arm_description)/part.xacro"/>'
PART = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="more" value="3"/></robot>'


@pytest.mark.parametrize("indexed", [True, False])
def test_xacro_finds_packages(tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch, indexed: bool) -> None:
    """In the ament index, and next to the file's own package in a folder of another name."""
    folder = package if indexed else tmp_path / "src/the_arm"
    index, file = tmp_path / "prefix/share/ament_index/resource_index/packages", tmp_path / "src/my_cell/arm.urdf.xacro"
    for made in (folder, index, file.parent):
        made.mkdir(parents=True, exist_ok=True)
    if indexed:
        (index / "arm_description").write_text("")
    else:
        monkeypatch.delenv("AMENT_PREFIX_PATH")
        (folder / "package.xml").write_text("<package><name>arm_description</name></package>")
    (folder / "part.xacro").write_text(PART)
    half = FIND + '<xacro:property name="half" value="${more}"/>'
    file.write_text(XACRO.replace('<xacro:property name="half" value="${float(1) / 2}"/>', half))
    assert load_urdf(file).tree.links[0].inertia.com[0] == 3.0  # type: ignore[union-attr]  # it has one


#: What replaces `</robot>`, the place behind the file or another file, what is wrong, and the fix.
XACRO_FAULTS = {
    "package": (FIND, "", "package 'arm_description' is not found in AMENT_PREFIX_PATH (not set) "
                "and the folders above {file}", "source the workspace"),
    "include": ('<xacro:include filename="none.xacro"/>', "", "file {folder}/none.xacro cannot be read", "correct"),
    "argument": ('<link name="$(arg tool)"/>', "", "argument 'tool' is not given", "--arg tool:=VALUE"),
    "property": ('<link name="${prefix}tool"/>', "", "name 'prefix' is not defined when evaluating", "correct"),
    "number": ('<link name="${1 / 0}"/>', "", "division by zero when evaluating expression '1 / 0'", "correct"),
    "no builtins": ("<link name=\"${__import__('os')}\"/>", "", "__import__", "correct"),
    "unknown macro": ('<xacro:arm side="l"/>', "", "unknown macro name: xacro:arm", "correct"),
    "parameter": ('<xacro:macro name="m" params="a b:=1"/><xacro:m c="1" a="1"/>', "", 'Invalid parameter "c"',
                  "correct"),
    "recursion": ('<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>', "", "without end", "correct"),
    "environment": ('<link name="$(env RNE_NOT_SET)"/>', "", "environment variable 'RNE_NOT_SET' is not set", ""),
    "condition": ('<xacro:if value="maybe"/>', "", '"maybe" evaluated to "maybe"', ""),
    "XML": ('<xacro:include filename="bad.xacro"/>', "bad.xacro:2", "XML: mismatched tag (part of {file})", "correct"),
    "included": ('<xacro:include filename="lost.xacro"/>', "lost.xacro",
                 "package 'lost_arm' is not found in AMENT_PREFIX_PATH (not set) and "
                 "the folders above {file}", "source the workspace"),
}  # fmt: skip


#: What the xacro package says of itself, some for every change.
AS_SAID = ("number", "no builtins", "unknown macro", "parameter", "environment", "condition")


@pytest.mark.parametrize("kind", [
    pytest.param(kind, marks=[pytest.mark.slow] if kind in AS_SAID else []) for kind in XACRO_FAULTS
])  # fmt: skip
def test_xacro_faults_are_one_plain_sentence_with_their_place(
    xacro_file: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for variable in ("AMENT_PREFIX_PATH", "RNE_NOT_SET"):
        monkeypatch.delenv(variable, raising=False)
    text, place, what, fix = XACRO_FAULTS[kind]
    (xacro_file.parent / "bad.xacro").write_text("<robot>\n<link></robot>")
    (xacro_file.parent / "lost.xacro").write_text('<robot xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
                                                  '<xacro:include filename="$(find lost_arm)/a"/></robot>')
    xacro_file.write_text(XACRO.replace("</robot>", f"{text}</robot>"))
    message = refusal(xacro_file)
    start = f"{xacro_file}{place}" if place[:1] in ("", ":") else str(xacro_file.with_name(place))
    assert message.startswith(f"{start}: ")
    assert what.format(file=xacro_file, folder=xacro_file.parent) in message
    assert fix in message.rpartition("; ")[2]
    assert "<class" not in message
    assert capfd.readouterr() == ("", "")


def test_xacro_files_are_checked_before_xacro_sees_them_and_a_failure_leaves_nothing_behind(xacro_file: Path) -> None:
    xacro_file.write_text('<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + XACRO)
    assert "<!DOCTYPE robot>" in refusal(xacro_file)
    xacro_file.write_text("<robot>\n<link></robot>")
    assert refusal(xacro_file).startswith(f"{xacro_file}:2: XML: mismatched tag")
    xacro_file.write_text(XACRO.replace("</robot>", f"{XACRO_FAULTS['recursion'][0]}</robot>"))
    assert "without end" in refusal(xacro_file)
    xacro_file.write_text(XACRO)
    assert load_urdf(xacro_file).mass == 2.0


def test_xacro_that_is_missing_names_the_fix(xacro_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "xacro", None)
    with pytest.raises(MissingDependencyError, match=re.escape(install_ros("xacro", "xacro"))):
        load_urdf(xacro_file)
