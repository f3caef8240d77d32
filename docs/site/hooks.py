"""Hooks of MkDocs: pages made from the code, pages of linked source files, and the output of notebooks.

Nothing that is made here is committed: the help of each command, the API by module, and the plots of the notebooks.
"""

from __future__ import annotations

import ast
import io
import os
import posixpath
import re
import sys
from collections import defaultdict
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jupytext
import matplotlib.pyplot as plt
import pymdownx.slugs
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from rne_dynamics.cli.main import COMMANDS, main

sys.path.insert(0, str(Path(__file__).parent))  # MkDocs loads this file by its path
import state_diagram

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")
PYTHON = re.compile(r"^```python\n(.*?)^```\n", re.M | re.S)
#: Page of the API, by the package that a public name is in.
API = {
    "dispatch": "dynamics", "dynamics": "dynamics", "bound": "dynamics", "bound_batch": "dynamics",
    "c_export": "dynamics", "c_functions": "dynamics", "model": "models", "description": "models", "errors": "models",
    "control": "control", "simulation": "simulation", "recording": "simulation",
}  # fmt: skip
#: Head of a page that the search leaves out, as it would be found before the pages about it.
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
LANGUAGES = {".py": "python", ".yaml": "yaml", ".urdf": "xml", ".cpp": "cpp"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Anchors as GitHub makes them, so that links work in both."""
    config.mdx_configs["toc"]["slugify"] = pymdownx.slugs.slugify(case="lower")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from code, and one for each file outside docs/ that a page links to."""
    made = {"commands.md": commands_page(), **api_pages()}
    for page in files.documentation_pages():
        for target in outside(page.src_uri, page.content_string):
            made.update(source_pages(target))
    for uri, content in made.items():
        files.append(File.generated(config, uri, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links to files of the checkout lead to their pages; run notebooks."""
    here = page.file.src_uri
    if here.startswith("notebooks/"):
        markdown = run_notebook(markdown, here, config, files)

    def drawn(diagram: re.Match[str]) -> str:
        name = f"{Path(here).stem}_diagram.png"
        files.append(File.generated(config, f"images/{name}", content=state_diagram.picture(diagram[1])))
        up = posixpath.relpath("images", posixpath.dirname(here) or ".")
        return f"![States and transitions]({up}/{name})\n\n{state_diagram.table(diagram[1])}"

    markdown = state_diagram.MERMAID.sub(drawn, markdown)

    def rewritten(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(here), link[1]))
        if target.startswith("docs/"):
            return link[0]
        return f"]({posixpath.relpath(f'source/{target}.md', posixpath.dirname(here) or '.')})"

    return LINK.sub(rewritten, markdown)


def outside(page: str, markdown: str) -> list[str]:
    """Paths, relative to the checkout, of files outside docs/ that a page links to."""
    targets = [posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link[1]))
               for link in LINK.finditer(markdown)]
    return [target for target in targets if not target.startswith("docs/")]


def source_pages(target: str) -> dict[str, str]:
    """Pages of a file, or of a folder and the files in it."""
    path = ROOT / target
    if not path.exists():
        raise PluginError(f"a page links to {target}, which does not exist")
    if path.suffix == ".md":
        return {f"source/{target}.md": UNSEARCHED + with_links_of_docs(path.read_text(encoding="utf-8"), target)}
    if path.is_file():
        language = LANGUAGES.get(path.suffix, "text")
        text = path.read_text(encoding="utf-8")
        return {f"source/{target}.md": f"{UNSEARCHED}# {target}\n\n````{language}\n{text}\n````\n"}
    inside = sorted(p for p in path.iterdir() if p.is_file() and p.suffix in LANGUAGES)
    rows = [f"- [{p.name}]({path.name}/{p.name}.md)" for p in inside]
    made = {f"source/{target}.md": UNSEARCHED + "\n".join([f"# {target}", "", *rows, ""])}
    for p in inside:
        made.update(source_pages(f"{target}/{p.name}"))
    return made


def with_links_of_docs(markdown: str, target: str) -> str:
    """A page outside docs/ as a page of the site: links into docs/ stay, others become text."""
    def rewritten(link: re.Match[str]) -> str:
        goal = posixpath.normpath(posixpath.join(posixpath.dirname(target), link[2]))
        if link[2].startswith("http"):
            return link[0]
        if goal.startswith("docs/"):
            here = f"source/{posixpath.dirname(target)}"
            return f"{link[1]}({posixpath.relpath(goal.removeprefix('docs/'), here)}{link[3] or ''})"
        return link[1].strip("![]")

    return re.sub(r"(!?\[[^\]]*\])\(([^)#\s]+)(#[^)\s]*)?\)", rewritten, markdown)


def commands_page() -> str:
    """The help of every command, as `rne COMMAND --help` prints it."""
    sections = ["# Commands\n\nThe help of each command, as `rne COMMAND --help` prints it.\n"]
    for name in COMMANDS:
        output = io.StringIO()
        with patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}), redirect_stdout(output):
            try:
                main([name, "--help"])
            except SystemExit as end:
                if end.code:
                    raise PluginError(f"rne {name} --help exits with {end.code}") from end
        sections.append(f"## rne {name}\n\n```text\n{output.getvalue()}```\n")
    return "\n".join(sections)


def api_pages() -> dict[str, str]:
    """One page of mkdocstrings' directives for each group of public names; a name in no group is an error."""
    stub = ast.parse((ROOT / "rne_dynamics" / "__init__.pyi").read_text(encoding="utf-8"))
    names = defaultdict(list)
    for line in stub.body:
        if isinstance(line, ast.ImportFrom):
            package = str(line.module).split(".")[1]
            if package not in API:
                raise PluginError(f"docs/site/hooks.py: API has no page for the names of rne_dynamics.{package}")
            names[API[package]] += [alias.name for alias in line.names]
    head = "Generated from the docstrings. Symbols and units are those of [notation](../notation.md)."
    return {
        f"api/{group}.md": f"# API: {group}\n\n{head}\n\n"
        + "".join(f"::: rne_dynamics.{name}\n\n" for name in sorted(found, key=lambda n: (n[0].isupper(), n)))
        for group, found in names.items()
    }


def run_notebook(markdown: str, here: str, config: MkDocsConfig, files: Files) -> str:
    """Run a page's blocks of Python in one namespace; add what each prints and draws, and the page as .ipynb."""
    stem = Path(here).stem
    namespace: dict[str, Any] = {}
    plt.switch_backend("agg")

    def with_output(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(block[1], here, "exec"), namespace)
        parts = [block[0]]
        if printed.getvalue():
            parts.append(f"\n```text\n{printed.getvalue()}```\n")
        for number in plt.get_fignums():
            picture = io.BytesIO()
            plt.figure(number).savefig(picture, dpi=110, bbox_inches="tight")
            name = f"{stem}_{sum(f.src_uri.startswith(f'notebooks/{stem}_') for f in files)}.png"
            files.append(File.generated(config, f"notebooks/{name}", content=picture.getvalue()))
            parts.append(f"\n![Plot of the block above]({name})\n")
        plt.close("all")
        return "".join(parts)

    notebook = jupytext.writes(jupytext.reads(markdown, fmt="md"), fmt="ipynb")
    files.append(File.generated(config, f"notebooks/{stem}.ipynb", content=notebook))
    return PYTHON.sub(with_output, markdown) + f"\n[This page as a Jupyter notebook]({stem}.ipynb)\n"
