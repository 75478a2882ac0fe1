"""Requests are read strictly, whole, and within bounds, however their bytes arrive."""

import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.labelling import requests
from lapwing.labelling.requests import Refusal, Request, RequestReader, parse_head

HEAD = b"GET /api/card?row=3 HTTP/1.1\r\nHost: localhost:80\r\nAccept: */*\r\nACCEPT: a"
GET = HEAD + b"\r\n\r\n"
POST = b"POST /api/undo HTTP/1.1\r\nHost: localhost:80\r\nContent-Length: 5\r\n\r\nhello"


class Pieces:
    """A connection on which some pieces arrive, and then the end or a time-out."""

    def __init__(self, pieces, end=b""):
        self.pieces, self.end = [*pieces], end
        self.timeouts = []

    def settimeout(self, seconds):
        self.timeouts.append(seconds)

    def recv(self, n):
        if self.pieces:
            assert len(self.pieces[0]) <= n
            return self.pieces.pop(0)
        if isinstance(self.end, BaseException):
            raise self.end
        return self.end

    def shutdown(self, how):
        assert how == socket.SHUT_WR


def read_all(connection):
    """Return what a reader makes of a connection: requests with bodies, and a status or None."""
    reader, found = RequestReader(connection), []
    try:
        while (request := reader.next_request()) is not None:
            found.append((request.method, request.path, dict(request.query), request.body()))
    except Refusal as refusal:
        return [*found, refusal.status]
    return [*found, None]


READ = {GET: ("GET", "/api/card", {"row": "3"}, b""), POST: ("POST", "/api/undo", {}, b"hello")}


def test_a_head_is_taken_apart():
    request = parse_head(HEAD, bytes)
    assert (request.method, request.path, request.length) == ("GET", "/api/card", 0)
    # Headers that nothing reads are dropped.
    assert (request.query, request.headers) == ({"row": "3"}, {"host": "localhost:80"})
    spaced = parse_head(HEAD + b"\r\nCookie: \t a=b; c=d\xe9 \t\r\nX-LAPWING-Token:t", bytes)
    assert spaced.headers["cookie"] == "a=b; c=dé"
    assert spaced.headers["x-lapwing-token"] == "t"


@pytest.mark.parametrize(
    ("line", "closes"),
    [(b"", False), (b"\r\nConnection: keep-alive", False), (b"\r\nConnection: Close", True)],
)
def test_a_client_may_ask_to_close(line, closes):
    assert parse_head(HEAD + line, bytes).closes is closes


@given(data=st.data())
def test_how_bytes_arrive_makes_no_difference(data):
    sent = data.draw(st.lists(st.sampled_from([GET, POST]), max_size=4))
    whole = b"".join(sent)
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=8).map(sorted))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    found = read_all(Pieces([piece for piece in pieces if piece]))
    assert found == [*(READ[one] for one in sent), None]


@settings(max_examples=300)
@given(
    parts=st.lists(
        st.one_of(
            st.binary(max_size=30),
            st.sampled_from([GET, POST, HEAD, b"\r\n", b"\r\n\r\n", b"Transfer-Encoding: chunked"]),
        ),
        max_size=6,
    ),
    end=st.sampled_from([b"", TimeoutError(), ConnectionResetError()]),
)
def test_whatever_arrives_is_requests_or_a_refusal(parts, end):
    *found, status = read_all(Pieces([part for part in parts if part], end))
    assert all(one in READ.values() or one[0] in ("GET", "POST") for one in found)
    assert status in (None, 400, 408)


TOKENS = [
    *("GET", "POST", "PUT", "/", "/a", "/api/map?row=3", "?", "a=b", "&", "..", "%2e", "//"),
    *("HTTP/1.1", "Host:", "Content-Length:", "1", "-", ":", "X", "a", "Origin:"),
    *("Transfer-Encoding:", "é"),
]


@settings(max_examples=300)
@given(
    head=st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from([*TOKENS, " ", "\r\n", "\n", "\0"]), max_size=20).map("".join),
        st.tuples(
            st.sampled_from(["GET", "POST", "PUT", "get", ""]),
            st.text("/a.%?=&-_<\\ \0é", max_size=8),
            st.sampled_from(["", "\r\nContent-Length: 2", "\r\nHost: a", "\r\nHost : a", "\n"]),
        ).map(lambda parts: "{} /{} HTTP/1.1{}".format(*parts)),
    )
)
def test_a_head_is_a_request_or_a_refusal(head):
    request = parse(head if isinstance(head, bytes) else head.encode("latin-1"))
    if isinstance(request, Refusal):
        assert request.status == 400
        assert request.closes
        return
    assert isinstance(request, Request)
    assert request.path.startswith("/")
    assert "." not in [segment[:1] for segment in request.path.split("/")]
    assert not set(request.path) & set("%\\\0<? é")
    assert "//" not in request.path
    assert request.length == 0 or request.method == "POST"


def parse(head):
    try:
        return parse_head(head, bytes)
    except Refusal as refusal:
        return refusal


@pytest.mark.parametrize("n", [0, 5, requests.MAX_BODY])
def test_a_body_is_read_up_to_its_bound(n):
    head = f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {n}\r\n\r\n".encode()
    body = b"x" * n
    pieces = [head, *(body[i : i + 60_000] for i in range(0, n, 60_000)), GET]
    assert read_all(Pieces(pieces)) == [("POST", "/", {}, body), READ[GET], None]


def test_a_body_beyond_its_bound_is_not_read():
    head = f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {requests.MAX_BODY + 1}\r\n\r\n"
    connection = Pieces([head.encode(), b"x" * 1000])
    assert read_all(connection) == [413]
    assert connection.pieces == [b"x" * 1000]


def test_headers_are_read_up_to_their_bound():
    def ask(n):
        head = b"GET / HTTP/1.1\r\nX: "
        data = head + b"x" * (n - len(head)) + b"\r\n\r\n"
        connection = Pieces(data[i : i + 9_000] for i in range(0, len(data), 9_000))
        return read_all(connection)[-1], len(connection.pieces)

    assert ask(requests.MAX_HEAD) == (None, 0)
    assert ask(requests.MAX_HEAD + 1)[0] == 431
    # It is refused as soon as it is too large, and the rest remains unread.
    status, unread = ask(1_000_000)
    assert status == 431
    assert unread >= (1_000_000 - requests.MAX_HEAD) // 9_000 - 2


def test_deadlines(monkeypatch):
    """The first byte, a whole request, and the pause between two have bounds of their own."""
    now = [0.0]
    monkeypatch.setattr(requests.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(requests, "ARRIVAL_SECONDS", 10.0)
    monkeypatch.setattr(requests, "IDLE_SECONDS", 60.0)
    monkeypatch.setattr(requests, "LINGER_SECONDS", 1.0)
    connection = Pieces([b"GET / ", b"HTTP/1.1\r\nHost: a", b"\r\n\r\n", b"G"])
    arrive = connection.recv

    def recv(n):
        now[0] += 4.0
        return arrive(n)

    connection.recv = recv
    reader = RequestReader(connection)
    assert reader.next_request().path == "/"
    # Each part has what is left of the ten seconds since the first byte.
    assert connection.timeouts == [10.0, 10.0, 6.0]
    with pytest.raises(Refusal, match="did not arrive completely") as caught:
        reader.next_request()
    assert caught.value.status == 408
    assert connection.timeouts[3:] == [60.0, 10.0]
    reader.discard()
    assert connection.timeouts[5:] == [1.0]


def test_a_deadline_that_has_passed_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(requests, "ARRIVAL_SECONDS", 0.0)
    connection = Pieces([GET])
    assert RequestReader(connection).next_request() is None
    assert connection.timeouts == []


def test_discarding_keeps_nothing(monkeypatch):
    monkeypatch.setattr(requests, "LINGER_SECONDS", 60.0)
    for end in (b"", ConnectionResetError()):
        connection = Pieces([b"GET / HTTP/1.1\r\n" + b"x" * 60_000] * 5, end)
        reader = RequestReader(connection)
        with pytest.raises(Refusal):
            reader.next_request()
        reader.discard()
        assert connection.pieces == []
        assert len(reader._buffer) == 0
