"""Surroundings and a script of what happens, as one file has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rne_dynamics.errors import ArgumentError, unknown
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.surroundings.surroundings import Surroundings

_KEYS = ("bodies", "touching", "script")


@dataclass(frozen=True)
class Scene:
    """What an arm meets, or None, and what happens: a mismatch with nothing but a script, or None."""

    surroundings: Surroundings | None = None
    script: Mismatch | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Scene:
        """Of the values of a YAML file: bodies and touching (`Surroundings.of`), script (`Mismatch`).

        Raises ArgumentError: names the field, its value and what is allowed.
        """
        for name in values:
            if name not in _KEYS:
                raise ArgumentError(unknown("key", name, _KEYS, "a scene"))
        if "touching" in values and "bodies" not in values:
            raise ArgumentError("scene: touching is given without bodies; give some, or leave it out")
        around = Surroundings.of(values["bodies"], values.get("touching", ())) if "bodies" in values else None
        return cls(around, Mismatch(script=values["script"]) if "script" in values else None)

    def mismatch(self, other: Mismatch | None) -> Mismatch | None:
        """Another mismatch with this script in addition; None without either."""
        if self.script is None or other is None:
            return other or self.script
        events = sorted((*other.script, *self.script.script), key=lambda event: event[0])
        return replace(other, script=tuple(events))
