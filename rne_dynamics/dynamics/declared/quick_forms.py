"""Functions that users call with one state."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from rne_dynamics.model.robot import RobotModel

#: A function of a robot's vectors.
Call = Callable[..., Any]
_PUBLIC = """
def {name}(robot, {vectors}{keywords}):
    if {alone}:
        try:
            call = robot.own_code[{name!r}]
        except KeyError:
            call = first_call(robot, function)
        except AttributeError:  # another kind of robot
            return function(robot, {vectors})
        return call({vectors})
    return function(robot, {vectors}{given})
"""


def public_form(name: str, function: Call, first_call: Callable[[RobotModel, Call], Call]) -> Call:
    """A quantity's public function, of a robot, vectors, and options by keyword: quick without options.

    It is written out with the names of `function`: a function of any arguments takes twice as long.

    Parameters
    ----------
    name
        Of the quantity, by which `RobotModel.own_code` has the robot's function of the vectors.
    function
        Takes all that the other cannot: options, other kinds of robots.
    first_call
        Makes the robot's function and keeps it.
    """
    _, *parameters = signature(function).parameters.values()
    options = [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    defaults = {f"default_{option.name}": option.default for option in options}
    source = _PUBLIC.format(
        name=name,
        vectors=", ".join(parameter.name for parameter in parameters if parameter not in options),
        keywords="".join([", *"] * bool(options) + [f", {x.name}=default_{x.name}" for x in options]),
        alone=" and ".join(f"{x.name} is default_{x.name}" for x in options) or "True",
        given="".join(f", {x.name}={x.name}" for x in options),
    )
    scope: dict[str, Any] = {"function": function, "first_call": first_call, **defaults}
    exec(source, scope)
    made: Call = scope[name]
    return made

