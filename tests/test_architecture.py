"""The direction of imports: a layer imports only what stands below it (kymatui/__init__.py draws it)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "kymatui"

ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "domain": {"errors"},
    "helm": {"errors"},
    "ocm": {"errors", "domain"},
    "engine": {"errors", "domain", "helm", "ocm"},
    "adapters": {"errors", "domain", "helm", "ocm", "engine"},
    "sandbox": {"errors", "domain", "helm", "ocm", "engine"},
    "settings": {"errors", "domain"},
    "wiring": {"errors", "domain", "helm", "ocm", "engine", "adapters", "sandbox", "settings"},
    "cli": {"errors", "domain", "helm", "ocm", "engine", "settings", "wiring"},
    "ui": {"errors", "domain", "engine", "settings", "wiring"},
}

# The front door opens the screen, and the check of an installation looks at it; nothing else in `cli` may know `ui`.
EXCEPTIONS = {("cli/screen.py", "ui"), ("cli/demo.py", "ui"), ("cli/looking.py", "ui")}

# Above these layers nothing outside the standard library may be imported (yaml, jsonschema and so on are helm's tools).
PURE = {"domain": set[str](), "errors": set[str]()}


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the direction"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


MODULES = sorted(p for p in PACKAGE.rglob("*.py") if layer_of(p) not in ("__init__", "__main__"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_what_stands_below_it(path: Path) -> None:
    layer = layer_of(path)
    for name in imported(path):
        parts = name.split(".")
        if parts[0] != "kymatui" or len(parts) == 1 or parts[1] in ("__version__", layer):
            continue
        allowed = parts[1] in ALLOWED[layer] or (str(path.relative_to(PACKAGE)), parts[1]) in EXCEPTIONS
        assert allowed, f"{path.relative_to(PACKAGE)} imports {name}: {layer} stands below {parts[1]}"


@pytest.mark.parametrize("path", [p for p in MODULES if layer_of(p) in PURE], ids=str)
def test_the_domain_needs_nothing_but_the_standard_library(path: Path) -> None:
    import sys

    for name in imported(path):
        top = name.split(".")[0]
        assert top == "kymatui" or top in sys.stdlib_module_names or top == "__future__", f"{path} imports {name}"


def test_every_layer_is_in_the_table() -> None:
    assert {layer_of(p) for p in MODULES} <= set(ALLOWED)
