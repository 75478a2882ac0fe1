"""Every Python block of the guide and of the README runs, in order; so does every example."""

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md")
)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)\)")


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page, tmp_path, monkeypatch):
    text = (ROOT / page).read_text(encoding="utf-8")
    if "displays" in "".join(BLOCK.findall(text)):
        pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)  # where blocks may write
    namespace = {"__name__": "page"}
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))  # so that a traceback names the line
        exec(compile("\n" * first + block[1], str(ROOT / page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page):
    source = ROOT / page
    for target in LINK.findall(source.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (source.parent / target).exists(), f"{page} points to {target}"


@pytest.mark.parametrize("example", sorted(p.name for p in (ROOT / "examples").glob("*.py")))
def test_examples_write_a_picture(example, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    out = tmp_path / "folder" / "picture.png"
    monkeypatch.setattr(sys, "argv", [example, "--out", str(out)])
    runpy.run_path(str(ROOT / "examples" / example), run_name="__main__")
    assert out.read_bytes().startswith(b"\x89PNG")
