"""Record the topics of an arm in MCAP files, for `rne plot`, Foxglove and PlotJuggler.

The messages are written as they come, by a process with low priority. The arm does not depend on it: where the disk is
full the recording ends, and nothing else.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Sequence
from functools import partial

import rclpy
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.node import Node

from rne_dynamics.errors import RecordingError, RneDynamicsError
from rne_dynamics.ros.messages.topic_recording import TopicRecording, new_file
from rne_dynamics.ros.node.command_line import read_command_line
from rne_dynamics.ros.node.process import StopSignal, end_with_parent, initialise, log_at
from rne_dynamics.ros.parameters.files import Parameter
from rne_dynamics.ros.parameters.table import ParameterTable

#: Topics of an arm; ``*`` stands for one part of a name.
TOPICS = (
    "joint_states", "*/commands", "*/torque/*", "*/reference", "*/controller_state", "*/joint_trajectory", "*/setpoint",
    "*/deflections", "*/state", "robot_description", "/diagnostics",
)  # fmt: skip

SCHEMA: tuple[Parameter, ...] = (
    Parameter("output", "", "An .mcap, or a folder in which one is named by the date; empty for the present folder. A "
              "file that exists is refused.", read_only=True),
    Parameter("topics", TOPICS, "Names of topics, absolute or in the node's namespace; * stands for one part of a "
              "name.", read_only=True),
    Parameter("total_size", 20000.0, "Size after which the recording ends.", "MB", 1.0, 1e9, read_only=True),
    Parameter("flush_period", 0.5, "Longest time that messages are in memory only.", "s", 0.05, 60.0, read_only=True),
)  # fmt: skip


#: Time between two looks for messages, and for new topics, s.
DRAIN_PERIOD, DISCOVERY_PERIOD = 0.02, 0.1
#: Added to the process's niceness, so that the control loop goes first.
NICENESS = 10


def main(argv: Sequence[str] | None = None) -> int:
    """Record until SIGINT or SIGTERM; returns the exit code, 1 if the recording has ended early."""
    read_command_line("recorder", __doc__, SCHEMA, argv)
    gc.enable()  # off while modules are imported
    with StopSignal() as stop:
        try:
            end_with_parent()
            os.nice(NICENESS)
            initialise(argv)
            node = rclpy.create_node("recorder", start_parameter_services=False)
            return record(node, stop)
        except KeyboardInterrupt:
            return stop.code_if_early()
        except (RneDynamicsError, InvalidParameterTypeException) as error:  # the second: of parameters of rclpy's own
            print(f"record: {error}", file=sys.stderr)
            return 1
        finally:
            rclpy.try_shutdown()


def record(node: Node, stop: StopSignal) -> int:
    """Record until a signal; 1 if the recording has ended early."""
    logger, values = node.get_logger(), ParameterTable(node, SCHEMA)
    recording = TopicRecording(node, new_file(values["output"]), values["topics"], partial(log_at, logger))
    largest, period = 1e6 * values["total_size"], values["flush_period"]
    stop.defer()
    recording.discover()
    logger.info(f"ready: records in {recording.file.path}")
    flush_at = discover_at = time.monotonic()
    try:
        while not stop.requested and recording.file.size < largest:
            time.sleep(DRAIN_PERIOD)
            now = time.monotonic()
            if now >= discover_at:
                recording.discover()
                discover_at = now + DISCOVERY_PERIOD
            recording.drain()
            if now >= flush_at:
                recording.file.flush()
                flush_at = now + period
        recording.drain()
        recording.close()
    except RecordingError as error:
        recording.file.abandon()
        logger.error(f"the recording has ended: {error}. The arm goes on")
        return 1
    for topic, stream in recording.streams.items():
        logger.info(f"{topic}: {stream.report}")
    if recording.file.size >= largest:
        logger.error(
            f"the recording has ended at its total_size of {values['total_size']:g} MB. The arm goes on"
        )
        return 1
    logger.info(f"recorded {1e-6 * recording.file.size:.1f} MB in {recording.file.path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
