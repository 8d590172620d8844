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


def _run(folder: Path, width: int, *words: str) -> subprocess.CompletedProcess[str]:
    options = [*_OPTIONS, f"--user-data-dir={folder / 'profile'}", f"--window-size={width},1200"]
    return subprocess.run(
        [str(CHROMIUM), *options, *words], capture_output=True, text=True, timeout=100, check=True, cwd=folder
    )


def open_page(path: Path, folder: Path, *, width: int = 1280) -> OpenedPage:
    """Open a file; `folder` takes the browser's profile and the picture."""
    picture = folder / "page.png"
    done = [_run(folder, width, what, path.as_uri()) for what in ("--dump-dom", f"--screenshot={picture}")]
    said = [line for one in done for line in one.stderr.splitlines() if "CONSOLE" in line]
    return OpenedPage(done[0].stdout, said, picture.read_bytes())


def page_width(path: Path, folder: Path, width: int) -> int:
    """Return how wide the content of a file is in a window of a width: more has to be scrolled sideways."""
    frame = folder / "frame.html"
    measure = "document.body.dataset.width = this.contentDocument.documentElement.scrollWidth"
    frame.write_text(f'<iframe src="{path.as_uri()}" style="border:0;width:{width}px" onload="{measure}"></iframe>')
    document = _run(folder, 2 * width, "--allow-file-access-from-files", "--dump-dom", frame.as_uri()).stdout
    return int(document.split('data-width="')[1].split('"')[0])


def printed_page(path: Path, folder: Path) -> bytes:
    """Return a file as it is printed (PDF)."""
    target = folder / "page.pdf"
    _run(folder, 1280, f"--print-to-pdf={target}", path.as_uri())
    return target.read_bytes()
