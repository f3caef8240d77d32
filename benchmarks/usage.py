"""What a node's processes use: a controller is two of them."""

from __future__ import annotations

import os
from pathlib import Path


def family(process: int) -> list[int]:
    """Numbers of a process and of all that descend from it."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        children = []
    return [process, *(number for child in children for number in family(int(child)))]


def cpu_seconds(process: int) -> float:
    """CPU time of all threads of a process and its descendants so far, s, to a hundredth."""
    ticks = 0
    for number in family(process):
        try:
            fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> float:
    """Resident memory of a process and its descendants, MB; pages that they share are counted once."""
    total = 0
    for number in family(process):
        try:
            rollup = Path(f"/proc/{number}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total * 1024 / 1e6
