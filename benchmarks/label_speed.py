"""How long does somebody wait who labels rows? Replies of the server, and the model behind them.

make bench NAME=label_speed
python benchmarks/label_speed.py [--rows 10000 100000] [--answers 60] [--pause 1.0] [--given 0]
    [--classes 10]

Rows of 50 columns from 20 Gaussians, two to each of ten classes, are labelled over HTTP as the
page does it: each answer is sent with the cookie and the token, and its reply contains the next
questions. "reply" is the time from sending an answer to having that reply, with the answer on disk
and the model learning meanwhile; the page shows the next row sooner, because it has it already.
"model" is the time of a refresh of the model after an answer, and "behind" the time from an answer
until the model knows it, which includes a step under way and is measured for every tenth answer.
"judged" is how many of the random rows the accuracy is estimated from right after the last answer:
those that were predicted by about the present model; the others follow as soon as it has time.
``--given`` labels that many rows beforehand, as a table with labels would. With up to three
``--classes``, the selection of models includes semi-supervised support vector machines.
"""

import argparse
import http.client
import json
import re
import tempfile
import time
from pathlib import Path

import numpy as np

from lapwing.labelling.cards import cards_of
from lapwing.labelling.journal import Journal
from lapwing.labelling.server import LabelServer
from lapwing.labelling.session import LabelSession


class Client:
    """What the page does, without a browser."""

    def __init__(self, start_address):
        _, _, host, path = start_address.split("/", 3)
        self.host = host
        self.connection = http.client.HTTPConnection(host)
        self.headers = {}
        cookie = self._exchange("GET", f"/{path}")[1].getheader("Set-Cookie")
        self.headers = {"Cookie": cookie.split(";")[0]}
        page = self._exchange("GET", "/")[0]
        self.token = re.search(r'"token": ?"([^"]+)"', page)[1]

    def read(self, path):
        return json.loads(self._exchange("GET", path)[0])

    def write(self, path, **body):
        headers = {
            "Content-Type": "application/json",
            "Origin": f"http://{self.host}",
            "X-Lapwing-Token": self.token,
        }
        return json.loads(self._exchange("POST", path, json.dumps(body), headers)[0])

    def _exchange(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, {**self.headers, **(headers or {})})
        response = self.connection.getresponse()
        text = response.read().decode()
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {text}")
        return text, response


def rows_of_clusters(n, n_classes):
    """Return rows of 50 columns, and their classes."""
    rng = np.random.default_rng(0)
    centres = 2.0 * rng.standard_normal((20, 50))
    cluster = rng.integers(0, 20, n)
    return centres[cluster] + rng.standard_normal((n, 50)), cluster % n_classes


def measure(n, answers, pause, given, n_classes):
    """Print the times for a number of rows."""
    X, truth = rows_of_clusters(n, n_classes)
    classes = [f"class {code}" for code in range(n_classes)]
    known = np.random.default_rng(1).choice(n, given, replace=False).tolist()
    replies, models, behind = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        session = LabelSession(
            X,
            cards_of(None, X),
            Journal(Path(folder) / "journal", {}),
            given={row: classes[truth[row]] for row in known},
            classes=classes,
        )
        noted, on_change = [], session._learner._on_change

        def note_model():  # every one: the next may follow before the pause has ended
            last = session.snapshot
            if last is not None and (not noted or last is not noted[0]):
                noted[:] = [last]
                models.append(last.seconds)
            on_change()

        session._learner._on_change = note_model
        server = LabelServer(session)
        server.start()
        client = Client(server.start_address())
        state = client.read("/api/state?tab=one")
        opened = time.perf_counter() - started
        for number in range(answers):
            row = state["questions"][0]["row"]
            sent = time.perf_counter()
            state = client.write(
                "/api/answer", tab="one", row=row, label=classes[truth[row]], doubt=False
            )
            replies.append(time.perf_counter() - sent)
            if number % 10 == 9:
                session.wait(600.0)
                behind.append(time.perf_counter() - sent)
            time.sleep(pause)
        panel = client.read("/api/panel")
        judged = panel["accuracy"]["rows"] if panel["accuracy"] else 0
        server.close()
        session.close()
    replies = 1e3 * np.array(replies)
    print(
        f"{n:9,} {given:7,} {opened:8.1f} {np.median(replies):9.1f} {replies.max():9.1f}   "
        f"{models[0]:8.2f} {np.median(models[1:]):9.2f} {max(models[1:]):9.2f}   "
        f"{np.median(behind):8.2f} {max(behind):9.2f}   {judged:4} of {panel['random']:3}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--answers", type=int, default=60, help="answers (60)")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between answers (1.0)")
    parser.add_argument("--given", type=int, default=0, help="labels beforehand (0)")
    parser.add_argument("--classes", type=int, default=10, help="classes (10)")
    options = parser.parse_args()
    if options.answers < 20 or options.classes < 2:
        parser.error("--answers must be at least 20, and --classes at least 2")
    print(f"{options.answers} answers, {options.pause:g} s between them")
    print(
        "     rows   given  open, s  reply, ms:    most  model, s: first   median      most   "
        "behind, s:   most   judged"
    )
    for n in options.rows:
        measure(n, options.answers, options.pause, min(options.given, n // 2), options.classes)


if __name__ == "__main__":
    main()
