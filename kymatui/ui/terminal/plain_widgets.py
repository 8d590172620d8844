"""Widgets of Textual that display every text as it is.

Textual reads a `str` as markup: a name from a cluster such as `[@click=app.quit]keda[/]` would become an action behind
a click, and `[/]` would end the program. Every widget of the UI is a `PlainText`, and those of Textual come from here.
Colours are made with `Content`, whose texts are never parsed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.text import Text
from textual import containers, scroll_view, widgets
from textual.content import Content
from textual.widget import Widget, _BorderTitle


class _PlainTitle(_BorderTitle):
    """Title in the border of a widget, stored as it is."""

    def __set__(self, obj: Widget, title: Text | str | Content | None) -> None:
        super().__set__(obj, Content(title) if isinstance(title, str) else title)


class PlainText(Widget):
    """Widget whose content and border titles are no markup."""

    border_title = _PlainTitle()
    border_subtitle = _PlainTitle()

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._render_markup = False


class Static(widgets.Static, PlainText):
    """Text that a screen changes with `update`."""


class FieldLabel(widgets.Label, PlainText):
    """Text beside a field."""


class Input(widgets.Input, PlainText):
    """Field for one line."""


class TextArea(widgets.TextArea, PlainText):
    """Field for several lines."""


class Box(containers.Container, PlainText):
    """Box with the layout of the stylesheet."""


class Horizontal(containers.Horizontal, PlainText):
    """Box with its widgets side by side."""


class Vertical(containers.Vertical, PlainText):
    """Box with its widgets one below the other."""


class VerticalScroll(containers.VerticalScroll, PlainText):
    """Box that scrolls its widgets."""


class ScrollView(scroll_view.ScrollView, PlainText):
    """Area that draws its visible lines."""


STYLES: Mapping[str, str] = {
    "ready": "$text-success",
    "processing": "$state-processing",
    "warning": "$text-warning",
    "error": "$text-error",
    "deleting": "$state-deleting",
    "unmanaged": "$foreground-muted",
    "muted": "$foreground-muted",
    "accent": "$text-primary",
}


def with_tone(text: str, tone: str, *, bold: bool = False) -> Content:
    """Return `text` in a tone; markup in it is not parsed."""
    style = STYLES.get(tone, "")
    return Content.styled(text, f"bold {style}".strip() if bold else style)


def tone_lines(lines: Iterable[tuple[str, str]]) -> Content:
    """Return lines of text, each in its tone."""
    return Content("\n").join([with_tone(text, tone) for text, tone in lines])
