"""Which request calls which method of the session, and what it may contain.

The table `ROUTES` is the whole interface of the page. What a request contains is checked here,
before the session sees it; whose request it is, in `guard`. Must not know sockets or how the
session works.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from ..displays.label_page import make_label_page
from .guard import ENTRANCES, METHODS, Guard
from .pictures import MEDIA_TYPES
from .requests import Refusal, Request
from .responses import (
    Response,
    download,
    entrance,
    json_response,
    make_nonce,
    notice,
    page_response,
)

MAX_NAME = 20_000  # characters of a class; the session bounds those that are new
_TAB = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ROW = re.compile(r"0|[1-9][0-9]{0,14}")


class Session(Protocol):
    """What the server asks of a labelling session, from many threads at a time.

    Methods return what JSON can represent. They raise ValueError and OSError with a sentence for
    the user, and LookupError for a row that does not exist.
    """

    title: str

    def state(self, tab: str, /) -> dict[str, Any]: ...  # noqa: D102
    def answer(self, tab: str, row: int, label: str, doubt: bool, /) -> dict[str, Any]: ...  # noqa: D102
    def skip(self, tab: str, row: int, /) -> dict[str, Any]: ...  # noqa: D102
    def undo(self, tab: str, /) -> dict[str, Any]: ...  # noqa: D102
    def flag(self, tab: str, row: int, on: bool, /) -> dict[str, Any]: ...  # noqa: D102
    def add_class(self, tab: str, name: str, /) -> dict[str, Any]: ...  # noqa: D102
    def remove(self, tab: str, row: int, /) -> dict[str, Any]: ...  # noqa: D102
    def ask_again(self, tab: str, /) -> dict[str, Any]: ...  # noqa: D102
    def card(self, row: int, /) -> dict[str, Any]: ...  # noqa: D102
    def panel(self) -> dict[str, Any]: ...  # noqa: D102
    def map(self) -> dict[str, Any]: ...  # noqa: D102
    def image(self, row: int, /) -> tuple[str, bytes]: ...  # noqa: D102
    def export(self, what: str, /) -> tuple[str, str, bytes]: ...  # noqa: D102


@dataclass(frozen=True)
class Site:
    """What the routes of one server work with."""

    session: Session
    guard: Guard

    def respond(self, request: Request) -> Response:
        """Return the response to a request; whose request it is comes before what it asks for.

        Parameters
        ----------
        request : Request

        Returns
        -------
        Response

        Raises
        ------
        Refusal
            If the request is not served.
        """
        self.guard.check_sender(request)
        if request.method not in METHODS:
            raise _wrong_method("GET, POST")
        known = self.guard.is_known(request)
        self.guard.check_rate(known)
        if request.path == "/start":  # the only response without a cookie
            return _start(self, request, known)
        if not known:
            raise self.stranger()
        for route in ROUTES:
            match = route.path.fullmatch(request.path)
            if match is not None:
                route.check(request)
                return route.respond(self, request, *match.groups())
        raise Refusal(404, "There is nothing at this address.")

    def stranger(self) -> Refusal:
        """Return the refusal of a request without a valid cookie."""
        return Refusal(
            403,
            "This browser has not opened the start address that the program printed, or the "
            "program has been started again since. A start address works once: open the one that "
            "was printed last, or stop the program and start it again for a new one. If the page "
            f"was open here before, enter http://{self.guard.hosts[0]}/ in the address bar.",
        )

    def refuse(self, request: Request | None, refusal: Refusal) -> Response:
        """Return the response that explains a refusal, as a page or as JSON.

        Parameters
        ----------
        request : Request or None
            None if it could not be read.
        refusal : Refusal

        Returns
        -------
        Response
        """
        if request is not None and request.path in ENTRANCES:
            response = notice(refusal.status, refusal.sentence, framed=self.guard.framed)
        else:
            response = json_response({"error": refusal.sentence}, refusal.status)
        if request is not None and request.method == "HEAD":
            response = replace(response, content=b"")
        return replace(response, headers=refusal.headers)


# ---------------------------------------------------------------- responses of the routes


def _start(site: Site, request: Request, known: bool) -> Response:
    if request.method != "GET":
        raise _wrong_method("GET")
    cookie = site.guard.exchange(request.query.get("token", ""))
    if cookie is None and not known:  # known: it was opened a second time, in the same browser
        raise site.stranger()
    return entrance(cookie, framed=site.guard.framed)


def _page(site: Site, request: Request) -> Response:
    nonce = make_nonce()
    page = make_label_page(site.session.title, site.guard.write_token, nonce)
    return page_response(page, nonce, framed=site.guard.framed)


def _state(site: Site, request: Request) -> Response:
    tab = request.query.get("tab", "")
    return json_response(_ask(site.session.state, _read_tab(tab)))


def _panel(site: Site, request: Request) -> Response:
    panel = _ask(site.session.panel)
    if request.query.get("since") == str(panel["version"]):
        panel = {"version": panel["version"]}
    return json_response(panel)


def _map(site: Site, request: Request) -> Response:
    return json_response(_ask(site.session.map))


def _card(site: Site, request: Request) -> Response:
    row = request.query.get("row", "")
    if _ROW.fullmatch(row) is None:
        raise Refusal(400, "The row must be a whole number, as in /api/card?row=3.")
    return json_response(_ask(site.session.card, int(row)))


def _image(site: Site, request: Request, row: str) -> Response:
    media, content = _ask(site.session.image, int(row))
    if media not in MEDIA_TYPES:  # never SVG or HTML, which may contain scripts
        raise Refusal(404, "The row has no picture of a format that is shown.", closes=False)
    return Response(200, media, content)


def _export(site: Site, request: Request, what: str) -> Response:
    return download(*_ask(site.session.export, what))


def _write(method: str, names: tuple[str, ...], site: Site, request: Request) -> Response:
    """Call a method of the session with the values of these names in the body."""
    site.guard.check_write(request)
    body = _read_object(request.body())
    if set(body) != set(names):
        raise Refusal(400, f"The request must contain {', '.join(names)}, and nothing else.")
    values = [_READERS[name](body[name]) for name in names]
    return json_response(_ask(getattr(site.session, method), *values))


# ---------------------------------------------------------------- the table


@dataclass(frozen=True)
class Route:
    """A path, how it may be asked for, and what responds."""

    method: str
    path: re.Pattern[str]  # its groups are arguments of `respond`
    respond: Callable[..., Response]
    query: frozenset[str] = field(default_factory=frozenset)

    def check(self, request: Request) -> None:
        """Refuse another method, and parameters that the route does not have."""
        if request.method != self.method:
            raise _wrong_method(self.method)
        unknown = sorted(set(request.query) - self.query)
        if unknown:
            raise Refusal(400, f"This address has no parameter {unknown[0]}.")


def _get(path: str, respond: Callable[..., Response], *query: str) -> Route:
    return Route("GET", re.compile(path), respond, frozenset(query))


def _post(path: str, method: str, *names: str) -> Route:
    return Route("POST", re.compile(path), partial(_write, method, names))


ROUTES = (
    _get("/", _page),
    _get("/api/state", _state, "tab"),
    _get("/api/panel", _panel, "since"),
    _get("/api/map", _map),
    _get("/api/card", _card, "row"),
    _get(f"/image/({_ROW.pattern})", _image),
    _get("/export/(table|model|report)", _export),
    _post("/api/answer", "answer", "tab", "row", "label", "doubt"),
    _post("/api/skip", "skip", "tab", "row"),
    _post("/api/undo", "undo", "tab"),
    _post("/api/flag", "flag", "tab", "row", "on"),
    _post("/api/class", "add_class", "tab", "name"),
    _post("/api/remove", "remove", "tab", "row"),
    _post("/api/again", "ask_again", "tab"),
)


# ---------------------------------------------------------------- values of a request


def _read_tab(value: Any) -> str:
    if not isinstance(value, str) or _TAB.fullmatch(value) is None:
        raise Refusal(400, "The tab must be a name of 1 to 64 letters, digits, _ and -.")
    return value


def _read_row(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 10**15:
        raise Refusal(400, "The row must be a whole number, and not negative.")
    return value


def _read_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Refusal(400, "A flag must be true or false.")
    return value


def _read_class(value: Any) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME:
        raise Refusal(400, f"A class must have a name of 1 to {MAX_NAME} characters.")
    if any(unicodedata.category(character) == "Cs" for character in value):
        raise Refusal(400, "The name of a class contains half a character, which cannot be stored.")
    return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "tab": _read_tab,
    "row": _read_row,
    "on": _read_flag,
    "doubt": _read_flag,
    "label": _read_class,
    "name": _read_class,
}


def _read_object(body: bytes) -> dict[str, Any]:
    """Return a JSON object whose keys occur once; its values are checked by name."""
    try:
        pairs = json.loads(body.decode("utf-8"), object_pairs_hook=list)
    except (ValueError, RecursionError):  # RecursionError: nested too deeply
        raise Refusal(400, "The body is not JSON in UTF-8, or is nested too deeply.") from None
    if not body.lstrip().startswith(b"{") or len(dict(pairs)) != len(pairs):
        raise Refusal(400, "The body must be a JSON object with each key once.")
    return dict(pairs)


# ---------------------------------------------------------------- errors


def _ask(method: Callable[..., Any], *values: Any) -> Any:
    """Call the session; its errors for the user become refusals, which keep the connection."""
    try:
        return method(*values)
    except (IndexError, KeyError):  # a defect, and no sentence for the user
        raise
    except ValueError as error:
        raise Refusal(400, str(error), closes=False) from error
    except OSError as error:  # such as a full disk
        sentence = error.strerror or str(error)
        if error.filename:
            sentence = f"{error.filename}: {sentence}"
        raise Refusal(500, sentence, closes=False) from error
    except LookupError as error:
        sentence = error.args[0] if error.args and isinstance(error.args[0], str) else ""
        raise Refusal(404, sentence or "There is no such row.", closes=False) from error


def _wrong_method(allowed: str) -> Refusal:
    return Refusal(405, f"This address accepts {allowed} only.", {"Allow": allowed})
