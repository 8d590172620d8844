"""HTML that needs nothing else: no script, no file from elsewhere, every value escaped, light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from kymatui.domain.kubernetes.terminal_text import sanitize

_STYLE: Final = """
:root { color-scheme: light dark; --line: #ddd; --faint: #555; }
@media (prefers-color-scheme: dark) { :root { --line: #444; --faint: #aaa; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
body { overflow-wrap: anywhere; }
.table { overflow-x: auto; overflow-wrap: normal; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); }
small { color: var(--faint); }
summary { cursor: pointer; padding: .3rem 0; }
details { border-bottom: 1px solid var(--line); }
details table { margin: .3rem 0 1rem 1.2rem; width: calc(100% - 1.2rem); font-size: 14px; }
"""


def html_text(text: object) -> str:
    """Return a text for HTML, on one line and without control characters."""
    return escape(sanitize(str(text)))


def html_page(title: str, parts: Iterable[str]) -> str:
    """Return a page; `parts` are HTML already, the title is text."""
    body = "\n".join(parts)
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{html_text(title)}</title>
<style>{_STYLE}</style>
<h1>{html_text(title)}</h1>
{body}
</html>
"""


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts; "none" without rows."""
    lines = ["<tr>" + "".join(f"<td>{html_text(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    if not lines:
        return "<p>none</p>"
    return html_rows(header, "\n".join(lines))


def html_rows(header: Sequence[str], rows: str) -> str:
    """Return a table of rows that are HTML already; one that is wider than the page scrolls by itself."""
    head = "".join(f"<th>{html_text(name)}</th>" for name in header) if any(header) else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table>"
    return f'<div class="table">{table}</div>'
