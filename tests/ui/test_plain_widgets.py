"""No text is markup: the widgets display it as it is, and no code leads to Textual's parser by another way."""

from __future__ import annotations

import ast
import asyncio
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.app import App
from textual.content import Content
from textual.widget import Widget

import kymatui
import kymatui.ui
from kymatui.ui.base.first_paint import FirstPaintScreen
from kymatui.ui.terminal import plain_widgets
from kymatui.ui.terminal.plain_widgets import PlainText, Static

HOSTILE = ("evil[/]name", "[@click=app.quit]istio[/]", "[link=file:///etc/passwd]x[/link]", "[bold red", "[$primary]a")


def subclasses(kind: type) -> Iterator[type]:
    """Yield the classes of the UI that derive from a class."""
    for module in pkgutil.walk_packages(kymatui.ui.__path__, "kymatui.ui."):
        importlib.import_module(module.name)
    kinds: list[type] = [kind]
    while kinds:
        found: list[type] = kinds.pop().__subclasses__()
        yield from (one for one in found if one.__module__.startswith("kymatui."))
        kinds += found


def test_every_widget_of_the_ui_is_plain_text() -> None:
    found = set(subclasses(Widget))
    assert {FirstPaintScreen, Static} < found
    assert [kind.__name__ for kind in found if not issubclass(kind, PlainText)] == []


READY_MADE = [kind for kind in vars(plain_widgets).values() if isinstance(kind, type) and issubclass(kind, PlainText)]


@pytest.mark.parametrize("kind", READY_MADE, ids=lambda kind: kind.__name__)
def test_a_widget_displays_texts_as_they_are_whatever_the_app(kind: type[PlainText]) -> None:
    async def look() -> None:
        async with App[None]().run_test() as pilot:
            widget = kind()
            await pilot.app.mount(widget)
            for text in HOSTILE:
                widget.border_title = widget.border_subtitle = text
                assert widget._border_title == widget._border_subtitle == Content(text)
                assert widget._border_title is not None
                assert not widget._border_title.spans
                if isinstance(widget, Static):
                    widget.update(text)
                    assert str(widget.visual) == text
            await pilot.pause()

    asyncio.run(look())


PARSERS = {"from_markup", "from_text", "render_str", "highlight", "tooltip", "with_tooltip"}
"""Names of Textual that read a `str` as markup."""
READY_MADE_OF_TEXTUAL = ("textual.widgets", "textual.containers", "textual.scroll_view", "textual.markup")
DRAWING = ("rich.cells", "rich.segment", "rich.style")
"""What of Rich reads no text."""
EXCEPTIONS = {
    "ui/terminal/plain_widgets.py": "the door",
    "ui/base/screen_app.py": "`notify`, which has Textual's parameter and ignores it",
    "cli/output/transfers.py": "bars of transfers, with `markup=False`",
    "cli/commands/program/screen.py": "the number of the terminal's colours",
    "ui/application/kymatui_app.py": "the console of tracebacks, with `markup=False`",
}


def test_no_text_reaches_a_parser_of_markup() -> None:
    folder = Path(kymatui.__file__).parent
    found: dict[str, list[str]] = {}
    for path in folder.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if names := [name for node in ast.walk(tree) for name in parsers(node)]:
            found[path.relative_to(folder).as_posix()] = names
    assert {place: names for place, names in found.items() if place not in EXCEPTIONS} == {}
    assert found["cli/output/transfers.py"] == ["rich.console.Console", *PROGRESS]
    assert found["cli/commands/program/screen.py"] == found["ui/application/kymatui_app.py"] == ["rich.console.Console"]


PROGRESS = [
    f"rich.progress.{name}" for name in ("BarColumn", "DownloadColumn", "Progress", "TextColumn", "TransferSpeedColumn")
]


def parsers(node: ast.AST) -> Iterator[str]:
    """Yield the names in a node that lead to a parser of markup."""
    if isinstance(node, ast.ImportFrom):
        yield from filter(is_parser, (f"{node.module}.{one.name}" for one in node.names))
    elif isinstance(node, ast.Import):
        yield from filter(is_parser, (one.name for one in node.names))
    elif isinstance(node, ast.Attribute) and node.attr in PARSERS:
        yield node.attr
    elif isinstance(node, ast.keyword) and node.arg == "markup" and getattr(node.value, "value", None) is not False:
        yield "markup="
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "TextColumn":
        yield from () if any(one.arg == "markup" for one in node.keywords) else ("TextColumn",)


def is_parser(name: str) -> bool:
    return f"{name}.".startswith(tuple(f"{one}." for one in READY_MADE_OF_TEXTUAL)) or (
        name.split(".")[0] == "rich" and not name.startswith(DRAWING)
    )
