"""Parameter files: the settings for one node, and those that are valid for rcl but apply to no node of a process."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rne_dynamics.description.yaml_nodes import MOST_BYTES, plain
from rne_dynamics.errors import ParameterError
from rne_dynamics.input_file import read_limited

SECTION = "ros__parameters"
#: Parameters of hardware that a simulated arm does not have, and the terms that it can add to the efforts as hardware.
OF_HARDWARE = ("effort_scale.", "drives.topic", "base_motion.", "realtime_priority", "cpu_affinity", "lock_memory")
SIMULATED = ("gravity", "friction")
#: What the arm has as its model does, unless the file gives the simulator something else.
OF_THE_ARM = ("gravity", "payload.link", "payload.mass", "payload.com", "payload.inertia")
#: Gravity in simulation of an arm that compensates it itself, m/s^2: with none at all its efforts are exactly 0, which
#: counts as not reported.
NEXT_TO_NONE = [0.0, 0.0, -0.001]
_FLAGS = {"--params-file": "--params-file", "-p": "-p", "--param": "-p"}
#: ``NODE:NAME:=VALUE``, a setting for one node.
_FOR_ONE_NODE = re.compile(r"(?P<node>[^:=]+):(?P<name>[^:=]+):=")


def lost_settings(arguments: Sequence[str], name: str, namespace: str) -> list[str]:
    """Warnings about parameter files and settings of the command line that are for other nodes only.

    Parameters
    ----------
    arguments
        Of the process.
    name, namespace
        Of the node, after remapping.
    """
    full = f"{namespace.rstrip('/')}/{name}"
    warnings = []
    for flag, value in ros_settings(arguments):
        if flag == "-p":
            found = _FOR_ONE_NODE.match(value)
            if found and f"/{found['node']}" != full:
                warnings.append(
                    f"{flag} {value} is for node /{found['node']}, and this one is {full}: it is not set. Give it as "
                    f"{flag} {value.partition(':')[2]}"
                )
            continue
        keys = list(node_keys(value))
        if not any(applies(key, full) for key in keys):
            theirs = f"they are for {', '.join(keys)}" if keys else f"it has no {SECTION}"
            warnings.append(
                f"no parameter in {value} is for this node, {full}: {theirs}. Give them under the key {full} or, for "
                f"any namespace, /**/{name}"
            )
    return warnings


def ros_settings(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Parameter files (``--params-file``) and single parameters (``-p``) among ROS arguments."""
    inside = False
    words = iter(arguments)
    for word in words:
        if word in ("--ros-args", "--"):
            inside = word == "--ros-args"
        elif inside and word in _FLAGS and (value := next(words, None)) is not None:
            yield _FLAGS[word], value


def node_keys(file: str) -> Iterator[str]:
    """The nodes that a parameter file names, each from the root on; none where it cannot be read."""
    import yaml  # late: only nodes with files need it

    try:
        # without tags, as rcl reads it: ROS's launch writes lists as !!python/tuple
        content = plain(read_limited(file, MOST_BYTES), yaml.BaseLoader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError):  # rcl reads it too and reports the fault
        return
    yield from (key for key, _ in _sections(content, ""))


def settings_for(file: str, node: str) -> dict[str, Any]:
    """The settings of a parameter file for a node, given by its full name: values by name, with dots.

    Raises
    ------
    ParameterError
        A file that cannot be read, or is no parameter file.
    """
    import yaml

    try:
        content = plain(read_limited(file, MOST_BYTES))
    except OSError as error:
        raise ParameterError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise ParameterError(f"{file} is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, Mapping):
        raise ParameterError(f"{file} is no parameter file; it needs keys such as /**/simulator with {SECTION} below")
    return {name: value for key, found in _sections(content, "") if applies(key, node) for name, value in found}


def simulated(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]:
    """The settings of a controller behind which a simulated arm takes the place of the hardware.

    Returns
    -------
    tuple
        Those that the controller keeps, those of the simulator, and the names of those that are left out.
    """
    kept = {k: v for k, v in given.items() if not k.startswith(OF_HARDWARE)}
    arm = {k: given[k] for k in OF_THE_ARM if k in given}
    compensated = given.get("hardware_compensates")
    compensated = compensated if isinstance(compensated, list) else []  # of another type the node refuses it
    if compensated:
        kept["hardware_compensates"] = [term for term in compensated if term in SIMULATED]
        arm |= {"gravity": NEXT_TO_NONE} if "gravity" in compensated else {}
        arm |= {"friction": False} if "friction" in compensated else {}
    left_out = (*sorted({k.partition(".")[0] for k in given if k not in kept and given[k] not in (1.0, "", [])}),
                *(f"hardware_compensates: {term}" for term in compensated if term not in SIMULATED))  # fmt: skip
    return kept, arm, left_out


def _sections(content: Any, above: str) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Each section of settings: the nodes that it is for, and its names and values."""
    if not isinstance(content, Mapping):
        return
    for key, below in content.items():
        if key == SECTION:
            yield above, list(flat(below))
        else:
            yield from _sections(below, f"{above}/{str(key).strip('/')}")


def flat(values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested parameters by their dotted names."""
    for name, value in values.items() if isinstance(values, Mapping) else ():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def applies(key: str, node: str) -> bool:
    """Whether rcl takes settings under `key` for `node`: ``*`` stands for one name, ``**`` for any number of them."""
    parts = [{"**": r"(/\w+)*", "*": r"/\w+"}.get(part, f"/{re.escape(part)}") for part in key.split("/")[1:]]
    return re.fullmatch("".join(parts), node) is not None
