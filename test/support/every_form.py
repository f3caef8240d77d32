"""Every public quantity of a robot in every form that it can be asked in: agreeing answers, or one reason for all."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np

import rne_dynamics as rne
from rne_dynamics.dynamics.forward_dynamics import FORWARD_ENGINES
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import RneDynamicsError, SingularInertiaError
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.robot import RobotModel

#: States of a batch.
STATES = 20
#: Largest difference of two forms over the size of the state's terms.
ROUND_OFF = 1e-9
#: Condition of a mass matrix from which on engines may differ in whether a joint moves inertia.
NEARLY_SINGULAR = 1e9

Inputs = dict[str, Array]


@dataclass(frozen=True)
class Asked:
    """A quantity: its public function, its vectors in their order, and further arguments for a number of states."""

    name: str
    vectors: tuple[str, ...]
    options: Callable[[slice | int], dict[str, Any]] = lambda states: {}
    bound: bool = False  # whether `bind` has it with these options
    batches: bool = False  # whether `bind` has it for batches

    def of(self, robot: RobotModel, inputs: Inputs, states: slice | int) -> Any:
        """The public function's answer for some states."""
        given = (inputs[x][states].copy() for x in self.vectors)
        return getattr(rne, self.name)(robot, *given, **self.options(states))


def numbers(answer: Any) -> list[Array]:
    """All arrays of an answer, in its order."""
    if isinstance(answer, (RobotModel, str)):
        return []
    if isinstance(answer, Inertia):
        return [np.array([answer.mass, *(answer.mass * answer.com)]), answer.inertia]
    if isinstance(answer, dict):
        return [x for value in answer.values() for x in numbers(value)]
    if isinstance(answer, tuple):
        return [x for value in answer for x in numbers(value)]
    if is_dataclass(answer):
        return [x for field in fields(answer) for x in numbers(getattr(answer, field.name))]
    return [np.asarray(answer, dtype=np.float64)]


def flat(answer: Any, lead: int) -> Array:
    """All numbers of an answer for `lead` states, a row for each; a dimension (lead,) comes first in each array."""
    return np.concatenate([x.reshape(lead, -1) for x in numbers(answer)], axis=1)


def asked(robot: RobotModel, rng: np.random.Generator) -> Iterator[Asked]:
    """All quantities; those with loads and a moving base too."""
    link = str(rng.choice(robot.link_names))
    wrench, spin = rng.normal(size=(STATES, 6)), rng.normal(size=(STATES, 3))

    def loaded(states: slice | int) -> dict[str, Any]:
        return {"wrenches": {link: wrench[states], robot.link_names[-1]: wrench[0]}}

    def moved(states: slice | int) -> dict[str, Any]:
        return {"base_motion": rne.BaseMotion(spin[states], spin[0], spin[1])} if robot.base == "fixed" else {}

    def both(states: slice | int) -> dict[str, Any]:
        return loaded(states) | moved(states)

    three = ("q", "qd", "qdd")
    for name, vectors in (
        ("inverse_dynamics", three), ("forward_dynamics", ("q", "qd", "tau")), ("regressor", three),
        ("inverse_dynamics_derivatives", three), ("forward_dynamics_derivatives", ("q", "qd", "tau")),
    ):  # fmt: skip
        batches = name != "forward_dynamics_derivatives"
        yield Asked(name, vectors, bound=True, batches=batches)
        yield Asked(name, vectors, moved if name == "regressor" else both)
    for name in ("mass_matrix", "gravity_torque", "forward_kinematics"):
        yield Asked(name, ("q",), bound=True, batches=name != "forward_kinematics")
    for name in ("bias_torque", "coriolis_matrix"):
        yield Asked(name, ("q", "qd"), bound=True, batches=True)
    for named in (link, robot.link_names[0]):  # the root link of a fixed base does not move
        of_link = {"link": named}
        yield Asked("jacobian", ("q",), partial(_always, of_link), bound=True)
        yield Asked("jacobian_rate", ("q", "qd"), partial(_always, of_link), bound=True)
    yield Asked("integrate_configuration", ("q", "qd"), bound=True, batches=True)
    for method in FORWARD_ENGINES:
        yield Asked("forward_dynamics", ("q", "qd", "tau"), partial(_always, {"method": method}))
    yield Asked("lagrange_terms", ("q", "qd"))
    yield Asked("lagrange_terms", ("q", "qd"), moved)
    yield Asked("reduced_equations", ("q", "qd"), both)
    for name in ("kinetic_energy", "momentum"):
        yield Asked(name, ("q", "qd"))
    for name in ("potential_energy", "center_of_mass", "centroidal_momentum_matrix"):
        yield Asked(name, ("q",))
    for options in ({}, {"point": "com"}, {"links": [link]}):
        yield Asked("momentum_rate", three, partial(_always, options))
    yield Asked("joint_reactions", three)
    yield Asked("joint_reactions", three, both)
    for named in (link, robot.link_names[0]):
        yield Asked("free_body", three, lambda states, named=named: {"link": named, "point": None, **loaded(states)})
    yield Asked("friction_torque", ("qd",))


def _always(options: dict[str, Any], states: slice | int) -> dict[str, Any]:
    return options


def states_of(robot: RobotModel, rng: np.random.Generator) -> Inputs:
    """Random states."""
    vectors = {x: rng.normal(size=(STATES, robot.n)) for x in ("qd", "qdd", "tau")}
    return {"q": rne.random_configuration(robot, rng, STATES), **vectors}


def forms(robot: RobotModel, what: Asked, inputs: Inputs) -> Iterator[tuple[str, Callable[[], Array]]]:
    """Forms by name, each of which computes rows for the first states; see `problems`."""

    def rows(count: int) -> Array:
        return flat(what.of(robot, inputs, slice(0, count)), count)

    def lists() -> Array:
        given = (inputs[x][0].tolist() for x in what.vectors)
        return flat(getattr(rne, what.name)(robot, *given, **what.options(0)), 1)

    def grid() -> Array:
        # leading dimensions (2, 3) of which the second input, if any, has the last alone
        first, *rest = what.vectors
        given = [inputs[first][:6].reshape(2, 3, -1), *(inputs[x][0] for x in rest)]
        answer = getattr(rne, what.name)(robot, *given, **what.options(0))
        return flat(answer, 6)[:1]

    yield "one state", lambda: flat(what.of(robot, inputs, 0), 1)
    yield "lists", lists
    yield "a grid", grid
    for count in (1, 5, STATES):
        yield f"{count} rows", partial(rows, count)
    yield "0 rows", partial(_nothing, robot, what, inputs)
    if what.bound:
        yield from _bound_forms(robot, what, inputs)


def _nothing(robot: RobotModel, what: Asked, inputs: Inputs) -> Array:
    arrays = numbers(what.of(robot, inputs, slice(0, 0)))
    assert all(not x.size for x in arrays)
    return np.empty((0, 1))


def _bound_forms(robot: RobotModel, what: Asked, inputs: Inputs) -> Iterator[tuple[str, Callable[[], Array]]]:
    def bound(with_out: bool) -> Array:
        function = rne.bind(robot, what.name, **what.options(0))
        given = [inputs[x][0].copy() for x in what.vectors]
        answer = function(*given)
        if with_out:
            out = answer
            if isinstance(answer, tuple):
                out = np.empty((3, robot.n, robot.n))
            answer = function(*given, out=out)
        return flat(answer, 1)

    def batch(engine: str) -> Array:
        function = rne.bind(robot, what.name, batch=engine)
        return flat(function(*(inputs[x] for x in what.vectors)), STATES)

    def batch_out() -> Array:
        function = rne.bind(robot, what.name, batch="straight_line")
        given = [inputs[x][:3].copy() for x in what.vectors]
        out = np.empty((3, *function.shape))
        return flat(function(*given, out=out), 3)

    def of_c() -> Array:
        function = rne.c_function(robot, what.name, **what.options(0))
        given, out = [inputs[x][0].copy() for x in what.vectors], np.empty(function.output)
        status = function.ctypes(*(np.ctypeslib.as_ctypes(x.reshape(-1)) for x in (*given, out)))
        if status != function.DONE:
            return bound(False)
        return out.reshape(1, -1)

    code = QUANTITIES[what.name].code(robot, what.options(0).get("link", ""))
    if code is not None:
        yield "function of C", of_c
    yield "bind", partial(bound, False)
    yield "bind with out", partial(bound, True)
    if what.batches:
        yield "bind for batches", partial(batch, "straight_line")
        yield "bind for batches, general", partial(batch, "general")
        yield "bind for batches with out", batch_out


def runs(robot: RobotModel, inputs: Inputs) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What else is made of a robot: simulations, its export as C, its description."""
    q, qd, tau = (inputs[x][0].copy() for x in ("q", "qd", "tau"))
    plant = rne.ArmPlant(robot)
    yield "free motion", lambda: rne.free_motion(plant, q, qd, seconds=3e-3, effort=tau).q
    yield "integrate", lambda: rne.integrate(plant, rne.State(0.0, q, qd), tau, np.linspace(0.0, 1e-3, 3))[-1].q
    yield "export", lambda: [rne.to_c(robot), 0.0][1]
    yield "export of what needs no inertia", lambda: [rne.to_c(robot, quantities=["mass_matrix", "jacobian"]), 0.0][1]
    yield "description", lambda: rne.load_urdf(rne.to_urdf(robot), base=robot.base).mass


def problems(robots: dict[str, RobotModel], seed: int, share: float = 1.0) -> Iterator[str]:
    """What is wrong with any form of any quantity of a robot, given as it is computed in several ways by name.

    These are raw exceptions, numbers that are not finite, answers where another form refuses, and differences beyond
    round-off; of accelerations beyond that of the efforts that they need. A random `share` of all quantities is asked
    for.
    """
    reference, *_ = robots.values()
    rng = np.random.default_rng(seed)
    inputs = states_of(reference, rng)
    M = rne.mass_matrix(reference, inputs["q"][:STATES])
    ill = bool(reference.n and (np.linalg.cond(M, 2) > NEARLY_SINGULAR).any())
    for what in asked(reference, rng):
        chosen = [way for way in robots if rng.random() < share]
        if not chosen:
            continue
        try:
            expected = flat(what.of(reference, inputs, slice(0, STATES)), STATES)
        except RneDynamicsError:
            expected = None
        except Exception as error:  # noqa: BLE001 - what is looked for
            yield f"{reference.name}, {what.name} {sorted(what.options(0))}, {STATES} rows: {_said(error)}"
            continue
        for way in chosen:
            for form, compute in forms(robots[way], what, inputs):
                where = f"{reference.name}, {way}, {what.name} {sorted(what.options(0))}, {form}"
                try:
                    answer = compute()
                except RneDynamicsError as error:
                    if expected is not None and not (ill and isinstance(error, SingularInertiaError)):
                        yield f"{where}: refused with {error}"
                    continue
                except Exception as error:  # noqa: BLE001 - what is looked for
                    yield f"{where}: {_said(error)}"
                    continue
                if not np.isfinite(answer).all():
                    yield f"{where}: not finite"
                elif len(answer) and expected is None and not ill:
                    yield f"{where}: an answer, but other forms refuse"
                elif len(answer) and expected is not None:
                    error = _difference(reference, what, inputs, answer, expected[: len(answer)])
                    if not error < ROUND_OFF:
                        yield f"{where}: differs by {error:.2g}"
    for way in (way for way in robots if rng.random() < share):
        for name, run in runs(robots[way], inputs):
            try:
                run()
            except Exception as error:  # noqa: BLE001 - what is looked for
                if not isinstance(error, RneDynamicsError):  # a refusal with its reason is right
                    yield f"{reference.name}, {way}, {name}: {_said(error)}"


def _said(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"


def _difference(robot: RobotModel, what: Asked, inputs: Inputs, answer: Array, expected: Array) -> float:
    """Largest difference over the size of what a state's answer is the sum of."""
    count = len(answer)
    size = np.abs(expected).max(axis=1, initial=0.0)
    reach, *rates = (1.0 + np.abs(inputs[x][:count]).max(axis=1, initial=0.0) for x in ("q", "qd", "qdd", "tau"))
    heaviness = (1.0 + robot.mass) * (1.0 + np.linalg.norm(robot.gravity))
    size = size + 1e-3 * heaviness * reach**2 * sum(rates) ** 2
    if what.name.startswith("forward_dynamics") and robot.n:
        size = size * np.linalg.cond(rne.mass_matrix(robot, inputs["q"][:count]), 2)
    return float((np.abs(answer - expected).max(axis=1, initial=0.0) / size).max(initial=0.0))
