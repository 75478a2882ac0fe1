"""Compare Lapwing with other libraries: `make peers`.

    python benchmarks/peers.py [--task classes] [--mode quick] [--jobs 2] [--data FOLDER]

Each job runs in a process of its own, which imports this file; hence the guard at the end.
"""

import sys

from experiments.command import peers_command

if __name__ == "__main__":
    sys.exit(peers_command())
