"""The server of the labelling page serves its own user within bounds, and refuses everybody else.

Every reply in this file comes over a socket, and `Connection.reply` checks the headers that all
replies must have: no test can receive a page without its policy, or one that allows other origins.
"""

import contextlib
import errno
import html
import json
import logging
import os
import re
import select
import socket
import threading
import time
import tracemalloc
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.labelling import Loop
from lapwing.labelling import guard, requests, responses
from lapwing.labelling import server as server_module
from lapwing.labelling.cards import cards_of_table
from lapwing.labelling.guard import Guard
from lapwing.labelling.pictures import png_of
from lapwing.labelling.requests import Refusal, parse_head
from lapwing.labelling.responses import Response
from lapwing.labelling.routes import ROUTES, Session, Site
from lapwing.labelling.server import LabelServer

HTML = "<img src=x onerror=alert(1)></script>\"'&"
PNG = png_of(np.eye(2))
METHODS = [name for name in vars(Session) if not name.startswith("_")]
FOUND = {
    "panel": {"version": 7, "counts": []},
    "image": ("image/png", PNG),
    "export": ("rows-labelled.csv", "text/csv; charset=utf-8", b"id,label\n1,ash\n"),
}

# A valid request of each sort, and how it calls the session.
READS = {
    "/": ("title",),
    "/api/state?tab=t-1": ("state", "t-1"),
    "/api/panel": ("panel",),
    "/api/panel?since=3": ("panel",),
    "/api/map": ("map",),
    "/api/card?row=3": ("card", 3),
    "/image/0": ("image", 0),
    "/export/table": ("export", "table"),
    "/export/model": ("export", "model"),
    "/export/report": ("export", "report"),
}
WRITES = {
    "/api/answer": {"tab": "t", "row": 3, "label": "ash", "doubt": False},
    "/api/skip": {"tab": "t", "row": 3},
    "/api/undo": {"tab": "t"},
    "/api/flag": {"tab": "t", "row": 3, "on": True},
    "/api/class": {"tab": "t", "name": "elm"},
    "/api/remove": {"tab": "t", "row": 3},
    "/api/again": {"tab": "t"},
}
ANSWER = WRITES["/api/answer"]


class FakeSession:
    """Has the methods of a session: notes calls, and returns or raises what is in `found`."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.calls, self.found = [], {}

    @property
    def title(self):
        return self._note("title")

    def __getattr__(self, name):
        if name not in METHODS:
            raise AttributeError(name)
        return partial(self._note, name)

    def _note(self, name, *values):
        self.calls.append((name, *values))
        found = self.found.get(name, HTML if name == "title" else FOUND.get(name, {"version": 7}))
        if isinstance(found, BaseException):
            raise found
        return found() if callable(found) else found


# ---------------------------------------------------------------- a client


@dataclass
class Reply:
    status: int
    headers: dict
    body: bytes

    @property
    def error(self):
        return json.loads(self.body)["error"]


def check_reply(reply):
    """Check what holds for every reply, whatever was asked."""
    headers = reply.headers
    policy = headers["content-security-policy"].split("; ")
    assert policy[0] == "default-src 'none'"
    assert {"base-uri 'none'", "form-action 'none'"} <= set(policy)
    assert any(part.startswith("frame-ancestors ") for part in policy)
    assert not any("unsafe" in part or "*" in part.replace(":*", "") for part in policy)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert not [name for name in headers if name.startswith("access-control")]
    assert "server" not in headers
    assert "content-type" in headers
    runs_script = any(part.startswith("script-src") for part in policy)
    assert runs_script or "sandbox" in policy or b'http-equiv="refresh"' in reply.body


class Connection:
    """A connection that sends bytes and reads replies, strictly."""

    def __init__(self, port, host="127.0.0.1"):
        self.socket = socket.create_connection((host, port), timeout=30)
        self._buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        with contextlib.suppress(ConnectionError):  # the server may have refused it already
            self.socket.sendall(data)

    def reply(self):
        """Return the next reply; None if the server closes the connection without one."""
        while b"\r\n\r\n" not in self._buffer:
            if not self._receive():
                assert not self._buffer
                return None
        head, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        version, status, _ = first.split(" ", 2)
        assert version == "HTTP/1.1"
        pairs = [line.split(": ", 1) for line in lines]
        headers = {name.lower(): value for name, value in pairs}
        assert len(headers) == len(pairs)
        length = int(headers["content-length"])
        while len(self._buffer) < length:
            assert self._receive(), "the body of the reply is cut off"
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        reply = Reply(int(status), headers, body)
        check_reply(reply)
        return reply

    def is_closed(self):
        """Wait until the server closes the connection; nothing more may arrive."""
        return not self._receive()

    def _receive(self):
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionError:
            return False
        self._buffer += data
        return bool(data)


def request_bytes(method, target, headers, body=b""):
    """Return a request; a header that is None is left out, one that is a list is repeated."""
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers.items():
        values = value if isinstance(value, list) else [value]
        lines += [f"{name}: {one}" for one in values if one is not None]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class Visitor:
    """A browser that has opened the page of a server, as a browser opens it."""

    def __init__(self, server, host="127.0.0.1"):
        self.port = int(server.address.rpartition(":")[2])
        self.host = f"{host}:{self.port}"
        self.cookie = self.token = None
        entered = self.get(server.start_address().removeprefix(server.address))
        assert entered.status == 200
        self.set_cookie = entered.headers["set-cookie"]
        self.cookie = self.set_cookie.partition(";")[0]
        page = self.get("/").body.decode()
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1]
        self.token = json.loads(data)["token"]

    def read_headers(self, **changes):
        headers = {"Host": self.host, "Cookie": self.cookie}
        return {**headers, **{name.replace("_", "-"): value for name, value in changes.items()}}

    def write_headers(self, **changes):
        headers = {
            "Origin": f"http://{self.host}",
            "Content-Type": "application/json",
            "X-Lapwing-Token": self.token,
        }
        return self.read_headers(**{**headers, **changes})

    def ask(self, data):
        with Connection(self.port) as connection:
            connection.send(data)
            return connection.reply()

    def get(self, target, method="GET", **changes):
        return self.ask(request_bytes(method, target, self.read_headers(**changes)))

    def post_bytes(self, target, value, **changes):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        headers = self.write_headers(**{"Content-Length": len(body), **changes})
        return request_bytes("POST", target, headers, body)

    def post(self, target, value, **changes):
        return self.ask(self.post_bytes(target, value, **changes))


def make_server(session=None, **options):
    """Return a context manager: a server that runs."""
    server = LabelServer(session or FakeSession(), **options)
    server.start()
    return contextlib.closing(server)


@pytest.fixture(scope="module")
def shared():
    """One server, its session and a visitor, for tests that leave the server as it was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "REQUESTS_AT_ONCE", 10**6)
        patch.setattr(guard, "MAX_VISITORS", 10**6)
        session = FakeSession()
        with make_server(session) as server:
            yield server, session, Visitor(server)


@pytest.fixture
def session(shared):
    shared[1].reset()
    return shared[1]


@pytest.fixture
def server(shared):
    return shared[0]


@pytest.fixture
def visitor(shared, session):
    return shared[2]


def wait_until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


# ---------------------------------------------------------------- what is served


def test_examples_cover_all_routes():
    examples = [("GET", path.partition("?")[0]) for path in READS]
    examples += [("POST", path) for path in WRITES]
    for route in ROUTES:
        assert any(m == route.method and route.path.fullmatch(p) for m, p in examples), route.path


@pytest.mark.parametrize("target", READS)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_reads_reach_the_session(visitor, session, target, host):
    reply = visitor.get(target, Host=f"{host}:{visitor.port}", Sec_Fetch_Site="same-origin")
    assert reply.status == 200
    assert session.calls == [READS[target]]
    assert reply.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("target", WRITES)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_writes_reach_the_session(visitor, session, target, host):
    there = f"{host}:{visitor.port}"
    reply = visitor.post(target, WRITES[target], Host=there, Origin=f"http://{there}")
    assert (reply.status, json.loads(reply.body)) == (200, {"version": 7})
    name = {"class": "add_class", "again": "ask_again"}.get(
        target.rpartition("/")[2], target.rpartition("/")[2]
    )
    assert session.calls == [(name, *WRITES[target].values())]


def test_the_page_runs_its_own_script_only(visitor):
    first, second = visitor.get("/"), visitor.get("/")
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    nonces = [re.search(rb'nonce="([^"]+)"', reply.body)[1].decode() for reply in (first, second)]
    assert nonces[0] != nonces[1]
    policy = first.headers["content-security-policy"].split("; ")
    allowed = [part for part in policy if part.split()[0].endswith("-src")]
    assert allowed == [
        "default-src 'none'",
        f"script-src 'nonce-{nonces[0]}'",
        f"style-src 'nonce-{nonces[0]}'",
        "img-src 'self'",
        "connect-src 'self'",
    ]
    assert "require-trusted-types-for 'script'" in policy
    # The title is text, and data cannot end its script element.
    assert HTML.encode() not in first.body
    assert f"<title>{html.escape(HTML)}</title>".encode() in first.body


def test_a_panel_that_the_page_has_is_not_sent_again(visitor):
    assert json.loads(visitor.get("/api/panel?since=6").body) == FOUND["panel"]
    assert json.loads(visitor.get("/api/panel?since=7").body) == {"version": 7}


def test_a_connection_serves_one_request_after_the_other(visitor, session):
    with Connection(visitor.port) as connection:
        both = request_bytes("GET", "/api/map", visitor.read_headers())
        connection.send(both + visitor.post_bytes("/api/answer", ANSWER))
        assert [connection.reply().status for _ in range(2)] == [200, 200]
        last = visitor.read_headers(Connection="close")
        connection.send(request_bytes("GET", "/api/panel", last))
        reply = connection.reply()
        assert reply.headers["connection"] == "close"
        assert connection.is_closed()
    assert [call[0] for call in session.calls] == ["map", "answer", "panel"]


# ---------------------------------------------------------------- where it listens


def test_it_listens_on_127_0_0_1_only(server, visitor):
    assert server.address == f"http://127.0.0.1:{visitor.port}"
    assert server._listener.socket.getsockname() == ("127.0.0.1", visitor.port)
    # 127.0.0.2 is this computer, too: a server that listens on all addresses would answer there.
    for other in ("127.0.0.2", "::1"):
        with pytest.raises(OSError):  # noqa: PT011 - refused, or no such address
            socket.create_connection((other, visitor.port), timeout=2).close()


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as trial:
            trial.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this computer has no IPv6")
def test_nobody_else_can_serve_localhost_to_a_notebook():
    """Browsers try ::1 first, and would give the token to a program of another user there."""
    server = LabelServer(FakeSession(), framed=True)
    port = int(server.address.rpartition(":")[2])
    with socket.socket(socket.AF_INET6) as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use") as caught:
            other.bind(("::1", port))
        assert caught.value.errno == errno.EADDRINUSE
        with pytest.raises(ConnectionRefusedError):  # so that browsers go on to 127.0.0.1 at once
            socket.create_connection(("::1", port), timeout=2).close()
        server.close()
        other.bind(("::1", port))
        with pytest.raises(OSError, match=f"port {port} cannot be used"):
            LabelServer(FakeSession(), port=port, framed=True)
    # That failure has given the port back.
    with make_server(port=port, framed=True) as again:
        assert Visitor(again).get("/api/map").status == 200


def test_a_port_that_is_used_is_refused(visitor):
    with pytest.raises(OSError, match=f"port {visitor.port} cannot be used"):
        LabelServer(FakeSession(), port=visitor.port)
    for port in (-1, 65536):
        with pytest.raises(ValueError, match="does not exist: choose one"):
            LabelServer(FakeSession(), port=port)


def test_close_frees_the_port_and_ends_connections():
    with make_server() as server:
        old = Visitor(server)
        with Connection(old.port) as idle:
            server.close()
            assert idle.is_closed()
        server.close()  # a second time does nothing
        with pytest.raises(ConnectionRefusedError):
            Connection(old.port)
        with pytest.raises(RuntimeError, match="closed: make a new one"):
            server.start()
        with make_server(port=old.port) as again:
            assert again.address == server.address
            assert old.get("/api/map").status == 403  # neither its cookie nor its token is valid
            new = Visitor(again)
            assert new.post("/api/undo", {"tab": "t"}, X_Lapwing_Token=old.token).status == 403
            assert new.post("/api/undo", {"tab": "t"}).status == 200


def test_a_server_that_never_ran_can_be_closed_and_one_started_twice_serves_once():
    LabelServer(FakeSession()).close()
    with make_server() as server:
        server.start()
        assert Visitor(server).get("/api/map").status == 200


def test_close_completes_the_response_under_way():
    session, asked, goes_on = FakeSession(), threading.Event(), threading.Event()

    def slow():
        asked.set()
        assert goes_on.wait(20)
        return {"rows": []}

    with make_server(session) as server:
        visitor = Visitor(server)
        session.found["map"] = slow
        with Connection(visitor.port) as connection:
            connection.send(request_bytes("GET", "/api/map", visitor.read_headers()))
            assert asked.wait(20)
            closing = threading.Thread(target=server.close)
            closing.start()
            wait_until(lambda: server._listener.socket.fileno() < 0)
            goes_on.set()
            assert connection.reply().body == b'{"rows":[]}'
            closing.join(20)
            assert not closing.is_alive()


# ---------------------------------------------------------------- Host, Origin, Sec-Fetch


HOSTS = {
    "missing": None,
    "empty": "",
    "rebound": "evil.example",
    "rebound, with the port": "evil.example:PORT",
    "without the port": "127.0.0.1",
    "another port": "127.0.0.1:1",
    "longer port": "127.0.0.1:PORT0",
    "all addresses": "0.0.0.0:PORT",
    "IPv6": "[::1]:PORT",
    "IPv4 in IPv6": "[::ffff:127.0.0.1]:PORT",
    "short": "127.1:PORT",
    "as a number": "2130706433:PORT",
    "as a suffix": "evil-127.0.0.1:PORT",
    "as a prefix": "127.0.0.1:PORT.evil.example",
    "root": "localhost.:PORT",
    "subdomain": "x.localhost:PORT",
    "with a user": "a@127.0.0.1:PORT",
    "a list": "127.0.0.1:PORT, evil.example",
    "doubled": ["127.0.0.1:PORT", "evil.example"],
    "doubled, ours last": ["evil.example", "127.0.0.1:PORT"],
    "doubled, the same": ["127.0.0.1:PORT", "127.0.0.1:PORT"],
}


@pytest.mark.parametrize("case", HOSTS)
def test_other_hosts_are_refused(server, visitor, session, case):
    def fill(host):
        return host and host.replace("PORT", str(visitor.port))

    host = HOSTS[case]
    host = [fill(one) for one in host] if isinstance(host, list) else fill(host)
    start = server.start_address().removeprefix(server.address)
    replies = [visitor.get(target, Host=host) for target in [*READS, start, "/nothing"]]
    replies.append(visitor.post("/api/answer", ANSWER, Host=host))
    if isinstance(host, str):  # as a page that was rebound to this server would send it
        replies.append(visitor.post("/api/answer", ANSWER, Host=host, Origin=f"http://{host}"))
    assert {reply.status for reply in replies} == {400 if isinstance(host, list) else 403}
    assert session.calls == []
    assert not any("set-cookie" in reply.headers for reply in replies)
    assert visitor.get(start, Cookie=None).status == 200  # the token has not been used up


ORIGINS = {
    "a page on the web": "http://evil.example",
    "its port": "http://evil.example:PORT",
    "null": "null",
    "empty": "",
    "encrypted": "https://127.0.0.1:PORT",
    "another port": "http://127.0.0.1:1",
    "without the port": "http://127.0.0.1",
    "our other name": "http://localhost:PORT",
    "a prefix": "http://127.0.0.1:PORT.evil.example",
    "with a path": "http://127.0.0.1:PORT/",
    "a list": "http://127.0.0.1:PORT http://evil.example",
    "a file": "file://",
    "an extension": "chrome-extension://abcdefghijklmnop",
    "doubled": ["http://127.0.0.1:PORT", "http://evil.example"],
}


@pytest.mark.parametrize("case", ORIGINS)
def test_other_origins_are_refused(server, visitor, session, case):
    def fill(origin):
        return origin.replace("PORT", str(visitor.port))

    origin = ORIGINS[case]
    origin = [fill(one) for one in origin] if isinstance(origin, list) else fill(origin)
    start = server.start_address().removeprefix(server.address)
    replies = [visitor.get(target, Origin=origin) for target in [*READS, start]]
    replies += [visitor.post(target, WRITES[target], Origin=origin) for target in WRITES]
    preflight = {"Access_Control_Request_Method": "POST", "Cookie": None}
    replies.append(visitor.get("/api/answer", "OPTIONS", Origin=origin, **preflight))
    assert {reply.status for reply in replies} == {400 if isinstance(origin, list) else 403}
    assert session.calls == []
    assert visitor.get(start, Cookie=None).status == 200


@pytest.mark.parametrize("target", WRITES)
def test_a_write_needs_an_origin(visitor, session, target):
    assert visitor.post(target, WRITES[target], Origin=None).status == 403
    assert session.calls == []


SITES = ("cross-site", "same-site", "none", "", "Same-Origin", "same-origin, same-origin")


@pytest.mark.parametrize("site", SITES)
def test_scripts_and_pictures_of_other_pages_are_refused(visitor, session, site):
    replies = [
        visitor.get(target, Sec_Fetch_Site=site, Sec_Fetch_Mode=mode)
        for target in READS
        for mode in ("no-cors", "cors", "websocket", None)
    ]
    # A page that is opened from elsewhere may only be the page itself.
    for target in set(READS) - {"/"}:
        replies.append(visitor.get(target, Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate"))
    for mode in ("cors", "navigate"):
        changes = {"Sec_Fetch_Site": site, "Sec_Fetch_Mode": mode}
        replies.append(visitor.post("/api/answer", ANSWER, **changes))
    assert {reply.status for reply in replies} == {403}
    assert session.calls == []


@pytest.mark.parametrize("site", ["none", "same-site", "cross-site"])
def test_the_page_can_be_opened_by_a_link(server, visitor, session, site):
    opened = {"Sec_Fetch_Site": site, "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    start = server.start_address().removeprefix(server.address)
    assert visitor.get(start, Cookie=None, **opened).status == 200
    assert visitor.get("/", **opened).status == 200
    assert session.calls == [("title",)]


FRAMES = ("iframe", "frame", "embed", "object", "fencedframe")


@pytest.mark.parametrize("place", FRAMES)
def test_other_pages_cannot_frame_it(server, visitor, session, place):
    start = server.start_address().removeprefix(server.address)
    for site in ("same-origin", "same-site", "cross-site", "none"):
        inside = {"Sec_Fetch_Site": site, "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": place}
        for target in ("/", start):
            reply = visitor.get(target, **inside)
            assert reply.status == 403
            assert b"Open its address in a tab of its own" in reply.body
            assert reply.headers["x-frame-options"] == "DENY"
    assert session.calls == []
    assert visitor.get(start, Cookie=None).status == 200


def test_a_notebook_may_frame_it():
    with make_server(framed=True) as server:
        visitor = Visitor(server)
        ancestors = "frame-ancestors http://localhost:* http://127.0.0.1:*"
        for site, status in (("same-site", 200), ("same-origin", 200), ("cross-site", 403)):
            start = server.start_address().removeprefix(server.address)
            inside = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}
            reply = visitor.get(start, Cookie=None, Sec_Fetch_Site=site, **inside)
            assert reply.status == status
            assert ancestors in reply.headers["content-security-policy"]  # also of the sentence
            assert "x-frame-options" not in reply.headers
        assert ancestors in visitor.get("/").headers["content-security-policy"]
        for inert in ("/image/0", "/api/map", "/export/table", "/nothing"):
            assert visitor.get(inert).headers["x-frame-options"] == "DENY"


# ---------------------------------------------------------------- token and cookie


def test_the_token_becomes_a_cookie_once(server, visitor, session):
    start = server.start_address().removeprefix(server.address)
    token = start.partition("=")[2]
    assert len(token) >= 43  # 256 bits
    first = visitor.get(start, Cookie=None)
    value, *attributes = first.headers["set-cookie"].split("; ")
    assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=Strict"]
    assert value.startswith(f"lapwing_{visitor.port}=")
    assert len(value.partition("=")[2]) >= 43
    assert token not in value
    assert token.encode() not in first.body
    assert visitor.get("/api/map", Cookie=value).status == 200

    second = visitor.get(start, Cookie=None)
    assert second.status == 403
    assert b"A start address works once" in second.body
    # The browser that has the cookie may open it again, and gets no other cookie.
    again = visitor.get(start, Cookie=value)
    assert again.status == 200
    assert "set-cookie" not in again.headers
    assert [call[0] for call in session.calls] == ["map"]


@pytest.mark.parametrize("query", ["", "?token=", "?token=abc", "?token=VALID0", "?token=VALI"])
def test_other_tokens_are_refused(server, visitor, session, query):
    start = server.start_address().removeprefix(server.address)
    token = start.partition("=")[2]
    wrong = query.replace("VALID", token).replace("VALI", token[:-1])
    reply = visitor.get(f"/start{wrong}", Cookie=None)
    assert reply.status == 403
    assert "set-cookie" not in reply.headers
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert visitor.get(start, Cookie=None).status == 200


@pytest.mark.parametrize("method", ["HEAD", "POST", "OPTIONS", "PUT"])
def test_only_opening_the_address_uses_the_token_up(server, visitor, method):
    start = server.start_address().removeprefix(server.address)
    changes = {"Origin": f"http://{visitor.host}", "Content_Length": 0}
    assert visitor.get(start, method, Cookie=None, **changes).status == 405
    assert visitor.get(start, Cookie=None).status == 200


def test_an_old_token_is_refused(server, visitor, monkeypatch):
    monkeypatch.setattr(guard, "TOKEN_SECONDS", 0.0)
    old = server.start_address().removeprefix(server.address)
    assert visitor.get(old, Cookie=None).status == 403


def test_the_newest_start_addresses_and_cookies_remain_valid(monkeypatch):
    monkeypatch.setattr(guard, "MAX_VISITORS", 3)
    with make_server() as server:
        visitor = Visitor(server)
        starts = [server.start_address().removeprefix(server.address) for _ in range(4)]
        statuses = [visitor.get(start, Cookie=None).status for start in starts]
        assert statuses == [403, 200, 200, 200]
        assert visitor.get("/api/map").status == 403  # its cookie was the oldest of four


def test_cookies_of_another_server_are_refused(server, visitor, session):
    with make_server() as other_server:
        other = Visitor(other_server)
        name, value = visitor.cookie.split("=")
        wrong = [
            None,
            "",
            "=",
            name,
            f"{name}=",
            f"{name}={value[:-1]}",
            f"{name}={value}0",
            f"{name}={value.swapcase()}",
            f"{name}=é{value[1:]}",
            f'{name}="{value}"',
            f"{name.upper()}={value}",
            f"lapwing={value}",
            f"x{name}={value}",
            other.cookie,
            f"{name}={other.cookie.partition('=')[2]}",
            f"x={name}={value}",
            f"{name}={value}, a=b",
            [visitor.cookie, visitor.cookie],
        ]
        for cookie in wrong:
            reply = visitor.get("/api/state?tab=t", Cookie=cookie)
            assert reply.status == (400 if isinstance(cookie, list) else 403), cookie
            write = visitor.post("/api/answer", ANSWER, Cookie=cookie)
            assert write.status == reply.status, cookie
    assert session.calls == []
    for right in (f"a=b; {visitor.cookie}; c=d", f"{name}=old;{visitor.cookie}"):
        assert visitor.get("/api/map", Cookie=right).status == 200


@pytest.mark.parametrize("target", [*READS, "/nothing", "/image/x", "/api/card?row=x"])
def test_nothing_is_read_without_the_cookie(visitor, session, target):
    reply = visitor.get(target, Cookie=None)
    assert reply.status == 403  # also where there is nothing: strangers learn no addresses
    assert b"has not opened the start address" in reply.body
    assert session.calls == []


@pytest.mark.parametrize("target", WRITES)
def test_nothing_is_written_without_the_cookie(visitor, session, target):
    assert visitor.post(target, WRITES[target], Cookie=None).status == 403
    assert session.calls == []


# ---------------------------------------------------------------- writes


@pytest.mark.parametrize("target", WRITES)
def test_a_write_needs_the_token_of_the_page(visitor, session, target):
    with make_server() as server:
        foreign = Visitor(server).token
    cookie = visitor.cookie.partition("=")[2]
    for token in (None, "", "x", visitor.token[:-1], visitor.token + "x", foreign, cookie, "é"):
        reply = visitor.post(target, WRITES[target], X_Lapwing_Token=token)
        assert (reply.status, "Reload it" in reply.error) == (403, True), token
    doubled = [visitor.token, visitor.token]
    assert visitor.post(target, WRITES[target], X_Lapwing_Token=doubled).status == 400
    assert session.calls == []


@pytest.mark.parametrize(
    "media",
    [
        None,
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "application/json, text/plain",
        "text/plain; application/json",
        "application/json; charset=utf-16",
        "application/json; charset=utf-8; charset=utf-7",
        "application/json;",
        ["application/json", "text/plain"],
    ],
)
def test_a_write_must_be_json(visitor, session, media):
    assert visitor.post("/api/answer", ANSWER, Content_Type=media).status == 400
    assert session.calls == []


@pytest.mark.parametrize("media", ["Application/JSON", 'application/json ;charset="UTF-8"'])
def test_spellings_of_json_are_accepted(visitor, media):
    assert visitor.post("/api/answer", ANSWER, Content_Type=media).status == 200


def changed(**values):
    return json.dumps({**ANSWER, **values}).encode()


BODIES = {
    "empty": b"",
    "spaces": b"   ",
    "not JSON": b"tab=t&row=3&label=ash",
    "cut off": b'{"tab": "t", "row": 3, "label": "as',
    "text after it": changed() + b"{}",
    "a list": b"[]",
    "a list of pairs": b'[["tab", "t"], ["row", 3], ["label", "ash"]]',
    "a text": b'"tab"',
    "a number": b"3",
    "null": b"null",
    "not UTF-8": changed().replace(b"ash", b"\xff"),
    "UTF-16": changed().decode().encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf" + changed(),
    "duplicate keys": b'{"tab": "t", "row": 3, "row": 4, "label": "ash"}',
    "escaped duplicate keys": b'{"tab": "t", "row": 3, "ro\\u0077": 4, "label": "ash"}',
    "a key too few": b'{"tab": "t", "row": 3}',
    "a key too many": changed(extra=1),
    "prototype": changed(__proto__={}),
    "nested": b"[" * 60_000,
    "nested objects": b'{"tab":' * 9_000,
    "nested value": changed(row=[[[[3]]]]),
    "no object": b"{}",
    "row as text": changed(row="3"),
    "row with a fraction": changed(row=3.0),
    "row true": changed(row=True),
    "row null": changed(row=None),
    "row negative": changed(row=-1),
    "row huge": changed(row=10**15),
    "row of 5000 digits": changed(row="N").replace(b'"N"', b"9" * 5000),
    "row infinite": changed(row="N").replace(b'"N"', b"1e999"),
    "row not a number": changed(row="N").replace(b'"N"', b"NaN"),
    "row minus infinity": changed(row="N").replace(b'"N"', b"-Infinity"),
    "tab empty": changed(tab=""),
    "tab long": changed(tab="t" * 65),
    "tab with a slash": changed(tab="../t"),
    "tab with a line break": changed(tab="t\n"),
    "tab with markup": changed(tab="<b>"),
    "tab in other digits": changed(tab="٣"),
    "tab a number": changed(tab=1),
    "label empty": changed(label=""),
    "label long": changed(label="x" * 20_001),
    "label a number": changed(label=1),
    "label null": changed(label=None),
    "label a list": changed(label=["ash"]),
    "label with half a character": changed(label="\ud800"),
}


@pytest.mark.parametrize("case", BODIES)
def test_malformed_bodies_are_refused(visitor, session, case):
    reply = visitor.post("/api/answer", BODIES[case])
    assert reply.status == 400
    assert reply.error.endswith(".")
    assert session.calls == []


@pytest.mark.parametrize("on", [0, 1, None, "true", []])
def test_a_flag_is_true_or_false(visitor, session, on):
    assert visitor.post("/api/flag", {"tab": "t", "row": 3, "on": on}).status == 400
    assert session.calls == []


@pytest.mark.parametrize(
    "label", [HTML, "x" * 20_000, "Esche 🌳", "a, b", "=1+1", "a\r\nSet-Cookie: b=c", "__proto__"]
)
def test_labels_are_passed_on_as_they_are(visitor, session, label):
    assert visitor.post("/api/answer", {**ANSWER, "label": label}).status == 200
    assert session.calls == [("answer", "t", 3, label, False)]


# ---------------------------------------------------------------- methods and addresses


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT"])
def test_other_methods_are_refused(visitor, session, method):
    own = {"Origin": f"http://{visitor.host}", "Access_Control_Request_Method": "POST"}
    for changes in (own, {**own, "Cookie": None}, {}):
        reply = visitor.get("/api/answer", method, **changes)
        assert (reply.status, reply.headers["allow"]) == (405, "GET, POST")
    assert session.calls == []


@pytest.mark.parametrize("target", ["/", "/start", "/api/map", "/export/table", "/nothing"])
def test_the_reply_to_head_has_no_body(visitor, session, target):
    reply = visitor.get(target, "HEAD")
    assert (reply.status, reply.body) == (405, b"")
    assert session.calls == []


def test_reads_are_no_writes_and_writes_no_reads(visitor, session):
    for target in READS:
        reply = visitor.post(target.partition("?")[0], {})
        assert (reply.status, reply.headers["allow"]) == (405, "GET")
    for target in WRITES:
        reply = visitor.get(target)
        assert (reply.status, reply.headers["allow"]) == (405, "POST")
    assert session.calls == []


NOTHING_THERE = """
    /nothing /api /api/state/x /index.html /API/map /favicon.ico
    /image /image/00 /image/-1 /image/x /image/1.png /image/1000000000000000
    /export /export/journal /export/table.csv
"""
MALFORMED = """
    /api/ /image/ /export/ /api/map/
    // //evil.example/ /.. /../etc/passwd /image/../export/table /./ /%2e%2e/ /api%2fmap
    /api/map%00 /api/map%0d%0aX:y /api/map;x /~ * http://127.0.0.1/ 127.0.0.1:80 /api\\map
    /image/<b> /image/' /ü /api/map#x
    /api/map? /api/map?x /api/map?x=1 /?token=a /start?x=1&x=1 /api/panel?since=<b>
    /api/state /api/state?tab= /api/state?tab=%74 /api/state?TAB=t /api/state?tab=<b>
    /api/state?tab=t&tab=t /api/state?tab=t&row=1
    /api/card /api/card?row= /api/card?row=-1 /api/card?row=01 /api/card?row=1e3
    /api/card?row=1.0 /api/card?row=1000000000000000 /api/card?row=x
"""
ADDRESSES = {
    404: NOTHING_THERE.split(),
    400: [*MALFORMED.split(), "/api/state?tab=" + "t" * 65, "/" + "a" * 2048],
}


@pytest.mark.parametrize(
    ("status", "target"), [(status, target) for status in ADDRESSES for target in ADDRESSES[status]]
)
def test_other_addresses_are_refused(visitor, session, status, target):
    reply = visitor.get(target)
    assert reply.status == status
    assert reply.headers["content-type"].startswith(("application/json", "text/html"))
    assert b"<b>" not in reply.body
    assert session.calls == []


# ---------------------------------------------------------------- how a request is written


SIZE = f"Content-Length: {len(json.dumps(ANSWER))}"
GOOD = "GET /api/map HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\n\r\n"
WRITE = (
    "POST /api/answer HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\nOrigin: http://HOST\r\n"
    f"Content-Type: application/json\r\nX-Lapwing-Token: TOKEN\r\n{SIZE}\r\n\r\n"
)
BODY = json.dumps(ANSWER)
CHUNKS = f"{len(BODY):x}\r\n{BODY}\r\n0\r\n\r\n"


def first(line):
    return GOOD.replace("GET /api/map HTTP/1.1", line)


def header(line):
    return GOOD.replace("Host: HOST", f"Host: HOST\r\n{line}")


def length(*lines, body=BODY):
    return WRITE.replace(SIZE, "\r\n".join(lines)) + body


# Each would be valid but for one thing.
UNLIKE_BROWSERS = {
    "HTTP/1.0": first("GET /api/map HTTP/1.0"),
    "HTTP/0.9": first("GET /api/map"),
    "HTTP/2": first("GET /api/map HTTP/2"),
    "small letters": first("GET /api/map http/1.1"),
    "two spaces": first("GET  /api/map HTTP/1.1"),
    "a tab": first("GET\t/api/map HTTP/1.1"),
    "a space after it": first("GET /api/map HTTP/1.1 "),
    "a space in the path": first("GET /api/map x HTTP/1.1"),
    "NUL in the path": first("GET /api/map\0 HTTP/1.1"),
    "a method of 30 letters": first("G" * 30 + " /api/map HTTP/1.1"),
    "a small method": first("get /api/map HTTP/1.1"),
    "an empty line first": "\r\n" + GOOD,
    "line feeds": GOOD.replace("\r\n", "\n") + "\r\n\r\n",
    "a bare line feed": header("X: a\nCookie: b"),
    "a bare carriage return": header("X: a\rCookie: b"),
    "a folded line": header("X: a\r\n b"),
    "a space before the colon": header("X : a"),
    "a header without a colon": header("X"),
    "a header without a name": header(": a"),
    "a header with a space": header("X y: a"),
    "NUL in a header": header("X: a\0b"),
    "DEL in a header": header("X: a\x7fb"),
    "two cookies": header("COOKIE: a=b"),
    "two connections": header("Connection: close\r\nconnection: keep-alive"),
    "two sites": header("Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site"),
    "a body of GET": header("Content-Length: 5") + "hello",
    "chunked GET": header("Transfer-Encoding: chunked") + "0\r\n\r\n",
    "chunked": length("Transfer-Encoding: chunked", body=CHUNKS),
    "chunked with a length": length(SIZE, "Transfer-Encoding: chunked", body=CHUNKS),
    "chunked before a length": length("transfer-encoding: chunked", SIZE, body=CHUNKS),
    "identity": length(SIZE, "Transfer-Encoding: identity"),
    "no length": length("X: y"),
    "the length twice": length(SIZE, SIZE),
    "two lengths": length(SIZE, "content-length: 0"),
    "a list of lengths": length(f"{SIZE}, 0"),
    "a negative length": length("Content-Length: -1"),
    "a length with a sign": length(SIZE.replace(": ", ": +")),
    "a length with a space": length(SIZE.replace(": ", ": 0 ")),
    "a length in base 16": length(f"Content-Length: {len(BODY):#x}"),
    "a length with an exponent": length("Content-Length: 1e1"),
    "a length in other digits": length("Content-Length: 1\xb2"),
    "a length of 30 digits": length("Content-Length: " + "9" * 30),
    "an empty length": length("Content-Length:"),
    "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "SSH": "ssh-2.0",
}


def fill(text, visitor):
    text = text.replace("HOST", visitor.host).replace("TOKEN", visitor.token)
    return text.replace("COOKIE: ", "cookie: ").replace("COOKIE", visitor.cookie).encode("latin-1")


@pytest.mark.parametrize("case", UNLIKE_BROWSERS)
def test_requests_that_no_browser_writes_are_refused(visitor, session, case):
    with Connection(visitor.port) as connection:
        # Whatever comes after it on the connection must not be taken for another request.
        connection.send(fill(UNLIKE_BROWSERS[case] + GOOD, visitor))
        reply = connection.reply()
        assert reply.status == 400
        assert reply.headers["connection"] == "close"
        assert connection.is_closed()
    assert session.calls == []


def test_the_cases_above_are_valid_but_for_one_thing(visitor, session):
    harmless = (GOOD, length(SIZE), header("X: y"), header("X: a\r\nx: b"), header("X:"))
    for text in harmless:
        assert visitor.ask(fill(text, visitor)).status == 200
    assert len(session.calls) == len(harmless)


def test_a_request_in_a_body_is_not_a_request(visitor, session):
    hidden = visitor.post_bytes("/api/remove", {"tab": "t", "row": 3})
    refused = visitor.post_bytes("/api/nothing", hidden)
    with Connection(visitor.port) as connection:
        connection.send(refused)
        assert connection.reply().status == 404
        assert connection.is_closed()
    with Connection(visitor.port) as connection:
        connection.send(visitor.post_bytes("/api/answer", hidden))
        assert connection.reply().status == 400
        assert connection.is_closed()
    assert session.calls == []


def test_a_body_that_is_refused_by_the_session_keeps_the_connection(visitor, session):
    session.found["answer"] = ValueError("no")
    with Connection(visitor.port) as connection:
        for _ in range(2):
            connection.send(visitor.post_bytes("/api/answer", ANSWER))
            reply = connection.reply()
            assert (reply.status, reply.headers["connection"]) == (400, "keep-alive")


# ---------------------------------------------------------------- sizes


TEN_MB = 10 * 1024 * 1024


@pytest.mark.parametrize(
    ("cookie", "status"), [("valid", 413), (None, 403)], ids=["visitor", "stranger"]
)
def test_a_body_of_10_mb_is_refused_before_it_is_sent(visitor, session, cookie, status):
    cookie = cookie and visitor.cookie
    headers = visitor.write_headers(Content_Length=TEN_MB, Cookie=cookie)
    with Connection(visitor.port) as connection:
        connection.send(request_bytes("POST", "/api/answer", headers))
        reply = connection.reply()  # and not a byte of the body was sent
        assert reply.status == status
        assert reply.headers["connection"] == "close"
    assert session.calls == []


def test_a_body_of_10_mb_takes_no_memory(visitor, session, monkeypatch):
    monkeypatch.setattr(requests, "LINGER_SECONDS", 20.0)
    part = b" " * 65536
    headers = visitor.write_headers(Content_Length=TEN_MB)
    with Connection(visitor.port) as connection:
        tracemalloc.start()
        try:
            connection.send(request_bytes("POST", "/api/answer", headers))
            for _ in range(TEN_MB // len(part)):
                connection.send(part)
            assert connection.reply().status == 413  # the client sees it although it sent all
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 2_000_000
    assert session.calls == []


def test_the_largest_body_that_is_read(visitor, session):
    body = json.dumps(ANSWER).encode()
    assert visitor.post("/api/answer", body.ljust(requests.MAX_BODY)).status == 200
    assert visitor.post("/api/answer", body.ljust(requests.MAX_BODY + 1)).status == 413
    assert len(session.calls) == 1


@pytest.mark.parametrize("case", ["one header", "many headers", "no end", "request line"])
def test_headers_of_1_mb_are_refused(visitor, session, monkeypatch, case):
    monkeypatch.setattr(requests, "LINGER_SECONDS", 20.0)
    start = request_bytes("GET", "/api/map", visitor.read_headers())[:-2]
    data = {
        "one header": start + b"X: " + b"x" * 1_000_000 + b"\r\n\r\n",
        "many headers": start + b"".join(b"X-%d: x\r\n" % i for i in range(90_000)) + b"\r\n",
        "no end": start + b"X: " + b"x" * 1_000_000,
        "request line": b"GET /" + b"x" * 1_000_000,
    }[case]
    reply = visitor.ask(data)
    assert reply.status == 431
    assert session.calls == []


def test_the_number_of_headers_is_bounded(visitor, session):
    def ask(n):
        return visitor.get("/api/map", **{f"X-{i}": "x" for i in range(n)}).status

    assert [ask(98), ask(99)] == [200, 431]  # and Host and Cookie
    assert session.calls == [("map",)]


# ---------------------------------------------------------------- time, connections, rate


def partial_requests(visitor):
    whole = visitor.post_bytes("/api/answer", ANSWER)
    return {
        "head": whole.partition(b"\r\n\r\n")[0],
        "one letter": b"G",
        "no body": whole.partition(b"{")[0],
        "half a body": whole[:-1],
    }


@pytest.mark.parametrize("case", ["head", "one letter", "no body", "half a body"])
def test_a_request_that_does_not_arrive_is_given_up(visitor, session, monkeypatch, case):
    monkeypatch.setattr(requests, "ARRIVAL_SECONDS", 0.2)
    with Connection(visitor.port) as connection:
        connection.send(partial_requests(visitor)[case])
        assert connection.reply().status == 408
        assert connection.is_closed()
    # A client that ends the connection instead is not waited for.
    monkeypatch.setattr(requests, "ARRIVAL_SECONDS", 60.0)
    with Connection(visitor.port) as connection:
        connection.send(partial_requests(visitor)[case])
        connection.socket.shutdown(socket.SHUT_WR)
        assert connection.reply().status == 408
    assert session.calls == []


def test_a_client_that_sends_byte_by_byte_is_given_up(visitor, session, monkeypatch):
    monkeypatch.setattr(requests, "ARRIVAL_SECONDS", 0.3)
    whole = visitor.post_bytes("/api/answer", ANSWER.copy() | {"label": "x" * 200})
    with Connection(visitor.port) as connection:
        for i in range(len(whole)):  # together they would take much longer
            connection.send(whole[i : i + 1])
            if select.select([connection.socket], [], [], 0.02)[0]:
                break
        assert i < len(whole) - 1
        assert connection.reply().status == 408
    assert session.calls == []


def test_a_silent_connection_is_closed(visitor, monkeypatch):
    monkeypatch.setattr(requests, "ARRIVAL_SECONDS", 0.1)
    with Connection(visitor.port) as connection:
        assert connection.reply() is None
    monkeypatch.setattr(requests, "ARRIVAL_SECONDS", 20.0)
    monkeypatch.setattr(requests, "IDLE_SECONDS", 0.1)
    with Connection(visitor.port) as connection:
        connection.send(request_bytes("GET", "/api/map", visitor.read_headers()))
        assert connection.reply().status == 200
        assert connection.is_closed()


def test_connections_are_bounded(monkeypatch):
    monkeypatch.setattr(server_module, "MAX_CONNECTIONS", 3)
    with make_server() as server:
        visitor = Visitor(server)
        wait_until(lambda: not server._listener._connections)
        idle = [Connection(visitor.port) for _ in range(3)]
        wait_until(lambda: len(server._listener._connections) == 3)
        with Connection(visitor.port) as one_more:
            assert one_more.is_closed()
        for connection in idle:  # those that were there first are served
            connection.send(request_bytes("GET", "/api/map", visitor.read_headers()))
            assert connection.reply().status == 200
            connection.socket.close()
        wait_until(lambda: not server._listener._connections)
        assert visitor.get("/api/map").status == 200


def test_a_client_that_does_not_read_is_given_up(monkeypatch):
    monkeypatch.setattr(responses, "SEND_SECONDS", 0.2)
    session = FakeSession()
    session.found["export"] = ("rows.csv", "text/csv", bytes(50_000_000))
    with make_server(session) as server:
        visitor = Visitor(server)
        with Connection(visitor.port) as connection:
            connection.send(request_bytes("GET", "/export/table", visitor.read_headers()))
            wait_until(lambda: session.calls[-1:] == [("export", "table")])
            wait_until(lambda: not server._listener._connections)
        assert visitor.get("/api/map").status == 200


def test_large_files_arrive_whole(visitor, session):
    content = np.random.default_rng(0).bytes(1_000_003)
    session.found["export"] = ("rows.csv", "text/csv", content)
    assert visitor.get("/export/table").body == content


def test_the_rate_is_bounded_and_strangers_do_not_use_it_up(monkeypatch):
    monkeypatch.setattr(guard, "REQUESTS_AT_ONCE", 4)
    monkeypatch.setattr(guard, "REQUESTS_PER_SECOND", 1e-9)
    session = FakeSession()
    with make_server(session) as server:
        visitor = Visitor(server)  # one as a stranger, one as a visitor
        stranger = [visitor.get("/api/map", Cookie=None).status for _ in range(5)]
        assert stranger == [403, 403, 403, 429, 429]
        # What other pages send is refused before it is counted.
        assert visitor.get("/", Host="evil.example").status == 403
        assert visitor.post("/api/answer", ANSWER, Origin="null").status == 403
        assert [visitor.get("/api/map").status for _ in range(3)] == [200, 200, 200]
        calls = len(session.calls)
        reply = visitor.post("/api/answer", ANSWER)
        assert (reply.status, reply.headers["retry-after"]) == (429, "1")
        assert len(session.calls) == calls


def test_the_rate_recovers(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(guard.time, "monotonic", lambda: now[0])
    limit = guard.RateLimit(per_second=2.0, at_once=3)
    assert [limit.allow() for _ in range(4)] == [True, True, True, False]
    now[0] += 1.0
    assert [limit.allow() for _ in range(3)] == [True, True, False]
    now[0] += 1000.0
    assert [limit.allow() for _ in range(4)] == [True, True, True, False]


# ---------------------------------------------------------------- what the session returns


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (ValueError(HTML), 400, HTML),
        (ValueError("a\r\nSet-Cookie: b=c"), 400, "a\r\nSet-Cookie: b=c"),
        (ValueError("\ud800"), 400, "\ud800"),
        (LookupError("there is no row 3"), 404, "there is no row 3"),
        (LookupError(), 404, "There is no such row."),
        (OSError(28, "No space left", "/a/<b>.csv"), 500, "/a/<b>.csv: No space left"),
    ],
)
def test_errors_for_the_user_are_json(visitor, session, error, status, sentence):
    session.found["answer"] = session.found["card"] = error
    for reply in (visitor.post("/api/answer", ANSWER), visitor.get("/api/card?row=3")):
        assert (reply.status, reply.error) == (status, sentence)
        assert reply.headers["content-type"] == "application/json"
        assert reply.headers["content-security-policy"].endswith("; sandbox")


@pytest.mark.parametrize(
    "error", [KeyError("secret"), IndexError("secret"), RuntimeError("secret")]
)
def test_defects_are_logged_and_not_shown(visitor, session, caplog, error):
    session.found["card"] = session.found["title"] = error
    with caplog.at_level(logging.ERROR, "lapwing.labelling.server"):
        replies = [visitor.get("/api/card?row=3"), visitor.get("/")]
    for reply in replies:
        assert reply.status == 500
        assert b"secret" not in reply.body
    assert [record.exc_info[1] for record in caplog.records] == [error, error]


@pytest.mark.parametrize("value", [float("nan"), b"bytes", {"a": {1}}])
def test_values_that_json_cannot_represent_are_defects(visitor, session, caplog, value):
    session.found["map"] = {"x": value}
    with caplog.at_level(logging.CRITICAL):
        assert visitor.get("/api/map").status == 500


def test_tokens_are_not_logged(server, visitor, caplog):
    with caplog.at_level(logging.DEBUG):
        start = server.start_address().removeprefix(server.address)
        assert visitor.get(start, Cookie=None).status == 200
    assert "200 /start" in caplog.messages  # it is logged before it is sent
    assert start.partition("=")[2] not in caplog.text


@pytest.mark.parametrize("media", ["image/svg+xml", "text/html", "image/png\r\nX: y", "", "*/*"])
def test_only_pictures_are_shown(visitor, session, media):
    session.found["image"] = (media, b"<svg onload=alert(1)>")
    reply = visitor.get("/image/3")
    assert reply.status == 404
    assert b"svg" not in reply.body


def test_pictures_are_inert(visitor):
    reply = visitor.get("/image/3")
    assert (reply.headers["content-type"], reply.body) == ("image/png", PNG)
    assert reply.headers["content-security-policy"].endswith("; sandbox")


NAMES = {
    "rows.csv": "rows.csv",
    "../../etc/passwd": "passwd",
    "C:\\windows\\a.csv": "a.csv",
    ".bashrc": "bashrc",
    'a";x="b.csv': "a__x__b.csv",
    "a\r\nSet-Cookie: b=c.csv": "aSet-Cookie_ b_c.csv",
    "a\0b\x1b[2J\u202egpj.csv": "ab_2Jgpj.csv",
    "bäume.csv": "baume.csv",
    "木.csv": "csv",
    "\ud800": "download",
    "": "download",
    "..": "download",
    "x" * 400: "x" * 150,
}


@pytest.mark.parametrize("name", NAMES)
def test_downloads_are_saved_under_harmless_names(visitor, session, name):
    session.found["export"] = (name, "text/html; charset=utf-8", HTML.encode())
    reply = visitor.get("/export/report")
    assert reply.body == HTML.encode()
    assert reply.headers["content-security-policy"].endswith("; sandbox")
    found = re.fullmatch(
        r'attachment; filename="([A-Za-z0-9._ -]+)"; filename\*=UTF-8\'\'([A-Za-z0-9._~%-]+)',
        reply.headers["content-disposition"],
    )
    assert found[1] == NAMES[name]
    assert "set-cookie" not in reply.headers


@pytest.mark.parametrize("media", ["text/html\r\nX: y", "", "text", "text/html; a=b", "é/a"])
def test_odd_media_types_become_bytes(visitor, session, media):
    session.found["export"] = ("a.csv", media, b"x")
    assert visitor.get("/export/model").headers["content-type"] == "application/octet-stream"


def test_sentences_are_escaped_and_headers_have_one_line():
    page = responses.notice(403, HTML)
    assert HTML.encode() not in page.content
    assert html.escape(HTML).encode() in page.content
    left, right = socket.socketpair()
    with left, right, pytest.raises(ValueError, match="line break"):
        responses.send(left, Response(200, headers={"X": "a\r\nb"}), closes=True)


# ---------------------------------------------------------------- with a session


def test_pictures_of_a_table_stay_in_their_folder(tmp_path):
    outside, folder = tmp_path / "outside", tmp_path / "table"
    outside.mkdir()
    folder.mkdir()
    (outside / "secret.png").write_bytes(PNG)
    (outside / "secret.txt").write_bytes(b"secret")
    (folder / "sub").mkdir()
    (folder / "a.png").write_bytes(PNG)
    (folder / "sub" / "b.png").write_bytes(PNG)
    (folder / "page.png").write_bytes(b"<script>alert(1)</script>")
    (folder / "image.svg").write_bytes(b"<svg xmlns='http://www.w3.org/2000/svg'/>")
    (folder / "link.png").symlink_to(outside / "secret.png")
    (folder / "linked").symlink_to(outside)
    os.mkfifo(folder / "pipe.png")
    inside = ["a.png", "sub/b.png", "./sub/../a.png", str(folder / "a.png")]
    refused = ["../outside/secret.png", "sub/../../outside/secret.png", "linked/secret.png"]
    refused += [
        str(outside / "secret.png"),
        "link.png",
        "/etc/passwd",
        "/dev/zero",
        "/proc/self/mem",
    ]
    refused += ["a.png\0", "pipe.png", "sub", ".", "", " ", None, "page.png", "image.svg", HTML]
    refused += ["file:///etc/passwd", "http://evil.example/a.png", "%2e%2e/outside/secret.png", "~"]
    paths = np.array([*inside, *refused], dtype=object)
    cards = cards_of_table(
        {"path": paths}, len(paths), names=None, text=None, image="path", folder=folder
    )
    X = np.random.default_rng(0).normal(size=(len(paths), 2))
    with Loop(tmp_path, X, cards, classes=TREES) as loop:
        visitor = Visitor(loop.server)
        found = [visitor.get(f"/image/{row}") for row in range(len(paths) + 1)]
    assert [reply.status for reply in found[:4]] == [200] * 4
    assert {reply.body for reply in found[:4]} == {PNG}
    for path, reply in zip([*refused, "no such row"], found[4:], strict=True):
        assert reply.status == 404, path
        assert reply.headers["content-type"] == "application/json"
        assert b"secret" not in reply.body.replace(b"secret.png", b"")
    # One sentence for what is outside and for what is nowhere: nobody learns what exists.
    told = {
        found[4 + refused.index(path)].error.replace(repr(path), "PATH")
        for path in ("../outside/secret.png", "link.png", "/etc/passwd", "~")
    }
    assert len(told) == 1


TREES = ("ash", "elm", HTML)


def test_cells_and_classes_with_markup_are_data(tmp_path):
    texts = np.array(
        [HTML, "</script><script>alert(1)</script>", "a\u2028b", "a\r\n\r\nb"] * 3, object
    )
    X = np.random.default_rng(0).normal(size=(len(texts), 2))
    cards = cards_of_table(
        {"text": texts, HTML: texts},
        len(texts),
        names=[HTML] * len(texts),
        text="text",
        image=None,
        folder=tmp_path,
    )
    with Loop(tmp_path, X, cards, classes=TREES, title=HTML) as loop:
        visitor = Visitor(loop.server)
        assert HTML.encode() not in visitor.get("/").body
        for row in range(4):
            reply = visitor.get(f"/api/card?row={row}")
            assert reply.headers["content-type"] == "application/json"
            assert json.loads(reply.body)["text"] == texts[row]
        reply = visitor.post("/api/answer", {**ANSWER, "row": 0, "label": HTML})
        assert reply.headers["content-type"] == "application/json"
        assert json.loads(reply.body)["answered"] == 1
        assert loop.done == [("answer", 0, HTML)]
        # Nothing of these reaches the journal.
        assert visitor.post("/api/answer", {**ANSWER, "row": 99}).status == 404
        assert visitor.post("/api/class", {"tab": "t", "name": "\u202e"}).status == 400
        assert visitor.post("/api/answer", ANSWER, X_Lapwing_Token=None).status == 403
        assert visitor.post("/api/answer", ANSWER, Origin="http://evil.example").status == 403
        assert len(loop.done) == 1


# ---------------------------------------------------------------- properties


PROPERTY_PORT = 8123
OWN = f"127.0.0.1:{PROPERTY_PORT}"


def make_site():
    site = Site(FakeSession(), Guard(PROPERTY_PORT))
    cookie = site.guard.exchange(site.guard.make_token()).partition(";")[0]
    return site, cookie


def respond(site, head, body=b""):
    """Answer a request as the server does; anything but a Refusal is an error."""
    request = None
    try:
        request = parse_head(head, lambda length: body[:length])
        response = site.respond(request)
    except Refusal as refusal:
        response = site.refuse(request, refusal)
        assert response.status >= 400
    sent = responses._head(response, True).decode("latin-1") + "\r\n"
    assert re.fullmatch(r"HTTP/1\.1 \d{3} [A-Za-z -]+\r\n([A-Za-z-]+: [^\r\n]*\r\n)+\r\n\r\n", sent)
    return response


def maybe(right, *wrong):
    """Mostly the right value, or a wrong one, or none."""
    return st.one_of(
        st.just(right), st.just(right), st.just(right), st.sampled_from([*wrong, None])
    )


@settings(max_examples=300)
@given(
    method=maybe("POST", "GET", "HEAD", "OPTIONS"),
    target=st.sampled_from([*READS, *WRITES, "/start", "/nothing"]),
    host=maybe(OWN, f"localhost:{PROPERTY_PORT}", "evil.example", "127.0.0.1"),
    cookie=maybe("COOKIE", "a=b", "lapwing_8123=", "lapwing_8123=x"),
    origin=maybe(
        f"http://{OWN}", "http://evil.example", "null", f"http://localhost:{PROPERTY_PORT}"
    ),
    token=maybe("TOKEN", "", "x"),
    site=st.sampled_from([None, "same-origin", "same-site", "cross-site", "none"]),
    mode=st.sampled_from([None, "navigate", "cors", "no-cors"]),
    media=maybe("application/json", "text/plain"),
    body=st.one_of(
        st.sampled_from([json.dumps(value).encode() for value in WRITES.values()]),
        st.binary(max_size=40),
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
            lambda inner: st.dictionaries(
                st.sampled_from(["tab", "row", "label", "on", "name"]), inner, max_size=4
            ),
            max_leaves=8,
        ).map(lambda value: json.dumps(value).encode()),
    ),
)
def test_the_session_is_reached_by_our_page_only(
    method, target, host, cookie, origin, token, site, mode, media, body
):
    served, valid = make_site()
    write_token = served.guard.write_token
    headers = {
        "Host": host,
        "Cookie": cookie and cookie.replace("COOKIE", valid),
        "Origin": origin,
        "X-Lapwing-Token": token and token.replace("TOKEN", write_token),
        "Sec-Fetch-Site": site,
        "Sec-Fetch-Mode": mode,
        "Content-Type": media,
        "Content-Length": len(body) if method == "POST" else None,
    }
    head = request_bytes(method or "GET", target, headers)[:-4]
    respond(served, head, body)
    if served.session.calls:
        assert host in (OWN, f"localhost:{PROPERTY_PORT}")
        assert cookie == "COOKIE"
        assert origin == f"http://{host}" or (origin is None and method != "POST")
        assert site in (None, "same-origin") or (mode == "navigate" and target == "/")
        assert method in ("GET", "POST", None)
        if method == "POST":
            assert (token, media) == ("TOKEN", "application/json")
            assert target in WRITES
        else:
            assert served.session.calls == [READS[target]]


@settings(max_examples=300)
@given(head=st.binary(max_size=300))
def test_random_bytes_are_refused(head):
    site, _ = make_site()
    assert respond(site, head).status >= 400
    assert site.session.calls == []


@settings(max_examples=300)
@given(data=st.data(), is_write=st.booleans())
def test_mutated_requests_are_served_or_refused(data, is_write):
    site, cookie = make_site()
    headers = {"Host": OWN, "Cookie": cookie}
    body = json.dumps(ANSWER).encode()
    if is_write:
        headers |= {"Origin": f"http://{OWN}", "Content-Type": "application/json"}
        headers |= {"X-Lapwing-Token": site.guard.write_token, "Content-Length": len(body)}
    target = "/api/answer" if is_write else data.draw(st.sampled_from(list(READS)))
    head = request_bytes("POST" if is_write else "GET", target, headers)[:-4]
    assert respond(site, head, body).status == 200
    site.session.reset()

    odd = st.sampled_from(
        [b"", b"\r\n", b"\n", b"\r", b"\0", b" ", b":", b"..", b"%", b"?", b"\xff"]
    )
    for _ in range(data.draw(st.integers(1, 4))):
        whole = data.draw(st.sampled_from(["head", "body"])) if is_write else "head"
        text = head if whole == "head" else body
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(start + 3, len(text))))
        text = text[:start] + data.draw(st.one_of(odd, st.binary(max_size=3))) + text[end:]
        head, body = (text, body) if whole == "head" else (head, text)
    respond(site, head, body)
    if site.session.calls:
        assert OWN.encode() in head
        assert cookie.encode() in head
        if is_write:
            assert site.guard.write_token.encode() in head
            name, tab, row, label, doubt = site.session.calls[0]
            assert type(doubt) is bool
            assert name == "answer"
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tab)
            assert type(row) is int
            assert 0 <= row < 10**15
            assert 1 <= len(label) <= 20_000
