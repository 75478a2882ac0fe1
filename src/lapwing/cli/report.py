"""`lapwing report`: an HTML page about a saved model, which loads nothing from elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..arrays.atomic import write_text
from ..displays.model_page import make_page
from .models import load_table_model
from .options import add_json
from .output import check_out, print_json


def add_command(commands: Any) -> None:
    """Add the arguments of `lapwing report` to the command line."""
    parser = commands.add_parser(
        "report",
        help="write a page about a model: one HTML file",
        description="Writes a page about a model: what was chosen and why, whether unlabelled rows "
        "help, and which rows to look at. It is one file and needs no network.",
    )
    parser.add_argument("model", type=Path, help="a model file of `lapwing fit`")
    parser.add_argument(
        "--out", type=Path, default=Path("report.html"), help="the page (report.html)"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the page; return the exit code."""
    check_out(arguments.out, arguments.model)
    stored = load_table_model(arguments.model)
    target = stored.encoder.target
    title = f"{stored.source}: {target}" if target is not None else stored.source
    page = make_page(stored.model, title=title, ids=stored.ids, source=stored.source)
    write_text(arguments.out, page)
    if arguments.json:
        print_json({"command": "report", "out": str(arguments.out), "bytes": len(page.encode())})
    else:
        print(f"Report: {arguments.out}")
    return 0
