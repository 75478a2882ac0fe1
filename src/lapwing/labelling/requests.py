"""Reads HTTP requests from a socket: strictly, and within bounds of size and time.

The parser of ``http.server`` accepts much that no browser sends (several Host headers, folded
lines, text after a broken header, a client that sends one byte every nine seconds). This one
accepts what browsers send to the page and refuses the rest, so that the checks in `guard` see the
whole request. Must not know routes, cookies or what a request is for.
"""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

MAX_HEAD = 32 * 1024  # bytes of request line and headers
MAX_BODY = 64 * 1024
ARRIVAL_SECONDS = 10.0  # for a whole request, and for the first byte of a connection
IDLE_SECONDS = 60.0  # between two requests of a connection
LINGER_SECONDS = 1.0  # for a client that still sends while it is being refused

# Only these headers are kept, and none of them may occur twice.
_HEADERS_READ = frozenset(
    {
        "connection",
        "content-length",
        "content-type",
        "cookie",
        "host",
        "origin",
        "sec-fetch-dest",
        "sec-fetch-mode",
        "sec-fetch-site",
        "transfer-encoding",
        "x-lapwing-token",
    }
)
_REQUEST_LINE = re.compile(r"([A-Z]{1,20}) ([!-~]{1,2048}) HTTP/1\.1")
_SEGMENT = r"[A-Za-z0-9_-][A-Za-z0-9_.-]*"  # no `..`, no `%`
_PATH = re.compile(rf"/(?:{_SEGMENT}(?:/{_SEGMENT})*)?")
_PARAMETER = re.compile(r"([a-z]{1,20})=([A-Za-z0-9_-]{0,200})")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_LENGTH = re.compile(r"[0-9]{1,18}")


class Refusal(Exception):
    """A request that is not served.

    Parameters
    ----------
    status : int
        HTTP status.
    sentence : str
        What is wrong and what to do, for the user.
    headers : mapping of str to str, default={}
        Further headers of the response.
    closes : bool, default=True
        Whether the connection is closed; it must be if the body has not been read.
    """

    def __init__(
        self,
        status: int,
        sentence: str,
        headers: Mapping[str, str] | None = None,
        *,
        closes: bool = True,
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = dict(headers or {})
        self.closes = closes


@dataclass(frozen=True)
class Request:
    """A request whose body has not been read yet."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case
    length: int  # of the body, in bytes
    read: Callable[[int], bytes] = field(repr=False, compare=False)

    @property
    def closes(self) -> bool:
        """Whether the client will close the connection after the response."""
        return "close" in self.headers.get("connection", "").lower()

    def body(self) -> bytes:
        """Return the body, or refuse it unread if it is longer than `MAX_BODY`."""
        if self.length > MAX_BODY:
            raise Refusal(413, f"The request is too large: at most {MAX_BODY} bytes are accepted.")
        return self.read(self.length)


class RequestReader:
    """The requests that arrive at a connection, one after the other.

    Parameters
    ----------
    connection : socket.socket
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = bytearray()
        self._patience = ARRIVAL_SECONDS
        self._deadline = 0.0

    def next_request(self) -> Request | None:
        """Return the next request, or None if the client sends none."""
        if not self._buffer and not self._receive(time.monotonic() + self._patience):
            return None
        self._deadline = time.monotonic() + ARRIVAL_SECONDS
        self._patience = IDLE_SECONDS
        return parse_head(self._head(), self._body)

    def discard(self) -> None:
        """Read and drop what the client still sends, for a moment, so that it sees the response.

        A connection that is closed with unread data is reset, and the client loses the response.
        """
        self._buffer.clear()
        deadline = time.monotonic() + LINGER_SECONDS
        with contextlib.suppress(OSError):  # the client has gone
            self._connection.shutdown(socket.SHUT_WR)
            while self._receive(deadline):
                self._buffer.clear()

    def _head(self) -> bytes:
        seen = 0
        while (end := self._buffer.find(b"\r\n\r\n", max(seen - 3, 0))) < 0:
            seen = len(self._buffer)
            if not 65 <= self._buffer[0] <= 90:  # such as TLS: do not wait for more
                raise Refusal(400, "This is not an HTTP request. The address begins with http://.")
            if seen > MAX_HEAD:
                break
            self._require_more()
        if not 0 <= end <= MAX_HEAD:
            raise Refusal(431, f"The headers are too large: at most {MAX_HEAD} bytes are accepted.")
        head = bytes(self._buffer[:end])
        del self._buffer[: end + 4]
        return head

    def _body(self, length: int) -> bytes:
        while len(self._buffer) < length:
            self._require_more()
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body

    def _require_more(self) -> None:
        if not self._receive(self._deadline):
            raise Refusal(408, "The request did not arrive completely. Send it again.")

    def _receive(self, deadline: float) -> bool:
        """Wait for bytes; False if none arrive before the deadline or the client has closed."""
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            return False
        self._connection.settimeout(seconds)
        try:
            received = self._connection.recv(64 * 1024)
        except OSError:  # too late, or the client has gone
            return False
        self._buffer += received
        return bool(received)


def parse_head(head: bytes, read: Callable[[int], bytes]) -> Request:
    r"""Return the request with this request line and these headers.

    Parameters
    ----------
    head : bytes
        Everything before the empty line.
    read : callable
        Returns the next bytes of the connection, for the body.

    Returns
    -------
    Request

    Raises
    ------
    Refusal
        If a browser would not send it.

    Examples
    --------
    >>> from lapwing.labelling.requests import parse_head
    >>> request = parse_head(b"GET /api/card?row=3 HTTP/1.1\r\nHost: localhost:80", bytes)
    >>> request.path, request.query, request.headers
    ('/api/card', {'row': '3'}, {'host': 'localhost:80'})
    """
    first, *lines = head.decode("latin-1").split("\r\n")
    line = _REQUEST_LINE.fullmatch(first)
    if line is None:
        raise Refusal(400, "The request line is not that of an HTTP/1.1 request.")
    headers = _parse_headers(lines)
    if "transfer-encoding" in headers:
        raise Refusal(400, "Transfer-Encoding is not accepted: send Content-Length.")
    path, mark, query = line[2].partition("?")
    if _PATH.fullmatch(path) is None:
        raise Refusal(400, "The path of the request is not one of this server.")
    length = headers.get("content-length", "0")
    if _LENGTH.fullmatch(length) is None:
        raise Refusal(400, "Content-Length must be a whole number of bytes.")
    if line[1] == "POST" and "content-length" not in headers:
        raise Refusal(400, "A POST request needs a Content-Length.")
    if line[1] != "POST" and int(length):
        raise Refusal(400, "Only a POST request may have a body.")
    return Request(line[1], path, _parse_query(query) if mark else {}, headers, int(length), read)


def _parse_headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    if len(lines) > 100:
        raise Refusal(431, "The request has too many headers: at most 100 are accepted.")
    for line in lines:
        name, colon, value = line.partition(":")
        value = value.strip(" \t")
        if not (colon and _HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)):
            raise Refusal(400, "A header of the request is malformed.")
        name = name.lower()
        if name in headers:
            raise Refusal(400, f"The header {name} may occur only once.")
        if name in _HEADERS_READ:
            headers[name] = value
    return headers


def _parse_query(text: str) -> dict[str, str]:
    query: dict[str, str] = {}
    for part in text.split("&"):
        parameter = _PARAMETER.fullmatch(part)
        if parameter is None or parameter[1] in query:
            raise Refusal(400, "The part of the address after the question mark is malformed.")
        query[parameter[1]] = parameter[2]
    return query
