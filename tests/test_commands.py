"""The commands of README and guide run as written, on the table that the first one writes."""

import re
import shlex
from pathlib import Path

import pytest

import lapwing
from lapwing.cli import main

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/default.md"])
def test_commands_run_as_written(page, tmp_path, monkeypatch, capsys):
    text = (ROOT / page).read_text(encoding="utf-8")
    [block] = [block for block in BLOCK.findall(text) if "--write-csv" in block]
    monkeypatch.chdir(tmp_path)
    for line in block.splitlines():
        program, *arguments = shlex.split(line)
        assert program.removeprefix(".venv/bin/") == "lapwing"
        assert main(arguments) == 0, line
    assert "20 labelled" in capsys.readouterr().out
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 401
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert lapwing.load(tmp_path / "model.lapwing").extra_["target"] == "label"
