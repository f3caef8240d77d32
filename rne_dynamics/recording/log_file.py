"""The log of a simulation as an MCAP file, under the topics that the nodes have."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rne_dynamics.errors import RecordingError
from rne_dynamics.model.protocol import Robot
from rne_dynamics.recording.mcap_file import McapFile, check_installed
from rne_dynamics.recording.messages import (
    FLOATS,
    JOINT_STATE,
    NANOSECONDS,
    definition,
    float_arrays,
    joint_states,
    typestore,
)
from rne_dynamics.simulation.runs.log import Log

STATES, COMMANDS, CONTROLLER = "/joint_states", "/effort_controller/commands", "/computed_torque_controller"
FLOATING = "an .mcap has one position for each joint, and a floating base has 7 for 6 velocities; give .npz or .csv"


def needs_joint_positions(robot: Robot) -> None:
    """Raise `RecordingError` if logs of the robot cannot be written, and `MissingDependencyError` as `save_mcap`."""
    if robot.nq != robot.n:
        raise RecordingError(FLOATING)
    typestore()
    check_installed()


def save_mcap(log: Log, path: Path) -> None:
    """Write a log, stamps from 0, over an existing file; `RecordingError`: a floating base, or no place to write."""
    names = log.joint_names
    if log.q.shape[1] != len(names):
        raise RecordingError(FLOATING)
    stamps = np.rint(log.time * NANOSECONDS).astype(np.int64)
    series = [
        (STATES, JOINT_STATE, joint_states(names, stamps, position=log.q, velocity=log.qd, effort=log.effort)),
        (COMMANDS, FLOATS, float_arrays(names, log.effort)),
    ]
    if log.reference_q is not None and log.reference_qd is not None:
        messages = joint_states(names, stamps, position=log.reference_q, velocity=log.reference_qd)
        series.append((f"{CONTROLLER}/reference", JOINT_STATE, messages))
    for term, values in log.terms.items():
        series.append((f"{CONTROLLER}/torque/{term}", JOINT_STATE, joint_states(names, stamps, effort=values)))
    with McapFile(path, replace=True) as file:
        channels = [file.channel(topic, kind, definition(kind)) for topic, kind, _ in series]
        for k, stamp in enumerate(stamps.tolist()):
            for channel, (_, _, messages) in zip(channels, series, strict=True):
                file.write(channel, messages[k], stamp, stamp, k)
