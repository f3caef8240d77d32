"""The PUMA 560 figures published with the Robotics Toolbox, to every digit that was printed.

Sources of the tables:

- PYTHON: petercorke/robotics-toolbox-python, tests/test_DHRobot.py (a9ed8d4), test_rne, test_accel, test_inertia,
  test_inertia_x, test_coriolis, test_gravload, test_itorque.
- NOTEBOOK: the same repository, docs/notebooks/dynamics.ipynb (values below 1e-10 printed as 0).
- MATLAB: petercorke/robotics-toolbox-matlab, unit_test/SerialLinkTest.m (bd7a9d7), accel_test, cinertia_test,
  coriolis_test, gravload_test, inertia_test, itorque_test, rne2_test.

The toolbox's model is that of urdf/puma560.urdf: Corke and Armstrong-Hélouvry 1994, standard Denavit-Hartenberg angles,
gravity 9.81 m/s², rotor inertias times the gear ratio squared in M, no payload. What differs:

- Coulomb friction by direction, |G| Tc for qd > 0 and for qd < 0. URDF has room for one number, so the two published
  ones are put into the model here; without friction the tables of rne and accel are off by tens of N·m.
- `rne` and `accel` of the toolbox have friction in them (M, C and g do not): here it is `friction_torque`, added.
- `fext` is the wrench that the tool exerts on its surroundings, in the axes of frame 6; `wrenches` are those exerted
  on the robot, so it enters negatively.
- The 0.672 m of the pedestal shift no torque.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

import rne_dynamics as rne
from rne_dynamics.model.tree import Friction

PI = np.pi
GEAR = (62.6111, 107.815, 53.7063, 76.0364, 71.923, 76.686)
COULOMB = (
    (0.395, 0.435), (0.126, 0.071), (0.132, 0.105), (11.2e-3, 16.9e-3), (9.26e-3, 14.5e-3), (3.96e-3, 10.5e-3),
)  # fmt: skip
NOMINAL = np.array([0, PI / 4, PI, 0, PI / 4, 0])
MATLAB_POSES = np.array([[0, PI / 4, -PI, 1, PI / 4, 0], [0, PI / 2, -PI, 1, PI / 2, 0]])
ZERO, ONE = np.zeros(6), np.ones(6)
#: What two of the MATLAB tests take for velocity and acceleration, though they call it qz.
STIRRED = np.array([0.0, 1, 0, 0, 2, 0])


def with_published_coulomb_friction() -> rne.RobotModel:
    tree = rne.load_urdf("puma560").tree
    joints = list(tree.joints)
    for k, (ahead, back) in enumerate(COULOMB):
        friction = Friction(joints[k].friction.viscous, ahead * GEAR[k], back * GEAR[k])
        joints[k] = replace(joints[k], friction=friction)
    return rne.assemble(replace(tree, joints=tuple(joints)))


PUMA = with_published_coulomb_friction()


def rubbing(q, qd, qdd, **options) -> np.ndarray:
    """`rne` of the toolbox."""
    return rne.inverse_dynamics(PUMA, q, qd, qdd, **options) + rne.friction_torque(PUMA, qd)


def accelerations(q, qd, tau) -> np.ndarray:
    """`accel` of the toolbox."""
    return rne.forward_dynamics(PUMA, q, qd, tau - rne.friction_torque(PUMA, qd))


def half_a_unit(word: str) -> float:
    """Half a unit of the last digit printed; a number without a point is meant exactly."""
    return 0.5 * 10.0 ** int(Decimal(word).as_tuple().exponent) if "." in word else 1e-10


def same(found: np.ndarray, printed: str) -> None:
    """Equal to every printed digit."""
    words = [line.split() for line in printed.strip().splitlines()]
    expected = np.squeeze(np.array(words, dtype=float))
    allowed = np.squeeze(np.array([[half_a_unit(word) for word in row] for row in words]))
    assert found.shape == expected.shape
    wrong = np.abs(found - expected) > allowed
    assert not wrong.any(), f"{found[wrong]} is not {expected[wrong]}"


@pytest.mark.parametrize(
    ("qd", "qdd", "printed"),
    [
        (ZERO, ZERO, "-0.0000 31.6399 6.0351 0.0000 0.0283 0"),
        (ZERO, ONE, "3.35311 36.0025 7.42596 0.190043 0.203441 0.194133"),
        (ONE, ONE, "32.4952 60.867 17.7436 1.45452 1.29911 0.713781"),
        (ONE, ZERO, "29.1421 56.5044 16.3528 1.26448 1.12392 0.519648"),
    ],
)
def test_rne_python(qd, qdd, printed) -> None:
    same(rubbing(NOMINAL, qd, qdd), printed)


def test_rne_without_gravity_python() -> None:
    weightless = rne.assemble(PUMA.tree, gravity=(0, 0, 0))
    tau = rne.inverse_dynamics(weightless, NOMINAL, ONE, ONE) + rne.friction_torque(PUMA, ONE)
    same(tau, "32.4952 29.2271 11.7085 1.45452 1.27086 0.713781")


def test_rne_with_a_tool_wrench_python() -> None:
    tool = {"link6": -np.array([1.0, 2, 3, 1, 2, 3])}
    same(rubbing(NOMINAL, ZERO, ZERO, wrenches=tool), "0.642756 29.0866 4.70321 2.82843 -1.97175 3")


def test_rne_matlab() -> None:
    same(rubbing(MATLAB_POSES[0], STIRRED, STIRRED), "-0.9748 59.1306 5.9889 -0.0108 1.8872 0.0001")


def test_accel_python() -> None:
    qd = np.array([0.1, 0.2, 0.8, 0.2, 0.5, 1.0])
    tau = np.array([1.0, 3.2, 1.8, 0.1, 0.7, 4.6])
    same(accelerations(NOMINAL, qd, tau), "-7.4102 -9.8432 -10.9694 -4.4314 -0.9881 21.0228")


def test_accel_matlab() -> None:
    tau = rubbing(NOMINAL, STIRRED, STIRRED)
    same(accelerations(STIRRED, 0.5 * ONE, tau), "-9.3397 4.9666 1.6095 -5.4305 5.9885 -2.1228")
    slower = np.array([STIRRED, 0.5 * STIRRED])
    tau = np.array([rubbing(MATLAB_POSES[0], STIRRED, STIRRED), rubbing(MATLAB_POSES[1], slower[1], slower[1])])
    same(
        accelerations(slower, np.array([0.1 * ONE, 0.2 * ONE]), tau),
        """-8.2760 5.8119 3.1487 -4.6392 6.9558 -1.6774
           -8.3467 -4.8514 6.0575 -4.9232 3.1244 -1.7861""",
    )


@pytest.mark.parametrize("method", ["composite", "columns"])
def test_inertia_python_and_notebook(method) -> None:
    M = rne.mass_matrix(PUMA, NOMINAL, method=method)
    same(
        M,
        """3.6594 -0.4044 0.1006 -0.0025 0.0000 -0.0000
           -0.4044 4.4137 0.3509 0.0000 0.0024 0.0000
           0.1006 0.3509 0.9378 0.0000 0.0015 0.0000
           -0.0025 0.0000 0.0000 0.1925 0.0000 0.0000
           0.0000 0.0024 0.0015 0.0000 0.1713 0.0000
           -0.0000 0.0000 0.0000 0.0000 0.0000 0.1941""",
    )
    same(
        M,
        """3.659 -0.4044 0.1006 -0.002517 0 0
           -0.4044 4.414 0.3509 0 0.00236 0
           0.1006 0.3509 0.9378 0 0.00148 0
           -0.002517 0 0 0.1925 0 2.828e-05
           0 0.00236 0.00148 0 0.1713 0
           0 0 0 2.828e-05 0 0.1941""",
    )


def test_inertia_matlab() -> None:
    first, second = rne.mass_matrix(PUMA, MATLAB_POSES)
    same(
        first,
        """3.6591 -0.4042 0.1013 -0.0021 -0.0015 -0.0000
           -0.4042 4.4128 0.3504 -0.0008 0.0017 0.0000
           0.1013 0.3504 0.9377 -0.0008 0.0008 0.0000
           -0.0021 -0.0008 -0.0008 0.1925 0.0000 0.0000
           -0.0015 0.0017 0.0008 0.0000 0.1713 0.0000
           -0.0000 0.0000 0.0000 0.0000 0.0000 0.1941""",
    )
    same(
        second,
        """2.6621 -0.6880 0.0035 -0.0007 -0.0010 0.0000
           -0.6880 4.4114 0.3487 -0.0010 0.0015 0.0000
           0.0035 0.3487 0.9359 -0.0010 0.0003 0.0000
           -0.0007 -0.0010 -0.0010 0.1926 0.0000 0.0000
           -0.0010 0.0015 0.0003 0.0000 0.1713 0.0000
           0.0000 0.0000 0.0000 0.0000 0.0000 0.1941""",
    )


@pytest.mark.parametrize(
    ("q", "printed"),
    [
        (
            NOMINAL,
            """17.2954 -2.7542 -9.6233 -0.0000 0.2795 0.0000
               -2.7542 12.1909 1.2459 -0.3254 -0.0703 -0.9652
               -9.6233 1.2459 13.3348 -0.0000 0.2767 -0.0000
               -0.0000 -0.3254 -0.0000 0.1941 0.0000 0.1941
               0.2795 -0.0703 0.2767 0.0000 0.1713 0.0000
               0.0000 -0.9652 -0.0000 0.1941 0.0000 0.5791""",
        ),
        (
            MATLAB_POSES[0],
            """18.0741 -2.2763 -8.8446 -0.0283 0.7541 -0.4015
               -2.2763 11.2461 1.7238 -0.0750 0.2214 -0.4733
               -8.8446 1.7238 14.1135 -0.0300 0.7525 -0.4032
               -0.0283 -0.0750 -0.0300 0.1377 -0.0171 0.0492
               0.7541 0.2214 0.7525 -0.0171 0.4612 -0.2461
               -0.4015 -0.4733 -0.4032 0.0492 -0.2461 0.3457""",
        ),
    ],
    ids=["python", "matlab"],
)
def test_cartesian_inertia(q, printed) -> None:
    inverse = np.linalg.inv(rne.jacobian(PUMA, q, "link6"))
    same(inverse.T @ rne.mass_matrix(PUMA, q) @ inverse, printed)


def test_gravload_python() -> None:
    same(rne.gravity_torque(PUMA, NOMINAL), "-0.0000 31.6399 6.0351 0.0000 0.0283 0")


def test_gravload_matlab() -> None:
    same(
        rne.gravity_torque(PUMA, MATLAB_POSES),
        """-0.0000 31.6334 6.0286 -0.0119 0.0218 0
           0.0000 7.7198 8.7439 -0.0238 -0.0000 0""",
    )


@pytest.mark.parametrize(
    ("q", "qdd", "printed"),
    [
        (NOMINAL, np.array([1.0, 2, 3, 1, 2, 3]), "3.1500 9.4805 3.6189 0.1901 0.3519 0.5823"),
        (MATLAB_POSES[0], 0.5 * ONE, "1.6763 2.1799 0.6947 0.0944 0.0861 0.0971"),
    ],
    ids=["python", "matlab"],
)
def test_itorque(q, qdd, printed) -> None:
    same(rne.inverse_dynamics(PUMA, q, ZERO, qdd) - rne.gravity_torque(PUMA, q), printed)


CORIOLIS = (
    (
        NOMINAL,
        np.array([1.0, 2, 3, 1, 2, 3]),
        """-0.1735 -2.0494 -0.1178 -0.0002 -0.0045 0.0001
           0.6274 1.1572 1.9287 -0.0015 -0.0003 -0.0000
           -0.3608 -0.7734 -0.0018 -0.0009 -0.0064 -0.0000
           0.0011 0.0005 -0.0001 0.0002 0.0002 -0.0001
           -0.0002 0.0028 0.0046 -0.0002 -0.0000 -0.0000
           0.0001 0.0000 0.0000 0.0000 0.0000 0""",
    ),
    (
        MATLAB_POSES[0],
        0.5 * ONE,
        """-0.1336 -0.6458 0.0845 0.0005 -0.0008 0.0000
           0.3136 0.1922 0.3851 -0.0018 -0.0007 0.0000
           -0.1803 -0.1934 -0.0005 -0.0009 -0.0014 0.0000
           0.0007 0.0008 0.0003 0.0001 0.0003 -0.0000
           -0.0004 0.0005 0.0005 -0.0003 -0.0000 -0.0000
           0.0000 0.0000 0.0000 -0.0000 0.0000 0""",
    ),
    (
        MATLAB_POSES[0],
        0.1 * ONE,
        """-0.0267 -0.1292 0.0169 0.0001 -0.0002 0.0000
           0.0627 0.0384 0.0770 -0.0004 -0.0001 0.0000
           -0.0361 -0.0387 -0.0001 -0.0002 -0.0003 0.0000
           0.0001 0.0002 0.0001 0.0000 0.0001 -0.0000
           -0.0001 0.0001 0.0001 -0.0001 -0.0000 -0.0000
           0.0000 0.0000 0.0000 -0.0000 0.0000 0""",
    ),
    (
        MATLAB_POSES[1],
        0.2 * ONE,
        """-0.0715 -0.1242 -0.0534 0.0008 -0.0001 -0.0000
           0.0731 0.0765 0.1535 -0.0009 -0.0007 0.0000
           -0.0023 -0.0772 -0.0003 -0.0004 -0.0007 0.0000
           0.0004 0.0006 0.0003 0.0000 0.0002 -0.0000
           0.0002 0.0004 0.0004 -0.0002 0.0000 0.0000
           -0.0000 0.0000 0.0000 -0.0000 -0.0000 0""",
    ),
)


@pytest.mark.parametrize(("q", "qd", "printed"), CORIOLIS, ids=["python", "matlab-half", "matlab-1", "matlab-2"])
def test_coriolis_matrix(q, qd, printed) -> None:
    """The toolbox halves the products of two speeds between both columns: the Christoffel symbols, as here."""
    C = rne.coriolis_matrix(PUMA, q, qd)
    same(C, printed)
    velocity_torque = rne.bias_torque(PUMA, q, qd) - rne.gravity_torque(PUMA, q)
    assert np.abs(C @ qd - velocity_torque).max() < 1e-13


def test_coriolis_torque_notebook() -> None:
    qd = np.array([0.0, 1, 0, 0, 0, 0])
    velocity_torque = rne.bias_torque(PUMA, NOMINAL, qd) - rne.gravity_torque(PUMA, NOMINAL)
    same(velocity_torque, "-0.567 0 -0.3858 0 4.134e-05 0")
