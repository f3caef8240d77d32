"""Messages between the two processes of a controller, and the loop's node; see `control_loop` and `process`."""

from __future__ import annotations

import array
import io
import mmap
import os
import pickle
import select
import socket
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from rne_dynamics.control.contact_watch import ContactSettings, ContactWatch
from rne_dynamics.control.control_law import Reference, TorqueTerms
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.loop.hot_loop import USE_SIM_TIME
from rne_dynamics.ros.messages.answers import LOOP, seen_topic
from rne_dynamics.ros.messages.publishers import EFFORT_TOPIC, EveryNth
from rne_dynamics.ros.messages.topic_wait import LATCHED
from rne_dynamics.ros.node.lifecycle import ArmNode, Entity
from rne_dynamics.ros.parameters.files import Values

if TYPE_CHECKING:
    from collections.abc import Callable


# A pair of sockets that preserve message boundaries. Large messages (the points of a trajectory) are files in memory
# whose descriptors are sent: the receiver maps them, so that nothing is copied while an effort is due, and only pages
# that are used are read.

#: Largest message that is sent through the socket itself, bytes; larger ones are files in memory.
LARGEST_MESSAGE = 60_000
#: Smallest array that is stored outside the pickle, so that it is mapped rather than copied, bytes.
APART = 4096
#: Alignment of arrays in a file, bytes.
ALIGNMENT = 64
#: Files that the sender keeps open: of the current motion, of the next one, and of one just replaced.
FILES_KEPT = 3


class LinkClosedError(RneDynamicsError):
    """The process at the other end has ended."""


class Link:
    """One end of the connection, of a SOCK_SEQPACKET pair; `side`: another one, for bytes that may be lost."""

    def __init__(self, end: socket.socket, side: socket.socket) -> None:
        self._socket, self._side = end, side
        self._files: deque[int] = deque()

    @staticmethod
    def pair(patience: float) -> tuple[Link, Link]:
        """Both ends; the first blocks for at most `patience`, s, when the buffer is full."""
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        side, other_side = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one.settimeout(patience)
        side.setblocking(False)
        other_side.setblocking(False)
        return Link(one, side), Link(other, other_side)

    def close(self) -> None:
        """Close the link at this end."""
        self._socket.close()
        self._side.close()
        self._close_files(kept=0)

    def wait(self, seconds: float) -> bool:
        """Whether a message comes, or the other end closes, within so many seconds."""
        poll = select.poll()  # one for each call: several threads of the node wait at the same time
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(1e3 * seconds))

    def send(self, message: object, *, block: bool = True) -> bool:
        """Send a message; False, and not sent, if it would block for too long; `LinkClosedError`."""
        out = io.BytesIO()
        arrays: list[memoryview] = []

        def kept_in(value: pickle.PickleBuffer) -> bool:
            if value.raw().nbytes >= APART:
                arrays.append(value.raw())
                return False
            return True

        pickle.Pickler(out, protocol=5, buffer_callback=kept_in).dump(message)
        data, flags = out.getvalue(), 0 if block else socket.MSG_DONTWAIT
        try:
            if not arrays and len(data) <= LARGEST_MESSAGE:
                self._socket.send(data, flags | socket.MSG_NOSIGNAL)
                return True
            file, table = _file([data, *arrays])
            try:
                ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))]
                self._socket.sendmsg([table], ancillary, flags | socket.MSG_NOSIGNAL)
            finally:
                self._files.append(file)
                self._close_files(FILES_KEPT)
        except (BlockingIOError, TimeoutError):
            return False
        except OSError as error:
            raise LinkClosedError(f"the other process of this controller has ended ({error.strerror})") from None
        return True

    def send_lossy(self, data: bytes) -> None:
        """Send bytes at once or not at all, independently of the messages."""
        with suppress(OSError):  # full; or the other end has closed, which `receive` reports
            self._side.send(data, socket.MSG_NOSIGNAL)

    def receive_lossy(self, memory: memoryview) -> int:
        """Receive what `send_lossy` sent, the earliest first, into `memory`; its size, 0 for nothing."""
        try:
            return self._side.recv_into(memory)
        except OSError:  # nothing there
            return 0

    def _close_files(self, kept: int) -> None:
        """Close the oldest; the receiver may use those `kept`, and who closes one last spends time to free it."""
        while len(self._files) > kept:
            os.close(self._files.popleft())

    def receive(self) -> Any:
        """The next message; None if there is none now. `LinkClosedError` once everything has been received."""
        try:
            if not self.wait(0.0):
                return None
            data, ancillary, _, _ = self._socket.recvmsg(
                LARGEST_MESSAGE, socket.CMSG_SPACE(array.array("i").itemsize), socket.MSG_DONTWAIT
            )
        except BlockingIOError:  # another thread was faster
            return None
        except OSError as error:
            raise LinkClosedError(f"the other process of this controller has ended ({error.strerror})") from None
        if not data:
            raise LinkClosedError("the other process of this controller has ended")
        if not ancillary:
            return pickle.loads(data)
        (file,) = array.array("i", ancillary[0][2])
        try:
            memory = memoryview(mmap.mmap(file, 0, access=mmap.ACCESS_READ))
        finally:
            os.close(file)
        places = memoryview(data).cast("Q")
        first, *rest = (memory[places[k] : places[k] + places[k + 1]] for k in range(0, len(places), 2))
        return pickle.loads(first, buffers=rest)


def _file(parts: list[bytes | memoryview]) -> tuple[int, bytes]:
    """A file in memory with all parts, and the offset and size of each, as 64-bit words."""
    table, file = array.array("Q"), os.memfd_create("rne_dynamics", os.MFD_CLOEXEC)
    with os.fdopen(file, "wb", closefd=False) as stream:
        for part in parts:
            place = stream.seek(-(-stream.tell() // ALIGNMENT) * ALIGNMENT)
            table.extend((place, stream.write(part)))
    return file, table.tobytes()


#: Topics, as the nodes name them.
EXTERNAL_EFFORT, EXTERNAL_WRENCH, CONTACT = "~/external_effort", "~/external_wrench", "~/contact"


class ContactTopics:
    """Publishes what a `ContactWatch` observes every `divisor` cycles; `felt` gets each contact that begins."""

    def __init__(self, node: ArmNode, settings: ContactSettings, divisor: int, felt: Callable[[str], None]) -> None:
        joints, link = settings.observer.robot.joint_names, settings.link
        self._link, self._report, self._joint = link, felt, -1
        message = JointState(name=list(joints), effort=[0.0] * len(joints))
        self._efforts = EveryNth(node, EXTERNAL_EFFORT, message, divisor, "effort")
        self._wrenches = EveryNth(node, EXTERNAL_WRENCH, WrenchStamped(), divisor if link else 0)
        self._wrenches.message.header.frame_id = link
        if link:  # compiles what the first message needs
            self._set_wrench(ContactWatch(settings), np.array(settings.observer.robot.neutral))
        self._contact = node.keep(node.create_publisher(String, CONTACT, LATCHED))
        self._contact.publish(String())

    @property
    def felt(self) -> bool:
        """Whether the last message on a contact names one."""
        return self._joint >= 0

    @property
    def read(self) -> bool:
        """Whether one of the topics has subscribers."""
        return self._contact.get_subscription_count() > 0 or self._efforts.read or self._wrenches.read

    def publish(self, stamp: int, watch: ContactWatch, q: Array) -> None:
        """Publish after a cycle: `stamp` of the state, ns, `q` (n,)."""
        if self._efforts.due():
            self._efforts.publish(stamp, watch.external)
        if self._wrenches.due():
            self._set_wrench(watch, q)
            self._wrenches.publish(stamp)
        if (watch.joint < 0) != (self._joint < 0):
            text = watch.text()
            self._contact.publish(String(data=text))
            if text:
                self._report(text)
        self._joint = watch.joint

    def _set_wrench(self, watch: ContactWatch, q: Array) -> None:
        observer, message = watch.settings.observer, self._wrenches.message
        axes = np.asarray(forward_kinematics(observer.robot, q)[self._link])[:3, :3]
        force, moment = observer.wrench(watch.external, q, self._link).wrench.reshape(2, 3) @ axes
        f, m = message.wrench.force, message.wrench.torque
        (f.x, f.y, f.z), (m.x, m.y, m.z) = force.tolist(), moment.tolist()


class Command(NamedTuple):
    """A call of a method in the other process: of the control loop, or, as a report, of the controller's node."""

    #: Returned with the answer; 0 for no answer.
    number: int
    #: Of the method.
    name: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that the loop is built from."""

    #: Laws and limits.
    settings: Settings
    #: Of the loop's own node.
    name: str
    namespace: str
    #: Full name of each topic, remapped as for the controller, by its name in the code.
    topics: Mapping[str, str]
    #: Controlled joints in the order of the effort commands; and others whose positions are requested sometimes.
    joints: tuple[str, ...]
    others: tuple[str, ...]
    #: Whether time is that of ``/clock``.
    simulated: bool
    #: All parameters of the controller.
    values: Values


class Present(NamedTuple):
    """The state against which a new trajectory is checked."""

    #: Of the last joint state, ns; and the present time, s of the loop's clock.
    stamp: int
    now: float
    #: The reference when the trajectory begins.
    followed: Reference
    #: Of path time, as for `Motion.begin`.
    rate: float
    slope: float
    #: As `Torques.posture`.
    posture: Array | None
    #: Of the loop, as measured, s; NaN where it is not known.
    delay: float


class Answer(NamedTuple):
    """The result of a command."""

    #: Of the command.
    number: int
    #: Result of the method.
    value: object
    #: Text of the exception that it raised; empty for none.
    refusal: str


class Snapshot(NamedTuple):
    """Reference and measured state, several times a second, for feedback and reports."""

    #: Of the last joint state, ns.
    stamp: int
    #: Reference and measured state, in the turns that the driver reports; each (n,).
    reference: Reference
    q: Array
    qd: Array
    #: Reported efforts, N·m or N, NaN where there are none; (n,).
    reported: Array


# -- the loop's node ---------------------------------------------------------------------------------------------------


#: Names in `Setup.topics` of the topic that reports whether the drives act, of the one that measures the motion of the
#: base, and of the one of `SeenPublisher`.
DRIVES, BASE, CLOCK_SEEN = "drives", "base", "clock_seen"
#: Topic of setpoints.
SETPOINTS = "~/setpoints"


class LoopNode(Node):  # type: ignore[misc]  # rclpy may be absent where types are checked
    """A node without parameters and services, with the topics of the controller."""

    def __init__(self, setup: Setup) -> None:
        remappings = [word for name, topic in setup.topics.items() for word in ("-r", f"{name}:={topic}")]
        super().__init__(
            setup.name, namespace=setup.namespace, use_global_arguments=False, enable_rosout=False,
            start_parameter_services=False, cli_args=["--ros-args", *remappings],
            parameter_overrides=[
                Parameter("start_type_description_service", value=False),
                Parameter(USE_SIM_TIME, value=setup.simulated),
            ],
        )

    def keep(self, entity: Entity) -> Entity:
        """Return the entity: all last as long as the node."""
        return entity


def loop_setup(node: ArmNode, settings: Settings, simulated: bool) -> Setup:
    """The setup of the control loop of `node`; `ParameterError` for a topic whose name is none."""
    optional = {DRIVES: node.topic_of("drives.topic"), BASE: node.topic_of("base_motion.topic")}
    topics = ["/clock", "joint_states", EFFORT_TOPIC, "~/controller_state", "~/reference", "~/torque/command"]
    topics += [EXTERNAL_EFFORT, EXTERNAL_WRENCH, CONTACT, SETPOINTS]
    topics += [*(f"~/torque/{term}" for term in TorqueTerms._fields)]
    return Setup(
        settings, f"{node.get_name()}{LOOP}", node.get_namespace(),
        {name: node.resolve_topic_name(name) for name in topics} | {CLOCK_SEEN: seen_topic(node)}
        | {name: topic for name, topic in optional.items() if topic},
        node.commanded, tuple(node.locked), simulated, dict(node.parameters.values),
    )
