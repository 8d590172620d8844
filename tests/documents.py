"""The documents that people read, for the tests that hold them against the product."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_TOP: Final = ("README.md", "CONTRIBUTING.md", "SECURITY.md")
_FILES: Final = [*map(ROOT.joinpath, _TOP), *sorted((ROOT / "docs").rglob("*.md"))]
DOCUMENTS: Final = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in _FILES}


def blocks(language: str) -> Iterator[str]:
    """Yield the fenced blocks of one language of all documents."""
    for text in DOCUMENTS.values():
        yield from re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def links() -> Iterator[tuple[str, str]]:
    """Yield (document, target) of every link and picture that does not lead to the web."""
    for place, text in DOCUMENTS.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if not target.startswith(("https://", "http://")):
                yield place, target


def anchors(text: str) -> set[str]:
    """Return the anchors of a document's headings, as web pages of repositories make them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in headings}
