"""Quality of service of the topics."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

#: The description is latched: whoever comes late still receives it.
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
#: Only the newest message matters, and waiting for a lost one would only make it older. Matches any publisher.
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
#: Reliable, so that best-effort and reliable subscribers can both listen.
OFFERED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
