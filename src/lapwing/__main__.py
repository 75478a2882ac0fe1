"""``python -m lapwing``: the `lapwing` command."""

import sys

from .cli import main

sys.exit(main())
