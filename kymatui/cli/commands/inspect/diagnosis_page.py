"""`index.html` of a diagnosis: a page that needs nothing else, made of what was redacted before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec import Struct

from kymatui.cli.output.audit_formats import stamp
from kymatui.cli.output.html_page import html_page, html_table
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.objects.redaction_rules import RULES

if TYPE_CHECKING:
    from kymatui.actions.diagnose import Diagnosis

_EVENTS = 200  # on the page; the other files have all of them


class PageFacts(Struct, frozen=True):
    """What the page displays besides what was gathered; `files` are the names of the other files with their sizes."""

    title: str
    facts: Sequence[tuple[str, str]]
    modules: Sequence[dict[str, Any]]
    files: Sequence[tuple[str, int]]
    hits: dict[str, int]


def diagnosis_page(found: Diagnosis, facts: PageFacts) -> str:
    """Return the page; every value is escaped."""
    parts = [
        html_table(("", ""), facts.facts),
        "<h2>Modules</h2>",
        html_table(("Module", "State", "Reason", "Installed", "Desired", "Drift"), map(_module, facts.modules)),
        "<h2>Problems</h2>",
        html_table(("Module", "Severity", "Problem"), _problems(facts.modules)),
        "<h2>Not read</h2>",
        html_table(("",), [(one,) for one in found.unread]),
        "<h2>Events</h2>",
        html_table(
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
        html_table(("Kind", *(next(iter(found.rights.values()), {}))), _rights(found)),
        "<h2>Redacted</h2>",
        html_table(
            ("Rule", "What is hidden", "Hits"), [(r.name, r.explanation, str(facts.hits.get(r.name, 0))) for r in RULES]
        ),
    ]
    return html_page(facts.title, parts)


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
