"""`index.html` of a diagnosis: a page that needs nothing else, made of what was redacted before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from kymatui.cli.output.audit_formats import stamp
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.objects.redaction import RULES

if TYPE_CHECKING:
    from kymatui.actions.diagnose import Diagnosis

_EVENTS = 200
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
td { overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #ddd; }
"""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What the page displays besides what was gathered; `files` are the names of the other files with their sizes."""

    title: str
    facts: Sequence[tuple[str, str]]
    modules: Sequence[dict[str, Any]]
    files: Sequence[tuple[str, int]]
    hits: dict[str, int]


def diagnosis_page(found: Diagnosis, facts: PageFacts) -> str:
    """Return the page; every value is escaped."""
    title = escape(facts.title)
    parts = [
        _table(("", ""), facts.facts),
        "<h2>Modules</h2>",
        _table(("Module", "State", "Reason", "Installed", "Desired", "Drift"), map(_module, facts.modules)),
        "<h2>Problems</h2>",
        _table(("Module", "Severity", "Problem"), _problems(facts.modules)),
        "<h2>Not read</h2>",
        _table(("",), [(one,) for one in found.unread]),
        "<h2>Events</h2>",
        _table(
            ("Last seen", "Type", "Reason", "Object", "Count", "Message"),
            [
                (
                    stamp(one.seen) or "" if one.seen else "",
                    one.type,
                    one.reason,
                    f"{one.kind}/{one.name}",
                    str(one.count or ""),
                    one.message,
                )
                for one in found.events[:_EVENTS]
            ],
        ),
        "<h2>Files</h2>",
        "<ul>",
        *(
            f'<li><a href="{quote(name)}">{escape(sanitize(name))}</a> {size:,} bytes</li>'
            for name, size in facts.files
        ),
        "</ul>",
        "<h2>Your rights</h2>",
        _table(("Kind", *(next(iter(found.rights.values()), {}))), _rights(found)),
        "<h2>Redacted</h2>",
        _table(
            ("Rule", "What is hidden", "Hits"), [(r.name, r.explanation, str(facts.hits.get(r.name, 0))) for r in RULES]
        ),
    ]
    body = "\n".join(parts)
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{_STYLE}</style>
<h1>{title}</h1>
{body}
</html>
"""


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["<tr>" + "".join(f"<td>{escape(sanitize(str(cell)))}</td>" for cell in row) + "</tr>" for row in rows]
    if not lines:
        return "<p>none</p>"
    head = "".join(f"<th>{escape(name)}</th>" for name in header) if any(header) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n" + "\n".join(lines) + "\n</tbody></table>"


def _module(one: dict[str, Any]) -> tuple[str, ...]:
    return tuple(_cell(one.get(key)) for key in ("name", "state", "reason", "installed", "desired", "drift"))


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_cell(item)}" for key, item in value.items() if item not in (None, "", [], {}))
    return "" if value is None else str(value)


def _problems(modules: Sequence[dict[str, Any]]) -> Iterable[tuple[str, str, str]]:
    for one in modules:
        for problem in one.get("problems") or ():
            yield str(one.get("name")), _cell(problem.get("severity")), _cell(problem.get("message"))


def _rights(found: Diagnosis) -> Iterable[tuple[str, ...]]:
    words = {True: "yes", False: "no", None: "unknown"}
    for kind, verbs in found.rights.items():
        yield kind, *(words[one] for one in verbs.values())
