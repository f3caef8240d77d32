"""Parameter files of which nothing is for the node: named, by the same rules by which rcl takes or leaves them."""

from __future__ import annotations

import pytest
import rclpy
import yaml
from rclpy.context import Context

from rne_dynamics.ros.parameters.files import applies, lost_settings, node_keys

KEYS = ("sim", "/sim", "left/sim", "/left/sim", "/**", "/**/sim", "**", "**/sim", "/*/sim", "/*", "/left/*", "/left/**",
        "/**/left/sim", "/left/**/sim", "/*/*/sim", "/**/other", "other", "/left")  # fmt: skip
PLACES = ("/", "/left", "/left/arm", "/right")


def taken(file, namespace, *more):
    """What rcl gives a node."""
    context = Context()
    rclpy.init(args=["x", "--ros-args", "--params-file", str(file), "-r", f"__ns:={namespace}", *more], context=context)
    try:
        node = rclpy.create_node("sim", context=context)
        names = set(node._parameter_overrides)
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)
    return names


def test_a_key_applies_where_rcl_takes_it(tmp_path):
    files = [tmp_path / f"{k}.yaml" for k in range(len(KEYS))]
    for k, (key, file) in enumerate(zip(KEYS, files, strict=True)):
        file.write_text(yaml.safe_dump({key: {"ros__parameters": {f"p{k}": 1}}}), encoding="utf-8")
    for place in PLACES:
        names = taken(files[0], place, *(word for file in files[1:] for word in ("--params-file", str(file))))
        for k, (key, file) in enumerate(zip(KEYS, files, strict=True)):
            (found,) = node_keys(str(file))
            assert applies(found, f"{place.rstrip('/')}/sim") == (f"p{k}" in names), (key, place)


def test_namespaces_may_be_nested(tmp_path):
    file = tmp_path / "node.yaml"
    content = {"left": {"sim": {"ros__parameters": {"a": 1}}, "other": {"ros__parameters": {"b": {"c": 1}}}}}
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    assert set(node_keys(str(file))) == {"/left/sim", "/left/other"}
    assert taken(file, "/left") == {"a"}


def test_a_file_of_which_nothing_applies_is_named_with_the_key_that_would(tmp_path):
    file = tmp_path / "node.yaml"
    file.write_text(yaml.safe_dump({"sim": {"ros__parameters": {"a": 1}}}), encoding="utf-8")
    arguments = ["program", "--ros-args", "--params-file", str(file), "-r", "__ns:=/left"]
    (said,) = lost_settings(arguments, "sim", "/left")
    for part in (str(file), "/left/sim", "/**/sim", "they are for /sim"):
        assert part in said
    assert list(lost_settings(arguments, "sim", "/")) == []
    assert list(lost_settings(["program", "--params-file", str(file)], "sim", "/left")) == [], "no argument of ROS"
    file.write_text("", encoding="utf-8")
    (said,) = lost_settings(arguments, "sim", "/left")
    assert "no ros__parameters" in said


@pytest.mark.parametrize(("namespace", "value", "lost"), [
    ("/", "sim:rate:=1", False), ("/left", "sim:rate:=1", True), ("/", "other:rate:=1", True), ("/", "rate:=1", False),
    ("/left", "name:=a:b", False), ("/left", "text:=x:y:=z", False),
])
def test_a_single_parameter_for_another_node_is_named(tmp_path, namespace, value, lost):
    said = list(lost_settings(["program", "--ros-args", "-p", value, "--"], "sim", namespace))
    assert bool(said) == lost
    assert all(value in text for text in said)
    file = tmp_path / "node.yaml"
    file.write_text(yaml.safe_dump({"nobody": {"ros__parameters": {"a": 1}}}), encoding="utf-8")
    assert (not taken(file, namespace, "-p", value)) == lost
