"""The law of docs/own_law.md as the module that the page says it is."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own_law.md"
#: The page's blocks of Python; the first one is the module.
BLOCKS: list[str] = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def write_law(folder: Path, name: str = "springs") -> None:
    """Write the module into a folder."""
    (folder / f"{name}.py").write_text(BLOCKS[0], encoding="utf-8")
