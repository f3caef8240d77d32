"""Motions under way: which trajectories are accepted, how they are taken over, scaled in speed, braked and judged.

A trajectory knows nothing of the arm that follows it. Here it becomes a `Path`, one polynomial after the other, that
starts from the current reference (`takeover`); a `Motion` runs along that path at a rate between 0
and 1 (`PathRate`), so that whatever the speed, the arm stays on the one path that was checked against the limits
(`acceptance`). No clock and no ROS: stamps come in as nanoseconds.
"""
