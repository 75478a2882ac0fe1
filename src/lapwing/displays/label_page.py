"""The page on which rows are labelled: one HTML file whose script talks to the server it came from.

Fills ``label_page.html``, which asks for questions, sends answers and draws what the server
reports. Titles are inserted as text; style and script carry the nonce of the
Content-Security-Policy under which the server sends the page. Must not know sessions, models or
files.
"""

from __future__ import annotations

import html

from .canvas import PALETTE
from .page import fill_template, script_json


def make_label_page(title: str, token: str, nonce: str) -> str:
    """Return the HTML of the page on which rows are labelled.

    Parameters
    ----------
    title : str
        Heading of the page, such as the name of the file.
    token : str
        Write token: the page sends it back with every request that changes something.
    nonce : str
        Nonce of the policy that allows the style and the script of this page and no others.

    Returns
    -------
    str

    Examples
    --------
    >>> from lapwing.displays.label_page import make_label_page
    >>> page = make_label_page("rows.csv", token="t", nonce="n")
    >>> page.count('nonce="n"'), "<title>rows.csv</title>" in page
    (2, True)
    """
    parts = {
        "TITLE": html.escape(title),
        "NONCE": html.escape(nonce),
        "DATA": script_json({"token": token, "palette": PALETTE, "title": title}),
    }
    return fill_template("label_page.html", parts)
