"""Decides whose requests are served: by Host, Origin, cookie, token and rate.

The server listens on this computer only, but every page in every tab of the browser, and every
program of every user of the computer, can send requests to it. A page on the web is refused by Host
(a name of its own that resolves to 127.0.0.1), by Origin and by what the browser says of the
request (Sec-Fetch); another user's program by the cookie, for which the one-time token in the start
address is exchanged. A browser sends a cookie to all ports of a host, so that a server of another
user that the user's browser opens on this computer could read it. Must not know routes or the
session.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import deque
from collections.abc import Iterable

from .requests import Refusal, Request

TOKEN_SECONDS = 8 * 3600.0  # how long a start address that nobody has opened is valid
MAX_VISITORS = 32  # start addresses and cookies that are valid at a time; the newest remain
REQUESTS_PER_SECOND = 100.0
REQUESTS_AT_ONCE = 300

METHODS = ("GET", "POST")
# Pages that the user opens from outside: by a link, or by entering the address.
ENTRANCES = ("/", "/start")
# What Sec-Fetch-Dest says of a page that is shown inside another one.
_FRAMES = ("iframe", "frame", "embed", "object", "fencedframe")


class RateLimit:
    """A token bucket: a number of requests per second, and a reserve for bursts.

    Parameters
    ----------
    per_second : float
    at_once : float
        Size of the reserve.

    Examples
    --------
    >>> from lapwing.labelling.guard import RateLimit
    >>> limit = RateLimit(per_second=0.001, at_once=2)
    >>> [limit.allow() for _ in range(3)]
    [True, True, False]
    """

    def __init__(self, per_second: float, at_once: float) -> None:
        self._per_second = per_second
        self._at_once = at_once
        self._left = at_once
        self._counted = time.monotonic()
        self._lock = threading.Lock()

    def allow(self) -> bool:
        """Return whether one more request may be served now, and count it if so."""
        with self._lock:
            now = time.monotonic()
            grown = self._left + (now - self._counted) * self._per_second
            self._left, self._counted = min(grown, self._at_once), now
            if self._left < 1:
                return False
            self._left -= 1
            return True


class Guard:
    """The secrets of one server, and the checks of requests.

    Parameters
    ----------
    port : int
        Where the server listens.
    framed : bool, default=False
        Whether a notebook with the same host name may show the page in a frame.
    """

    def __init__(self, port: int, framed: bool = False) -> None:
        self.framed = framed
        suffix = "" if port == 80 else f":{port}"  # browsers leave the default port out
        self.hosts = (f"127.0.0.1{suffix}", f"localhost{suffix}")
        self.write_token = secrets.token_urlsafe(32)
        self.cookie_name = f"lapwing_{port}"  # without the port, two servers would collide
        self._tokens: deque[tuple[str, float]] = deque(maxlen=MAX_VISITORS)
        self._cookies: deque[str] = deque(maxlen=MAX_VISITORS)
        self._lock = threading.Lock()
        # What a page without the cookie sends must not use up what the user's page may send.
        self._limits = {
            known: RateLimit(REQUESTS_PER_SECOND, REQUESTS_AT_ONCE) for known in (True, False)
        }

    # ------------------------------------------------------------ who sends it

    def check_sender(self, request: Request) -> None:
        """Refuse requests of other pages than our own; before anything else.

        Parameters
        ----------
        request : Request
        """
        headers = request.headers
        host, origin = headers.get("host"), headers.get("origin")
        if host not in self.hosts:
            raise Refusal(403, f"This server answers at http://{self.hosts[0]} only. Open that.")
        if origin != f"http://{host}" and (origin is not None or request.method == "POST"):
            raise _other_page()
        site = headers.get("sec-fetch-site", "same-origin")  # old browsers do not send it
        if site != "same-origin" and not _is_opened(request):
            raise _other_page()
        # Across sites the browser would not keep the cookie, and the token would be used up.
        if headers.get("sec-fetch-dest") in _FRAMES and (not self.framed or site == "cross-site"):
            raise Refusal(
                403, "This page cannot be shown here. Open its address in a tab of its own."
            )

    def check_rate(self, known: bool) -> None:
        """Refuse a request if there have been too many.

        Parameters
        ----------
        known : bool
            Whether the request has a valid cookie; others are counted separately.
        """
        if not self._limits[known].allow():
            raise Refusal(429, "Too many requests. Wait a second.", {"Retry-After": "1"})

    # ------------------------------------------------------------ secrets

    def is_known(self, request: Request) -> bool:
        """Return whether the request has a valid cookie."""
        sent = [
            value.strip(" \t")
            for name, _, value in (
                part.partition("=") for part in request.headers.get("cookie", "").split(";")
            )
            if name.strip(" \t") == self.cookie_name
        ]
        with self._lock:
            valid = tuple(self._cookies)
        return any(_is_among(value, valid) for value in sent)

    def make_token(self) -> str:
        """Return a new one-time token for a start address."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._tokens.append((token, time.monotonic() + TOKEN_SECONDS))
        return token

    def exchange(self, token: str) -> str | None:
        """Return the header that sets a new cookie, if the token is valid; it is then used up."""
        now = time.monotonic()
        with self._lock:
            valid = [(known, end) for known, end in self._tokens if end > now]
            rest = [(known, end) for known, end in valid if not _is_among(token, [known])]
            self._tokens = deque(rest, maxlen=MAX_VISITORS)
            if len(rest) == len(valid):
                return None
            cookie = secrets.token_urlsafe(32)
            self._cookies.append(cookie)
        return f"{self.cookie_name}={cookie}; HttpOnly; SameSite=Strict; Path=/"

    def check_write(self, request: Request) -> None:
        """Refuse a request that would change something unless it is from the page we served.

        Parameters
        ----------
        request : Request
        """
        media, semicolon, parameter = request.headers.get("content-type", "").partition(";")
        parameter = parameter.strip(" \t").lower()
        if media.rstrip(" \t").lower() != "application/json" or (
            semicolon and parameter not in ("charset=utf-8", 'charset="utf-8"')
        ):
            raise Refusal(400, "The Content-Type must be application/json.")
        if not _is_among(request.headers.get("x-lapwing-token", ""), [self.write_token]):
            raise Refusal(403, "This page belongs to an earlier run of the program. Reload it.")


def _is_opened(request: Request) -> bool:
    """Return whether the browser opens the page, and no script or picture is asked for."""
    is_entrance = request.method == "GET" and request.path in ENTRANCES
    return is_entrance and request.headers.get("sec-fetch-mode") == "navigate"


def _other_page() -> Refusal:
    return Refusal(403, "Requests from other pages are refused. Use the page of this server.")


def _is_among(value: str, secrets_known: Iterable[str]) -> bool:
    """Return whether a value is one of some secrets; the time does not depend on how nearly."""
    sent = value.encode("latin-1", "replace")
    return sum(hmac.compare_digest(sent, known.encode("ascii")) for known in secrets_known) > 0
