"""Parameter names of another controller: taken where they mean the same, otherwise refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rne_dynamics.errors import ParameterError

Value = TypeVar("Value")
JOINT = "{joint}"


def any_value(value: object) -> bool:
    """For settings whose value makes no difference."""
    return True


def only(*values: object) -> Callable[[object], bool]:
    """For settings that this controller supports with these values alone."""
    return lambda value: value in values


@dataclass(frozen=True)
class ParameterAlias:
    """One parameter of another controller.

    Parameters
    ----------
    name
        As that controller names it; ``{joint}`` stands for every controlled joint.
    ours
        Our parameter with the same meaning; empty for none.
    negated
        Whether our parameter has the opposite sign.
    accepts
        Without such a parameter: the values that ask for what this controller does anyway.
    does
        What this controller does instead, a clause.
    """

    name: str
    ours: str = ""
    negated: bool = False
    accepts: Callable[[Any], bool] = any_value
    does: str = ""


@dataclass(frozen=True)
class AliasedValue:
    """A value given for one of our parameters under another name."""

    label: str
    value: object


@dataclass(frozen=True)
class Translation:
    """Settings under names of another controller, translated.

    Parameters
    ----------
    names
        All such names that were found.
    aliases
        Their values by our names.
    without_effect
        Settings without effect, for the log.
    faults
        Reasons why others are refused.
    """

    names: frozenset[str]
    aliases: Mapping[str, Sequence[AliasedValue]]
    without_effect: tuple[str, ...]
    faults: tuple[str, ...]

    def agreed(
        self, name: str, parse: Callable[[str, object], Value], given: Mapping[str, object]
    ) -> Value | None:
        """The value of our parameter `name` if it was given under another name; None otherwise.

        Raises
        ------
        ParameterError
            One that `parse` refuses, or one that differs from another one or from that `given` under our name.
        """
        found = [(alias.label, parse(alias.label, alias.value)) for alias in self.aliases.get(name, ())]
        if not found:
            return None
        if name in given:
            found.append((name, parse(name, given[name])))
        if any(value != found[0][1] for _, value in found):
            listed = " and ".join(f"{label} {value!r}" for label, value in found)
            raise ParameterError(f"parameters {listed} mean the same and differ; give {name} alone")
        return found[0][1]


def translate(given: Mapping[str, Any], aliases: Iterable[ParameterAlias], joints: Sequence[str]) -> Translation:
    """Find the `aliases` among the settings `given`: those of each of `joints`; those of no joint if there are none."""
    names: set[str] = set()
    found: dict[str, list[AliasedValue]] = {}
    idle: list[str] = []
    faults: list[str] = []
    for entry in aliases:
        places = joints if JOINT in entry.name else () if joints else ("",)
        for joint in places:
            name = entry.name.replace(JOINT, joint)
            if name not in given:
                continue
            names.add(name)
            value = given[name]
            if entry.ours:
                negated = entry.negated and isinstance(value, (int, float)) and not isinstance(value, bool)
                found.setdefault(entry.ours.replace(JOINT, joint), []).append(
                    AliasedValue(f"{name}, negated,", -value) if negated else AliasedValue(name, value)
                )
            elif entry.accepts(value):
                idle.append(f"{name} ({entry.does})")
            else:
                faults.append(f"parameter {name} is {value!r}, which this controller cannot do: {entry.does}")
    return Translation(frozenset(names), found, tuple(idle), tuple(faults))
