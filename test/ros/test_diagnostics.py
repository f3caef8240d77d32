"""docs/diagnostics.md names what the nodes say of themselves, and nothing else."""

from __future__ import annotations

import re
import signal

from diagnostic_msgs.msg import DiagnosticArray

from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE

#: Sections of the page about each node.
SECTIONS = {
    "computed_torque_controller": ("Both controllers", "computed_torque_controller"),
    "gravity_compensation": ("Both controllers",), "simulator": ("simulator",),
}
#: Of mechanisms with closed loops only.
LOOPS = "distance to a singular posture"


def documented(root, *sections: str) -> list[str]:
    """The keys in the tables of these sections of the page."""
    page = (root / "docs" / "diagnostics.md").read_text(encoding="utf-8")
    parts = dict(part.split("\n", 1) for part in page.split("\n## ")[1:])
    cells = [cell for section in sections for cell in re.findall(r"^\| (`[^|]+`) \|", parts[section], re.M)]
    return [key for cell in cells for key in re.findall(r"`([^`]+)`", cell)]


def test_the_page_names_every_value_of_a_status(start, make_peer, namespace, root):
    """And numbers are numbers."""
    peer = make_peer(["joint1", "joint2"])
    recorder = TopicRecorder(peer.node, DiagnosticArray, "/diagnostics", 50)
    processes = [start(node, robot_description="planar2", diagnostics_period=0.5) for node in SECTIONS]
    found = {}

    def all_received() -> bool:
        recorder.drain()
        samples, recorder.samples = recorder.samples, []
        for sample in samples:
            status = recorder.decode(sample).status[0]
            found[status.name] = {item.key: item.value for item in status.values}
        return all(f"{namespace}/{node}" in found for node in SECTIONS)

    wait_until(all_received, PATIENCE, "a status of each node", processes)
    for process in processes:
        process.signal(signal.SIGKILL)
    for node, sections in SECTIONS.items():
        keys, values = documented(root, *sections), found[f"{namespace}/{node}"]
        assert len(set(keys)) == len(keys)
        assert set(keys) - {LOOPS} == set(values)
        for key, value in values.items():
            if "(" in key or key in ("efforts", "overruns", "stops", "periods"):
                assert isinstance(float(value), float), (node, key)
