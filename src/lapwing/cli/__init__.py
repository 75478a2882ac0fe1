"""The `lapwing` command. The only layer that prints; it must not know numerical detail."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from .. import __version__
from . import demo, fit, label, predict, report, suggest
from .output import print_json

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process by default.

    Returns
    -------
    int
        0 after success, 1 after an error, 130 after an interrupt. Invalid arguments end the
        process with 2, as argparse does. Errors are printed to the error stream, and with
        ``--json`` also as an object to the standard output.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        arguments = _parser().parse_args(words)
    except _UsageError as error:
        if any(map(_is_json, words)):
            command = next((word for word in words if not word.startswith("-")), None)
            print_json({"command": command, "error": str(error)})
        argparse.ArgumentParser.error(error.parser, str(error))
    try:
        code = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("lapwing: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever reads the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError, MemoryError, ImportError) as error:
        message = _message(error)
        if "memory_limit" in arguments:  # a parameter of the library is an option here
            message = message.replace("memory_limit", "--memory-limit")
        print(f"lapwing {arguments.command}: error: {message}", file=sys.stderr)
        if getattr(arguments, "json", False):
            print_json({"command": arguments.command, "error": message})
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="lapwing",
        description="Semi-supervised learning from few labels and many unlabelled rows.",
    )
    parser.add_argument("--version", action="version", version=f"lapwing {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    for command in (label, fit, predict, suggest, report, demo):
        command.add_command(commands)
    return parser


class _UsageError(Exception):
    """Invalid arguments, and the parser that refused them."""

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        super().__init__(message)
        self.parser = parser


class _Parser(argparse.ArgumentParser):
    """Leaves it to `main` to print what is wrong with the arguments."""

    def error(self, message: str) -> NoReturn:
        raise _UsageError(self, message)


def _is_json(word: str) -> bool:
    """Return whether a word is the option ``--json``, of which argparse accepts any beginning."""
    return len(word) > 2 and "--json".startswith(word)


def _message(error: Exception) -> str:
    """Return the message of an error; one of the operating system without its number."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__
