"""Reader of recordings: CSV and NPZ of `rne simulate`, MCAP files, ROS 2 bags."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rne_dynamics.errors import RecordingError
from rne_dynamics.recording.bag import bag_messages, mcap_messages
from rne_dynamics.recording.recording import Recording, Series
from rne_dynamics.recording.tables import read_csv, read_npz
from rne_dynamics.recording.topics import recording_of

__all__ = ["ENDINGS", "Recording", "Series", "read_recording"]

#: What `read_recording` reads besides folders of bags.
ENDINGS = (".csv", ".npz", ".mcap", ".db3")


def read_recording(path: str | Path, *, topic: str | None = None, joints: Sequence[str] | None = None) -> Recording:
    """Read one arm's .csv or .npz of `rne simulate`, .mcap, .db3 or bag; `RecordingError`, `MissingDependencyError`.

    `topic`: of the joint states, by default the only one (of those that end in ``joint_states``). `joints`: those
    wanted, in this order; by default all.
    """
    path = Path(path)
    if not path.exists():
        raise RecordingError(f"{path} does not exist")
    if path.is_dir() or path.suffix in (".mcap", ".db3"):
        messages = mcap_messages(path) if path.suffix == ".mcap" and not path.is_dir() else bag_messages(path)
        return recording_of(messages, str(path), topic, joints)
    if topic is not None:
        raise RecordingError(f"{path} has no topics; leave topic {topic!r} out")
    if path.suffix == ".csv":
        return read_csv(path, joints)
    if path.suffix == ".npz":
        return read_npz(path, joints)
    raise RecordingError(f"{path} is no recording; allowed are {', '.join(ENDINGS)} and folders of ROS 2 bags")
