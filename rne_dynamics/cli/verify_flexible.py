"""The part of `rne verify` for arms with flexible links."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from rne_dynamics.cli.table_layout import print_rows
from rne_dynamics.cli.terminal import Answer
from rne_dynamics.cli.verify_rigid import COSTS, operation_cells
from rne_dynamics.errors import ModelError
from rne_dynamics.figures.style import canvas, legend_below
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.verification.agreement import Agreement, Progress
from rne_dynamics.verification.flexible_agreement import (
    ENERGY,
    RECURSION,
    SEGMENTS,
    compare_flexible,
    flexible_states,
    forward_seconds_per_state,
    seconds_per_state,
    segment_frequencies,
)
from rne_dynamics.verification.flexible_counting import (
    QUOTED_MULTIPLICATIONS,
    QUOTED_RATIO,
    RIGID_JOINTS,
    WALKER_MULTIPLICATIONS,
    CountedArm,
    FlexibleOperations,
    count_flexible,
    counted_arms,
    published_flexible,
    rigid,
)
from rne_dynamics.verification.operations import Operations

_TITLES = {RECURSION: "recursive Lagrange, Book", ENERGY: "energies of particles, Lagrange"}
_TIMED_STATES = 20
#: The document's example: joints, flexible links, modes of each.
_EXAMPLE = (6, 2, 3)


def verify(arm: FlexibleArm, args: argparse.Namespace, progress: Progress) -> Answer:
    """Compare the derivations, count operations, measure times, and compare with chains of rigid segments."""
    agreement = compare_flexible(arm, args.states, args.seed, loaded=not args.bare, progress=progress)
    progress("operations, times, segments", 0.0)
    report = _report(arm, args, agreement)
    if args.plot:
        plot(args.plot)
    return Answer(report, lambda out: _show(out, arm, args, agreement, report), int(not agreement.agrees))


def _report(arm: FlexibleArm, args: argparse.Namespace, agreement: Agreement) -> dict[str, Any]:
    rows, counted = flexible_states(arm, _TIMED_STATES, 0), count_flexible(arm)
    plain = count_flexible(arm, stiffening=False)
    remarks = list(agreement.remarks)
    try:
        found = segment_frequencies(arm, seed=args.seed)
        chains: dict[str, Any] | None = {"segments": list(SEGMENTS), **vars(found), "limit": found.limit}
    except ModelError as error:
        chains = None
        remarks += [] if remarks else [str(error)]  # both have the same reason
    sizes = {link.modes for link in arm.flexible_links if link.modes}
    flexible = sum(link.modes > 0 for link in arm.flexible_links)
    published = published_flexible(arm.n, flexible, sizes.pop()) if len(sizes) == 1 else None
    return {
        "robot": arm.name,
        "n": arm.n,
        "modes": arm.modes,
        "flexible_links": {link.link: list(link.mode_names) for link in arm.flexible_links},
        "states": args.states,
        "seed": args.seed,
        "agrees": agreement.agrees,
        "pairs": [vars(d) | {"agrees": d.agrees} for d in agreement.disagreements],
        "remarks": remarks,
        "formulations": [
            {
                "name": RECURSION, "title": _TITLES[RECURSION], "document": "003",
                "operations": {part: vars(value) for part, value in _parts(counted).items()},
                "operations_without_stiffening": {part: vars(value) for part, value in _parts(plain).items()},
                "seconds": seconds_per_state(arm, RECURSION, rows),
                "forward_seconds": forward_seconds_per_state(arm, rows),
            },
            {
                "name": ENERGY, "title": _TITLES[ENERGY], "document": None, "operations": None,
                "seconds": seconds_per_state(arm, ENERGY, rows), "forward_seconds": None,
            },
        ],
        "published": None if published is None else vars(published),
        "quoted": {"multiplications": QUOTED_MULTIPLICATIONS, "walker": WALKER_MULTIPLICATIONS, "ratio": QUOTED_RATIO},
        "rigid": {str(n): vars(rigid(n)) for n in (arm.nz, RIGID_JOINTS)},
        "segments": chains,
    }  # fmt: skip


def _parts(counted: FlexibleOperations) -> dict[str, Operations]:
    return {**counted._asdict(), "equations": counted.equations, "forward": counted.forward}


def _show(
    out: Console, arm: FlexibleArm, args: argparse.Namespace, agreement: Agreement, report: dict[str, Any]
) -> None:
    rows = []
    for row in report["formulations"]:
        cells: list[str] = []
        for part, seconds in (("equations", "seconds"), ("forward", "forward_seconds")):
            cells += operation_cells(row["operations"] and row["operations"][part], row[seconds])
        rows.append([row["name"], row["title"], row["document"] or "", *cells])
    headings = ["formulation", "what", "document", "J and R: mul", *COSTS, "with z̈: mul", *COSTS]
    print_rows(out, headings, rows, title=f"{arm.name}: {arm.n} joints, {arm.modes} modes", words=range(3))
    counts = report["formulations"][0]["operations_without_stiffening"]
    rigid_now, rigid_more = report["rigid"][str(arm.nz)], report["rigid"][str(RIGID_JOINTS)]
    ratio = counts["forward"]["multiplications"] / rigid_now["multiplications"]
    if report["formulations"][0]["operations"] != counts:
        out.print(
            f"without stiffening, as in document 003: {counts['equations']['multiplications']} multiplications and "
            f"{counts['equations']['additions']} additions for J and R, {counts['forward']['multiplications']} and "
            f"{counts['forward']['additions']} with z̈"
        )
    if report["published"] is not None:
        paper = report["published"]
        out.print(
            f"document 003, section 6, as scanned, gives {paper['multiplications']} multiplications and "
            f"{paper['additions']} additions for J and R of an arm of this size"
        )
    out.print(
        f"rigid chains by composite bodies and Cholesky take {rigid_now['multiplications']} multiplications with as "
        f"many coordinates, {arm.nz} (ratio without stiffening {ratio:.2f}; the document: {QUOTED_RATIO} for 12), and "
        f"{rigid_more['multiplications']} with {RIGID_JOINTS} joints"
    )
    if report["segments"] is not None:
        chains = report["segments"]
        headings = ["modes", *(f"{k} rigid segments a link" for k in chains["segments"]), "limit", "modes / limit - 1"]
        rows = [
            [*(f"{x:.5g}" for x in values), f"{values[0] / values[-1] - 1.0:.1e}"]
            for values in zip(*(chains[k] for k in ("modal", "coarse", "fine", "limit")), strict=True)
        ]
        title = "natural frequencies (Hz), joints held, no gravity"
        print_rows(out, headings, rows, title=title, words=())
    for remark in report["remarks"]:
        out.print(f"not compared: {remark}")
    if not agreement.disagreements:
        out.print("nothing to compare")
        return
    kinds = "bare" if args.bare else "bare, and as many with external loads and a moving base"
    out.print(f"largest relative disagreement in {args.states} random states {kinds}, seed {args.seed}:")
    for d in agreement.disagreements:
        out.print(f"  {d.quantity}: {d.first} / {d.second}: {d.relative:.1e} (allowed {d.tolerance:.0e})")
    out.print("all agree" if agreement.agrees else "DISAGREEMENT beyond round-off")


def plot(path: Path, sizes: Sequence[int] = (3, 4, 6, 8, 10, 12), modes: Sequence[int] = (1, 2, 3, 4, 6, 8)) -> None:
    """Write a figure of multiplications over joints and modes, with the document's formula; raises as `canvas`."""
    n0, nf, m0 = _EXAMPLE
    with canvas(path, 12.0, 5.0) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        for axes, x, each, label, at in (
            (left, sizes, [(n, nf, m0) for n in sizes], f"joints n ({nf} flexible links, {m0} modes each)", n0),
            (right, modes, [(n0, nf, m) for m in modes], f"modes m ({n0} joints, {nf} flexible links)", m0),
        ):
            _curves(axes, x, counted_arms(each))
            for quoted, mark, what in (
                (QUOTED_MULTIPLICATIONS, "k*", "quoted by document 003"),
                (WALKER_MULTIPLICATIONS, "k^", "quoted for 12 rigid joints"),
            ):
                axes.plot([at], [quoted], mark, label=f"{what}: {quoted}")
            axes.axhline(rigid(RIGID_JOINTS).multiplications, color="C2", ls=":", label=f"{RIGID_JOINTS} rigid joints")
            axes.set_xlabel(label)
        figure.axes[0].set_ylabel("multiplications for one state")
        legend_below(figure, figure.axes[0], 3)


def _curves(axes: Any, x: Sequence[int], counted: list[CountedArm]) -> None:
    axes.plot(x, [c.published.multiplications for c in counted], "k--", label="document 003's formula, J and R")
    axes.plot(x, [c.counted.equations.multiplications for c in counted], "C0.-", label="J and R, counted")
    axes.plot(x, [c.counted.forward.multiplications for c in counted], "C1.-", label="accelerations, counted")
    axes.plot(x, [c.rigid.multiplications for c in counted], "C2.-", label="rigid chain of n + 2m joints, counted")
