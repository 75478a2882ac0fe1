"""A report as text for terminals, short or long, and as HTML for notebooks.

Only arranges what a report contains. Names of classes are text that somebody else has written: for
terminals control characters are written out, and in HTML everything is escaped. Must not know how
a report is computed.
"""

from __future__ import annotations

import html
import math
import textwrap
from typing import TYPE_CHECKING, Any

from .report_words import DESCRIPTIONS, score_text, settings_text, shares_text

if TYPE_CHECKING:
    from .report import SelectionReport

#: Columns of a terminal, and notes that are shown in a notebook.
_WIDTH, _NOTES = 79, 8

#: Colours come from the notebook, light or dark.
_STYLE = """
.lapwing-report { line-height: 1.45; max-width: 46rem; overflow-x: auto; }
.lapwing-report p { margin: 0.35em 0; }
.lapwing-report .faint { opacity: 0.75; font-size: 0.92em; }
.lapwing-report .score { font-size: 1.25em; font-weight: 600; }
.lapwing-report table { border-collapse: collapse; margin: 0.6em 0; width: 100%;
 font: inherit; color: inherit; font-variant-numeric: tabular-nums; }
.lapwing-report th, .lapwing-report td { text-align: left; vertical-align: top; background: none;
 padding: 0.3em 0.7em 0.3em 0; border: 0; border-bottom: 1px solid rgb(128 128 128 / 0.35);
 white-space: normal; }
.lapwing-report .number { text-align: right; white-space: nowrap; }
.lapwing-report .bar { display: block; height: 0.3em; background: rgb(128 128 128 / 0.25);
 border-radius: 2px; min-width: 2.2em; }
.lapwing-report .bar i { display: block; height: 100%; background: #2b83ba; border-radius: 2px; }
.lapwing-report ul { margin: 0.3em 0; padding-left: 1.2em; overflow-wrap: anywhere; }
.lapwing-report summary { cursor: pointer; }
"""


def short_text(report: SelectionReport) -> str:
    """Return a few lines that fit a terminal."""
    lines = [
        f"SelectionReport: {shares_text(_shares(report)) or report.chosen}",
        *_scores(report),
        _facts(report),
        f"print(report_) explains the choice{_and_notes(report)}",
    ]
    return "\n  ".join(textwrap.shorten(_printable(x), _WIDTH - 2, placeholder=" …") for x in lines)


def long_text(report: SelectionReport) -> str:
    """Return the reason, the best candidate of each family, the blend, and the notes."""
    metric = report.metric
    lines = [*_wrap(report.reason), "", f"{'family':<12}{metric:>10}  agreement  combined  share"]
    for family, best, share in _families(report):
        names = ("score", "agreement", "steadied")
        score, agreement, combined = (score_text(metric, best[name]) for name in names)
        cells = f"{score:>10}{agreement:>11}{combined:>10}{100 * share:>5.0f} %"
        lines.append(f"{_printable(family):<12}{cells}")
        lines += _wrap(settings_text(best["settings"]), "    ")
    lines += [f"{'blend':<12}{score_text(metric, report.score):>10}", ""]
    for message in [*report.warnings, *_later(report)]:
        lines += _wrap(f"Note: {message}.", "", "  ")
    return "\n".join(lines).rstrip()


def html_text(report: SelectionReport) -> str:
    """Return a piece of HTML, without a script, for the output of a notebook."""
    first, *second = (_escape(line) for line in _scores(report))
    notes = [*report.warnings[:_NOTES], *_later(report)]
    items = "".join(f"<li>{_escape(message[:1].upper() + message[1:])}.</li>" for message in notes)
    return (
        f'<div class="lapwing-report"><style>{_STYLE}</style>'
        f'<p class="score">{first}</p>{"".join(f"<p>{line}</p>" for line in second)}'
        f'<p class="faint">{_escape(_facts(report))}</p>'
        f"<p>{_escape(report.reason)}</p>"
        f"{_family_table(report)}"
        + (f"<ul>{items}</ul>" if items else "")
        + f"{_candidate_table(report)}</div>"
    )


def _family_table(report: SelectionReport) -> str:
    rows = [
        f"<tr><td><b>{_escape(family)}</b><br>"
        f"{_escape(DESCRIPTIONS.get(family, ''))}<br>"
        f'<span class="faint">{_escape(settings_text(best["settings"]))}</span></td>'
        + _number(score_text(report.metric, best["score"]))
        + _number(score_text(report.metric, best["agreement"]))
        + _number(score_text(report.metric, best["steadied"]))
        + _share_cell(share)
        + "</tr>"
        for family, best, share in _families(report)
    ]
    heads = "<th>family and its best settings</th>" + "".join(
        f'<th class="number">{_escape(name)}</th>'
        for name in (report.metric, "agreement", "combined", "share")
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _candidate_table(report: SelectionReport) -> str:
    """Return all candidates, the best first, in an element that opens on a click."""
    order = sorted(report.candidates, key=_rank)
    rows = [
        f"<tr><td>{_escape(one['family'])}</td><td>{_escape(settings_text(one['settings']))}</td>"
        + _number(score_text(report.metric, one["score"], one["spread"]))
        + _number(score_text(report.metric, one["steadied"]))
        + _number(f"{100 * one['weight']:.0f} %")
        + "</tr>"
        for one in order
    ]
    heads = "<th>family</th><th>settings</th>" + "".join(
        f'<th class="number">{_escape(name)}</th>' for name in (report.metric, "combined", "share")
    )
    return (
        f"<details><summary>All {len(rows)} candidates</summary><table><thead><tr>{heads}</tr>"
        f"</thead><tbody>{''.join(rows)}</tbody></table></details>"
    )


def _share_cell(share: float) -> str:
    percent = f"{100 * share:.0f}"
    bar = f'<span class="bar"><i style="width: {percent}%"></i></span>'
    return f'<td class="number">{percent} %{bar}</td>'


def _number(text: str) -> str:
    return f'<td class="number">{_escape(text)}</td>'


def _families(report: SelectionReport) -> list[tuple[str, dict[str, Any], float]]:
    """Return each family with its best candidate and its share, the largest share first."""
    shares = _shares(report)
    best: dict[str, dict[str, Any]] = {}
    for candidate in report.candidates:
        family = candidate["family"]
        if family not in best or _rank(candidate) < _rank(best[family]):
            best[family] = candidate
    order = sorted(shares, key=lambda family: -shares[family])
    return [(family, best[family], shares[family]) for family in order]


def _rank(candidate: dict[str, Any]) -> float:
    """Return the sort key of a candidate: the best combined score, or the best score, first."""
    known = [v for v in (candidate["steadied"], candidate["score"]) if not math.isnan(v)]
    return -known[0] if known else 0.0


def _shares(report: SelectionReport) -> dict[str, float]:
    shares: dict[str, float] = {}
    for candidate in report.candidates:
        shares[candidate["family"]] = shares.get(candidate["family"], 0.0) + candidate["weight"]
    return shares


def _scores(report: SelectionReport) -> list[str]:
    """Return the score, and that of the best supervised model; one sentence if nothing is known."""
    if math.isnan(report.score):
        return [f"{report.metric} unknown: no label could be held out"]
    own = score_text(report.metric, report.score, report.spread)
    other = score_text(report.metric, report.supervised_score, report.supervised_spread)
    return [f"{report.metric} {own} on held-out labels", f"{other} without unlabelled rows"]


def _facts(report: SelectionReport) -> str:
    unknown = math.isnan(report.score)
    seconds = f"{report.seconds:.1f}" if report.seconds >= 0.1 else f"{report.seconds:.2g}"
    part = f" ({report.rows_used:,} used)" if 0 < report.rows_used < report.rows else ""
    return (
        f"{report.rows:,} rows{part}, {report.labels:,} labelled, {report.columns:,} columns; "
        f"{len(report.candidates)} candidates {'fitted' if unknown else 'compared'} in {seconds} s"
    )


def _and_notes(report: SelectionReport) -> str:
    n = len(report.warnings) + len(_later(report))
    return f"; {n} {'note' if n == 1 else 'notes'}" if n else ""


def _later(report: SelectionReport) -> list[str]:
    if not report.refits:
        return []
    return ["labels were added later: scores and shares are from before that"]


def _wrap(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """Return lines that fit a terminal; a number stays with its per cent sign."""
    joined = _printable(text).replace(" %", "\N{NO-BREAK SPACE}%")
    wrapper = textwrap.TextWrapper(
        _WIDTH, initial_indent=first, subsequent_indent=first if rest is None else rest
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in wrapper.wrap(joined)]


def _printable(text: str) -> str:
    """Return a text in which control characters, which could change the terminal, are written."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _escape(text: str) -> str:
    return html.escape(_printable(text))
