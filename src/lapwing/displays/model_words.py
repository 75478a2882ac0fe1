"""The sentences on the page of a model: sizes, whether unlabelled rows help, how to fit it again.

Turns a report into sentences and a short program. Must not know markup; text from users is quoted
in the program.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from .page import shorten

#: Number of characters of a file name and of a command that are shown.
_NAME, _COMMAND = 80, 500


def facts(report: dict[str, Any], classes: list[Any] | None, source: str | None) -> str:
    """Return a sentence about the size and the source of the data.

    Parameters
    ----------
    report : dict
        With ``rows``, ``labels`` and ``columns``.
    classes : list, optional
        The classes; None for a regressor.
    source : str, optional
        Name of the file.

    Returns
    -------
    str
    """
    of_classes = "" if classes is None else f", {len(classes)} classes"
    origin = "" if source is None else f". Source: {shorten(source, _NAME)}"
    return (
        f"{report['rows']:,} rows, {report['labels']:,} of them labelled; "
        f"{report['columns']:,} columns{of_classes}{origin}."
    )


def number(value: float | None, otherwise: float) -> float:
    """Return the value, or the other one if it is not known."""
    return otherwise if value is None else value


def verdict(report: dict[str, Any]) -> dict[str, str]:
    """Return a sentence on whether the unlabelled rows help.

    Parameters
    ----------
    report : dict
        With both scores, their standard errors and the candidates.

    Returns
    -------
    dict
        ``kind``, which is ``"help"``, ``"unclear"``, ``"hurt"`` or ``"unused"``, and ``text``.

    Notes
    -----
    The standard error of the difference is computed as if both scores were independent. They share
    their folds, so the standard error is rather too large, and the sentence rather cautious.
    """
    tried = report["candidates"]
    used = [one for one in tried if number(one["weight"], 0.0) > 0]
    ours, theirs = report["score"], report["supervised_score"]
    if report["labels"] == report["rows"]:
        return {"kind": "unused", "text": "Every row is labelled: there are no unlabelled rows."}
    if used and all(one["supervised"] for one in used):
        reason = "no model with them was clearly better than the best supervised one"
        if all(one["supervised"] for one in tried):
            reason = "only supervised models were tried"
        return {"kind": "unused", "text": f"The unlabelled rows are not used: {reason}."}
    if ours is None or theirs is None:
        text = "It was not measured whether the unlabelled rows help."
        return {"kind": "unclear", "text": text}
    errors = [number(report[name], math.inf) for name in ("spread", "supervised_spread")]
    return _compare(ours - theirs, math.hypot(*errors), "accuracy" in report["metric"])


def _compare(difference: float, error: float, percent: bool) -> dict[str, str]:
    """Return what a difference of scores means, given its standard error."""
    size = f"{100 * abs(difference):.1f} points" if percent else f"{abs(difference):.3f}"
    if abs(difference) <= error:
        found = f"differ by {size}, which may be due to chance"
        if float(size.split()[0]) == 0:
            found = "are equal"
        text = (
            "It is not clear whether the unlabelled rows help: the scores with and without them "
            f"{found}. More labels would make it clear."
        )
        return {"kind": "unclear", "text": text}
    verb, side = ("help", "higher") if difference > 0 else ("hurt", "lower")
    doubt, chance = "probably ", "some of which may be due to chance"
    if abs(difference) > 2 * error:
        doubt, chance = "", "which is unlikely to be due to chance"
    text = (
        f"The unlabelled rows {doubt}{verb}: with them the score is {size} {side} than without, "
        f"{chance}."
    )
    return {"kind": verb, "text": text}


def snippet(model: Any, report: dict[str, Any], source: str | None) -> str:
    """Return a Python program that fits the model again.

    Parameters
    ----------
    model : estimator
        Its parameters are written out if they are not the default. A comment contains the command
        that fitted it, if ``extra_`` has one.
    report : dict
        With ``settings``: ``version``, and ``seed`` if no ``random_state`` was given.
    source : str, optional
        Name of the file.

    Returns
    -------
    str
        The program. Text from users occurs in it as literals only, so none of it is run.
    """
    name = f"SemiSupervised{'Classifier' if hasattr(model, 'classes_') else 'Regressor'}"
    settings = report.get("settings") or {}
    given = model.get_params(deep=False)
    defaults = inspect.signature(type(model).__init__).parameters
    changed = {
        key: value
        for key, value in given.items()
        if key not in defaults or repr(value) != repr(defaults[key].default)
    }
    seed = settings.get("seed")
    if given.get("random_state") is None and isinstance(seed, int):
        changed["random_state"] = seed
    lines = [f"    {key}={_literal(value)}" for key, value in changed.items()]
    inside = "\n".join(["", *lines, ""]) if lines else ""
    origin = "the table" if source is None else ascii(shorten(source, _NAME))
    version = ascii(shorten(settings.get("version", "?"), 20)).strip("'")
    command = getattr(model, "extra_", {}).get("command")
    shell = f"# {shorten(ascii(str(command))[1:-1], _COMMAND)}\n# or, " if command else "# "
    return (
        f"{shell}lapwing {version}; X and y are the rows of {origin} and their labels\n"
        f"from lapwing import {name}\n\n"
        f"model = {name}({inside}).fit(X, y)\n"
    )


def _literal(value: Any) -> str:
    """Return an argument as Python code, or an ellipsis if it has no literal."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}"),'
    if value is None or isinstance(value, bool | int | float | str):
        return f"{value!r},"
    return f"...,  # a {type(value).__name__}"
