"""What the start-up check of an arm's load found."""

from __future__ import annotations

from dataclasses import dataclass

from rne_dynamics.control.startup.causes import Cause


@dataclass(frozen=True, eq=False)
class LoadVerdict:
    """What the check found. Motion is safe to allow where `agrees`, and is known to be so where `checked` too.

    Parameters
    ----------
    agrees
        Nothing contradicts the model. True as well where no effort is reported; False where the arm did not keep
        still.
    checked
        Every joint reported its effort and kept still.
    text
        One to three sentences: which joints, what explains them, what to do.
    causes
        What explains a disagreement, likeliest first.
    unreported
        Joints without efforts.
    """

    agrees: bool
    checked: bool
    text: str
    causes: tuple[Cause, ...] = ()
    unreported: tuple[str, ...] = ()
