"""A forecast as one page of HTML: the numbers, and behind each the runtimes with their reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from kymatui.cli.output.audit_formats import stamp
from kymatui.cli.output.html_page import html_page, html_table, html_text
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.whatif.canaries import propose_canaries
from kymatui.domain.whatif.forecast import Forecast, ModuleForecast
from kymatui.domain.whatif.groups import ForecastGroup, group_forecast
from kymatui.domain.whatif.messages import kind_label, reason_words, result_words

MOST_RUNTIMES: Final = 1000
"""Runtimes that one number opens; a browser is slow with more, and JSON has all."""
Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, header and rows."""


def forecast_page(forecast: Forecast, summary: str, by: str, tables: Sequence[Table] = ()) -> str:
    """Return the page; `by` groups runtimes, `tables` follow the numbers."""
    return html_page(f"What if: {forecast.cluster}", _parts(forecast, summary, by, tables))


def _parts(forecast: Forecast, summary: str, by: str, tables: Sequence[Table]) -> Iterator[str]:
    yield f"<p>{html_text(summary)}<br><small>{stamp(forecast.taken_at)}</small></p>"
    for group, found in groupby(group_forecast(forecast, by), key=lambda one: one.group):
        yield f"<h2>{html_text(f'{by}: {group}')}</h2>" if by else "<h2>Changes</h2>"
        for one in found:
            yield _number(forecast, one)
    for title, header, rows in tables:
        yield f"<h2>{html_text(title)}</h2>"
        yield html_table([name.capitalize() for name in header], rows)
    canaries = propose_canaries(forecast)
    if canaries:
        yield "<h2>Canaries</h2>"
        rows = [
            (one.runtime.name, one.runtime.plan, one.runtime.region, one.runtime.channel, str(one.alike))
            for one in canaries
        ]
        yield html_table(("Runtime", "Plan", "Region", "Channel", "Represents"), rows)


def _number(forecast: Forecast, one: ForecastGroup) -> str:
    count = format_count(len(one.entries), "runtime")
    versions = " → ".join(filter(None, (one.installed, one.version)))
    why = reason_words(one.example, one.window)
    head = " ".join(filter(None, (one.module, versions)))
    title = f"<strong>{html_text(kind_label(one.kind))}</strong> {html_text(head)}: {count}"
    rest = len(one.entries) - MOST_RUNTIMES
    more = f"<p>{format_count(rest, 'more runtime')}: `-o json` has all.</p>" if rest > 0 else ""
    header = ("Runtime", "Plan", "Region", "Channel", "Today", "Then", "Why")
    body = html_table(header, [_row(forecast, entry) for entry in one.entries[:MOST_RUNTIMES]])
    small = f"<br><small>{html_text(why)}</small>" if why else ""
    return f"<details><summary>{title}{small}</summary>{body}{more}</details>"


def _row(forecast: Forecast, entry: ModuleForecast) -> Sequence[str]:
    runtime = forecast.runtimes[entry.runtime]
    place = (runtime.name, runtime.plan, runtime.region, runtime.channel)
    return (*place, result_words(entry.today), result_words(entry.then), reason_words(entry))
