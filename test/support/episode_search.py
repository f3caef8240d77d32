"""Searches over random episodes: invariants that break, and healthy arms that are thrown or stopped.

In the folder `test`, `python -m support.episode_search foreign --from 0 --to 1000` searches and sums up, and
`python -m support.episode_search foreign 1234` runs one episode and prints its story.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from support.episodes import Episode
from support.foreign_episodes import ForeignEpisode
from support.law_episodes import LawEpisode
from support.mixed_episodes import MixedEpisode
from support.pose_episodes import PoseEpisode

KINDS = {"plain": Episode, "pose": PoseEpisode, "foreign": ForeignEpisode, "law": LawEpisode, "mixed": MixedEpisode}
#: Largest speed of a healthy arm, in velocity limits.
THROWN = 1.5


class Found(NamedTuple):
    """Healthy arms; broken invariants, other errors and thrown arms; causes of the stops of healthy arms."""

    healthy: int
    wrong: list[str]
    stopped: list[str]


def search(
    first: int, last: int, kind: type[Episode] = Episode, show: Callable[[str], None] = lambda line: None
) -> Found:
    """What was found in the episodes from `first` to before `last`."""
    healthy, wrong, stopped = 0, [], []
    for number in range(first, last):
        episode = kind(number)
        lines = wrong, stopped
        known = [len(found) for found in lines]
        try:
            episode.run()
        except Exception as error:  # noqa: BLE001 the search goes on, and the episode is one command away
            requests = [line.partition(": ")[2] for line in episode.story if line[0] != " " and ">" not in line]
            wrong.append(f"{number}: {type(error).__name__}: {error} [{', '.join(requests)}]")
        if episode.judged:
            healthy += 1
            about = f"{number} ({episode.robot.name}): {episode.stopped}"
            if episode.peak >= THROWN:
                wrong.append(f"{about}; thrown, {episode.peak:.2f}")
            if episode.stopped:
                stopped.append(about)
        for found, count in zip(lines, known, strict=True):
            for line in found[count:]:
                show(line)
    return Found(healthy, wrong, stopped)


def kind_of(cause: str) -> str:
    """A stop's cause without names and numbers."""
    for word, kind in (("frozen", "frozen"), ("stands still", "frozen"), ("moves at", "overspeed"),
                       ("oscillates", "oscillation"), ("no usable", "states lost"), ("per second", "rate")):
        if word in cause:
            return kind
    return cause.partition(": ")[2][:40]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("number", type=int, nargs="?", help="run this one and print its story")
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--to", dest="last", type=int, default=1000)
    options = parser.parse_args()
    kind = KINDS[options.kind]
    if options.number is not None:
        episode = kind(options.number)
        try:
            episode.run()
        finally:
            print("\n".join(episode.story))
            print(f"peak {episode.peak:.2f}, stopped: {episode.stopped or 'no'}, mode {episode.rig.mode}")
        return 0
    began = time.monotonic()
    healthy, wrong, stopped = search(options.first, options.last, kind, lambda line: print(line, flush=True))
    print(f"{options.last - options.first} episodes, {len(wrong)} broken or thrown; of {healthy} healthy arms stopped: "
          f"{dict(Counter(map(kind_of, stopped)))}; {time.monotonic() - began:.0f} s")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
