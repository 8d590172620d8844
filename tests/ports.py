"""The suites of ports: what kymatui has of programs that others write, and the recordings that it is held against.

They change with the port alone, so `pytest` without arguments runs the files that find most of what breaks, and
`.ci/run ports`, or a folder as the argument, runs all of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parent
PORTS: Final[dict[str, tuple[str, ...]]] = {
    "helm": (
        "charts/test_loading.py",
        "charts/test_quick_check.py",
        "charts/test_rendering.py",
        "charts/test_warnings.py",
        "functions/test_families.py",
        "language/test_execution_errors.py",
        "test_documentation.py",
        "test_linting.py",
        "yaml/test_reading.py",
    ),
    "kustomize": ("test_building.py",),
    "ocm": ("test_modules.py", "test_signatures.py"),
    "sandbox": (
        "apiserver/test_access.py",
        "apiserver/test_requests.py",
        "apiserver/test_watching.py",
        "test_command.py",
        "world/test_lifecycle.py",
        "world/test_situations.py",
    ),
    "schemas": ("test_rules.py",),
}
"""Folders of `tests`, with the files of each that every run has."""


def is_left_out(path: Path) -> bool:
    """Return whether a run without arguments leaves a test file out."""
    relative = path.relative_to(TESTS)
    smoke = PORTS.get(relative.parts[0])
    return (
        smoke is not None
        and path.name.startswith("test_")
        and relative.relative_to(relative.parts[0]).as_posix() not in smoke
    )


if __name__ == "__main__":
    print(*(str(path.relative_to(TESTS.parent)) for path in sorted(TESTS.rglob("test_*.py")) if is_left_out(path)))
