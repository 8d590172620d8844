"""The glossary on the screen has each word of the tables once, and filters for the word that was asked for."""

from __future__ import annotations

from typing import Any

from textual.pilot import Pilot

from kymatui.domain.catalog.glossary import GLOSSARY
from kymatui.ui.screens.glossary_screen import GlossaryScreen
from tests.ui.driving import ready, table, text, until


async def _open(pilot: Pilot[Any], line: str) -> Any:
    app = await ready(pilot)
    assert app.shown is not None
    app.shown.command_line.run(line)
    await until(pilot, lambda: isinstance(app.screen, GlossaryScreen) and app.screen.frame.is_whole)
    return app


async def test_the_glossary_explains_every_word_and_says_what_to_do(pilot: Pilot[Any]) -> None:
    app = await _open(pilot, "glossary")
    assert len(table(app).rows) == sum(len(terms) for _, terms in GLOSSARY)
    await until(pilot, lambda: "The module works." in text(app, "#reason"))


async def test_a_word_after_the_command_is_the_filter(pilot: Pilot[Any]) -> None:
    app = await _open(pilot, "glossary Unmanaged")
    await until(pilot, lambda: len(table(app).rows) < 10)
    texts = [" ".join(cell.text for cell in row.cells.values()).casefold() for row in table(app).rows]
    assert len(texts) > 0
    assert all("unmanaged" in text for text in texts)
