"""What the effort gate says on /diagnostics."""

from __future__ import annotations

import numpy as np
import pytest
from support.gated import GateRig, gate_settings, holding

pytest.importorskip("rclpy", reason="ROS 2's client library is not installed: pip install '.[ros]'")

import rne_dynamics as rne
from rne_dynamics.ros.node.diagnostics import News, gate_status

Q = np.array([0.2, -0.4, 0.3, 0.1, 0.5, 0.0])
ALL_THERE, NOBODY_LISTENS = ({"commanders": 1, "bypasses": 0, "listeners": count} for count in (1, 0))


def test_refusals_are_said_once():
    robot = rne.load_urdf("puma560")
    rig, controller = GateRig(robot, Q, gate_settings(robot), period=1e-3), holding(robot, Q)
    news = News()
    for _ in range(2):  # the counts begin anew with each activation
        rig.gate.activate(rig.now)
        rig.run(0.1, controller)
        rig.run(0.005, lambda q, qd: np.full(6, np.nan))
        rig.run(0.1, controller)
        said = [gate_status(rig.gate, news, rig.now, **others)[1] for others in (ALL_THERE, NOBODY_LISTENS, ALL_THERE)]
        assert said[0].startswith("5 efforts refused: ")
        assert "no node subscribes" in said[1]
        assert said[2].startswith("passing")
