"""Import modules by name before pytest imports them by path to run their examples.

Pytest would import the packages around a module first, which import the module as well, and then
execute it a second time: its classes would exist twice.
"""

import importlib
from pathlib import Path

SOURCE = Path(__file__).parent


def pytest_collect_file(file_path: Path) -> None:
    """Import a module of the package in the way in which every other module imports it."""
    module = file_path.relative_to(SOURCE).with_suffix("")
    if file_path.suffix == ".py" and module.parts[0] == "lapwing" and module.name != "__main__":
        importlib.import_module(".".join(module.parts).removesuffix(".__init__"))
