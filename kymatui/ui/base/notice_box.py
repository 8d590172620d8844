"""Notice that replaces a table without rows."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from kymatui.ui.presenters.catalog.table_notices import TableNotice
from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.widgets.tone_styles import with_tone


def show_notice(body: Widget, found: TableNotice | None) -> None:
    """Display the notice instead of the table in `body`, or the table where there is none."""
    body.set_class(found is not None, "-notice")
    if found is not None:
        lines = [with_tone(found.title, found.tone, bold=True)]
        lines += [Content(f"\n{found.body}")] if found.body else []
        lines += [Content.styled(f"\n\n{found.hint}", "$foreground-muted")] if found.hint else []
        body.query_one("#notice", Static).update(Content.assemble(*lines))
