"""Small URDFs as text, a line for each element so that tests can name the line of a fault."""

from __future__ import annotations

INERTIA = 'ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"'

#: Line numbers of what tests change in `ARM`.
LINE = {"base": 2, "upper": 3, "mass": 5, "inertia": 6, "joint": 9, "axis": 13, "limit": 14, "dynamics": 15}

ARM = f"""\
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.1 0 0" rpy="0 0 0"/>
      <mass value="2"/>
      <inertia {INERTIA}/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="upper"/>
    <origin xyz="0 0 0.5" rpy="0 0 0"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="30" velocity="4"/>
    <dynamics damping="0.5" friction="0.25"/>
  </joint>
</robot>
"""


def changed(text: str, *changes: tuple[str, str]) -> str:
    """A text with parts replaced; each must be there exactly once."""
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in the text"
        text = text.replace(old, new)
    return text


def arm(*changes: tuple[str, str]) -> str:
    """`ARM` with texts replaced."""
    return changed(ARM, *changes)


def arm_and(extra: str, *changes: tuple[str, str]) -> str:
    """`arm` with elements added at its end, from line 17."""
    return arm(*changes).replace("</robot>", f"{extra}\n</robot>")


def link(name: str, mass: float = 1.0) -> str:
    """A link with inertia, on one line."""
    return f'<link name="{name}"><inertial><mass value="{mass}"/><inertia {INERTIA}/></inertial></link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", inside: str = "") -> str:
    """A joint about z, limited to ±1, on one line; `inside` comes after the limit."""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><axis xyz="0 0 1"/>'
        f'<limit lower="-1" upper="1" effort="10" velocity="1"/>{inside}</joint>'
    )


def robot(*elements: str, name: str = "robot") -> str:
    """A robot, its first element on line 2."""
    return "\n".join([f'<robot name="{name}">', *elements, "</robot>"])
