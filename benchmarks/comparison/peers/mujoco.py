"""MuJoCo (`pip install mujoco`): model of a URDF, and conversion of coordinates."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from functools import partial
from importlib import import_module

import numpy as np

from rne_dynamics.errors import ModelError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import ROTOR, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel

#: The module, imported when it is first needed.
library = partial(import_module, "mujoco")


class MujocoModel:
    """A MuJoCo model of a robot without shapes and contacts.

    Parameters
    ----------
    robot
        Our model, without mimic and floating joints.
    text
        The URDF.
    integrator
        ``"Euler"`` or ``"RK4"``.
    timestep
        Of `mj_step`, s.
    bare
        Whether to remove friction, damping and limits too, for the fastest step.

    Raises
    ------
    ModelError
        MuJoCo does not read the URDF, or finds other joints in it.
    """

    def __init__(self, robot: RobotModel, text: str, integrator: str, timestep: float, *, bare: bool) -> None:
        mujoco = library()
        try:
            self.model = mujoco.MjModel.from_xml_string(_without_shapes(text))
        except ValueError as error:
            raise ModelError(f"MuJoCo does not read the URDF of {robot.name!r}: {error}") from None
        names = [self.model.joint(k).name for k in range(self.model.njnt)]
        if sorted(names) != sorted(robot.joint_names) or self.model.nv != robot.n:
            raise ModelError(f"MuJoCo's model of {robot.name!r} has joints {names}, not {list(robot.joint_names)}")
        option = self.model.opt
        option.timestep, option.gravity[:] = timestep, robot.gravity
        option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        off = mujoco.mjtDisableBit
        option.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_EQUALITY  # mimic joints are equalities
        if bare:
            option.disableflags |= off.mjDSBL_CONSTRAINT
            self.model.dof_damping[:] = 0.0
        #: index of each of our joints in its vectors
        self.places = np.array([names.index(name) for name in robot.joint_names])
        # it does not read transmissions, which have the rotor inertias
        self.model.dof_armature[self.places[robot.topology[:, VELOCITY_INDEX]]] = robot.parameters[:, ROTOR]
        self.data = mujoco.MjData(self.model)

    def vector(self, values: Array) -> Array:
        """Its vector of positions, velocities or efforts from ours."""
        theirs = np.zeros(self.model.nv)
        theirs[self.places] = values
        return theirs

    def acceleration(self, q: Array, qd: Array, tau: Array) -> Array:
        """Our accelerations (n,) as MuJoCo computes them."""
        data = library().MjData(self.model)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = map(self.vector, (q, qd, tau))
        library().mj_forward(self.model, data)
        return np.array(data.qacc[self.places])


def _without_shapes(text: str) -> str:
    root = ET.fromstring(text)
    for link in root.iter("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    for extension in root.findall("mujoco"):
        root.remove(extension)
    return ET.tostring(root, encoding="unicode")
