"""Repeat the experiments of the five papers: `make papers`.

    python benchmarks/papers.py [--paper 003] [--table 1] [--mode quick] [--jobs 2] [--data FOLDER]

Each job runs in a process of its own, which imports this file; hence the guard at the end.
"""

import sys

from experiments.command import papers_command

if __name__ == "__main__":
    sys.exit(papers_command())
