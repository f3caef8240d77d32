"""What a `Beam` takes, and what it refuses."""

from __future__ import annotations

import math

import pytest

from rne_dynamics.errors import ModelError
from rne_dynamics.model.flexible.beam import Beam

GOOD = {
    "link": "arm", "length": 0.5, "mass_per_length": 0.2, "EI_y": 1.0, "EI_z": 1.0, "GJ": 1.0, "spread_y": 1e-4,
    "spread_z": 1e-4, "modes": (2, 1, 1),
}  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"length": 0.0}, r"length is 0.0 m; it must be finite and above 0"),
        ({"length": math.inf}, r"length is inf m; it must be one finite number"),
        ({"length": "long"}, r"length is 'long'; it must be numbers"),
        ({"length": [1.0, 2.0]}, r"length is \[1.0, 2.0\] m; it must be one finite number"),
        ({"mass_per_length": -1.0}, r"mass_per_length is \[-1.0\]; it must not be negative"),
        ({"mass_per_length": []}, r"mass_per_length has shape \(0,\); it must be one number, or a list"),
        ({"mass_per_length": [[1.0]]}, r"mass_per_length has shape \(1, 1\)"),
        ({"mass_per_length": [1.0, 0.0]}, r"mass_per_length is \[1.0, 0.0\] kg/m; it must be above 0 at every station"),
        ({"EI_y": math.nan}, r"EI_y is \[nan\]; every number must be finite"),
        ({"EI_y": 0.0}, r"EI_y is \[0.0\] N m\^2, but 2 modes in bending along y are wanted; give it above 0"),
        ({"EI_z": 0.0}, r"EI_z is .* 1 modes in bending along z"),
        ({"GJ": 0.0}, r"GJ is .* 1 modes in torsion"),
        ({"spread_y": 0.0, "spread_z": 0.0}, r"the section has no inertia in torsion"),
        ({"spread_y": [0.0, 1.0], "spread_z": [0.0, 1.0], "shapes": "polynomial"}, r"no inertia in torsion"),
        ({"stiffening": "no"}, r"stiffening is 'no'; it must be True or False"),
        ({"shapes": "free"}, r"shapes is 'free'; it must be one of clamped_free, clamped_mass"),
        ({"EI_y": [1.0, 2.0]}, r"'clamped_free', which are those of a uniform beam.*take polynomial or finite_element"),
        ({"modes": (1, 2)}, r"modes is \(1, 2\); it must be three whole numbers"),
        ({"modes": 3}, r"modes is 3; it must be three"),
        ({"modes": (1, -1, 0)}, r"modes is \(1, -1, 0\)"),
        ({"modes": (1, 0.5, 0)}, r"modes is \(1, 0.5, 0\)"),
        ({"modes": (True, 0, 0)}, r"modes is \(True, 0, 0\)"),
        ({"modes": (7, 0, 0), "shapes": "polynomial"}, r"7 polynomial modes .* more than 6 are too alike"),
        ({"modes": (4, 0, 0), "shapes": "finite_element", "elements": 3}, r"elements is 3; .* from 4 .* to 200"),
        ({"elements": 2000}, r"elements is 2000"),
        ({"elements": 2.5}, r"elements is 2.5"),
        ({"damping": -0.1}, r"damping is \[-0.1, .*; a ratio of critical damping must not be negative"),
        ({"damping": (0.1, 0.2)}, r"damping \(one ratio for all modes, or one for each\) has shape \(2,\)"),
        ({"damping": math.inf}, r"damping .* every number must be finite"),
        ({"damping": "much"}, r"damping is 'much'; it must be numbers"),
        ({"tip_mass": -1.0}, r"tip_mass is -1.0 kg and tip_inertia .*; neither may be negative"),
        ({"tip_inertia": (0.0, -1.0, 0.0)}, r"neither may be negative"),
        ({"tip_inertia": (0.0, 1.0)}, r"tip_inertia has shape \(2,\)"),
        ({"tip_offset": math.nan}, r"tip_offset is nan m; it must be one finite number"),
        ({"tip_offset": 0.1, "tip_mass": 2.0, "tip_inertia": (0, 1, 0.01)}, r"tip_inertia is .* alone have 0.02"),
        ({"axis": (0, 0, 0)}, r"axis is \[0.0, 0.0, 0.0\]; it must not be zero"),
        ({"axis": (1, 2)}, r"axis has shape \(2,\)"),
        ({"axis": (0, 3, 0)}, r"normal \[0.0, 1.0, 0.0\] must have a part across the axis \[0.0, 1.0, 0.0\]"),
        ({"normal": (0, 0, 0)}, r"normal \[0.0, 0.0, 0.0\] must have a part across"),
        ({"origin": (0, 0, math.nan)}, r"origin is .* every number must be finite"),
    ],
)
def test_refusals(fields: dict, said: str) -> None:
    with pytest.raises(ModelError, match="flexible link 'arm': .*" + said):
        Beam(**{**GOOD, **fields})
