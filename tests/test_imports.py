"""The house stands: imports run downwards, and the core needs no extra."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# What `import lapwing` must leave alone: extras, test tools, and anything slow to load.
OPTIONAL = ("matplotlib", "plotly", "torch", "dask", "pandas", "usearch", "clarabel")


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_imports_run_downwards():
    pytest.importorskip("importlinter", reason="import-linter is part of the dev extra")
    # A process of its own, because import-linter changes sys.path and logging.
    done = run_python("""
import sys
from importlinter.cli import lint_imports
sys.exit(lint_imports(config_filename="pyproject.toml", no_cache=True, no_logo=True))
""")
    assert done.returncode == 0, f"the import contract is broken:\n{done.stdout}{done.stderr}"


def test_core_import_loads_no_optional_library():
    # scikit-learn itself loads some of them where they are installed.
    done = run_python(f"""
import sys
import sklearn.base, sklearn.utils.validation, scipy.sparse
before = set(sys.modules)
import lapwing
print(*(name for name in {OPTIONAL!r} if name in set(sys.modules) - before))
""")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_core_import_works_without_optional_libraries():
    done = run_python(f"""
import importlib.abc, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import lapwing
for name in getattr(lapwing, "__all__", []):
    getattr(lapwing, name)
""")
    assert done.returncode == 0, done.stderr


def test_modules_whose_examples_run_first_are_imported_once():
    done = run_python("""
import pytest, sys
code = pytest.main(["--collect-only", "-q", "src/lapwing/model_selection/labeled_kfold.py"])
import lapwing
again = sys.modules["lapwing.model_selection.labeled_kfold"].LabeledKFold
sys.exit(code or lapwing.LabeledKFold is not again)
""")
    assert done.returncode == 0, done.stdout + done.stderr


def test_package_says_that_it_is_typed():
    import lapwing

    assert (Path(lapwing.__file__).parent / "py.typed").is_file()
