"""`kymatui catalog`: the rows of the first screen, without a screen."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from kymatui.cli.options.reading import configure_reading, watch_catalogs
from kymatui.cli.output.empty_catalog import no_modules
from kymatui.cli.output.listing import Listing, ListPrinter, draw, is_table, sorted_entries
from kymatui.cli.output.printing import document, say
from kymatui.cli.session_arguments import is_remote
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.snapshot.missing_lists import RowFact

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog, ModuleRow


def _drift(row: ModuleRow) -> str:
    from kymatui.domain.versions.messages import drift_words

    return row.text(RowFact.DRIFT, drift_words(row.drift))


def _tags(row: ModuleRow) -> str:
    tags = (("managed", row.managed), ("mandatory", row.mandatory), ("beta", row.beta), ("internal", row.internal))
    known = [name for name, holds in tags if holds]
    return ",".join(
        [*known, *(f"{f}={row.unknown[f].gap}" for f in (RowFact.MANAGED, RowFact.MANDATORY) if f in row.unknown)]
    )


_COLUMNS: tuple[tuple[str, Callable[[ModuleRow], str]], ...] = (
    ("NAME", lambda row: row.name),
    ("SOURCE", lambda row: row.origin.value),
    ("CHANNEL", lambda row: row.text(RowFact.CHANNEL, row.channel)),
    ("INSTALLED", lambda row: row.installed_words),
    ("DESIRED", lambda row: row.text(RowFact.DESIRED, row.desired)),
    ("NEWEST", lambda row: row.text(RowFact.NEWEST, row.newest)),
    ("DRIFT", _drift),
    ("STATE", lambda row: row.text(RowFact.STATE, row.state.value)),
    ("PRESENCE", lambda row: row.text(RowFact.STATE, row.presence.value)),
    ("DECIDED BY", lambda row: row.state_source.value),
    ("TAGS", _tags),
    ("REASON", lambda row: row.reason.text),
    ("CHANNELS", lambda row: ", ".join(f"{name}={version}" for name, version in row.channels.items())),
    ("FROM", lambda row: ", ".join(row.sources)),
)
_WIDE = ("PRESENCE", "DECIDED BY", "TAGS", "REASON", "CHANNELS", "FROM")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of `-o json` and exit")
    configure_reading(parser)


def run(args: argparse.Namespace) -> int:
    if args.schema:
        from kymatui.domain.catalog.catalog_schema import catalog_json_schema

        say(document(catalog_json_schema(), "yaml" if args.output == "yaml" else "json"))
        return 0
    if is_remote(args):
        from kymatui.cli.commands.inspect.runtime_catalog import show

        return show(args)
    printer = _Printer(args)
    with closing(watch_catalogs(args)) as seen:
        for catalog in seen:
            printer.show(catalog)
    return 0


def _cells(row: ModuleRow) -> list[str]:
    return [read(row) for _, read in _COLUMNS]


def catalog_listing(catalog: Catalog) -> Listing[ModuleRow]:
    from kymatui.domain.catalog.catalog_json import catalog_to_json, row_json

    return Listing(
        header=[title for title, _ in _COLUMNS],
        wide=_WIDE,
        spare=("NEWEST", "SOURCE"),
        entries=catalog.rows,
        lines=lambda row: (_cells(row),),
        document=lambda rows: catalog_to_json(replace(catalog, rows=tuple(rows))),
        item=row_json,
        name=lambda row: row.name,
    )


class _Printer:
    """Prints a catalog, and then only what is other than before."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args, self._printer = args, ListPrinter(args)
        self._shown: dict[str, list[str]] = {}
        self._is_first = True
        self._said: set[str] = set()

    def show(self, catalog: Catalog) -> None:
        if is_table(self._args.output):
            self._rows(catalog)
            self._problems(catalog)
        else:
            self._printer.show(catalog_listing(catalog))

    def _rows(self, catalog: Catalog) -> None:
        form, listing = self._args.output, catalog_listing(catalog)
        rows = {row.name: _cells(row) for row in sorted_entries(listing, self._args.sort_by)}
        fresh = [row for name, row in rows.items() if self._shown.get(name) != row]
        gone = [[name, *["(deleted)"] * (len(_COLUMNS) - 1)] for name in self._shown if name not in rows]
        is_first, self._shown, self._is_first = self._is_first, rows, False
        if not rows and is_first:
            say(no_modules(catalog), sys.stderr)
        elif fresh or gone:
            printed = list(rows.values()) if form == "md" else fresh + gone
            say(draw(listing, printed, form, headers=not self._args.no_headers))

    def _problems(self, catalog: Catalog) -> None:
        """What is wrong besides the rows; a row's own reason stands in its row."""
        for problem in catalog.problems:
            text = f"{problem.severity.value}: {sanitize(problem.message)}"
            if not problem.module and text not in self._said:
                self._said.add(text)
                say(text, sys.stderr)
