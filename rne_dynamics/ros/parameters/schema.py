"""Node parameters from what settings declare; and reading of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from rne_dynamics.control.parameters import Parameter, Value, declared
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.parameters.aliases import JOINT

__all__ = [
    "JOINT", "Parameter", "Value", "Values", "declared_parameters", "filled", "per_joint",
]

#: Values of all parameters of a node by name, each of its parameter's type.
Values = Mapping[str, Any]
T = TypeVar("T")


def declared_parameters(kind: type, prefix: str) -> tuple[Parameter, ...]:
    """The parameters that the fields of a dataclass declare: names of their own, or `prefix` and the field's."""
    return tuple(replace(known, name=known.name or prefix + name) for name, known in declared(kind).items())


def per_joint(values: Values, pattern: str, joints: Sequence[str]) -> Array:
    """The values of a per-joint parameter, such as ``gains.{joint}.p``, in the order of `joints`; shape (n,)."""
    return np.array([values[pattern.replace(JOINT, joint)] for joint in joints], np.float64)


def filled(kind: type[T], values: Values, prefix: str, **others: Any) -> T:
    """A dataclass of settings: each field is its parameter, or `prefix` + its name, if there is one; or `others`."""
    known, given = declared(kind), dict(others)
    for field in fields(kind):  # type: ignore[arg-type]
        name = known[field.name].name if field.name in known else ""
        if field.name not in given and JOINT in name:
            given[field.name] = per_joint(values, name, others.get("joints") or others["robot"].joint_names)
        elif field.name not in given and (name or prefix + field.name) in values:
            given[field.name] = values[name or prefix + field.name]
    return kind(**given)
