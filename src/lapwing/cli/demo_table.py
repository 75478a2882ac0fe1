"""The table of `lapwing demo --write-csv`: letters to a shop, made by rule, twenty sorted."""

from __future__ import annotations

import csv
import io

import numpy as np

N_ROWS, N_LABELLED = 400, 20
#: Class, usual channel, mean minutes of waiting, mean amount, words of its own.
_CLASSES = (
    (
        "billing",
        "mail",
        30.0,
        80.0,
        "invoice charged twice refund amount paid card month wrong total",
    ),
    (
        "delivery",
        "phone",
        12.0,
        45.0,
        "parcel arrived late courier box damaged street door waited depot",
    ),
    (
        "technical",
        "chat",
        20.0,
        20.0,
        "login screen error crashes update password app phone button freezes",
    ),
)
_CHANNELS = ("chat", "mail", "phone")
_COMMON = "hello please help thanks again today customer my the and since still with about"


def demo_csv() -> str:
    """Return the table as CSV; the same every time.

    Columns: ``id``, two numbers (some missing), a category, a short text, and ``label``, which is
    empty in all rows but twenty.
    """
    rng = np.random.default_rng(0)
    kinds = rng.permutation(np.arange(N_ROWS) % len(_CLASSES))
    order = rng.permutation(N_ROWS)
    of_class = [order[kinds[order] == kind][:7] for kind in range(len(_CLASSES))]
    labelled = set(np.concatenate(of_class)[:N_LABELLED].tolist())
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["id", "waited", "amount", "channel", "message", "label"])
    for row, kind in enumerate(kinds):
        label, usual, waited, amount, own = _CLASSES[kind]
        channel = usual if rng.random() < 0.7 else str(rng.choice(_CHANNELS))
        words = [*rng.choice(own.split(), 3), *rng.choice(_COMMON.split(), 5)]
        known = rng.random() > 0.05
        writer.writerow(
            [
                f"T{row + 1:03d}",
                round(float(rng.gamma(4.0, waited / 4.0)), 1),
                round(float(rng.gamma(4.0, amount / 4.0)), 2) if known else "",
                channel,
                " ".join(rng.permutation(words)),
                label if row in labelled else "",
            ]
        )
    return file.getvalue()
