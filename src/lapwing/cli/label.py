"""`lapwing label`: label rows in the browser, while a model learns from the answers."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from ..arrays.atomic import atomic_file
from ..labelling.exports import Exports
from ..labelling.journal import Journal
from ..labelling.server import LabelServer
from ..labelling.session import LabelSession
from .label_rows import LabelRows, read_label_rows
from .options import add_reading, names, whole_number
from .output import check_out


def add_command(commands: Any) -> None:
    """Add the arguments of `lapwing label` to the command line."""
    parser = commands.add_parser(
        "label",
        help="label the rows of a table in the browser, while a model learns from the answers",
        description="Shows the rows of a table in the browser, one at a time, and asks for their "
        "labels. A model learns from each answer, asks for the rows that it learns most from, and "
        "reports how good it is. Answers are kept in a journal beside the table, so that a later "
        "call goes on where this one ended; the table is not changed. Ctrl+C ends it.",
    )
    parser.add_argument("data", type=Path, help="the table: a file, or a folder of its files")
    parser.add_argument(
        "--target",
        metavar="NAME",
        required=True,
        help="column of the labels (y in .npz); it need not exist, and rows whose cell is empty "
        "are asked for",
    )
    parser.add_argument("--id", metavar="COL", help="column of the row names (numbers from 1)")
    parser.add_argument(
        "--classes", type=names, default=[], metavar="A,B", help="the classes; more can be added"
    )
    _add_display(parser)
    parser.add_argument(
        "--journal",
        type=Path,
        help="file of the answers (default: TABLE.NAME.journal beside the table)",
    )
    parser.add_argument("--out", type=Path, help="write the table with all labels here at the end")
    parser.add_argument("--model", type=Path, help="write the model here at the end")
    parser.add_argument(
        "--port",
        type=whole_number(0),
        default=0,
        metavar="N",
        help="port of the page (default: any free port)",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, and open no browser"
    )
    parser.add_argument(
        "--unlabeled", metavar="MARKER", help="label that marks unlabelled rows, as empty cells do"
    )
    for kind, what in (("text", "texts"), ("categorical", "categories")):
        parser.add_argument(
            f"--{kind}-columns", type=names, default=[], metavar="A,B", help=f"columns of {what}"
        )
    parser.add_argument(
        "--drop",
        type=names,
        default=[],
        metavar="A,B",
        help="columns that the model does not learn from; they are shown",
    )
    add_reading(parser)
    parser.add_argument(
        "--seed", type=whole_number(0), default=0, help="seed of everything random (0)"
    )
    parser.set_defaults(run=run)


def _add_display(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is shown of a row."""
    parser.add_argument("--text", metavar="COL", help="column of the text that is shown large")
    parser.add_argument(
        "--image",
        metavar="COL",
        help="column of the paths of pictures; the model learns from the other columns",
    )
    parser.add_argument(
        "--image-folder",
        type=Path,
        metavar="DIR",
        help="where pictures are (default: beside the table)",
    )
    parser.add_argument(
        "--fields",
        type=names,
        metavar="A,B",
        help="columns that are shown (the first 30, or none beside texts and pictures if there are "
        "more)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until an interrupt; return the exit code."""
    journal_path = arguments.journal or _beside(arguments.data, arguments.target)
    check_out(journal_path, arguments.data, option="--journal")
    for option in ("out", "model"):
        path = getattr(arguments, option)
        if path is not None:
            check_out(path, arguments.data, journal_path, option=f"--{option}")
    _check_files(arguments, journal_path)
    rows = read_label_rows(arguments)
    name = Path(os.path.abspath(arguments.data))  # also that of the folder "."
    for note in rows.notes:
        print(f"note: {note}", file=sys.stderr)
    with closing(_open_journal(journal_path, rows)) as journal, _interrupts():
        session = LabelSession(
            rows.X,
            rows.cards,
            journal,
            given=rows.given,
            classes=arguments.classes,
            title=f"{name.name}: {arguments.target}",
            seed=arguments.seed,
            memory_limit=arguments.memory_limit,
        )
        with _closing(session):
            session.exports = Exports(
                session, name.stem, arguments.target, rows.columns, rows.ids, rows.extra
            )
            _serve(session, arguments)
            return _finish(session, arguments, journal_path)


def _check_files(arguments: argparse.Namespace, journal: Path) -> None:
    """Refuse a table in a format that is not written, and two files of one name."""
    out = arguments.out
    if out is not None and out.suffix.lower() not in ("", ".csv", ".txt"):
        raise ValueError(f"--out {out}: the table is written as CSV: give a name that ends in .csv")
    first: dict[Path, str] = {}
    for option, path in (("--journal", journal), ("--out", out), ("--model", arguments.model)):
        other = option if path is None else first.setdefault(path.resolve(), option)
        if other != option:
            raise ValueError(f"{other} and {option} are both {path}: give each a name of its own")


def _open_journal(path: Path, rows: LabelRows) -> Journal:
    """Open the file of the answers; rows that a table has got since are added to it."""
    journal = Journal(path, rows.about, rows.agrees)
    try:
        noted = [entry for entry in journal.entries if entry.get("do") == "rows"]
        found = noted[-1].get("about", {}) if noted else journal.about
        if not rows.agrees(found):
            raise journal.other_rows()
        n_new = rows.about["rows"] - found["rows"]
        if n_new:
            journal.append({"do": "rows", "about": rows.about})
            added = "1 row has" if n_new == 1 else f"{n_new} rows have"
            print(f"note: {added} been added to the table", file=sys.stderr)
    except BaseException:
        journal.close()
        raise
    return journal


def _beside(data: Path, target: str) -> Path:
    """Return the file of the answers for a table and a column, if the user names none."""
    data = data.resolve()
    return data.with_name(f"{data.name}.{re.sub(r'[^0-9A-Za-z_-]', '_', target)[:60]}.journal")


def _serve(session: LabelSession, arguments: argparse.Namespace) -> None:
    """Serve the page until an interrupt."""
    server = LabelServer(session, port=arguments.port)
    with closing(server), suppress(KeyboardInterrupt):
        server.start()
        address = server.start_address()
        print(address, flush=True)
        print("The address works once. Ctrl+C ends the session.", file=sys.stderr, flush=True)
        if not arguments.no_browser:
            webbrowser.open(address)
        while True:
            time.sleep(1.0)


def _finish(session: LabelSession, arguments: argparse.Namespace, journal: Path) -> int:
    """Write what the user asked for, and say what there is; return the exit code."""
    code = 0
    answered = len(session.answers.labels)
    what = "1 answer is" if answered == 1 else f"{answered} answers are"
    print(f"{what} in {journal}", file=sys.stderr)
    wanted = {"table": arguments.out, "model": arguments.model}
    if any(wanted.values()) and not session.wait(0):
        print("Learning the last answers…", file=sys.stderr, flush=True)
        session.wait(threading.TIMEOUT_MAX)  # Ctrl+C ends it; the answers are in the journal
    for what, path in wanted.items():
        if path is None:
            continue
        try:
            assert session.exports is not None
            content = session.exports(what)[2]
            with atomic_file(path) as file:
                file.write(content)
        except LookupError as error:  # there is no model yet
            print(f"{path} was not written: {error.args[0]}", file=sys.stderr)
        except (ValueError, OSError) as error:  # the other file may be written all the same
            print(f"lapwing label: error: {path} was not written: {error}", file=sys.stderr)
            code = 1
        else:
            print(f"{what}: {path}", file=sys.stderr)
    return code


@contextmanager
def _closing(session: LabelSession) -> Iterator[None]:
    """Close a session at the end; say what is waited for if that takes long."""
    what = "Waiting for the present step of the model…"
    notice = threading.Timer(1.0, print, [what], {"file": sys.stderr, "flush": True})
    try:
        yield
    finally:
        notice.start()
        session.close()
        notice.cancel()


@contextmanager
def _interrupts() -> Iterator[None]:
    """Let a signal to terminate end the session as Ctrl+C does."""
    try:
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:  # not in the main thread, which gets no signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
