"""The `lapwing` command. The only layer that prints; it must not know numerical detail."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .. import __version__
from . import demo, fit, predict, report, suggest
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
    parser = argparse.ArgumentParser(
        prog="lapwing",
        description="Semi-supervised learning from few labels and many unlabelled rows.",
    )
    parser.add_argument("--version", action="version", version=f"lapwing {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    for command in (fit, predict, suggest, report, demo):
        command.add_command(commands)
    arguments = parser.parse_args(argv)
    try:
        return arguments.run(arguments)
    except KeyboardInterrupt:
        print("lapwing: interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError, MemoryError, ImportError) as error:
        message = _message(error)
        if "memory_limit" in arguments:  # a parameter of the library is an option here
            message = message.replace("memory_limit", "--memory-limit")
        print(f"lapwing {arguments.command}: error: {message}", file=sys.stderr)
        if getattr(arguments, "json", False):
            print_json({"command": arguments.command, "error": message})
        return 1


def _message(error: Exception) -> str:
    """Return the message of an error; one of the operating system without its number."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__
