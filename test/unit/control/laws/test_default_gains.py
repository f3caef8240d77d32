"""The table of default gains in docs/compliance.md."""

from __future__ import annotations

import re

import numpy as np
from support.compliant import TIP, text_of

import rne_dynamics as rne

ARMS = {"Panda": "panda", "UR10": "ur10", "PUMA 560": "puma560", "`examples/four_joint_arm.urdf`": "four_joint_arm"}


def test_the_table_of_the_page_has_the_numbers_of_the_laws(root) -> None:
    page = (root / "docs" / "compliance.md").read_text(encoding="utf-8")
    for title, name in ARMS.items():
        (row,) = re.findall(rf"^\| {re.escape(title)} \|(.*)\|$", page, re.MULTILINE)
        given = [float(x) for x in re.findall(r"[\d.]+", row)]
        law = rne.CartesianImpedance(rne.load_urdf(text_of(name)), TIP[name])
        left = [100.0 * law.softening.left(rate).reshape(2, 3).min(axis=1) for rate in (250.0, 1000.0)]
        expected = [law.stiffness[0], law.stiffness[3], *np.ravel(left)]
        np.testing.assert_allclose(given, expected, atol=0.51, err_msg=title)
