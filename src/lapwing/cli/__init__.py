"""The `lapwing` command. The only storey that prints; numerical detail lives below."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .. import __version__
from . import demo, fit, predict, report, suggest

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        0 after success, 1 after an error, 130 after an interrupt. Arguments that cannot be
        understood end the process with 2, as argparse does.
    """
    parser = argparse.ArgumentParser(
        prog="lapwing",
        description="Semi-supervised kernel machines: few labels, many unlabelled rows.",
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
        print(f"lapwing {arguments.command}: error: {error}", file=sys.stderr)
        return 1
