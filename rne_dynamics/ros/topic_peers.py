"""Who else speaks to the arm, and whether anybody listens to this controller."""

from __future__ import annotations

from rne_dynamics.ros.diagnostics import ERROR, WARN
from rne_dynamics.ros.lifecycle import ArmNode

#: Counts in a row after which a finding is believed: discovery takes a while, and a predecessor's publisher lingers.
BELIEVED = 2


class TopicPeers:
    """Counts the publishers and subscribers of the topic of efforts.

    Parameters
    ----------
    node
        Whose graph is asked.
    topic
        The topic, as the node names it.
    """

    def __init__(self, node: ArmNode, topic: str) -> None:
        self._node, self._topic = node, node.resolve_topic_name(topic)
        self._others = self._nobody = 0
        self.publishers = self.subscribers = 0

    def count(self) -> None:
        """Ask the graph, from this process's own knowledge of it."""
        self.publishers = self._node.count_publishers(self._topic)
        self.subscribers = self._node.count_subscribers(self._topic)
        self._others = self._others + 1 if self.publishers > 1 else 0
        self._nobody = self._nobody + 1 if not self.subscribers else 0

    @property
    def level(self) -> bytes:
        """Of the diagnostics, where there is a warning."""
        level: bytes = ERROR if self._others >= BELIEVED else WARN
        return level

    @property
    def warning(self) -> str:
        """What is wrong; empty for nothing."""
        if self._others >= BELIEVED:
            return (
                f"{self.publishers} nodes publish efforts on {self._topic}: the arm obeys whichever came last. Stop "
                "all but one of them"
            )
        if self._nobody >= BELIEVED:
            return f"nobody listens to the efforts on {self._topic}: start the arm's driver, or remap the topic"
        return ""

    def values(self) -> dict[str, object]:
        """For the diagnostics."""
        return {"publishers of efforts": self.publishers, "listeners to efforts": self.subscribers}
