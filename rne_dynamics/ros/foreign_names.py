"""Parameters as another controller names them: taken where they mean the same, otherwise refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rne_dynamics.errors import ParameterError

Value = TypeVar("Value")
JOINT = "{joint}"


def anything(value: object) -> bool:
    """For settings whose value makes no difference."""
    return True


def only(*values: object) -> Callable[[object], bool]:
    """For settings of which this controller knows the effect of these values alone."""
    return lambda value: value in values


@dataclass(frozen=True)
class ForeignName:
    """One parameter of another controller.

    Parameters
    ----------
    name
        As there; ``{joint}`` stands for every controlled joint.
    ours
        The parameter here that means the same; empty where there is none.
    negated
        Whether ours has the opposite sign.
    accepts
        Of those without one: the values that ask for what this controller does anyway.
    does
        What it does, a clause.
    """

    name: str
    ours: str = ""
    negated: bool = False
    accepts: Callable[[Any], bool] = anything
    does: str = ""


@dataclass(frozen=True)
class Alias:
    """A value given for one of our parameters under another name."""

    label: str
    value: object


@dataclass(frozen=True)
class Translation:
    """What becomes of settings under foreign names.

    Parameters
    ----------
    names
        All that were found.
    aliases
        By our name.
    without_effect
        For a line of log.
    faults
        Why others are refused.
    """

    names: frozenset[str]
    aliases: Mapping[str, Sequence[Alias]]
    without_effect: tuple[str, ...]
    faults: tuple[str, ...]

    def agreed(
        self, name: str, parse: Callable[[str, object], Value], given: Mapping[str, object]
    ) -> Value | None:
        """The value of our parameter `name` where it has one under another name; None where not.

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
            said = " and ".join(f"{label} {value!r}" for label, value in found)
            raise ParameterError(f"parameters {said} mean the same and differ; give {name} alone")
        return found[0][1]


def translate(given: Mapping[str, Any], foreign: Iterable[ForeignName], joints: Sequence[str]) -> Translation:
    """Look for foreign names among `given`: those for each of `joints`, and of no joint where there are none."""
    names: set[str] = set()
    aliases: dict[str, list[Alias]] = {}
    idle: list[str] = []
    faults: list[str] = []
    for entry in foreign:
        places = joints if JOINT in entry.name else () if joints else ("",)
        for joint in places:
            name = entry.name.replace(JOINT, joint)
            if name not in given:
                continue
            names.add(name)
            value = given[name]
            if entry.ours:
                number = isinstance(value, (int, float)) and not isinstance(value, bool)
                alias = Alias(f"{name}, negated,", -value) if entry.negated and number else Alias(name, value)
                aliases.setdefault(entry.ours.replace(JOINT, joint), []).append(alias)
            elif entry.accepts(value):
                idle.append(f"{name} ({entry.does})")
            else:
                faults.append(f"parameter {name} is {value!r}, which this controller cannot do: {entry.does}")
    return Translation(frozenset(names), aliases, tuple(idle), tuple(faults))
