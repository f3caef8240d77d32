"""An arm that is not ours: MuJoCo steps a URDF behind the topics of a real one.

The node publishes `joint_states` (positions, velocities, efforts of the motors) 1000 times a second at absolute
deadlines and takes `effort_controller/commands`. As drives do, it holds the arm until the first command, clamps efforts
at the URDF's limits, gives an effort from the deadline after its arrival on, which makes it one period late, and gives
none once commands have stayed away for 0.2 s.

Stamps are the time of the simulation: its start plus whole periods. A period that is late is made up for by shorter
waits. Where one is late by more than a period the deadlines move by as much, so that states never come in bursts; the
simulation is then slower than real time, and by how much is recorded.
"""

from __future__ import annotations

import argparse
import gc
import signal
import sys
import time
import xml.etree.ElementTree as ET
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
import rclpy
from numpy.typing import NDArray
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

Array = NDArray[np.float64]

PERIOD = 1_000_000  # ns
SUBSTEPS = 2
COMMAND_TIMEOUT = 200 * PERIOD
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
OFFERED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)


class Arm(NamedTuple):
    """A URDF of the example-robot-data wheel, joints that stay at zero with those that mimic them, and a move."""

    urdf: str
    locked: tuple[str, ...]
    start: tuple[float, ...]
    end: tuple[float, ...]

    @property
    def path(self) -> Path:
        """Where the wheel has the URDF."""
        wheel = distribution("example-robot-data")
        return next(Path(str(wheel.locate_file(f))) for f in wheel.files or [] if f.name == self.urdf)


ARMS = {
    "ur5": Arm("ur5_robot.urdf", (), (0.0, -1.2, 1.4, -1.0, -1.2, 0.3), (0.9, -0.5, 0.6, -1.8, -0.4, 1.2)),
    "panda": Arm(
        "panda.urdf", ("panda_finger_joint1",),
        (0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8), (0.8, 0.2, -0.6, -1.4, 0.7, 2.3, -0.2),
    ),
}  # fmt: skip


def compiled(arm: Arm) -> mujoco.MjModel:
    """MuJoCo's model of the URDF without shapes, thus without contacts; a motor on every joint that moves.

    Masses, damping, friction, position and effort limits are what MuJoCo reads of the file itself.
    """
    root = ET.parse(arm.path).getroot()
    for link in root.iter("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    for joint in root.iter("joint"):
        mimic = joint.find("mimic")
        leader = joint.get("name") if mimic is None else mimic.get("joint")
        if leader in arm.locked:
            joint.set("type", "fixed")
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    spec.option.timestep = 1e-9 * PERIOD / SUBSTEPS
    for joint in spec.joints:
        spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_motor()
    return spec.compile()


def names_of(model: mujoco.MjModel) -> list[str]:
    """The joints in MuJoCo's order."""
    return [model.joint(j).name for j in range(model.njnt)]


class Plant:
    """The node; see the module."""

    def __init__(self, arm: Arm, late: int) -> None:
        self.model = compiled(arm)
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:] = arm.start
        mujoco.mj_forward(self.model, self.data)
        self.node = rclpy.create_node("mujoco_plant", start_parameter_services=False)
        self.state = JointState(name=names_of(self.model))
        self.states = self.node.create_publisher(JointState, "joint_states", OFFERED)
        self.commands = self.node.create_subscription(
            Float64MultiArray, "effort_controller/commands", lambda message: None, NEWEST
        )
        self.late, self.age, self.held = late, 0, True
        self.periods = 0
        self.missed, self.standstill = False, 0  # in the present period
        self.rows: list[tuple[int, Array, bool, float]] = []

    def run(self, stopped: list[int]) -> None:
        """Step and publish until a signal has come."""
        origin, deadline = time.time_ns(), time.monotonic_ns()
        while not stopped:
            deadline += PERIOD
            behind = time.monotonic_ns() - deadline
            self.standstill = behind if behind > PERIOD else 0
            deadline += self.standstill
            if behind < 0:
                time.sleep(-1e-9 * behind)
            self.advance()
            self.publish(origin + self.periods * PERIOD)

    def advance(self) -> None:
        """The period that ends now: with the command that had come by its begin, or not late, by its end."""
        if not self.late:
            self.take()
        if not self.held:
            mujoco.mj_step(self.model, self.data, nstep=SUBSTEPS)
        if self.late:
            self.take()
        self.periods += 1

    def take(self) -> None:
        """The newest command, if one has come since the last period."""
        with self.commands.handle:
            taken = self.commands.handle.take_message(Float64MultiArray, False)
        self.missed = taken is None and not self.held
        if taken is not None:
            self.data.ctrl[:] = taken[0].data
            self.age, self.held = 0, False
        elif self.missed:
            self.age += PERIOD
            if self.age >= COMMAND_TIMEOUT:
                self.data.ctrl[:] = 0.0

    def publish(self, stamp: int) -> None:
        """The state, and a row of the record."""
        q = self.data.qpos.copy()
        self.state.position, self.state.velocity = q.tolist(), self.data.qvel.tolist()
        self.state.effort = self.data.qfrc_actuator.tolist()  # clamped by MuJoCo
        self.state.header.stamp.sec, self.state.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
        self.states.publish(self.state)
        self.rows.append((stamp, q, self.missed, 1e-9 * self.standstill))

    def save(self, file: Path) -> None:
        """Write what was recorded."""
        stamps, q, missed, standstill = (np.array(column) for column in zip(*self.rows, strict=True))
        np.savez(file, stamps=stamps, q=q, missed=missed, standstill=standstill)


def serve(arm: Arm, late: int, record: Path | None) -> None:
    """Run the plant until SIGINT or SIGTERM."""
    stopped: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: stopped.append(number))
    rclpy.init(signal_handler_options=rclpy.SignalHandlerOptions.NO)
    plant = Plant(arm, late)
    gc.collect()
    gc.freeze()
    gc.disable()  # nothing here makes cycles
    plant.run(stopped)
    if record is not None:
        plant.save(record)
    rclpy.shutdown()


def main() -> None:
    """Run the node; takes --ros-args too."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", choices=ARMS, default="ur5")
    parser.add_argument("--late", type=int, choices=(0, 1), default=1, help="periods until an effort acts")
    parser.add_argument("--record", type=Path, help="file for the positions at each stamp, .npz")
    arguments = parser.parse_args(remove_ros_args(sys.argv)[1:])
    serve(ARMS[arguments.robot], arguments.late, arguments.record)


if __name__ == "__main__":
    main()
