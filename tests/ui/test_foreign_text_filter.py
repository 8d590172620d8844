"""No text and no link of a widget reaches the terminal with characters that it acts on."""

from __future__ import annotations

import ast

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.color import Color
from textual.widgets import Static

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.terminal.text_filters import ForeignTextFilter, without_controls
from tests.structure import PACKAGE
from tests.ui.driving import SIZE, ready, until
from tests.ui.worlds import StillSession, app_on, world

EVIL = "\x1b]0;PWNED\x07\x1b[31mred\x9b2J\x7f\u202e\u200b\ud800"


@pytest.mark.parametrize("text", ["keda", "👨‍👩‍👧 日本", EVIL, f"a{EVIL}b日"])
def test_the_width_stays_that_of_the_layout(text: str) -> None:
    shown = without_controls(text)
    assert sanitize(shown) == shown
    assert cell_len(shown) == cell_len(text)
    assert (shown == text) == (EVIL not in text)


def test_a_link_is_an_address_or_none() -> None:
    kept = Style(link="https://example.org/a")
    broken = Style(link="https://a\x1b\\\x1b]0;PWNED\x07")
    segments = [Segment("a", kept), Segment("b", broken), Segment("c", None)]
    first, second, third = ForeignTextFilter().apply(segments, Color(0, 0, 0))
    assert (first, third) == (segments[0], segments[2])
    assert (second.text, second.style.link if second.style else "") == ("b", None)


async def test_titles_toasts_and_widgets_go_through_the_filter() -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE, notifications=True) as pilot:
        app = await ready(pilot)
        app.notify(f"toast {EVIL}", title=EVIL, markup=False)
        await app.screen.mount(Static(Text(f"widget {EVIL}", style=Style(link=f"https://a/{EVIL}"))))

        def drawn() -> str:
            strips = app.screen._compositor.render_strips()
            return "".join(strip.render(app.console) for strip in strips)

        await until(pilot, lambda: "toast" in drawn() and "widget" in drawn())
        shown = drawn()
        assert "PWNED" in shown
        for part in ("\x1b]0;", "red\x9b", "\x07", "\x7f", "\u202e", "\u200b", "\ud800"):
            assert part not in shown
        assert "\x1b]8;" not in shown


def test_only_notifications_and_plugins_of_a_suspended_screen_are_written_past_the_filter() -> None:
    """They remove all that is not printable (`tests/ui/test_announcements.py`, `sanitize_lines`)."""
    found = set()
    for path in (PACKAGE / "ui").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("_driver", "driver", "__stderr__", "__stdout__"):
                found.add(path.relative_to(PACKAGE).as_posix())
    assert found == {"ui/application/kymatui_app.py", "ui/flows/logins.py"}
