"""What the page of a model says in words: facts, whether unlabelled rows help, how to fit again.

Makes sentences and a short program out of a report. Knows nothing of markup; text that others
wrote is quoted where it stands in a program.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from .page import shorten

#: Characters of a file name that are shown.
_NAME = 80
#: Signs of a command that are shown.
_COMMAND = 500


def facts(report: dict[str, Any], classes: list[Any] | None, source: str | None) -> str:
    """Return how much data there were, and from where.

    Parameters
    ----------
    report : dict
        With ``rows``, ``labels`` and ``columns``.
    classes : list, optional
        The classes, unless the model is a regressor.
    source : str, optional
        Name of the file.

    Returns
    -------
    str
    """
    kinds = "" if classes is None else f", {len(classes)} classes"
    origin = "" if source is None else f". From {shorten(source, _NAME)}"
    return (
        f"{report['rows']:,} rows, {report['labels']:,} of them labelled; "
        f"{report['columns']:,} columns{kinds}{origin}."
    )


def number(value: float | None, otherwise: float) -> float:
    """Return the value, or another one where it is not known."""
    return otherwise if value is None else value


def verdict(report: dict[str, Any]) -> dict[str, str]:
    """Return in one sentence whether the unlabelled rows help, and of which kind it is.

    Parameters
    ----------
    report : dict
        With both scores, their spreads and the candidates.

    Returns
    -------
    dict
        ``kind``: ``"help"``, ``"unclear"``, ``"hurt"`` or ``"unused"``, and ``text``.

    Notes
    -----
    The standard error of the difference is taken as if both scores were independent. They share
    their folds, so it is rather too large, and the sentence rather too careful.
    """
    tried = report["candidates"]
    used = [one for one in tried if number(one["weight"], 0.0) > 0]
    ours, theirs = report["score"], report["supervised_score"]
    if used and all(one["supervised"] for one in used):
        return {"kind": "unused", "text": _unused(all(one["supervised"] for one in tried))}
    if ours is None or theirs is None:
        return {"kind": "unclear", "text": "Whether the unlabelled rows help was not measured."}
    errors = [number(report[name], math.inf) for name in ("spread", "supervised_spread")]
    return _compare(ours - theirs, math.hypot(*errors), "accuracy" in report["metric"])


def _unused(alone: bool) -> str:
    if alone:
        return "The unlabelled rows are not used: only models without them were tried."
    return (
        "The unlabelled rows are not used: no model with them did clearly better than the best "
        "one without, which was chosen."
    )


def _compare(difference: float, error: float, percent: bool) -> dict[str, str]:
    """Return what a difference of scores says, given its standard error."""
    size = f"{100 * abs(difference):.1f} points" if percent else f"{abs(difference):.3f}"
    if abs(difference) <= error:
        text = (
            "Whether the unlabelled rows help cannot be told: the scores with and without them "
            f"differ by {size}, which chance alone may give. More labels would tell."
        )
        return {"kind": "unclear", "text": text}
    verb, side = ("help", "higher") if difference > 0 else ("hurt", "lower")
    if abs(difference) > 2 * error:
        doubt, proof = "", "and chance alone rarely gives so much"
    else:
        doubt, proof = "probably ", "but chance alone may have given a part of that"
    text = (
        f"The unlabelled rows {doubt}{verb}: with them the score is {size} {side} than without, "
        f"{proof}."
    )
    return {"kind": verb, "text": text}


def snippet(model: Any, report: dict[str, Any], source: str | None) -> str:
    """Return a Python program that fits the model again.

    Parameters
    ----------
    model : estimator
        Its parameters are written out where they are not the default; before them, as a remark,
        the command that made it, if ``extra_`` has one.
    report : dict
        With ``settings``: ``version``, and ``seed`` where no ``random_state`` was given.
    source : str, optional
        Name of the file.

    Returns
    -------
    str
        Names and texts stand in it as literals, so none of them is run.
    """
    name = f"SemiSupervised{'Classifier' if hasattr(model, 'classes_') else 'Regressor'}"
    settings = report.get("settings") or {}
    given = model.get_params(deep=False)
    usual = inspect.signature(type(model).__init__).parameters
    changed = {
        key: value
        for key, value in given.items()
        if key not in usual or repr(value) != repr(usual[key].default)
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
    """Return how an argument is written in Python; an ellipsis where that is not known."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}"),'
    if value is None or isinstance(value, bool | int | float | str):
        return f"{value!r},"
    return f"...,  # a {type(value).__name__}"
