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
@media screen and (max-width: 40rem) {
  body { margin: 1rem auto; }
  thead { display: none; }
  tr { display: block; border-bottom: 1px solid var(--line); padding: .4rem 0; }
  td { display: block; border: 0; padding: 0; overflow-wrap: anywhere; }
  td:empty { display: none; }
  td[data-title]::before { content: attr(data-title) ": "; color: var(--faint); }
}
@media print {
  @page { margin: 14mm; }
  :root { color-scheme: light; --line: #bbb; --faint: #444; }
  body { font-size: 9pt; margin: 0; max-width: none; padding: 0; }
  .table { overflow: visible; overflow-wrap: break-word; }
  td[data-title=Finding], td[data-title=Object], td[data-title=Message] { overflow-wrap: anywhere; }
  td[data-title=Finding] { width: 50%; }
  th, td { padding-right: .5rem; }
  thead { display: table-header-group; }
  tr { break-inside: avoid; }
  h2 { break-after: avoid; }
  details::details-content { content-visibility: visible; }
}
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


def html_section(section: tuple[str, Sequence[str], Iterable[Sequence[str]]]) -> str:
    """Return a title and a table of texts."""
    title, header, rows = section
    return f"<h2>{html_text(title)}</h2>\n{html_table(header, rows)}"


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts; "none" without rows."""
    lines = [[html_text(cell) for cell in row] for row in rows]
    return html_rows(header, lines) if lines else "<p>none</p>"


def html_rows(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are HTML already; a narrow screen has each row as lines with the titles."""
    titles = [html_text(name) for name in header]
    head = "".join(f"<th>{title}</th>" for title in titles) if any(titles) else ""
    body = "\n".join("<tr>" + "".join(map(_cell, titles, row)) + "</tr>" for row in rows)
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _cell(title: str, cell: str) -> str:
    return f'<td data-title="{title}">{cell}</td>' if title else f"<td>{cell}</td>"
