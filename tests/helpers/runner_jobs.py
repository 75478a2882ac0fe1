"""Jobs for the tests of the runner; a module of its own, because other processes import it."""

import json
import os
import time
from pathlib import Path

from experiments import Outcome


def doubled(data, number):
    return Outcome({"error": [2.0 * number]})


def process_id(data):
    return Outcome({"process": [os.getpid()]})


def fail(data):
    raise ValueError("bad luck")


def crash(data):
    os._exit(3)


def slow(data, folder, number):
    with open(Path(folder) / "started.jsonl", "a") as log:
        log.write(json.dumps({"number": number, "process": os.getpid()}) + "\n")
    time.sleep(0.7)
    return Outcome({"error": [float(number)]})
