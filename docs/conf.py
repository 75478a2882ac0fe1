"""Configuration of Sphinx, which builds the site: `make docs`.

The pages are plain Markdown without Sphinx directives. So three things are done here: the tables
of index.md become the table of contents, links to files outside docs/ are redirected to pages of
the site, and the examples are run for the gallery. Everything that is generated goes to
docs/generated, which git ignores.
"""

import logging
import re
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
GENERATED = DOCS / "generated"

sys.path.insert(0, str(DOCS))  # for sphinx_examples.py
sys.path.insert(0, str(ROOT / "src"))

from lapwing import __version__  # noqa: E402 - found by the path above

logging.getLogger("lapwing").setLevel(logging.WARNING)  # the theme turns on all logs

project = "Lapwing"
author = "The Lapwing developers"
project_copyright = author
version = release = __version__

extensions = [
    "myst_parser",  # pages in Markdown
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",  # one page per class
    "numpydoc",  # docstrings with sections
    "sphinx_gallery.gen_gallery",  # the examples
]
root_doc = "index"
templates_path = ["_templates"]
exclude_patterns = ["_templates"]
highlight_language = "none"  # indented blocks are formulas
nitpicky = True

html_theme = "furo"  # loads nothing from the network
html_title = f"Lapwing {release}"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False

myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings describe the types
numpydoc_show_class_members = False  # the template lists them
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "generated/gallery",
    "backreferences_dir": "generated/backreferences",  # "examples that use this class"
    "doc_module": ("lapwing",),
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("sphinx_examples.written_picture",),
    "reset_modules": (),
    "abort_on_example_error": True,
    "notebook_extensions": set(),  # an example is a command with options
    "download_all_examples": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "show_signature": False,
    "capture_repr": (),
    "inspect_global_variables": False,
}

#: Links to files outside docs/ and the pages of the site that replace them; the first match counts.
OUTWARD = (
    (r"\.\./CONTRIBUTING\.md", "generated/contributing.md"),
    (r"\.\./CHANGELOG\.md", "generated/changelog.md"),
    (r"\.\./examples/(\w+)\.py", r"generated/gallery/\1.rst"),
    (r"\.\./examples/?", "generated/gallery/index.rst"),
)


def redirect_links(text: str, to_docs: str = "") -> str:
    """Return Markdown whose links to files outside docs/ point to pages of the site."""
    for pattern, target in OUTWARD:
        text = re.sub(rf"\]\({pattern}(#[^)]*)?\)", rf"]({to_docs}{target})", text)
    return text


def contents(index: str) -> str:
    """Return a hidden table of contents for each heading of index.md that has a table of pages."""
    trees = []
    for heading, body in re.findall(r"^### (.+)\n((?:(?!#).*\n)*)", index, re.MULTILINE):
        pages = re.findall(r"^\| \[[^]]+\]\(([^)#]+)\.(?:md|rst)\)", body, re.MULTILINE)
        if pages:
            tree = "\n".join(
                ["```{toctree}", ":hidden:", f":caption: {heading}", "", *pages, "```"]
            )
            trees.append(tree)
    return "\n\n".join(trees)


def on_source_read(app, docname: str, source: list[str]) -> None:
    """Redirect the links of a page, and add the table of contents to the first page."""
    if app.env.doc2path(docname, base=False).suffix == ".md":
        text = redirect_links(source[0])
        source[0] = f"{text}\n{contents(text)}\n" if docname == root_doc else text


def copy_pages(app, config) -> None:
    """Copy the pages that are outside docs/ and redirect their links."""
    GENERATED.mkdir(exist_ok=True)
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/", "](../", text)
        text = re.sub(r"\]\((CONTRIBUTING|CHANGELOG)\.md", lambda m: f"]({m[1].lower()}.md", text)
        target = GENERATED / name.lower()
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def formulas(app, what, name, obj, options, lines: list[str]) -> None:
    """Mark indented formulas above the first section of a docstring as literal blocks."""
    end = next((i for i, line in enumerate(lines) if line.startswith("---")), len(lines))
    starts = [
        i
        for i in range(1, end)
        if lines[i].startswith("    ") and not lines[i - 1] and not lines[i - 2].startswith("    ")
    ]
    for i in reversed(starts):
        if not lines[i - 2].endswith("::"):
            lines[i:i] = ["::", ""]


def setup(app) -> None:
    """Register the hooks."""
    shutil.rmtree(GENERATED / "api", ignore_errors=True)  # pages of removed classes
    app.connect("config-inited", copy_pages)
    app.connect("source-read", on_source_read)
    app.connect("autodoc-process-docstring", formulas, priority=100)  # before numpydoc's
