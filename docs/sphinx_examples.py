"""How the gallery finds the picture of an example.

Examples create figures without pyplot, which the default scraper of the gallery does not find. The
gallery runs them in their folder, where they write output/NAME.png.
"""

from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst


def written_picture(block: Any, block_vars: dict, gallery_conf: dict) -> str:
    """Move the picture of an example to where the gallery expects it, and return its reST."""
    source = Path(block_vars["src_file"])
    written = source.parent / "output" / f"{source.stem}.png"
    if not written.exists():  # this part of the example draws nothing
        return ""
    path = Path(next(block_vars["image_path_iterator"]))
    path.write_bytes(written.read_bytes())
    written.unlink()
    if not any(written.parent.iterdir()):
        written.parent.rmdir()
    return figure_rst([str(path)], gallery_conf["src_dir"])
