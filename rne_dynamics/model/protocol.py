"""The kinds of robot: open arms, mechanisms with closed loops, arms with flexible links; and what all of them have.

Joint vectors hold the actuated joints, in the order of `joint_names`: all joints of an open arm, the driven ones of a
mechanism. Every kind has these attributes, and the methods of `RobotModel` whose names begin with ``with_`` or ``on_``:

- `kind`: ``"arm"``, ``"mechanism"`` or ``"flexible"``.
- `name`, `mass`, `gravity`, `base`: the robot's name; total mass, kg, the base included; in world axes, m/s², (3,);
  ``"fixed"`` or ``"floating"``.
- `joint_names`, `n`, `nq`: names of the actuated joints, number of their velocities and of their positions.
- `lower`, `upper`, `velocity_limit`, `effort_limit`: limits of these joints, infinite where there are none; (n,).
- `neutral`: every joint at zero, of a mechanism as in its posture; (nq,).
- `link_names`, `links`, `bodies`: names of all links, the frame of each in its body by name, number of moving bodies.
- `tree`: links and joints as described.
- `open_tree`, `rigid`, `body_model`: the rigid robot with every loop cut; what a controller computes with (of an arm
  with flexible links the rigid one, otherwise the robot itself); the bodies that are simulated, more in an arm with
  flexible links.
- `actuated`, `passive`, `passive_names`: places of the actuated joints in the vectors of `open_tree`, (n,), of the
  undriven ones, and their names.
- `posture`: of a mechanism the positions of all joints near which it works, (n of `open_tree`,); otherwise `None`.
- `loops`, `flexible_links`: closed loops, none but in mechanisms; flexible links, none in rigid robots.
- `mode_names`, `modes`, `nz`: names ``link/mode`` and number of the deflection coordinates δ; number of generalised
  coordinates, n + modes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    from rne_dynamics.model.flexible.arm import FlexibleArm
    from rne_dynamics.model.mechanism import Mechanism
    from rne_dynamics.model.robot import RobotModel

#: Any robot.
Robot = Union["RobotModel", "Mechanism", "FlexibleArm"]
