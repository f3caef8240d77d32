"""Parameters of contact that is felt, and the settings that they make."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.contact_watch import THRESHOLD_SHARE, ContactSettings, MomentumObserver
from rne_dynamics.errors import ParameterError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.parameters.schema import Parameter, Values, declared_parameters, filled, per_joint

#: The law of the reaction "comply".
COMPLIANT = "joint_impedance"

CONTACT: tuple[Parameter, ...] = (
    Parameter("contact.observe", True, "Whether external efforts may be observed: for a reaction, for "
              "subscribers of their topics, and for ~/tare.", at_configure=True),
    *declared_parameters(ContactSettings, "contact."),
    *declared_parameters(MomentumObserver, "contact."),
)


def contact_settings(robot: RigidRobot, values: Values, effort: Array) -> ContactSettings | None:
    """Settings of contact with limits `effort`, (n,); None where external efforts are not observed."""
    reaction, link = values["contact.reaction"], values["contact.link"]
    why = unobserved(robot, values)
    if why:
        if reaction != "none" or link:
            name = "contact.link" if link else "contact.reaction"
            raise ParameterError(f"parameter {name} is {values[name]!r}, but external efforts are not observed: {why}")
        return None
    if reaction == "comply" and COMPLIANT not in (values["law"], *values["prepared_laws"]):
        raise ParameterError(
            f"parameter contact.reaction is 'comply'; it needs the law {COMPLIANT!r}: add it to prepared_laws"
        )
    if link:
        robot.open_tree.link_index(link)
    given = per_joint(values, "contact.{joint}.threshold", robot.joint_names)
    observer = filled(
        MomentumObserver, values, "contact.", robot=robot, compensated=frozenset(values["hardware_compensates"])
    )
    return filled(
        ContactSettings, values, "contact.", observer=observer,
        threshold=np.where(given < 0.0, THRESHOLD_SHARE * effort, given),
    )


def unobserved(robot: RigidRobot, values: Values) -> str:
    """Why external efforts are not observed; empty where they are."""
    if not values["contact.observe"]:
        return "contact.observe is false"
    if robot.kind != "arm" or robot.nq != robot.n:
        return "that needs an open arm on a fixed base"
    if values["base_motion.topic"]:
        return "that needs a base at rest, and base_motion.topic is set"
    if "coriolis" in values["hardware_compensates"]:
        return "hardware_compensates names coriolis"
    return ""
