"""The documentation as a site: quoted messages are the code's, and it is built with every page in its navigation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

jupytext = pytest.importorskip("jupytext", reason="jupytext reads notebooks: pip install '.[test]'")

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.md"))
#: Pages that docs/site/hooks.py makes.
GENERATED = re.compile(r"commands\.md|api/\w+\.md")
#: A file that a page loads, as against a link that a reader may follow.
LOADED = re.compile(r"<(?:script|img|iframe)[^>]*?\bsrc=[\"']?([^\"' >]+)|<link[^>]*?\bhref=[\"']?([^\"' >]+)")


def listed(entries: list[object]) -> Iterator[str]:
    """Pages of a navigation, in order."""
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            if isinstance(value, list):
                yield from listed(value)
            else:
                yield str(value)


def test_every_page_is_in_the_navigation_once() -> None:
    pages = list(listed(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    written = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert not written - set(pages), "add these pages to nav in mkdocs.yml"
    assert not [page for page in pages if page not in written and not GENERATED.fullmatch(page)]
    assert len(pages) == len(set(pages))


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_notebooks_have_the_code_of_their_pages(page: Path) -> None:
    """`test_docs.py` runs the pages' blocks; a notebook that jupytext makes of a page has the same code."""
    text = page.read_text(encoding="utf-8")
    cells = [cell.source for cell in jupytext.reads(text, fmt="md").cells if cell.cell_type == "code"]
    assert cells == [body.strip("\n") for body in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)]
    assert "plt.subplots" in text


@cache
def code() -> str:
    """The package's text, string literals that follow each other as one."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "rne_dynamics").rglob("*.py")]
    return re.sub(r'"\s*[rf]*"', "", "\n".join(texts))


def messages() -> list[str]:
    """Messages that docs/troubleshooting.md quotes: code in first columns that has several words."""
    rows = (DOCS / "troubleshooting.md").read_text(encoding="utf-8").splitlines()
    return [text for row in rows if row.startswith("| `") for text in re.findall(r"`([^`]+)`", row.split("|")[1])
            if text.count(" ") > 1 and not text.startswith("rne: ")]


@pytest.mark.parametrize("message", messages())
def test_quoted_messages_are_those_of_the_code(message: str) -> None:
    parts = [re.sub(r"\(constraints\.<joint>\.\w+\)", "", part).strip() for part in message.split("…")]
    assert all(part in code() for part in parts)


@pytest.mark.slow
def test_the_site_is_built_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)], cwd=ROOT,
        env=environment, capture_output=True, text=True, check=False, timeout=300,
    )
    assert built.returncode == 0, built.stderr
    pages = list(tmp_path.rglob("*.html"))
    for page in pages:
        for script, link in LOADED.findall(page.read_text(encoding="utf-8")):
            assert "//" not in script + link, f"{page.relative_to(tmp_path)} loads {script or link}"
    states = (tmp_path / "states.html").read_text(encoding="utf-8")
    assert 'src="images/states_diagram.png"' in states
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    parts = ("rne_dynamics.inverse_dynamics", "rne_dynamics.Rollout", "rne verify pantograph", "franka.yaml")
    assert all(part in text for part in parts)
    assert list(tmp_path.glob("notebooks/*.ipynb"))
