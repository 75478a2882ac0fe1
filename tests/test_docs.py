"""Every Python block of the guide and of the README runs, in order; so does every example.

What `make docs` needs is checked as far as that can be done without Sphinx.
"""

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest

import lapwing

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md")
)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
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


def test_the_guide_does_not_repeat_the_readme():
    """The README shows the default at work, the guide why unlabelled rows help."""
    openings = [
        (ROOT / page).read_text(encoding="utf-8").split("\n## ")[0].splitlines()
        for page in ("README.md", "docs/index.md")
    ]
    first, second = ({line.split("#")[0].strip() for line in lines} for lines in openings)
    assert {line for line in first & second if len(line) > 40} == set()


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_write_a_picture(example, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    out = tmp_path / "folder" / "picture.png"
    monkeypatch.setattr(sys, "argv", [example, "--out", str(out)])
    runpy.run_path(str(ROOT / "examples" / example), run_name="__main__")
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_have_a_title(example):
    text = (ROOT / "examples" / example).read_text(encoding="utf-8")
    title, underline, blank, *rest = ast.get_docstring(ast.parse(text)).splitlines()
    assert underline == "=" * len(title)
    assert not blank
    assert f"python examples/{example} " in "\n".join(rest)


def test_every_page_is_in_the_table_of_contents(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])  # the file puts its folder there
    site = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = site["contents"](site["redirect_links"](index)).splitlines()
    pages = {path.stem for path in (ROOT / "docs").iterdir() if path.suffix in (".md", ".rst")}
    pages |= {f"{name}-standard/report" for name in ("papers", "peers", "peers-quantities")}
    made = {"generated/gallery/index", "generated/contributing", "generated/changelog"}
    assert pages - {"index"} | made == {line for line in listed if line and line[0].isalpha()}


def test_every_public_name_is_in_the_reference():
    pytest.importorskip("matplotlib")
    from lapwing import displays

    entries = re.findall(
        r"^   ([\w.]+)$", (ROOT / "docs" / "api.rst").read_text("utf-8"), re.MULTILINE
    )
    assert sorted(entries) == sorted(
        [*lapwing.__all__, "graphs.smallest_eigenpairs", *displays.__all__]
    )
