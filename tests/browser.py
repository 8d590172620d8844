"""A real browser, where there is one: Chromium of the distribution's packages (`apt install chromium`)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--enable-logging=stderr",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


class OpenedPage(NamedTuple):
    """What a browser made of a page: its document, its own messages about it, and a picture (PNG)."""

    document: str
    messages: list[str]
    picture: bytes


def open_page(path: Path, folder: Path, *, width: int = 1280) -> OpenedPage:
    """Open a file; `folder` takes the browser's profile and the picture."""
    words = [str(CHROMIUM), *_OPTIONS, f"--user-data-dir={folder / 'profile'}", f"--window-size={width},1200"]
    picture = folder / "page.png"
    done = [
        subprocess.run(
            [*words, what, path.as_uri()], capture_output=True, text=True, timeout=100, check=True, cwd=folder
        )
        for what in ("--dump-dom", f"--screenshot={picture}")
    ]
    said = [line for one in done for line in one.stderr.splitlines() if "CONSOLE" in line]
    return OpenedPage(done[0].stdout, said, picture.read_bytes())
