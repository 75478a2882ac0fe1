"""Write each type of file in child processes that are killed: python -m helpers.killed_writers

Works in the present folder. Each writer first writes a good file. One child is then killed by the
system in the middle of a file, because it exceeds a limit of its size, and others at random moments
while they write again and again. The file must be complete every time. Prints the writers.
"""

import contextlib
import io
import json
import os
import random
import resource
import signal
import time
from pathlib import Path

import numpy as np

import lapwing
from experiments import PAPERS
from experiments.papers import jobs_of
from experiments.report import write
from lapwing.cli import main
from lapwing.displays import PathDisplay

KILLS, LONGEST = 4, 0.1


def command(*words):
    """Return a function that runs a command without output."""

    def run():
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(list(words)) == 0

    return run


def lines(path, n):
    return lambda: Path(path).read_text(encoding="utf-8").count("\n") == n


def ends(path, text):
    return lambda: Path(path).read_text(encoding="utf-8").rstrip().endswith(text)


def writers():
    """Return the function that writes and the one that checks the file, by name."""
    command("demo", "--write-csv", "t.csv")()
    fit = ("fit", "t.csv", "--target", "label", "--id", "id", "--quiet", "--method", "supervised")
    command(*fit, "--out", "m")()
    model = lapwing.load("m")
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.full(40, -1)
    y[:8] = np.arange(8) % 2
    display = PathDisplay.from_estimator(lapwing.LapSVCPath(cv=None).fit(X, y))
    jobs = jobs_of(PAPERS, "quick")
    return {
        "save": (lambda: lapwing.save(model, "m"), lambda: lapwing.load("m").n_features_in_ > 0),
        "predict": (command("predict", "m", "t.csv", "--out", "p.csv"), lines("p.csv", 401)),
        "report": (command("report", "m", "--out", "r.html"), ends("r.html", "</html>")),
        "suggest": (command("suggest", "m", "--out", "s.csv"), lines("s.csv", 21)),
        "path": (lambda: display.write_html("path.html"), ends("path.html", "</html>")),
        "papers": (
            lambda: write(Path(), "quick", list(PAPERS), jobs, {}),
            lambda: json.loads(Path("report.json").read_text()) and ends("report.md", "|")(),
        ),
    }


def fork(run):
    """Return a child process that runs a function."""
    child = os.fork()
    if child == 0:
        run()
        os._exit(0)
    return child


def killed_in_the_middle(run):
    """Run a function in a child that the system kills when a file has 100 bytes."""

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        run()

    _, status = os.waitpid(fork(limited), 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGXFSZ


def killed_at_random(run, rng):
    """Kill a child that calls a function again and again."""

    def repeat():
        while True:
            run()

    child = fork(repeat)
    time.sleep(rng.uniform(0.0, LONGEST))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def kill_all():
    rng = random.Random(0)
    for name, (run, is_complete) in writers().items():
        run()
        assert is_complete(), name
        killed_in_the_middle(run)
        assert is_complete(), f"{name}: killed in the middle of the file"
        for _ in range(KILLS):
            killed_at_random(run, rng)
            assert is_complete(), f"{name}: killed while it was writing"
        print(name)


if __name__ == "__main__":
    kill_all()
