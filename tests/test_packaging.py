"""What people install holds everything it needs, and starting it imports nothing it does not."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("kubernetes", "oras", "yaml", "aiohttp", "requests", "urllib3", "jsonschema", "cryptography", "re2")


def test_the_stylesheets_are_found_beside_the_checkout() -> None:
    from kymatui.ui.terminal.themes import styles_dir

    assert (styles_dir() / "app.tcss").is_file()


def test_the_wheel_carries_the_stylesheets_and_the_type_marker(tmp_path: Path) -> None:
    """Built by hatchling itself, as pip does; skips where hatchling is not installed."""
    pytest.importorskip("hatchling")
    code = f"import hatchling.build as b; print(b.build_wheel({str(tmp_path)!r}))"
    built = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    names = zipfile.ZipFile(tmp_path / built.stdout.split()[-1]).namelist()
    assert {"kymatui/styles/app.tcss", "kymatui/crds/kymas.yaml", "kymatui/py.typed", "kymatui/cli/main.py"} <= set(
        names
    )
    assert not [name for name in names if name.startswith(("tests/", "screenshots/"))]


def _imported_by(code: str) -> set[str]:
    """Top-level names of the heavy packages that are in `sys.modules` after `code` ran in a fresh interpreter."""
    probe = f"{code}\nimport sys; sys.__stdout__.write(','.join(sorted({{m.split('.')[0] for m in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split(",")) & set(HEAVY)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import kymatui.cli.main", id="the command line"),
        pytest.param("from kymatui.cli.parser import build_parser; build_parser([])", id="the parser of the screen"),
        pytest.param("import kymatui.ui.application.kymatui_app", id="the screen's modules"),
        pytest.param("from kymatui.sessions.cluster.catalog_session import open_session", id="a session"),
    ],
)
def test_nothing_heavy_is_imported_at_start(code: str) -> None:
    assert _imported_by(code) == set()


FIRST_PAINT = """
import asyncio
from kymatui.ui.application.kymatui_app import KymatuiApp

def connect():
    raise SystemExit  # the session is opened after the first paint, in a thread: it must not be reached here

async def main():
    app = KymatuiApp(connect)
    app._begin = lambda: None
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert app.screen.query("RowTable")

asyncio.run(main())
"""


def test_nothing_heavy_is_imported_before_the_first_paint() -> None:
    assert _imported_by(FIRST_PAINT) == set()


def test_the_version_and_the_screen_wait_for_no_catalog() -> None:
    """Reading a catalog takes 0.07 s to import, more than all that `kymatui --version` needs."""
    code = "from kymatui.cli.parser import build_parser; build_parser([]); import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name for name in done.stdout.split() if name.startswith("kymatui.domain.")} <= {
        "kymatui.domain.catalog",
        "kymatui.domain.kubernetes",
        "kymatui.moments",
        "kymatui.domain.kubernetes.terminal_text",
    }
