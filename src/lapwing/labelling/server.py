"""A local HTTP server that shows a labelling session to the browser of its user, and to no other.

It listens on this computer only, serves each connection in a thread, and bounds connections and the
time that a client may take. Requests are read by `requests`, checked by `guard` and answered by
`routes`. Must not know how a session works.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
import socketserver
import threading
from typing import Any

from .guard import Guard
from .requests import Refusal, Request, RequestReader
from .responses import send
from .routes import Session, Site

MAX_CONNECTIONS = 32
_HOST = "127.0.0.1"  # never another: the page shows the user's data, and there is no encryption

logger = logging.getLogger(__name__)


class LabelServer:
    """The server of one labelling session.

    Parameters
    ----------
    session : object
        Has the methods of `lapwing.labelling.routes.Session`, which are called from many threads.
    port : int, default=0
        Where to listen; 0 takes any free port.
    framed : bool, default=False
        Whether a notebook on this computer may show the page in a frame; the frame must have the
        host name of the notebook (``localhost`` or ``127.0.0.1``).

    Attributes
    ----------
    address : str
        ``"http://127.0.0.1:PORT"``. The browser needs `start_address` the first time.
    """

    def __init__(self, session: Session, *, port: int = 0, framed: bool = False) -> None:
        self._listener = _Listener(port, framed)
        port = self._listener.server_address[1]
        self._guard = Guard(port, framed)
        self._listener.site = Site(session, self._guard)
        self.address = f"http://{_HOST}:{port}"
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._lock = threading.Lock()

    def start_address(self) -> str:
        """Return an address that lets one browser in, once, within some hours."""
        return f"{self.address}/start?token={self._guard.make_token()}"

    def start(self) -> None:
        """Serve requests in a daemon thread, until `close`."""
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the server is closed: make a new one")
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._listener.serve_forever,
                    args=(0.1,),
                    name="lapwing label server",
                    daemon=True,
                )
                self._thread.start()

    def close(self) -> None:
        """Stop serving: responses under way are completed, for a moment, and the port is free."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._thread is not None:
                self._listener.shutdown()
                self._thread.join()
            self._listener.server_close()
            self._listener.end_connections()


class _Listener(socketserver.ThreadingTCPServer):
    """Accepts connections, up to a number, and gives each a thread."""

    # On Windows, SO_REUSEADDR would let another program listen on the same port.
    allow_reuse_address = os.name == "posix"
    daemon_threads = True
    block_on_close = False
    request_queue_size = MAX_CONNECTIONS
    site: Site

    def __init__(self, port: int, framed: bool) -> None:
        if not 0 <= port <= 65535:
            raise ValueError(f"port {port} does not exist: choose one from 1024 to 65535, or 0")
        self._connections: set[socket.socket] = set()
        self._changed = threading.Condition()
        self._reserved: socket.socket | None = None
        try:
            super().__init__((_HOST, port), _Connection)
            if framed:
                self._reserve()
        except OSError as error:
            raise OSError(
                f"port {port} cannot be used ({error.strerror}): close the program that uses it, "
                "choose another port, or 0 for any that is free"
            ) from error

    def _reserve(self) -> None:
        """Keep other users from serving http://localhost:PORT, which a notebook may open.

        Browsers connect to ::1 before 127.0.0.1 for that name, and would send the token there.
        Nothing listens to the socket, so that they go on to 127.0.0.1 at once.
        """
        try:
            self._reserved = socket.socket(socket.AF_INET6)
            self._reserved.bind(("::1", self.server_address[1]))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                self.server_close()
                raise
            # otherwise this computer has no ::1

    def server_close(self) -> None:
        super().server_close()
        if self._reserved is not None:
            self._reserved.close()

    def server_bind(self) -> None:
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        super().server_bind()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._changed:
            accepted = len(self._connections) < MAX_CONNECTIONS
            if accepted:
                self._connections.add(request)
        if accepted:
            super().process_request(request, client_address)
        else:
            logger.debug("too many connections: one was closed")
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self._changed:
            self._connections.discard(request)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        logger.exception("a connection of the label server ended by an error")

    def end_connections(self, seconds: float = 1.0) -> None:
        """Let connections complete the response under way, then close them."""
        with self._changed:
            # Reading ends at once; the responses that are being written may be completed.
            self._shut(socket.SHUT_RD)
            self._changed.wait_for(lambda: not self._connections, seconds)
            self._shut(socket.SHUT_RDWR)

    def _shut(self, how: int) -> None:
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(how)


class _Connection(socketserver.BaseRequestHandler):
    """Answers the requests of one connection."""

    request: socket.socket  # what socketserver calls the connection
    server: _Listener

    def handle(self) -> None:
        reader = RequestReader(self.request)
        try:
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while self._exchange(reader):
                pass
        except OSError as error:  # a tab was closed, a computer slept
            logger.debug("a connection ended: %s", type(error).__name__)

    def _exchange(self, reader: RequestReader) -> bool:
        """Answer the next request; False if the connection is to be closed."""
        site = self.server.site
        request: Request | None = None
        is_read = True  # whether all of the request has been read
        try:
            request = reader.next_request()
            if request is None:
                return False
            response = site.respond(request)
        except Exception as error:
            refusal = error if isinstance(error, Refusal) else _failure()
            response, is_read = site.refuse(request, refusal), not refusal.closes
        # The query is left out: it may contain a token.
        path = "(unreadable)" if request is None else request.path
        logger.debug("%s %s", response.status, path)
        closes = not is_read or request is None or request.closes
        send(self.request, response, closes=closes)
        if not is_read:
            reader.discard()
        return not closes


def _failure() -> Refusal:
    logger.exception("the label server could not answer a request")
    return Refusal(
        500, "This did not work because of an error in the program. See its output for details."
    )
