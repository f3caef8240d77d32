"""The parameter files for real arms, and the arms that are simulated in their place."""

from __future__ import annotations

from pathlib import Path

import yaml

from .wheel import wheel_urdf

FOLDER = Path(__file__).resolve().parents[2] / "config" / "hardware"


def numbered(name: str, count: int) -> list[str]:
    """Names with the numbers from 1 on."""
    return [name.format(k + 1) for k in range(count)]


UR = [f"{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")]
PANDA = numbered("panda_joint{}", 7)
#: the joints as the drivers name them; the description simulated in place of the arm, and its joints
ARMS = {
    "franka": (numbered("fr3_joint{}", 7), "panda.urdf", PANDA),
    "ur": (UR, "ur5_robot.urdf", UR),
    "kuka_lbr": (numbered("joint_{}", 7), "panda.urdf", PANDA),
    "kinova_gen3": (numbered("joint_{}", 7), "panda.urdf", PANDA),
    "ros2_control": (numbered("joint{}", 6), "ur5_robot.urdf", UR),
}
#: within limits of both stand-ins with the files' margins, bent so that gravity pulls
POSTURES = {"panda.urdf": [0.2, -0.4, 0.3, -1.6, 0.2, 1.4, 0.4], "ur5_robot.urdf": [0.3, -0.7, 0.9, 0.4, 0.8, 0.2]}

#: a test machine with other work is no computer for a real arm
LENIENT = ("-p", "state_timeout:=5.0", "-p", "state_lateness:=0.0", "-p", "min_rate:=0.0")


def flat(tree: object, prefix: str = "") -> dict[str, object]:
    """Parameters of a nested section by their dotted names."""
    if not isinstance(tree, dict):
        return {prefix: tree}
    return {k: v for name, sub in tree.items() for k, v in flat(sub, f"{prefix}.{name}" if prefix else name).items()}


def sections(name: str) -> dict[str, dict[str, object]]:
    """The flattened parameters of each node in a file."""
    content = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return {key.removeprefix("/**/"): flat(value["ros__parameters"]) for key, value in content.items()}


def stand_in(name: str, folder: Path) -> Path:
    """The description simulated for a file, with the file's joint names."""
    joints, urdf, there = ARMS[name]
    text = wheel_urdf(urdf).read_text(encoding="utf-8")
    for old, new in zip(there, joints, strict=True):
        text = text.replace(f'"{old}"', f'"{new}"')
    file = folder / f"{name}.urdf"
    file.write_text(text, encoding="utf-8")
    return file
