"""Unit of the speed scaling that other nodes publish: a fraction, or percent as ur_robot_driver does."""

from __future__ import annotations

from rne_dynamics.errors import ControlError

#: Value of full speed, by the value of the parameter `speed_scaling_unit`.
FULL_SPEED = {"fraction": 1.0, "percent": 100.0}


class SpeedUnit:
    """Converts numbers from a topic to fractions of full speed.

    Parameters
    ----------
    unit
        A key of `FULL_SPEED`.
    """

    def __init__(self, unit: str) -> None:
        self._unit, self._full = unit, FULL_SPEED[unit]
        self._largest, self._warned = 0.0, False

    def fraction(self, value: float) -> float:
        """The fraction, 0 to 1, that `value` means.

        Raises
        ------
        ControlError
            It is out of range, or not a number.
        """
        if not 0.0 <= value <= self._full:
            hint = ""
            if self._unit == "fraction" and 1.0 < value <= FULL_SPEED["percent"]:
                hint = ". If the sender means percent, as ur_robot_driver does, set speed_scaling_unit to percent"
            raise ControlError(
                f"speed scaling is {value:g}; it must lie between 0 and {self._full:g} (speed_scaling_unit is "
                f"{self._unit}){hint}"
            )
        self._largest = max(self._largest, value)
        return value / self._full

    def suspicion(self) -> str:
        """A warning, once, if all numbers since the start are plausible in the other unit; otherwise empty.

        Percent that never exceed 1 may be fractions: the arm then moves at 1 % of the intended speed.
        """
        if self._unit != "percent" or self._warned or not 0.0 < self._largest <= 1.0:
            return ""
        self._warned = True
        return (
            f"speed scaling is {self._largest:g} percent and was never more: the arm moves that slowly. If the sender "
            "means a fraction, set speed_scaling_unit to fraction"
        )
