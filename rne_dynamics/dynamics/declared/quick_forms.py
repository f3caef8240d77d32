"""The functions that users call with one state: one for each number of inputs, with and without options.

A function of any number of arguments would cost a call of six joints 20 %.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rne_dynamics.compiling.sealed import ODD_ARGUMENTS, Sealed
from rne_dynamics.model.packed_arm import OK
from rne_dynamics.model.robot import RobotModel

#: A function of a robot's vectors.
Call = Callable[..., Any]
#: Default of an argument that may be given by its name.
_LATER: Any = object()


def given(*vectors: Any) -> tuple[Any, ...]:
    """The vectors that the caller has given in their places."""
    return tuple(vector for vector in vectors if vector is not _LATER)


def public_of_one(name: str, function: Call, first_call: Callable[[RobotModel, Call], Call]) -> Call:
    """A quantity's public function of a robot and one vector.

    Parameters
    ----------
    name
        Of the quantity, by which `RobotModel.own_code` has the robot's function.
    function
        Takes all that the other cannot: options, other kinds of robots.
    first_call
        Makes the robot's function and keeps it.
    """

    def public(robot: Any, q: Any = _LATER, **options: Any) -> Any:
        if options:
            return function(robot, *given(q), **options)
        try:
            call = robot.own_code[name]
        except KeyError:
            call = first_call(robot, function)
        except AttributeError:
            return function(robot, *given(q))
        return call(q)

    return public


def public_of_two(name: str, function: Call, first_call: Callable[[RobotModel, Call], Call]) -> Call:
    """As `public_of_one`, of two vectors."""

    def public(robot: Any, q: Any = _LATER, qd: Any = _LATER, **options: Any) -> Any:
        if options:
            return function(robot, *given(q, qd), **options)
        try:
            call = robot.own_code[name]
        except KeyError:
            call = first_call(robot, function)
        except AttributeError:
            return function(robot, *given(q, qd))
        return call(q, qd)

    return public


def public_of_three(name: str, function: Call, first_call: Callable[[RobotModel, Call], Call]) -> Call:
    """As `public_of_one`, of three vectors."""

    def public(robot: Any, q: Any = _LATER, qd: Any = _LATER, x: Any = _LATER, **options: Any) -> Any:
        if options:
            return function(robot, *given(q, qd, x), **options)
        try:
            call = robot.own_code[name]
        except KeyError:
            call = first_call(robot, function)
        except AttributeError:
            return function(robot, *given(q, qd, x))
        return call(q, qd, x)

    return public


def general_of_one(
    sealed: Sealed, robot: RobotModel, shape: tuple[int, ...], parts: Call | None, long_way: Call
) -> Call:
    """The function of one vector by the general kernel, for one state in contiguous arrays; others go the long way."""
    empty = np.empty

    def call(q: Any) -> Any:
        out = empty(shape)
        try:
            if sealed.call(robot.packed, q, out) == OK:
                return out if parts is None else parts(out[0], out[1], out[2])
        except ODD_ARGUMENTS:
            if sealed.prepare():
                return call(q)
        return long_way(q)

    return call


def general_of_two(
    sealed: Sealed, robot: RobotModel, shape: tuple[int, ...], parts: Call | None, long_way: Call
) -> Call:
    """As `general_of_one`, of two vectors."""
    empty = np.empty

    def call(q: Any, qd: Any) -> Any:
        out = empty(shape)
        try:
            if sealed.call(robot.packed, q, qd, out) == OK:
                return out if parts is None else parts(out[0], out[1], out[2])
        except ODD_ARGUMENTS:
            if sealed.prepare():
                return call(q, qd)
        return long_way(q, qd)

    return call


def general_of_three(
    sealed: Sealed, robot: RobotModel, shape: tuple[int, ...], parts: Call | None, long_way: Call
) -> Call:
    """As `general_of_one`, of three vectors."""
    empty = np.empty

    def call(q: Any, qd: Any, x: Any) -> Any:
        out = empty(shape)
        try:
            if sealed.call(robot.packed, q, qd, x, out) == OK:
                return out if parts is None else parts(out[0], out[1], out[2])
        except ODD_ARGUMENTS:
            if sealed.prepare():
                return call(q, qd, x)
        return long_way(q, qd, x)

    return call


PUBLIC_FORMS = {1: public_of_one, 2: public_of_two, 3: public_of_three}
GENERAL_FORMS = {1: general_of_one, 2: general_of_two, 3: general_of_three}
