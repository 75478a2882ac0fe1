"""Responses, and the headers that tell the browser what it may do with them.

Only the page itself may run a script and show pictures; every other response is inert, whatever its
bytes are. Must not know requests, routes or the session.
"""

from __future__ import annotations

import html
import json
import re
import secrets
import socket
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

SEND_SECONDS = 10.0  # for each part of a response, to a client that does not read
_PART = 256 * 1024

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_NO_FRAME = "frame-ancestors 'none'"
_NOTEBOOK_FRAME = "frame-ancestors http://localhost:* http://127.0.0.1:*"
_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; {frame}"
_INERT = f"{_NOTHING}; sandbox"
_PAGE = (
    f"{_NOTHING}; script-src 'nonce-{{nonce}}'; style-src 'nonce-{{nonce}}'; img-src 'self'; "
    "connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_MEDIA = re.compile(r"[a-z]+/[a-z0-9.+-]+(; ?charset=[a-z0-9-]+)?")


@dataclass(frozen=True)
class Response:
    """What is sent to the client.

    Parameters
    ----------
    status : int
    media : str
        Media type of the content.
    content : bytes
    headers : mapping of str to str
        Beyond those that every response has.
    policy : str
        The Content-Security-Policy.
    """

    status: int
    media: str = "text/plain; charset=utf-8"
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    policy: str = _INERT.format(frame=_NO_FRAME)


def json_response(value: Any, status: int = 200) -> Response:
    """Return a response with JSON; values that JSON cannot represent are a ValueError."""
    content = json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
    return Response(status, "application/json", content)


def page_response(page: str, nonce: str, *, framed: bool) -> Response:
    """Return the page, which may run the script with this nonce and talk to this server.

    Parameters
    ----------
    page : str
        HTML.
    nonce : str
        That of its script and its style; see `make_nonce`.
    framed : bool
        Whether a notebook on this computer may show it in a frame.

    Returns
    -------
    Response
    """
    policy = _PAGE.format(nonce=nonce, frame=_NOTEBOOK_FRAME if framed else _NO_FRAME)
    content = page.encode("utf-8", "replace")
    return Response(200, "text/html; charset=utf-8", content, policy=policy)


def notice(status: int, sentence: str, *, framed: bool = False) -> Response:
    """Return a plain page with one sentence, where the browser shows the response itself."""
    # In a notebook the user must see the sentence, not an empty frame.
    policy = _INERT.format(frame=_NOTEBOOK_FRAME if framed else _NO_FRAME)
    return _document(status, html.escape(sentence), policy)


def entrance(cookie: str | None, *, framed: bool) -> Response:
    """Return a document that sets a cookie and opens the page at once.

    It is no redirect, because after a link on another site, such as a notebook or a terminal in the
    browser, the redirected request would be without the cookie, which is SameSite=Strict.

    Parameters
    ----------
    cookie : str or None
        Value of Set-Cookie; None if the browser has the cookie.
    framed : bool
        Whether a notebook on this computer may show it in a frame.

    Returns
    -------
    Response
    """
    policy = _NOTHING.format(frame=_NOTEBOOK_FRAME if framed else _NO_FRAME)
    body = '<meta http-equiv="refresh" content="0; url=/"><a href="/">Open the page</a>'
    response = _document(200, body, policy)
    return response if cookie is None else replace(response, headers={"Set-Cookie": cookie})


def _document(status: int, body: str, policy: str) -> Response:
    content = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Lapwing</title>'
        '<meta name="viewport" content="width=device-width">'
        f'<meta name="color-scheme" content="light dark"></head><body><p>{body}</p></body></html>\n'
    )
    return Response(status, "text/html; charset=utf-8", content.encode(), policy=policy)


def download(name: str, media: str, content: bytes) -> Response:
    """Return a file that the browser saves and never shows.

    Parameters
    ----------
    name : str
        File name that the browser proposes; folders in it are dropped.
    media : str
    content : bytes

    Returns
    -------
    Response
    """
    if _MEDIA.fullmatch(media) is None:
        media = "application/octet-stream"
    return Response(200, media, content, {"Content-Disposition": disposition(name)})


def disposition(name: str) -> str:
    """Return the header that proposes a file name (RFC 6266), in ASCII and in full.

    Examples
    --------
    >>> from lapwing.labelling.responses import disposition
    >>> print(disposition("../bäume.csv"))
    attachment; filename="baume.csv"; filename*=UTF-8''b%C3%A4ume.csv
    """
    name = re.split(r"[/\\]", name)[-1]
    name = "".join(c for c in name if not unicodedata.category(c).startswith("C"))
    name = name.lstrip(".")[:150] or "download"
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", plain).lstrip(".") or "download"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def make_nonce() -> str:
    """Return a new value that marks the script and the style of one page."""
    return secrets.token_urlsafe(18)


def send(connection: socket.socket, response: Response, *, closes: bool) -> None:
    """Send a response in parts, so that a slow client may take longer for a large one.

    Parameters
    ----------
    connection : socket.socket
    response : Response
    closes : bool
        Whether the connection is closed afterwards; the response says so.
    """
    head, content = _head(response, closes), response.content
    connection.settimeout(SEND_SECONDS)
    connection.sendall(head + content[:_PART])
    for start in range(_PART, len(content), _PART):
        connection.sendall(content[start : start + _PART])


def _head(response: Response, closes: bool) -> bytes:
    headers = {
        **_HEADERS,
        **({"X-Frame-Options": "DENY"} if _NO_FRAME in response.policy else {}),
        **response.headers,
        "Content-Security-Policy": response.policy,
        "Content-Type": response.media,
        "Content-Length": str(len(response.content)),
        "Connection": "close" if closes else "keep-alive",
    }
    lines = [f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header of a response contains a line break")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
