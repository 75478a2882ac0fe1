"""The table of `lapwing demo --write-csv`: generated letters to a shop, twenty of them labelled."""

from __future__ import annotations

import numpy as np

from ..tables.write import csv_text

N_ROWS, N_LABELLED = 400, 20
#: Class, usual channel, mean minutes of waiting and mean amount.
_CLASSES = (
    ("billing", "mail", 30.0, 80.0),
    ("delivery", "phone", 12.0, 45.0),
    ("technical", "chat", 20.0, 20.0),
)
_WORDS = {
    "billing": "invoice charged twice refund amount paid card month wrong total",
    "delivery": "parcel arrived late courier box damaged street door waited depot",
    "technical": "login screen error crashes update password app phone button freezes",
}
_COMMON = "hello please help thanks again today customer my the and since still with about"
_CHANNELS = ("chat", "mail", "phone")


def demo_csv() -> str:
    """Return the table as CSV, the same every time.

    Columns: ``id``, two numbers (some missing), a category, a short text, and ``label``, which is
    empty in all rows but twenty.
    """
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.arange(N_ROWS) % len(_CLASSES))
    order = rng.permutation(N_ROWS)
    of_class = [order[codes[order] == code][:7] for code in range(len(_CLASSES))]
    labelled = set(np.concatenate(of_class)[:N_LABELLED].tolist())
    rows = []
    for row, code in enumerate(codes):
        label, usual, waited, amount = _CLASSES[code]
        channel = usual if rng.random() < 0.7 else str(rng.choice(_CHANNELS))
        words = [*rng.choice(_WORDS[label].split(), 3), *rng.choice(_COMMON.split(), 5)]
        known = rng.random() > 0.05
        cells = [
            f"T{row + 1:03d}",
            round(float(rng.gamma(4.0, waited / 4.0)), 1),
            round(float(rng.gamma(4.0, amount / 4.0)), 2) if known else "",
            channel,
            " ".join(rng.permutation(words)),
            label if row in labelled else "",
        ]
        rows.append(cells)
    return csv_text(["id", "waited", "amount", "channel", "message", "label"], rows)
